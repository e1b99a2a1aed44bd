# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Gradients by the parameters of scikit-learn's kernels, row by row, without an array of n x n x p numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import gamma, kv
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, Product, RationalQuadratic, Sum, WhiteKernel

from . import _arrays

NUMBERS = 1 << 17  # that a block of rows has, few enough for a cache
_STATIONARY = (RBF, Matern, RationalQuadratic)


def is_known(kernel: Any) -> bool:
    """Whether `contraction` has this kernel: sums and products of those with a counterpart here, no subclass of them."""
    if type(kernel) in (Sum, Product):
        return is_known(kernel.k1) and is_known(kernel.k2)
    return type(kernel) in (ConstantKernel, WhiteKernel, *_STATIONARY)


def contraction(kernel: Any, X: _arrays.Array, G: _arrays.Array) -> _arrays.Array:
    """The sum over i, j of G_ij dK_ij / dtheta_k, for each logarithm theta_k of the kernel's parameters; G is symmetric."""
    n, total = len(X), np.zeros(len(kernel.theta))
    width = max(16, NUMBERS // max(n, 1))
    for first in range(0, n, width):
        last = min(n, first + width)
        weight = G[first:last, :last].copy()
        weight[:, :first] *= 2  # and the entries above the diagonal
        total += _Rows(X, first, last).slopes(kernel, weight)
    return total


class _Rows:
    """Rows `first` to `last` of a kernel's matrix, up to column `last`."""

    def __init__(self, X: _arrays.Array, first: int, last: int) -> None:
        self._rows, self._columns, self._first = X[first:last], X[:last], first

    def value(self, kernel: Any) -> Any:
        kind = type(kernel)
        if kind is Sum:
            return self.value(kernel.k1) + self.value(kernel.k2)
        if kind is Product:
            return self.value(kernel.k1) * self.value(kernel.k2)
        if kind is ConstantKernel:
            return kernel.constant_value
        if kind is WhiteKernel:
            K = np.zeros((len(self._rows), len(self._columns)))
            self._diagonal(K)[:] = kernel.noise_level
            return K
        return _radial(kernel, self._squares(kernel))[0]

    def slopes(self, kernel: Any, weight: _arrays.Array) -> list[float]:
        """The sums of weight times the derivatives, as the chain rule has them."""
        kind = type(kernel)
        if kind is Sum:
            return self.slopes(kernel.k1, weight) + self.slopes(kernel.k2, weight)
        if kind is Product:
            return self.slopes(kernel.k1, weight * self.value(kernel.k2)) + self.slopes(kernel.k2, weight * self.value(kernel.k1))
        if kind is ConstantKernel:
            return [] if kernel.hyperparameter_constant_value.fixed else [kernel.constant_value * float(weight.sum())]
        if kind is WhiteKernel:
            return [] if kernel.hyperparameter_noise_level.fixed else [kernel.noise_level * float(self._diagonal(weight).sum())]
        return self._of_stationary(kernel, weight)

    def _of_stationary(self, kernel: Any, weight: _arrays.Array) -> list[float]:
        q = self._squares(kernel)
        _, slope, by_alpha = _radial(kernel, q)
        result = []
        if by_alpha is not None and not kernel.hyperparameter_alpha.fixed:
            result.append(float(np.vdot(weight, by_alpha)))
        if kernel.hyperparameter_length_scale.fixed:
            return result
        scales = np.atleast_1d(kernel.length_scale)
        slope *= weight
        if len(scales) == 1:
            return [*result, float(np.vdot(slope, q))]
        for k, scale in enumerate(scales):
            apart = (self._rows[:, k, None] - self._columns[None, :, k]) / scale
            result.append(float(np.einsum("ij,ij,ij->", slope, apart, apart)))
        return result

    def _squares(self, kernel: Any) -> _arrays.Array:
        q: _arrays.Array = cdist(self._rows / kernel.length_scale, self._columns / kernel.length_scale, "sqeuclidean")
        return q

    def _diagonal(self, K: _arrays.Array) -> _arrays.Array:
        of_both: _arrays.Array = np.einsum("ii->i", K[:, self._first :])
        return of_both


def _radial(kernel: Any, q: _arrays.Array) -> tuple[_arrays.Array, _arrays.Array, _arrays.Array | None]:
    """K, g with dK / dlog(length_k) = g q_k for the part q_k that coordinate k has of q, and the derivative by log(alpha)."""
    if type(kernel) is RationalQuadratic:
        alpha = kernel.alpha
        base = 1 + q / (2 * alpha)
        K = base**-alpha
        return K, K / base, K * (q / (2 * base) - alpha * np.log(base))
    nu = np.inf if type(kernel) is RBF else kernel.nu
    if nu == np.inf:
        K = np.exp(-q / 2)
        return K, K.copy(), None
    t = np.sqrt(2 * nu * q)
    if nu in (0.5, 1.5, 2.5):
        decay = np.exp(-t)
        if nu == 1.5:
            return (1 + t) * decay, 3 * decay, None
        if nu == 2.5:
            return (1 + t + t * t / 3) * decay, 5 / 3 * (1 + t) * decay, None
    # At a distance of 0 g is nothing's factor, whatever it is.
    there = q > 0
    t = np.where(there, t, 1.0)
    if nu == 0.5:
        return np.where(there, np.exp(-t), 1.0), np.where(there, np.exp(-t) / t, 0.0), None
    unit = 2 ** (1 - nu) / gamma(nu)
    slope = 2 * nu * unit * t ** (nu - 1) * kv(abs(nu - 1), t)
    return np.where(there, unit * t**nu * kv(nu, t), 1.0), np.where(there, slope, 0.0), None
