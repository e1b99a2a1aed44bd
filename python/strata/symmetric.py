# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Dense symmetric systems that need not be definite: L D L^T in layers of precision, refined to fp64."""

from __future__ import annotations

from typing import Any, Literal

from . import _arrays, _core
from ._arrays import AnyArray, AnyMatrix
from ._errors import NotConverged, ShapeError, Singular
from ._errors import warn as _warn
from .dense import Layers, _enqueued

SymmetricRefinement = Literal["auto", "none", "classical", "gmres"]


class SymmetricFactor:
    """A factor of a symmetric matrix, definite or not, which solves with it to fp64 accuracy.

    `symmetric_factor` makes it. It keeps A, which must not change as long as the factor is used. Several threads may use one factor; it
    works for one at a time.

    Examples
    --------
    >>> import numpy, strata
    >>> A = numpy.array([[0.0, 1.0], [1.0, 0.0]])
    >>> factor = strata.symmetric_factor(A)
    >>> factor.solve(numpy.array([3.0, 5.0]))
    array([5., 3.])
    >>> factor.inertia().negative, factor.logdet().sign
    (1, -1)
    """

    def __init__(self, core: _core.SymmetricFactor, A: _arrays.Operand) -> None:
        self._core = core
        self._A = A
        self._last_solve: _core.SolveReport | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return self._core.order, self._core.order

    @property
    def report(self) -> _core.SymmetricReport:
        """What was done to the matrix: layers, rungs of the ladder, growth, seconds."""
        return self._core.report

    @property
    def last_solve(self) -> _core.SolveReport | None:
        """Errors and iterations of the last `solve`; None before it."""
        return self._last_solve

    def __repr__(self) -> str:
        report = self.report
        return f"<strata.SymmetricFactor of order {report.n}: {report.layers}, {report.rung}>"

    def _stream(self) -> int:
        return self._core.stream

    def solve(
        self,
        b: AnyArray,
        out: Any = None,
        *,
        refine: SymmetricRefinement = "auto",
        tolerance: float = 0.0,
        max_iterations: int = 0,
        restart: int = 30,
    ) -> AnyArray:
        """Solve A x = b, refined in fp64 with the factor as preconditioner.

        Where that does not converge the next rung is climbed: fp64 without pivoting, then fp64 with pivoting.

        Parameters
        ----------
        b : array of float64, (n,) or (n, m)
        out : array of float64, shape of `b`, optional
        refine : {"auto", "none", "classical", "gmres"}
            "auto" is GMRES.
        tolerance : float
        max_iterations : int
        restart : int
            As for `Factor.solve`.

        Returns
        -------
        array, shape of `b`
            x. `last_solve` has its errors. An `AccuracyWarning` tells where fewer than three digits are to be expected.

        Raises
        ------
        ShapeError, TypeError, ValueError
            As `Factor.solve`.
        Singular
            If A is so near to a singular matrix that no digit of x can be expected.
        NotConverged
            If no rung reached the tolerance; it has the best x.

        References
        ----------
        Carson and Higham, SIAM J. Sci. Comput. 40 (2018), doi:10.1137/17M1140819.
        """
        _require_regular(self._core)
        right = _arrays.as_operand("b", b)
        n = self._core.order
        if right.shape[0] != n:
            raise ShapeError(f"b is {_arrays.size_of(right)}, must have {n} rows")
        x, result = _arrays.room_like(right, b) if out is None else (_arrays.as_output_operand("out", out, right.shape), out)
        taken, given = _arrays.given(right, self._stream), _arrays.given(x, self._stream)
        report, error = self._core.solve(taken, given, refine, tolerance, max_iterations, restart)
        self._last_solve = report
        _require_regular(self._core)
        if error is not None:
            _warn(f"{int(_core.digits(error))} digits of x are to be expected: A is ill-conditioned (error up to about {error:.0e})")
        if not report.converged and refine != "none":
            text = f"the refinement did not converge in {report.iterations} iterations; the backward error is {report.backward_error:.3g}"
            raise NotConverged(text, result, report)
        return result  # type: ignore[no-any-return]

    def inertia(self) -> _core.Inertia:
        """Numbers of positive and negative eigenvalues, by the signs of the pivots.

        Returns
        -------
        Inertia
            `decided` is False, and the numbers are 0, where rounding may have changed a sign.

        References
        ----------
        Sylvester's law of inertia; the bound that decides: Dixon, SIAM J. Numer. Anal. 20 (1983), doi:10.1137/0720053.
        """
        _require_regular(self._core)
        return self._core.inertia()

    def logdet(self) -> _core.SignedLogDeterminant:
        """Sign of det A and log |det A|, as numpy.linalg.slogdet has them, with an error.

        Returns
        -------
        SignedLogDeterminant
            `sign` is 0 where rounding does not decide it.

        References
        ----------
        As `inertia`.
        """
        _require_regular(self._core)
        return self._core.log_determinant()

    def condition(self) -> _core.Condition:
        """Estimate the condition number of the scaled matrix in the 1-norm.

        Returns
        -------
        Condition

        References
        ----------
        Higham and Tisseur, SIAM J. Matrix Anal. Appl. 21 (2000), doi:10.1137/S0895479899356080.
        """
        _require_regular(self._core)
        return self._core.condition()


def symmetric_factor(A: AnyMatrix, layers: Layers = "auto", *, lower: bool = True, pivoted: bool = False) -> SymmetricFactor:
    """Factor a symmetric matrix, definite or not, in layers of precision.

    Parameters
    ----------
    A : array of float64, (n, n)
        As for `cholesky`. It must not change as long as the factor is used.
    layers : str or sequence of str
        Precisions of the products of the first rung, the last one for the rest: of fp32, tf32 and fp16_split, or fp64 alone. "auto":
        fp32, and below order 256 pivoting at once.
    lower : bool
        Which triangle of A is read.
    pivoted : bool
        Begin with the last rung, fp64 with pivoting.

    Returns
    -------
    SymmetricFactor

    Raises
    ------
    ShapeError, TypeError, ValueError, MemoryError
        As `cholesky`.
    Singular
        If a pivot is zero in fp64 with pivoting.

    References
    ----------
    Baboulin, Becker and Dongarra, IPDPS 2012, doi:10.1109/IPDPS.2012.12; Bunch and Kaufman, Math. Comp. 31 (1977).
    """
    matrix = _arrays.as_operand("A", A, (2,))
    queue, taken = _enqueued(matrix)
    found = _core.symmetric_factor(queue, taken, bool(lower), _arrays.joined("layers", layers), bool(pivoted))
    _require_regular(found)
    return SymmetricFactor(found, matrix)


def _require_regular(core: _core.SymmetricFactor) -> None:
    refusal = core.report.refusal
    if refusal:
        raise Singular(refusal)
