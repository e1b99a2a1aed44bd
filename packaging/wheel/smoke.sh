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
printf 'x,y,value\n' >/tmp/data.csv
for k in {0..99}; do echo "$((k % 10)),$((k / 10)).$((k * 7 % 10)),$((k * k * 13 % 101))"; done >>/tmp/data.csv
strata mle --locations /tmp/data.csv --fix nu=0.5
python3 - <<'PYTHON'
import ctypes, importlib.util, pathlib, pickle
import numpy, strata
from strata import geostat
assert importlib.util.find_spec("scipy") is None
a = numpy.eye(300) + 1.0 / 300
x = strata.solve(a, numpy.ones(300))
assert abs(a @ x - 1).max() < 1e-13
assert abs(float(strata.logdet(a)) - numpy.linalg.slogdet(a)[1]) < 1e-12
factor = strata.cholesky(a, "fp16,fp32")
assert (pickle.loads(pickle.dumps(factor)).solve(numpy.ones(300)) == factor.solve(numpy.ones(300))).all()
places = numpy.random.default_rng(1).random((300, 2))
values = geostat.synthetic_field(geostat.Matern(1.0, 0.1, nugget=0.01), places)
assert numpy.isfinite(geostat.fit(places, values, fixed=["nu"]).likelihood.log_likelihood)
for blas in pathlib.Path(strata.__file__).parents[1].glob("strata_solvers.libs/staopenblas*"):  # for every processor
    config = ctypes.CDLL(str(blas)).openblas_get_config
    config.restype = ctypes.c_char_p
    assert b"DYNAMIC_ARCH" in config(), config()
print(strata.configuration())
PYTHON
