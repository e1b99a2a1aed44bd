#!/bin/bash
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# make.sh SOURCE BUILD FOLDER [CMAKE OPTION ...]: build the package for Python and the program `strata` in BUILD, and put one wheel that
# carries all their libraries into FOLDER. It is for Python 3.12 and later, without MPI. The BLAS is OpenBLAS, where its shared
# library is found, which chooses its kernels for the processor at run time.
set -euo pipefail
source=$1 build=$2 folder=$3
shift 3
options=(-DStrata_PORTABLE_WHEEL=ON -DStrata_ENABLE_TPL_ONEDNN=OFF -DStrata_ENABLE_TPL_NUMA=OFF)
for library in /usr/lib/*/openblas-pthread/libopenblas.so /usr/lib64/libopenblasp.so; do
  [ ! -e "$library" ] || options+=(-D{BLAS,LAPACK}_LIBRARIES="$library")
done
settings=(-C wheel.py-api=cp312 -C build-dir="$build")
for option in "${options[@]}" "$@"; do
  settings+=(-C "cmake.define.${option#-D}")
done
rm -rf "$build.whl"
python3 -m pip wheel --no-build-isolation --no-deps -v -w "$build.whl" "${settings[@]}" "$source"
python3 "$source/packaging/wheel/carry.py" "$build.whl"/*.whl "$folder"
