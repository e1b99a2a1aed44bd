#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""A dense system, its log-determinant and a fit of a covariance from Python.

PYTHONPATH=build/release/python python3 examples/15_from_python.py, or after `pip install .`
"""

import sys

import numpy as np
import strata
from strata import geostat

random = np.random.default_rng(1)
places = random.random((600, 2))
truth = geostat.Matern(sigma2=1.0, range=0.1, nu=0.5, nugget=0.01)
values = geostat.synthetic_field(truth, places)
known, held_back = slice(0, 500), slice(500, 600)

# The log-likelihood by a factor in layers of precision: any matrix of NumPy's does, and is used where it is.
S = geostat.covariance_matrix(truth, places[known])
factor = strata.cholesky(S, "fp16,fp16,fp32")
x = factor.solve(values[known])
log_det = factor.logdet()
by_hand = -(500 * np.log(2 * np.pi) + log_det.value + values[known] @ x) / 2
print(f"log-likelihood {by_hand:.6f} +- {log_det.error / 2:.1e}, backward error {factor.last_solve.backward_error:.1e}")

# The same by the module that never has the whole matrix, a fit, and predictions.
likelihood = geostat.loglikelihood(places[known], values[known], truth, mean="none")
if geostat.can_fit():
    found = geostat.fit(places[known], values[known], fixed=["nu"])
    print(f"{found.covariance}: log-likelihood {found.likelihood.log_likelihood:.6f}, {found.report.reason}")
there = geostat.predict(places[known], values[known], places[held_back], truth, mean="none")
misfit = np.mean((there.mean - values[held_back]) ** 2 / (there.variance + truth.nugget))
print(f"mean squared error over predicted variance: {misfit:.2f}")

if abs(by_hand - likelihood.log_likelihood) > log_det.error or not 0.6 < misfit < 1.6:
    sys.exit("the log-likelihoods or the predictions are wrong")
