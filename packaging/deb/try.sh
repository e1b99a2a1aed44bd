#!/bin/bash
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# try.sh PACKAGE.deb [MIRROR]: make a fresh Debian trixie, install the package there, and run the smoke test in it: a program
# compiled against the libraries, the program `strata`, the package for Python. Needs mmdebstrap, the network and 2 GB in TMPDIR.
set -euo pipefail
package=$(realpath "${1:?usage: try.sh PACKAGE.deb [MIRROR]}")
mirror=${2:-${STRATA_DEBIAN_MIRROR:?name a Debian mirror: try.sh PACKAGE.deb MIRROR, or by this variable}}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"  # mmdebstrap may be another user in there
cp -r "$here/../e4s" "$package" "$work"

# Kokkos is recent enough in experimental alone.
printf 'Package: *\nPin: release a=experimental\nPin-Priority: 1\n\nPackage: libtrilinos-* trilinos-dev\nPin: release a=experimental\nPin-Priority: 500\n' \
  >"$work/preferences"
cat >"$work/smoke.sh" <<'SMOKE'
set -ex
cd /tmp
DEBIAN_FRONTEND=noninteractive apt-get install --yes --install-recommends ./*.deb
bash e4s/smoke.sh /usr
strata info >/dev/null
python3 - <<'PYTHON'
import numpy, scipy.sparse, strata
from strata import geostat
a = numpy.eye(300) + 1.0 / 300
x = strata.solve(a, numpy.ones(300))
assert abs(a @ x - 1).max() < 1e-14
line = scipy.sparse.diags([-1.0, 2.5, -1.0], [-1, 0, 1], shape=(300, 300), format="csr")
assert abs(line @ strata.sparse.solve(line, numpy.ones(300)) - 1).max() < 1e-8
places = numpy.random.default_rng(1).random((300, 2))
values = geostat.synthetic_field(geostat.Matern(1.0, 0.1, nugget=0.01), places)
assert numpy.isfinite(geostat.fit(places, values, fixed=["nu"]).likelihood.log_likelihood)
print(strata.configuration())
PYTHON
SMOKE
mmdebstrap --mode=auto --variant=apt --format=null \
  --setup-hook="mkdir -p \"\$1/etc/apt/preferences.d\" && cp '$work/preferences' \"\$1/etc/apt/preferences.d/strata\"" \
  --dpkgopt=force-unsafe-io --aptopt='Acquire::Check-Valid-Until "false"' \
  --customize-hook="cp -r '$work'/*.deb '$work/e4s' '$work/smoke.sh' \"\$1/tmp\"" \
  --customize-hook='OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 chroot "$1" bash /tmp/smoke.sh' \
  trixie - "deb $mirror trixie main" "deb $mirror experimental main"
echo "$(basename "$package") installs into a fresh trixie and passes the smoke test"
