# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Matrices whose properties are known, and references in more than fp64."""

from __future__ import annotations

import numpy as np
import strata
from numpy.typing import NDArray

Array = NDArray[np.float64]
EPS = 2.0**-52
ON_GPU = bool({"Cuda", "HIP"} & set(strata.configuration().replace(",", "").split()))  # where a host's arrays are copied


def devices(most: int) -> int:
    """So many workers of a host, and so many GPUs if there are."""
    while ON_GPU and most > 1:
        try:
            strata.ooc.cholesky(np.eye(2), devices=most)
            break
        except ValueError:  # there is no such GPU
            most -= 1
    return most


def graded(n: int, condition: float, seed: int = 1) -> Array:
    """Eigenvalues from 1 down to 1 / condition in a geometric series, random eigenvectors."""
    random = np.random.default_rng(seed)
    q, _ = np.linalg.qr(random.standard_normal((n, n)))
    values = condition ** (-np.arange(n) / max(1, n - 1))
    a = (q * values) @ q.T
    return np.asarray((a + a.T) / 2)


def places(n: int, seed: int = 1) -> Array:
    """n distinct points of the unit square."""
    return np.random.default_rng(seed).random((n, 2))


def matern(n: int, nu: float = 0.5, seed: int = 1) -> Array:
    """Matern covariances of range 0.1 at random places, nu 1/2 or 3/2 (no factor sqrt(2 nu)), with a nugget of 1e-8."""
    at = places(n, seed)
    h = np.sqrt(((at[:, None, :] - at[None, :, :]) ** 2).sum(axis=2)) / 0.1
    c = np.exp(-h) if nu == 0.5 else (1 + h) * np.exp(-h)
    return np.asarray(c + 1e-8 * np.eye(n))


def tolerance(n: int) -> float:
    """What the library goes for, sqrt(n) 2^-52, and as much for the fp64 residual by which it judges."""
    return float(2 * np.sqrt(n) * EPS)


def backward_error(a: Array, x: Array, b: Array) -> float:
    """The worst column's, normwise; residuals in long double."""
    columns = x.reshape(len(x), -1), b.reshape(len(b), -1)
    wide, x2, b2 = (np.asarray(m, dtype=np.longdouble) for m in (a, *columns))
    r = np.abs(b2 - wide @ x2).max(axis=0)
    scale = np.abs(wide).sum(axis=1).max() * np.abs(x2).max(axis=0) + np.abs(b2).max(axis=0)
    return float((r / np.where(scale == 0, 1, scale)).max(initial=0))


def log_determinant(a: Array) -> float:
    """By Cholesky in long double, whose error of about condition times 2^-64 is not seen beside fp64's."""
    left = np.array(a, dtype=np.longdouble)
    total = np.longdouble(0)
    for k in range(len(left)):
        total += np.log(left[k, k])
        column = left[k + 1 :, k] / left[k, k]
        left[k + 1 :, k + 1 :] -= np.outer(column, left[k, k + 1 :])
    return float(total)
