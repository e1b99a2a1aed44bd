# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# The command `wheel` of `bootstrap`, which reads this file and sets `within`, `tree`, `build`, `backend` and `options`.

wheel() {
  local option given=()
  [ "$backend" != HIP ] || die "a wheel for ROCm is not made: wheel --gpu is for CUDA." "pip install . makes a package for this machine's ROCm."
  for option in "${options[@]}"; do [[ $option != -D* ]] || given+=("$option"); done
  CMAKE_BUILD_PARALLEL_LEVEL=$(job_count) step wheel.log "Building the wheel, $(job_count) files at a time (in build/wheel.log)" \
    "$within" bash "$source_dir/packaging/wheel/make.sh" "$source_dir" "$tree-wheel" "$build/wheels" "${given[@]}"
  say "The wheel: $(tail -n 1 "$build/wheel.log")"
}
