#!/bin/bash
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# make.sh SOURCE BUILD FOLDER [CMAKE OPTION ...]: build the package for Python and the program `strata` in BUILD, and put one wheel that
# carries all their libraries into FOLDER. It is for Python 3.12 and later, without MPI. The BLAS is OpenBLAS, where its shared
# library is found, which chooses its kernels for the processor at run time.
# Where BUILD is a tree that was compiled for the tests, it is linked anew and nothing is compiled: the wheel is for this Python alone,
# with what that tree has. With MPI it is for machines like this one.
set -euo pipefail
source=$1 build=$2 folder=$3
shift 3
settings=(-C build-dir="$build")
if grep -qs '^Strata_ENABLE_TESTS:BOOL=ON$' "$build/CMakeCache.txt"; then
  cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
  options=()
  for name in PYTHON C MPI TESTS TRILINOS TPL_ONEDNN TPL_NUMA; do # what pyproject.toml and this script would change
    value=$(cached "Strata_ENABLE_$name")
    [ -z "$value" ] || options+=(-DStrata_ENABLE_"$name=$value")
  done
  # Another CMake or Ninja, as Python's packages of them are, would compile all anew.
  CMAKE_EXECUTABLE=$(cached CMAKE_COMMAND) CMAKE_ARGS=-DCMAKE_MAKE_PROGRAM=$(cached CMAKE_MAKE_PROGRAM)
  export CMAKE_EXECUTABLE CMAKE_ARGS
  cp "$build/CMakeCache.txt" "$build/CMakeCache.txt.before"
  restore() { mv "$build/CMakeCache.txt.before" "$build/CMakeCache.txt" && "$CMAKE_EXECUTABLE" "$build" >/dev/null; }
  trap restore EXIT
else
  settings+=(-C wheel.py-api=cp312)
  options=("$@" -DStrata_ENABLE_TPL_ONEDNN=OFF -DStrata_ENABLE_TPL_NUMA=OFF)
  for library in /usr/lib/*/openblas-pthread/libopenblas.so /usr/lib64/libopenblasp.so; do
    [ ! -e "$library" ] || options+=(-D{BLAS,LAPACK}_LIBRARIES="$library")
  done
fi
declare -A defined=([Strata_PORTABLE_WHEEL]=ON)
for option in "${options[@]}"; do
  option=${option#-D}
  defined[${option%%=*}]=${option#*=}
done
for name in "${!defined[@]}"; do settings+=(-C "cmake.define.$name=${defined[$name]}"); done
rm -rf "$build.whl"
python3 -m pip wheel --no-build-isolation --no-deps -v -w "$build.whl" "${settings[@]}" "$source"
# Libraries that lie where the loader does not look, as a Kokkos of one's own, are where the build found them.
found=$(for file in "$build"/python/strata/_core.*.so "$build"/apps/strata; do
  [ ! -e "$file" ] || readelf -d "$file" | sed -n 's/.*(R[UN]*PATH).*\[\(.*\)\]/\1/p'
done | paste -sd :)
LD_LIBRARY_PATH=$found${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} python3 "$source/packaging/wheel/carry.py" "$build.whl"/*.whl "$folder"
