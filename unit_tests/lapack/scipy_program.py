# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""A program that knows nothing of Strata: covariance systems by NumPy and SciPy; prints scaled residuals as JSON."""
import json

import numpy as np
import scipy.linalg

n = 700
places = np.linspace(0.0, 1.0, n)
A = np.exp(-np.abs(places[:, None] - places[None, :]) / 0.1) + 0.01 * np.eye(n)
B = np.cos(np.arange(3 * n, dtype=float)).reshape(n, 3)


def error(A, X, B, eps):
    norm = np.abs(A).sum(axis=1).max()
    return float(np.abs(B - A @ X).max() / (norm * np.abs(X).max() * n * eps))


L = np.linalg.cholesky(A)
upper = scipy.linalg.cho_factor(A)
lower = scipy.linalg.cho_factor(np.asfortranarray(A), lower=True)
single = scipy.linalg.cho_factor(A.astype(np.float32), lower=True)
posv = scipy.linalg.lapack.dposv(A, B, lower=1)
indefinite = A.copy()
indefinite[400, 400] = -1
try:
    scipy.linalg.cho_factor(indefinite)
    message = "no error"
except np.linalg.LinAlgError as failure:
    message = str(failure)
print(
    json.dumps(
        {
            "cholesky": float(np.abs(L @ L.T - A).max() / (np.abs(A).max() * n * np.finfo(float).eps)),
            "upper": error(A, scipy.linalg.cho_solve(upper, B), B, np.finfo(float).eps),
            "lower": error(A, scipy.linalg.cho_solve(lower, B), B, np.finfo(float).eps),
            "single": error(A, scipy.linalg.cho_solve(single, B.astype(np.float32)), B, np.finfo(np.float32).eps),
            "posv": error(A, posv[1], B, np.finfo(float).eps),
            "indefinite": message,
        }
    )
)
