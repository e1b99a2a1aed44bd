#!/bin/sh
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# smoke.sh PREFIX: all of it for the Strata in PREFIX, in the order in which the E4S test suite does.
set -e
STRATA_PREFIX=${1:?usage: smoke.sh PREFIX}
export STRATA_PREFIX
folder=$(cd "$(dirname "$0")" && pwd)
"$folder/compile.sh"
"$folder/run.sh"
"$folder/clean.sh"
