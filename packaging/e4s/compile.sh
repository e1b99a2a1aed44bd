#!/bin/sh
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
set -e
cd "$(dirname "$0")"
. ./setup.sh
pc=$(find "$STRATA_PREFIX" -name strata.pc | head -n 1)
compiler=$(sed -n 's/^cxx=//p' "$pc") # the one that Kokkos wants
cmake --fresh -S . -B "$E4S_BUILD" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release
cmake --build "$E4S_BUILD"
