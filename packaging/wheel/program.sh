#!/bin/bash
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# program.sh: use the program `strata` of the PATH: a dense solve, a sparse one, a fit.
set -ex
strata info
strata solve --generate geometric --n 500 --cond 1e4 --brief
strata solve --generate elasticity --nx 8 --brief
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT
set +x
echo x,y,value >"$data/data.csv"
for k in {0..99}; do echo "$((k % 10)),$((k / 10)).$((k * 7 % 10)),$(((k % 10) * (k / 10) + k * 7 % 5))"; done >>"$data/data.csv"
set -x
strata mle --locations "$data/data.csv" --fix nu=0.5
