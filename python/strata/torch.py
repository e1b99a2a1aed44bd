# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""For PyTorch: log-likelihoods, log-determinants and solves for autograd. `import strata.torch`.

`logdet` and `solve` have derivatives of any order, and `torch.func.grad` and `vmap` take them; each further order costs solves with the same
factor. `loglikelihood` has first derivatives alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ._core import Covariance
from ._kriging import Factor, Metric, Storage
from ._trend import Mean, chosen_mean
from .dense import cholesky

__all__ = ["logdet", "loglikelihood", "solve"]


class _LogLikelihood(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, theta: Any, locations: Any, values: Any, mean: Mean, options: dict[str, Any]) -> Any:
        factor = Factor(locations.detach().cpu(), Covariance(*theta.tolist()), **options)
        ctx.factor, ctx.mean = factor, mean
        ctx.save_for_backward(theta, values)
        return theta.new_tensor(factor.loglikelihood(values.detach().cpu(), mean).log_likelihood)

    @staticmethod
    def backward(ctx: Any, by: Any) -> Any:
        _refuse_second_derivatives()
        theta, values = ctx.saved_tensors
        return by * theta.new_tensor(ctx.factor.gradient(values.detach().cpu(), ctx.mean).by), None, None, None, None


class _Made:
    """The factor of a matrix, made at its first use; of a batch, one for each of its matrices. An inverse has an error of `tolerance` at most."""

    def __init__(self, options: dict[str, Any], tolerance: float = 0.0) -> None:
        self.options, self.tolerance = options, tolerance
        self._factor: Any = None
        self._items: list[_Made] = []

    def factor(self, A: Any) -> Any:
        if self._factor is None:
            self._factor = cholesky(A.detach(), **self.options)
        return self._factor

    def item(self, number: int) -> _Made:
        while len(self._items) <= number:
            self._items.append(_Made(self.options, self.tolerance))
        return self._items[number]


class _LogDet(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(A: Any, made: _Made) -> Any:
        return A.new_tensor(made.factor(A).logdet().value)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        A, ctx.made = inputs
        ctx.save_for_backward(A)

    @staticmethod
    def backward(ctx: Any, by: Any) -> Any:
        (A,) = ctx.saved_tensors  # raises if it was changed since
        return by * _Inverse.apply(A, ctx.made), None

    @staticmethod
    def vmap(info: Any, in_dims: Any, A: Any, made: _Made) -> Any:
        each = A.movedim(in_dims[0], 0)
        return torch.stack([_LogDet.apply(one, made.item(number)) for number, one in enumerate(each)]), 0


class _Inverse(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(A: Any, made: _Made) -> Any:
        factor, X = made.factor(A), torch.empty(A.shape, dtype=A.dtype, device=A.device)
        factor.promote()
        factor.inverse(X, tolerance=made.tolerance, with_error=False)
        return X

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, by: Any) -> Any:
        (X,) = ctx.saved_tensors
        return -_symmetric(X @ by @ X), None

    @staticmethod
    def vmap(info: Any, in_dims: Any, A: Any, made: _Made) -> Any:
        each = A.movedim(in_dims[0], 0)
        return torch.stack([_Inverse.apply(one, made.item(number)) for number, one in enumerate(each)]), 0


class _Solve(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(A: Any, b: Any, made: _Made) -> Any:
        return made.factor(A).solve(b.detach().contiguous())

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        A, _, ctx.made = inputs
        ctx.save_for_backward(A, output)

    @staticmethod
    def backward(ctx: Any, by: Any) -> Any:
        A, x = ctx.saved_tensors
        by_b = _Solve.apply(A, by, ctx.made)
        if not ctx.needs_input_grad[0]:
            return None, by_b, None
        columns = len(x), -1
        return -_symmetric(by_b.reshape(columns) @ x.reshape(columns).T), by_b, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, A: Any, b: Any, made: _Made) -> Any:
        if in_dims[0] is None:  # one matrix: all right-hand sides at once
            columns = b.movedim(in_dims[1], -1)
            x = _Solve.apply(A, columns.reshape(len(A), -1), made)
            return x.reshape(columns.shape), columns.ndim - 1
        sides = [b] * info.batch_size if in_dims[1] is None else b.movedim(in_dims[1], 0)
        each = enumerate(zip(A.movedim(in_dims[0], 0), sides))
        return torch.stack([_Solve.apply(one, side, made.item(number)) for number, (one, side) in each]), 0


def loglikelihood(
    theta: Any,
    locations: Any,
    values: Any,
    *,
    mean: Mean | None = None,
    metric: Metric = "euclidean",
    accuracy: float = 0.0,
    tile_size: int = 0,
    devices: int = 1,
    budget_bytes: int = 0,
    storage: Storage = "automatic",
) -> Any:
    """The Gaussian log-likelihood, as `strata.geostat.loglikelihood`, with its exact gradient in the parameters.

    Parameters
    ----------
    theta : tensor of float64, (4,)
        sigma2, range, nu and nugget.
    locations : tensor of float64, (n, 2)
        Read on the host: from a GPU they are copied there, as values are.
    values : tensor of float64, (n,)
    mean, metric, accuracy, tile_size, devices, budget_bytes, storage
        As for `strata.geostat.loglikelihood`.

    Returns
    -------
    tensor of float64, ()

    Raises
    ------
    ValueError
        If theta is no such tensor, or locations or values ask for a gradient.
    ShapeError, TypeError, ValueError, MemoryError, NotPositiveDefinite
        As `strata.geostat.loglikelihood`.

    Notes
    -----
    The backward pass costs about two factorisations, with tiles below fp64 six and more. A log-determinant of tiles below fp64 is an estimate; the gradient is exact.

    References
    ----------
    As `strata.geostat.loglikelihood` and `strata.geostat.Factor.gradient`.
    """
    _require_tensors(theta=theta, locations=locations, values=values)
    if theta.shape != (4,) or theta.dtype != torch.float64:
        raise ValueError(f"theta is {tuple(theta.shape)} of {theta.dtype}, must be sigma2, range, nu and nugget in float64")
    if locations.requires_grad or values.requires_grad:
        raise ValueError("locations and values can't ask for a gradient: there is one in theta alone")
    how = {"metric": metric, "accuracy": accuracy, "tile_size": tile_size, "devices": devices, "budget_bytes": budget_bytes, "storage": storage}
    return _LogLikelihood.apply(theta, locations, values, chosen_mean(mean), how)


def logdet(A: Any, layers: str | Sequence[str] = "fp64", *, lower: bool = True) -> Any:
    """log det A of a symmetric positive definite matrix.

    Parameters
    ----------
    A : tensor of float64, (n, n)
        One triangle is read; the gradient, A^-1, counts A as symmetric, as in torch.linalg.cholesky.
    layers, lower
        As for `strata.cholesky`. With layers below fp64 the value is an estimate; the gradient is not, as it makes the factor anew in fp64.

    Returns
    -------
    tensor of float64, ()

    Raises
    ------
    ShapeError, TypeError, ValueError, MemoryError, NotPositiveDefinite
        As `strata.cholesky`; in the backward pass RuntimeError if A was changed since.

    References
    ----------
    As `strata.cholesky` and `strata.Factor.logdet`; the gradient: Giles, Collected matrix derivative results for forward and reverse
    mode algorithmic differentiation, 2008, doi:10.1007/978-3-540-68942-3_4.
    """
    _require_tensors(A=A)
    return _LogDet.apply(A, _Made({"layers": layers, "lower": lower}))


def solve(A: Any, b: Any, layers: str | Sequence[str] = "auto", *, lower: bool = True) -> Any:
    """x = A^-1 b of a symmetric positive definite matrix, refined to fp64; so is its gradient.

    Parameters
    ----------
    A : tensor of float64, (n, n)
        As for `logdet`.
    b : tensor of float64, (n,) or (n, m)
    layers, lower
        As for `strata.cholesky`.

    Returns
    -------
    tensor of float64, shape of `b`

    Raises
    ------
    ShapeError, TypeError, ValueError, MemoryError, NotPositiveDefinite, NotConverged
        As `strata.cholesky` and `strata.Factor.solve`; in the backward pass RuntimeError if A was changed since.

    References
    ----------
    As `strata.cholesky` and `strata.Factor.solve`; the gradient: Giles, Collected matrix derivative results for forward and reverse
    mode algorithmic differentiation, 2008, doi:10.1007/978-3-540-68942-3_4.
    """
    _require_tensors(A=A, b=b)
    return _Solve.apply(A, b, _Made({"layers": layers, "lower": lower}))


def _symmetric(G: Any) -> Any:
    return (G + G.T) / 2


def _require_tensors(**given: Any) -> None:
    for name, value in given.items():
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"{name} is a {type(value).__name__}, must be a torch.Tensor")


# Without this word they would be taken for 0.
def _refuse_second_derivatives() -> None:
    if torch.is_grad_enabled():
        raise RuntimeError("strata.torch.loglikelihood has first derivatives alone: not with create_graph=True")
