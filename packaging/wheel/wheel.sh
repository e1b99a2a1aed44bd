# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# The command `wheel` of `bootstrap`, which reads this file and sets `within`, `tree`, `build`, `backend` and `options`.

# The tree to make it in. What shell or test compiled for this GPU is taken, if it is done and has no MPI, which no wheel carries.
wheel_tree() {
  local option kokkos=
  for option in "${options[@]}"; do [[ $option != -DKokkos_DIR=* ]] || kokkos=${option#*=}; done
  if [ "$backend" = CUDA ] && [ -x "$tree/apps/strata" ] && compgen -G "$tree/python/strata/_core.*.so" >/dev/null &&
    grep -qs '^Strata_ENABLE_TESTS:BOOL=ON$' "$tree/CMakeCache.txt" && grep -qs '^Strata_ENABLE_MPI:BOOL=OFF$' "$tree/CMakeCache.txt" &&
    { [ -z "$kokkos" ] || sed -n 's/^Kokkos_DIR:[A-Z]*=//p' "$tree/CMakeCache.txt" | grep -qxF "$kokkos"; }; then
    echo "$tree"
  else
    echo "$tree-wheel"
  fi
}

wheel() {
  local option given=() place
  [ "$backend" != HIP ] || die "a wheel for ROCm is not made: wheel --gpu is for CUDA." "pip install . makes a package for this machine's ROCm."
  for option in "${options[@]}"; do [[ $option != -D* ]] || given+=("$option"); done
  place=$(wheel_tree)
  [ "$place" != "$tree" ] || say "What is compiled in ${tree#"$source_dir/"} is taken: the wheel is for this machine's Python alone"
  CMAKE_BUILD_PARALLEL_LEVEL=$(job_count) step wheel.log "Building the wheel, $(job_count) files at a time (in build/wheel.log)" \
    "$within" bash "$source_dir/packaging/wheel/make.sh" "$source_dir" "$place" "$build/wheels" "${given[@]}"
  say "The wheel: $(tail -n 1 "$build/wheel.log")"
}
