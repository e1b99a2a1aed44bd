#!/bin/sh
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
set -e
cd "$(dirname "$0")"
. ./setup.sh
"$E4S_BUILD/smoke"
if [ -x "$STRATA_PREFIX/bin/strata" ]; then
  "$STRATA_PREFIX/bin/strata" --version
  "$STRATA_PREFIX/bin/strata" solve --generate geometric --n 300 --cond 1e4
fi
