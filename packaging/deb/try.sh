#!/bin/bash
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# try.sh FOLDER [MIRROR]: make a fresh Debian trixie, install the packages of FOLDER there one by one, and try each: the program
# `strata`, a program in C, the package for Python, a program compiled against the libraries. Needs mmdebstrap, the network and 2 GB in
# TMPDIR.
set -euo pipefail
folder=$(realpath "${1:?usage: try.sh FOLDER [MIRROR]}")
mirror=${2:-${STRATA_DEBIAN_MIRROR:?name a Debian mirror: try.sh FOLDER MIRROR, or by this variable}}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"  # mmdebstrap may be another user in there
cp -r "$here/../e4s" "$here/../../examples/10_from_c.c" "$here"/../wheel/{program.sh,package.py} "$folder"/*.deb "$work"

# Kokkos is recent enough in experimental alone.
printf 'Package: *\nPin: release a=experimental\nPin-Priority: 1\n\nPackage: libtrilinos-* trilinos-dev\nPin: release a=experimental\nPin-Priority: 500\n' \
  >"$work/preferences"
cat >"$work/smoke.sh" <<'SMOKE'
set -ex
cd /tmp
export DEBIAN_FRONTEND=noninteractive
apt-get install --yes --no-install-recommends ./strata_*.deb
bash program.sh
apt-get install --yes --no-install-recommends ./libstrata-c_*.deb gcc libc6-dev pkgconf
cc 10_from_c.c $(pkg-config --cflags --libs strata-c) -lm -o from_c
./from_c
apt-get install --yes --no-install-recommends ./python3-strata_*.deb
[ ! -e /usr/lib/cmake/Strata/StrataConfig.cmake ]
python3 package.py
apt-get install --yes --install-recommends ./libstrata-dev_*.deb
bash e4s/smoke.sh /usr
SMOKE
mmdebstrap --mode=auto --variant=apt --format=null \
  --setup-hook="mkdir -p \"\$1/etc/apt/preferences.d\" && cp '$work/preferences' \"\$1/etc/apt/preferences.d/strata\"" \
  --dpkgopt=force-unsafe-io --aptopt='Acquire::Check-Valid-Until "false"' \
  --customize-hook="cp -r '$work'/*.deb '$work/e4s' '$work/10_from_c.c' '$work'/*.sh '$work/package.py' \"\$1/tmp\"" \
  --customize-hook='OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 chroot "$1" bash /tmp/smoke.sh' \
  trixie - "deb $mirror trixie main" "deb $mirror experimental main"
echo "the packages of $folder install into a fresh trixie and pass the smoke test"
