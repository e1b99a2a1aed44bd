#!/bin/sh
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# pkg_config.sh PREFIX SOURCE: build SOURCE with what pkg-config says of the Strata in PREFIX alone, and run it.
set -eu
pc=$(find "$1" -name strata.pc)
export PKG_CONFIG_PATH="${pc%/*}"
program=$1/pkg_config_consumer
# shellcheck disable=SC2046  # flags are words
$(pkg-config --variable=cxx strata) "$2" -o "$program" $(pkg-config --cflags --libs strata)
LD_LIBRARY_PATH=$(pkg-config --variable=libdir strata):${LD_LIBRARY_PATH:-} "$program"
