# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# What `bootstrap test` runs, and the file .ci/tested of what has passed; bootstrap reads this file. It sets `part`, one of `parts`,
# `variant`, `within` and `tree`.

# ctest's choice: labels all.PART, and all, which is of `studies`, are of no push.
other_parts() {
  local name excluded=
  for name in "${parts[@]}"; do
    [ "$name" = "$part" ] || excluded+="|\\.$name"
  done
  [ "$part" = studies ] || excluded+="|"
  printf '^all(%s)$' "${excluded#|}"
}

# A folder for what tests keep for a moment. In one that all share, an Open MPI launcher refuses to start where a killed one of the
# same process number has left its session.
use_own_tmp() {
  TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/strata.XXXXXX") || die "no folder can be made in ${TMPDIR:-/tmp}"
  export TMPDIR
  trap 'rm -rf "$TMPDIR"' EXIT
}

run_tests() {
  local together choice=()
  together=$(job_count)
  case $variant in
    trilinos) run_trilinos_tests; return ;;
    openmp) # four threads each
      export OMP_NUM_THREADS=${OMP_NUM_THREADS:-4}
      together=$(((together + 3) / 4))
      ;;
    gpu) together=$((together < 8 ? together : 8)) ;; # they share its memory
  esac
  case $part in
    all | perf | figures) options+=(-DStrata_ENABLE_BENCHMARKS=ON) ;;
    *) options+=(-DStrata_ENABLE_BENCHMARKS=OFF) ;;
  esac
  case $part in
    all) say "Tests: all" ;;
    only_pages)
      say "Tests: of pages"
      choice=(--label-regex '^pages$')
      compile "what the pages use" strata_pages
      ;;
    *)
      say "Tests: of a push${part:+, and the part $part}"
      choice=(--label-exclude "$(other_parts)")
      ;;
  esac
  [ "$part" = only_pages ] || compile "everything" all
  use_own_tmp
  run_rest --parallel "$together" "${choice[@]}"
  [ -n "$variant" ] || [ "$part" = only_pages ] || note_tested push
}

# What the tests are of: all files but those below build/, and the choice of tests.
tests_key() { # tests_key OPTION...
  echo "$part $*"
  (cd "$source_dir" && find . \( -path ./build -o -name .git -o -name __pycache__ \) -prune -o -type f -print0 |
    LC_ALL=C sort -z | xargs -0 cksum | cksum)
}

# run_rest OPTION...: ctest. On a GPU, which may be lent for minutes, a run that was stopped, or failed, goes on with the tests that have
# not passed, as long as no file changes. The next run after one that passed has all tests.
run_rest() {
  local record=$tree/passed key line names
  local done='Test +#[0-9]+: ([^ ]+) \.+ +Passed '
  set -- --test-dir "$tree" --output-on-failure "$@"
  [ "$variant" = gpu ] || { "$within" ctest "$@"; return; }
  key=$(tests_key "$@" | sha256sum)
  [ "$(head -n 1 "$record" 2>/dev/null)" = "$key" ] || echo "$key" >"$record"
  names=$(sed '1d; s/\./\\./g' "$record" | paste -sd '|')
  [ -z "$names" ] || say "$(($(wc -l <"$record") - 1)) tests passed before this run was stopped; the others:"
  "$within" ctest "$@" ${names:+--exclude-regex "^($names)\$"} | while IFS= read -r line; do
    printf '%s\n' "$line"
    if [[ $line =~ $done ]]; then printf '%s\n' "${BASH_REMATCH[1]}" >>"$record"; fi
  done
  rm -f "$record"
}

run_trilinos_tests() {
  options+=(-DStrata_ENABLE_TRILINOS=ON -DStrata_ENABLE_{DENSE,OOC,GEOSTAT,PROGRAM,BENCHMARKS,C}=OFF)
  compile "the adapter to Trilinos" strata_trilinos_test strata_trilinos_example \
    strata_example_11_tpetra_and_belos strata_trilinos_headers
  use_own_tmp
  "$within" ctest --test-dir "$tree" --parallel "$(job_count)" --output-on-failure --label-regex trilinos
  note_tested trilinos
}

# The tests of Trilinos in a process of their own: another system, another build tree.
run_trilinos_too() { "$source_dir/bootstrap" test --trilinos; }

# ---- what was tested last: .ci/tested has a line `NAME COMMIT` for each ----

tested=$source_dir/.ci/tested

# note_tested NAME: this commit passed, if it is one as it stands.
note_tested() {
  local commit
  commit=$(git -C "$source_dir" rev-parse HEAD 2>/dev/null) || return 0
  [ -z "$(git -C "$source_dir" status --porcelain -- . ':!.ci/tested' 2>/dev/null)" ] || return 0
  { grep -sv "^$1 " "$tested" || true; echo "$1 $commit"; } 2>/dev/null | sort >"$tested.new" && mv "$tested.new" "$tested"
}
