# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""For GPyTorch: covariance matrices whose solves and log-determinants are Strata's. `import strata.gpytorch`.

An `ExactGP` trains and predicts with Strata's factor if its forward ends with

    covariance = strata.gpytorch.StrataOperator(self.covar_module(x))
    return gpytorch.distributions.MultivariateNormal(self.mean_module(x), covariance)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from linear_operator.operators import DenseLinearOperator, DiagLinearOperator, LinearOperator, to_linear_operator

from .torch import _Inverse, _LogDet, _Made, _Solve, _symmetric

__all__ = ["StrataOperator"]


class _Likelihood(torch.autograd.Function):  # type: ignore[misc]
    """r' A^-1 r for each column r of R, log det A, and A^-1 R."""

    @staticmethod
    def forward(A: Any, R: Any, made: _Made) -> Any:
        factor = made.factor(A)
        x = factor.solve(R.detach().contiguous())
        return (R * x).sum(0), A.new_tensor(factor.logdet().value), x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        A, _, ctx.made = inputs
        ctx.save_for_backward(A, output[2])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, by_quadratic: Any, by_logdet: Any, by_x: Any) -> Any:
        A, x = ctx.saved_tensors
        columns = torch.zeros_like(x) if by_quadratic is None else x * by_quadratic
        by_R = 2 * columns
        if not ctx.needs_input_grad[0]:
            return None, by_R if by_x is None else by_R + _Solve.apply(A, by_x, ctx.made), None
        by_A = torch.zeros_like(A) if by_logdet is None else _Inverse.apply(A, ctx.made)
        if torch.is_grad_enabled():  # for second derivatives
            by_A = (1 if by_logdet is None else by_logdet) * by_A - columns @ x.T
        else:  # which needs no second matrix
            by_A.mul_(1 if by_logdet is None else by_logdet).addmm_(columns, x.T, alpha=-1)
        if by_x is not None:
            more = _Solve.apply(A, by_x, ctx.made)
            by_A, by_R = by_A - _symmetric(more @ x.T), by_R + more
        return by_A, by_R, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, A: Any, R: Any, made: _Made) -> Any:
        As, Rs = (
            [each] * info.batch_size if dimension is None else each.movedim(dimension, 0) for each, dimension in zip((A, R), in_dims)
        )
        of = [made if in_dims[0] is None else made.item(number) for number in range(info.batch_size)]
        found = [_Likelihood.apply(*one) for one in zip(As, Rs, of)]
        return tuple(torch.stack(part) for part in zip(*found)), (0, 0, 0)


class StrataOperator(DenseLinearOperator):  # type: ignore[misc]
    """A symmetric positive definite matrix, held as a tensor, that is factored once.

    Parameters
    ----------
    matrix : tensor or LinearOperator of float64 or float32, (n, n)
        A kernel's result, say. It is evaluated. In float32 the factor is of a copy in float64.
    layers : str or sequence of str, default "fp64"
        As for `strata.cholesky`. With layers below fp64 solves are refined to fp64, and the log-determinant is an estimate; its
        gradient is not, as it makes the factor anew in fp64.
    gradient_tolerance : float, default 1e-3 on hosts, 0 on GPUs
        As `tolerance` of `strata.Factor.inverse`, for the inverse in the gradient of the log-determinant. Number (i, j) is off by this
        times the root of numbers (i, i) and (j, j) at most. The loss does not depend on it. 0: the inverse is in fp64, which on one
        H200 was the faster.

    Raises
    ------
    ShapeError, ValueError, MemoryError, NotPositiveDefinite
        As `strata.cholesky`, at the first solve or log-determinant. A batch of matrices is refused with a ValueError.

    Notes
    -----
    What a likelihood adds to the diagonal stays in this class. Sums with other matrices are no StrataOperator.
    """

    def __init__(self, matrix: Any, layers: str | Sequence[str] = "fp64", gradient_tolerance: float | None = None) -> None:
        tensor = matrix.to_dense() if isinstance(matrix, LinearOperator) else matrix
        if tensor.ndim != 2:
            raise ValueError(f"a StrataOperator is one matrix, not one of shape {tuple(tensor.shape)}")
        # DenseLinearOperator's own takes no options, which whatever is made of this one is to have.
        LinearOperator.__init__(self, tensor, layers=layers, gradient_tolerance=gradient_tolerance)
        self.tensor = tensor
        usual = 1e-3 if tensor.device.type == "cpu" else 0.0
        self._made = _Made({"layers": layers}, usual if gradient_tolerance is None else gradient_tolerance)

    def _check_args(self, tsr: Any, **_: Any) -> Any:
        return super()._check_args(tsr)

    def _wide(self) -> Any:
        return self.tensor.to(torch.float64)

    def _solved(self, sides: Any) -> Any:
        return _Solve.apply(self._wide(), sides.to(torch.float64), self._made)

    def inv_quad_logdet(self, inv_quad_rhs: Any = None, logdet: bool | None = False, reduce_inv_quad: bool | None = True) -> tuple[Any, Any]:
        """The sum of r' A^-1 r over the columns r of `inv_quad_rhs`, or with `reduce_inv_quad=False` each; and log det A."""
        none = torch.zeros([], dtype=self.dtype, device=self.device)
        if inv_quad_rhs is None:
            return none, _LogDet.apply(self._wide(), self._made).to(self.dtype) if logdet else none
        columns = inv_quad_rhs.reshape(len(inv_quad_rhs), -1).to(torch.float64)
        if logdet:
            each, determinant, _ = _Likelihood.apply(self._wide(), columns, self._made)
        else:
            each, determinant = (columns * self._solved(columns)).sum(0), none
        quadratic = each.sum() if reduce_inv_quad or inv_quad_rhs.ndim == 1 else each
        return quadratic.to(self.dtype), determinant.to(self.dtype)

    def inv_quad(self, inv_quad_rhs: Any, reduce_inv_quad: bool = True) -> Any:
        """The first of `inv_quad_logdet`."""
        return self.inv_quad_logdet(inv_quad_rhs, False, reduce_inv_quad)[0]

    def solve(self, right_tensor: Any, left_tensor: Any = None) -> Any:
        """A^-1 R, or L A^-1 R."""
        x = self._solved(right_tensor).to(self.dtype)
        return x if left_tensor is None else left_tensor @ x

    def __add__(self, other: Any) -> Any:
        if isinstance(other, DiagLinearOperator):
            return self.add_diagonal(other.diagonal())
        return super().__add__(other)

    def add_diagonal(self, diag: Any) -> Any:
        """A + D, D with this diagonal, or this number on its diagonal."""
        return StrataOperator(self.tensor + torch.diag_embed(torch.as_tensor(diag).expand(len(self.tensor))), **self._kwargs)

    def add_jitter(self, jitter_val: float = 1e-3) -> Any:
        """A + jitter_val I."""
        return self.add_diagonal(torch.tensor(jitter_val, dtype=self.dtype, device=self.device))

    def _getitem(self, row_index: Any, col_index: Any, *batch_indices: Any) -> Any:
        part = self.tensor[(*batch_indices, row_index, col_index)]
        is_square = part.ndim == 2 and part.shape[0] == part.shape[1]
        return StrataOperator(part, **self._kwargs) if is_square else to_linear_operator(part)
