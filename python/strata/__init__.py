# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Mixed-precision solvers in layers: dense, sparse, out of core, and Gaussian likelihoods.

>>> import numpy as np, strata
>>> t = np.arange(2000)
>>> A = 0.98 ** abs(t[:, None] - t)              # the covariance of a time series
>>> factor = strata.cholesky(A, "fp16x3,fp32")   # three layers of fp16, then fp32
>>> x = factor.solve(np.ones(2000))              # corrected to the accuracy of fp64
>>> factor.last_solve.backward_error < 1e-13
True

`strata.solve` solves once, `strata.sparse.solve` takes SciPy's sparse matrices, `strata.geostat.fit` fits a covariance to observations,
and `strata.ooc.cholesky` factors a matrix in tiles.

Arrays are of float64, from NumPy or any package that speaks DLPack, in host memory or on the GPU that Strata was built for. They are
used where they are, and results come back in the caller's package. The GIL is free while the library works, and Ctrl-C is heard then.
"""

from __future__ import annotations

import atexit
import os

from . import _core, geostat, ooc, sparse
from ._calls import cho_factor, cho_solve, logdet, solve
from ._core import (
    CholeskyAttempt,
    Condition,
    Definiteness,
    FactorReport,
    Inertia,
    LogDeterminant,
    SignedLogDeterminant,
    SolveReport,
    SymmetricAttempt,
    SymmetricReport,
    configuration,
)
from ._each import solve_each
from ._errors import AccuracyWarning, Error, IoError, NotConverged, NotPositiveDefinite, NotReady, ShapeError, Singular, VendorError
from ._more_than_solves import WithError
from .dense import Factor, cholesky, digits, forward_error, is_positive_definite
from .symmetric import SymmetricFactor, symmetric_factor

__version__ = _core.version

atexit.register(_core.end_work)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_core.forget_work)

__all__ = [
    "AccuracyWarning",
    "CholeskyAttempt",
    "Condition",
    "Definiteness",
    "Error",
    "Factor",
    "FactorReport",
    "Inertia",
    "IoError",
    "LogDeterminant",
    "NotConverged",
    "NotPositiveDefinite",
    "NotReady",
    "ShapeError",
    "SignedLogDeterminant",
    "Singular",
    "SolveReport",
    "SymmetricAttempt",
    "SymmetricFactor",
    "SymmetricReport",
    "VendorError",
    "WithError",
    "__version__",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "configuration",
    "digits",
    "forward_error",
    "geostat",
    "is_positive_definite",
    "logdet",
    "ooc",
    "solve",
    "solve_each",
    "sparse",
    "symmetric_factor",
]
