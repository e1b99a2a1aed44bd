#!/bin/sh
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
rm -rf "${E4S_BUILD:-$(dirname "$0")/build}"
