# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# The private Debian system of `bootstrap`, which reads this file: what is in it, how it is made and kept, and how a command
# runs in it. bootstrap sets `build`, `root`, `release`, `variant`, `tree` and `cache`.

# What the program, its users and its tests need; what the checks of a push need beside it; what only `test --all` needs;
# and what comes from `experimental`, the only Debian suite with a Kokkos that is recent enough.
packages=(ca-certificates g++ cmake ninja-build ccache git pkg-config zlib1g-dev libboost-math-dev
  libopenblas-pthread-dev libopenblas-openmp-dev liblapack-dev liblapack-test libtmglib-dev libdnnl-dev libcli11-dev nlohmann-json3-dev
  libgtest-dev libbenchmark-dev libnlopt-dev libopenmpi-dev openmpi-bin libscalapack-openmpi-dev
  python3-dev python3-nanobind python3-scipy python3-matplotlib)
check_packages=(python3-sklearn clang-19 clang-format-19 clang-tidy-19 libclang-rt-19-dev python3-jsonschema reuse mypy
  python3-scikit-build-core python3-pytest python3-pip dpkg-dev file
  python3-sphinx python3-myst-parser furo python3-breathe doxygen)
all_packages=(python3-torch python3-petsc4py libpetsc-real-dev weasyprint
  r-base-core make r-cran-mass r-cran-nlme r-cran-sf r-cran-sp r-cran-terra)
kokkos_packages=(libtrilinos-kokkos-dev libtrilinos-kokkos-kernels-dev trilinos-dev)

# The headers of ROCm, with which the tests compile the device code (unit_tests/meta/device.py). They are unpacked
# to /usr/local/hip, as the libraries that the packages depend on need a newer system and nothing is linked.
header_packages=()

# The system of the tests of a push.
prefer_checks() {
  root=$build/root
  packages+=("${check_packages[@]}")
  header_packages=(libamdhip64-dev librocblas-dev librocsolver-dev libhipblas-common-dev libhipblaslt-dev librccl-dev)
}

# The system of `test --all`.
prefer_all() {
  prefer_checks
  root=$build/root-all
  packages+=("${all_packages[@]}")
}

# What `demo` and `shell` take: a system without the checks' packages, which is there sooner, or the tests' where it is there already.
prefer_program() {
  if (prefer_checks && has_root); then prefer_checks; else root=$build/root-program; fi
}

# Trilinos 17 of `experimental` needs the C library of sid: a system of its own, with what its tests need. Its
# packages leave out some that they depend on, which are named here.
prefer_trilinos() {
  release=sid root=$build/root-trilinos
  packages=(ca-certificates g++ cmake ninja-build ccache pkg-config zlib1g-dev libboost-math-dev
    libopenblas-pthread-dev liblapack-dev libcli11-dev nlohmann-json3-dev libgtest-dev libopenmpi-dev
    openmpi-bin python3)
  kokkos_packages+=(libtrilinos-{belos,ifpack2,muelu,rtop,teuchos,thyra,tpetra,xpetra}-dev)
}

preferences() {
  printf 'Package: *\nPin: release a=experimental\nPin-Priority: 1\n\n'
  printf 'Package: libtrilinos-* trilinos-dev\nPin: release a=experimental\nPin-Priority: 500\n'
  [ ${#header_packages[@]} -eq 0 ] || # the newest of them, wherever it is
    printf '\nPackage: *\nPin: release a=unstable\nPin-Priority: 1\n\nPackage: %s\nPin: version *\nPin-Priority: 600\n' \
      "${header_packages[*]}"
}

# What mmdebstrap runs to unpack them, with apt's sources of the new system.
header_hook() {
  [ ${#header_packages[@]} -gt 0 ] || { echo true; return; }
  echo "cd \"\$1/tmp\" && APT_CONFIG=\"\$MMDEBSTRAP_APT_CONFIG\" apt-get download ${header_packages[*]} &&
    for p in *.deb; do chroot \"\$1\" dpkg-deb -x \"/tmp/\$p\" /usr/local/hip; done && rm -- *.deb"
}

root_stamp() {
  { printf '%s\n' "$release" "${packages[@]}" "${kokkos_packages[@]}" "${header_packages[@]}"
    preferences; header_hook; } | sha256sum | cut -d' ' -f1
}

# The addresses in apt's sources, of both formats, in order and without repetition.
apt_addresses() {
  local files=(/etc/apt/sources.list /etc/apt/sources.list.d/*)
  awk 'FILENAME ~ /\.sources$/ && tolower($1) == "uris:" { for (i = 2; i <= NF; i++) print $i }
       FILENAME ~ /\.list$/ && $1 == "deb" { sub(/\[[^]]*\]/, ""); print $2 }' \
    $(ls "${files[@]}" 2>/dev/null) /dev/null | awk '!seen[$0]++'
}

# The first address that serves all Debian suites.
find_mirror() {
  local address suite file=$root.release
  for address in ${STRATA_DEBIAN_MIRROR:-$(apt_addresses)}; do
    for suite in "$release" experimental sid; do
      /usr/lib/apt/apt-helper -o Acquire::Retries=1 -o Acquire::http::Timeout=15 download-file \
        "${address%/}/dists/$suite/InRelease" "$file" >>"$build/mirror.log" 2>&1 </dev/null || continue 2
    done
    printf '%s\n' "${address%/}"
    return
  done
  return 1
}

install_tools() {
  local missing=() sudo=() tool
  for tool in mmdebstrap:mmdebstrap bwrap:bubblewrap newuidmap:uidmap; do
    command -v "${tool%:*}" >/dev/null || missing+=("${tool#*:}")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  local command="apt-get install --yes --no-install-recommends ${missing[*]}"
  if [ "$(id -u)" -ne 0 ]; then
    sudo=(sudo -n)
    sudo -n true 2>/dev/null || die "missing: ${missing[*]}, and no right to install packages here." \
      "Ask for (as root): $command" "or provide Kokkos >= 4.6 and Kokkos Kernels by CMAKE_PREFIX_PATH."
  fi
  step apt.log "Installing ${missing[*]} on this machine" \
    "${sudo[@]}" sh -c "apt-get update; DEBIAN_FRONTEND=noninteractive $command"
}

# unpack_root MIRROR FOLDER. The whole system goes through tar so that its files belong to whoever runs this.
unpack_root() {
  local mirror=$1 folder=$2 include="${packages[*]} ${kokkos_packages[*]}" hook proxy sid=()
  [ ${#header_packages[@]} -eq 0 ] || sid=("deb $mirror sid main")
  hook="mkdir -p \"\$1/etc/apt/preferences.d\"; echo '$(preferences)' >\"\$1/etc/apt/preferences.d/strata\""
  proxy=$(apt-config shell p Acquire::http::Proxy | sed "s/^p='\(.*\)'$/\1/")
  rm -rf "$folder" "$folder.part" && mkdir -p "$folder.part" &&
    mmdebstrap --mode=auto --variant=minbase --format=tar --include="${include// /,}" --setup-hook="$hook" \
      --customize-hook="$(header_hook)" \
      --aptopt='Acquire::Check-Valid-Until "false"' ${proxy:+--aptopt="Acquire::http::Proxy \"$proxy\""} \
      --dpkgopt=force-unsafe-io --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
      "$release" - "deb $mirror $release main" "deb $mirror experimental main" "${sid[@]}" |
    tar -x -C "$folder.part" --no-same-owner --exclude='./dev/*' &&
    root_stamp >"$folder.part/.stamp" && mv "$folder.part" "$folder"
}

is_up_to_date() { [ "$(cat "$1/.stamp" 2>/dev/null)" = "$(root_stamp)" ]; } # is_up_to_date FOLDER

# ---- the cache: systems and objects of all checkouts of this user ----

cache_days=14   # a system is made anew after them, with the packages of that day
cache_systems=2 # are kept

# The folder of the cache, if it can be written: ${XDG_CACHE_HOME:-~/.cache}/strata.
find_cache() {
  local folder=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
  [ -n "$folder" ] && mkdir -p "$folder/strata/systems" 2>/dev/null && [ -w "$folder/strata" ] &&
    true 2>/dev/null >"$folder/strata/lock" && (cd "$folder/strata" && pwd -P)
}

# hold_system FOLDER: it stays in the cache until this shell ends.
hold_system() { exec {in_use}<"$1/.stamp" && flock --shared --nonblock "$in_use"; }

# Take the system from the cache: `root` becomes a link to it. Who uses one holds a shared lock on its stamp.
take_from_cache() {
  local kept
  kept=$cache/systems/$(root_stamp)
  is_up_to_date "$kept" && [ -z "$(find "$kept/.stamp" -mtime +$((cache_days - 1)) 2>/dev/null)" ] || return 1
  hold_system "$kept" || return 1
  touch "$kept/.used" 2>/dev/null || true
  rm -rf "$root" && ln -s "$kept" "$root"
}

# Leave the newest systems, and those that are in use.
prune_cache() {
  local kept number=0
  for kept in $(cd "$cache/systems" && ls -t */.used 2>/dev/null); do
    kept=$cache/systems/${kept%/.used} number=$((number + 1))
    [ "$number" -gt "$1" ] || [ -n "$(find "$kept/.stamp" -mtime +$((cache_days - 1)))" ] || continue
    flock --exclusive --nonblock "$kept/.stamp" rm -rf "$kept" || true
  done
  find "$cache/systems" -maxdepth 1 -name '*.part' -mmin +120 -exec rm -rf {} + 2>/dev/null || true
}

# make_in_cache MIRROR: make the system there and take it. Fails where another bootstrap fills the cache, or the disk is full.
make_in_cache() {
  local kept
  kept=$cache/systems/$(root_stamp)
  (
    flock --exclusive --nonblock 9 || exit 1
    prune_cache $((cache_systems - 1))
    unpack_root "$1" "$kept" && touch "$kept/.used" && exit 0
    rm -rf "$kept.part"
    exit 1
  ) 9>"$cache/lock.$(root_stamp)" && take_from_cache
}

# Whether the system is there; from the cache it is taken.
has_root() { [ ! -L "$root" ] && is_up_to_date "$root" || { [ -n "$cache" ] && take_from_cache; }; }

make_root() {
  local mirror up_to_date=false title
  ! has_root || up_to_date=true
  $up_to_date && command -v bwrap >/dev/null && return
  [ -x /usr/lib/apt/apt-helper ] || die "CMake does not find all that Strata needs here (its words: build/probe.log), and there is no apt to" \
    "make a Debian system with. Install what is missing (docs/build.md) and set CMAKE_PREFIX_PATH."
  mirror=$(find_mirror) || die "no Debian mirror reached: is there a network?" \
    "Tried: $(echo ${STRATA_DEBIAN_MIRROR:-$(apt_addresses)}) (log: $build/mirror.log)" \
    "Name one that serves the suites $release, experimental and sid by STRATA_DEBIAN_MIRROR=..., or" \
    "provide Kokkos >= 4.6 and Kokkos Kernels by CMAKE_PREFIX_PATH."
  install_tools
  ! $up_to_date || return 0
  title="Making a private Debian system in ${root#"$source_dir/"} (1 to 3 GB, a few minutes, once)"
  step "${root##*/}.log" "$title" make_root_somewhere "$mirror"
}

make_root_somewhere() {
  [ ! -L "$root" ] || rm "$root"
  { [ -n "$cache" ] && make_in_cache "$1"; } || unpack_root "$1" "$root"
}

# The system of a test and, with --trilinos, Trilinos' at the same time: each keeps one CPU busy.
make_roots() {
  mkdir -p "$build"
  install_tools
  [ "$variant" != trilinos ] || { (prefer_trilinos; make_root) & }
  prefer_checks
  make_root
  [ "$variant" != trilinos ] || wait $!
}

# The folder of NVIDIA's driver, which programs load.
driver_folder() {
  local folder
  while read -r folder; do
    [ ! -e "$folder/libcuda.so.1" ] || { printf '%s\n' "$folder"; return; }
  done < <(tr : '\n' <<<"${LD_LIBRARY_PATH:-}"
    PATH=$PATH:/sbin ldconfig -p | sed -n 's|.*libcuda\.so\.1 (.*64.*) => \(.*\)/[^/]*|\1|p')
  return 1
}

# Run a command in it. The system's folders come from build/root, everything else from this machine: for a
# GPU its devices too, and the files of NVIDIA's driver, in /driver, as their folder has a C library as well.
in_root() {
  local more=(--dev /dev) entry
  [ "$variant" != gpu ] || more=(--dev-bind /dev /dev)
  for entry in /*; do
    case $entry in
      /bin | /boot | /dev | /etc | /lib* | /lost+found | /proc | /run | /sbin | /sys | /usr | /var) ;;
      *) [ -d "$entry" ] && more+=(--bind "$entry" "$entry") ;;
    esac
  done
  for entry in CC CXX CFLAGS CXXFLAGS LDFLAGS CPATH LIBRARY_PATH LD_LIBRARY_PATH LD_PRELOAD PYTHONPATH PYTHONHOME; do
    more+=(--unsetenv "$entry")
  done
  # The tests compile the device code with it, --gpu all; a toolkit that is spread over /usr stays out.
  if entry=$(cuda_folder) && [ -e "$entry/include/cuda_runtime.h" ]; then
    more+=(--ro-bind "$entry" /cuda)
  fi
  if [ "$variant" = gpu ] && entry=$(driver_folder); then
    for entry in "$entry"/lib{cuda,nvidia-*}.so.*; do
      more+=(--ro-bind "$(readlink -f "$entry")" "/driver/${entry##*/}")
    done
    more+=(--setenv LD_LIBRARY_PATH /driver)
  fi
  bwrap --ro-bind "$root/usr" /usr --ro-bind "$root/etc" /etc --ro-bind "$root/var" /var \
    --symlink usr/bin /bin --symlink usr/sbin /sbin --symlink usr/lib /lib --symlink usr/lib64 /lib64 \
    --proc /proc --ro-bind /sys /sys "${more[@]}" --die-with-parent \
    --setenv PATH "$tree/apps:/usr/bin:/usr/sbin:/cuda/bin:/opt/rocm/bin" --setenv SHELL /bin/bash \
    --setenv CMAKE_GENERATOR Ninja -- "$@"
}
