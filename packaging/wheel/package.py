# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Use the package for Python: a dense solve, a log-determinant, a pickle, a fit and, where SciPy is, a sparse solve."""
import ctypes
import importlib.util
import pathlib
import pickle

import numpy
import strata
from strata import geostat

a = numpy.eye(300) + 1.0 / 300
b = numpy.ones(300)
x = strata.solve(a, b)
assert abs(a @ x - 1).max() < 1e-13
assert abs(float(strata.logdet(a)) - numpy.linalg.slogdet(a)[1]) < 1e-12
factor = strata.cholesky(a, "fp16,fp32")
assert (pickle.loads(pickle.dumps(factor)).solve(b) == factor.solve(b)).all()

places = numpy.random.default_rng(1).random((300, 2))
values = geostat.synthetic_field(geostat.Matern(1.0, 0.1, nugget=0.01), places)
assert numpy.isfinite(geostat.fit(places, values, fixed=["nu"]).likelihood.log_likelihood)

if importlib.util.find_spec("scipy") is not None:
    import scipy.sparse

    line = scipy.sparse.diags([-1.0, 2.5, -1.0], [-1, 0, 1], shape=(300, 300), format="csr")
    assert abs(line @ strata.sparse.solve(line, b) - 1).max() < 1e-8

for blas in pathlib.Path(strata.__file__).parents[1].glob("strata_solvers.libs/staopenblas*"):  # of a wheel: for every processor
    config = ctypes.CDLL(str(blas)).openblas_get_config
    config.restype = ctypes.c_char_p
    assert b"DYNAMIC_ARCH" in config(), config()
print(strata.configuration())
