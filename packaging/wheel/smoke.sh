#!/bin/bash
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# smoke.sh: install the wheel beside this script, and use it where Python and NumPy are all that there is.
set -ex
cd "$(dirname "${BASH_SOURCE[0]}")"
python3 -m pip install --no-deps --no-index --break-system-packages --quiet ./*.whl
cd /
strata info
strata solve --generate geometric --n 500 --cond 1e4 --brief
strata solve --generate elasticity --nx 8 --brief
python3 - <<'PYTHON'
import importlib.util
import numpy, strata
from strata import geostat
assert importlib.util.find_spec("scipy") is None
a = numpy.eye(300) + 1.0 / 300
x = strata.solve(a, numpy.ones(300))
assert abs(a @ x - 1).max() < 1e-13
assert abs(float(strata.logdet(a)) - numpy.linalg.slogdet(a)[1]) < 1e-12
places = numpy.random.default_rng(1).random((300, 2))
values = geostat.synthetic_field(geostat.Matern(1.0, 0.1, nugget=0.01), places)
assert numpy.isfinite(geostat.fit(places, values, fixed=["nu"]).likelihood.log_likelihood)
print(strata.configuration())
PYTHON
