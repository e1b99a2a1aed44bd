# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# Sourced: where Strata is, STRATA_PREFIX or the one that Spack has loaded, and where to build.
export E4S_BUILD="${E4S_BUILD:-$PWD/build}"
if [ -z "${STRATA_PREFIX:-}" ]; then
  STRATA_PREFIX=$(spack location --install-dir strata) || return 1
fi
export CMAKE_PREFIX_PATH="$STRATA_PREFIX${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}"
export PATH="$STRATA_PREFIX/bin:$PATH"
