#!/bin/bash
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# try.sh WHEEL [MIRROR]: make a fresh Debian trixie with Python and NumPy alone, install the wheel there, and solve, fit and run the
# program in it. Needs mmdebstrap, the network and 1 GB in TMPDIR.
set -euo pipefail
wheel=$(realpath "${1:?usage: try.sh WHEEL [MIRROR]}")
mirror=${2:-${STRATA_DEBIAN_MIRROR:?name a Debian mirror: try.sh WHEEL MIRROR, or by this variable}}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"  # mmdebstrap may be another user in there
cp "$wheel" "$here"/{smoke.sh,program.sh,package.py} "$work"
mmdebstrap --mode=auto --variant=minbase --format=null --include=python3-numpy,python3-pip \
  --dpkgopt=force-unsafe-io --aptopt='Acquire::Check-Valid-Until "false"' \
  --customize-hook="cp '$work'/*.whl '$work'/*.sh '$work'/*.py \"\$1/tmp\"" --customize-hook='chroot "$1" bash /tmp/smoke.sh' \
  trixie - "deb $mirror trixie main"
echo "$(basename "$wheel") installs beside Python and NumPy alone and passes the smoke test"
