#!/bin/bash
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# smoke.sh: install the wheel beside this script, and use it as program.sh and package.py there do.
set -ex
cd "$(dirname "${BASH_SOURCE[0]}")"
python3 -m pip install --no-deps --no-index --break-system-packages --quiet ./*.whl
bash program.sh
python3 package.py
