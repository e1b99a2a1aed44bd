# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Dense symmetric positive definite systems: Cholesky in layers of precision, refined to fp64."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Optional, Union

import numpy as np

from . import _arrays, _core, _symmetric
from ._arrays import AnyArray, AnyMatrix
from ._errors import NotConverged, ShapeError
from ._errors import warn as _warn
from ._more_than_solves import MoreThanSolves

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

Refinement = Literal["auto", "none", "classical", "cg", "gmres"]
Layers = Union[str, Sequence[str]]
Jitter = Optional[Literal["auto"]]


class Factor(MoreThanSolves):
    """A Cholesky factor of a symmetric positive definite matrix, which solves with it to fp64 accuracy.

    `cholesky` makes it. It keeps A, which must not change as long as the factor is used: residuals need it. `rank_update` and its like
    give the factor an A of its own.
    Several threads may use one factor; it works for one at a time, and `last_solve` is of the last of them.

    Examples
    --------
    >>> import numpy, strata
    >>> A = numpy.array([[4.0, 2.0], [2.0, 3.0]])
    >>> factor = strata.cholesky(A)
    >>> factor.solve(numpy.array([8.0, 8.0]))
    array([1., 2.])
    >>> round(factor.logdet().value, 6)
    2.079442
    """

    def __init__(self, core: _core.Factor, A: _arrays.Operand, lower: bool, options: dict[str, Any]) -> None:
        self._core = core
        self._A = A
        self._lower = lower
        self._options = options
        self._may_jitter = options["jitter"] == "auto"
        self._last_solve: _core.SolveReport | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return self._core.order, self._core.order

    @property
    def info(self) -> int:
        """0, or the order of the leading minor of A that turned out not to be positive."""
        return self._core.info

    @property
    def report(self) -> _core.FactorReport:
        """What was done to the matrix: layers, rung of the ladder, bytes, seconds."""
        return self._core.report

    @property
    def last_solve(self) -> _core.SolveReport | None:
        """Errors and iterations of the last `solve`; None before it."""
        return self._last_solve

    def __repr__(self) -> str:
        report = self.report
        return f"<strata.Factor of order {report.n}: {report.layers}, {report.rung}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """A and the options: a copy, and what is loaded from a pickle, factors A again."""
        if self._is_own:
            return _factored, (self.matrix(), True, self._options)
        A = self._A.array if isinstance(self._A, _arrays.OnDevice) else self._A
        return _factored, (A, self._lower, self._options)

    def refactor(self, A: AnyMatrix) -> None:
        """Factor another matrix of this order, in the memory that there is.

        Parameters
        ----------
        A : array of float64, (n, n)
            As for `cholesky`.

        Raises
        ------
        ShapeError, TypeError, ValueError, MemoryError, NotPositiveDefinite
            As `cholesky`. There is no factor then.
        """
        matrix = _arrays.as_operand("A", A, (2,))
        self._core.update(_arrays.given(matrix, self._stream), self._lower)
        self._A, self._is_own = matrix, False
        if self._may_jitter:
            _tell_jitter(self._core.jitter)

    def update(self, A: AnyMatrix) -> None:
        """The old name of `refactor`, which works until 0.4."""
        warnings.warn("update is now called refactor; the old name works until 0.4", DeprecationWarning, stacklevel=2)
        self.refactor(A)

    def solve(
        self,
        b: AnyArray,
        out: Any = None,
        *,
        refine: Refinement = "auto",
        tolerance: float = 0.0,
        max_iterations: int = 0,
        restart: int = 30,
    ) -> AnyArray:
        """Solve A x = b, refined in fp64 with the factor as preconditioner.

        Parameters
        ----------
        b : array of float64, (n,) or (n, m)
            In any order; it is copied only where no axis has neighbours in memory.
        out : array of float64, shape of `b`, optional
            Where x goes; it may be `b`. By default a new array in the order and the package of `b`.
        refine : {"auto", "none", "classical", "cg", "gmres"}
            The method of refinement; "none": one solve with the factor as it is.
        tolerance : float
            On the normwise backward error, max_j |r_j| / (|A| |x_j| + |b_j|) in the infinity norm; 0: sqrt(n) 2^-52.
        max_iterations : int
            Applications of the factor to a column; 0: 100 to 4000, by method.
        restart : int
            Of GMRES.

        Returns
        -------
        array, shape of `b`
            x. `last_solve` has its errors.

        Raises
        ------
        ShapeError
            If `b` or `out` do not fit.
        TypeError
            If they are not of float64, or on a GPU that this build has no backend for; if `out` gives NumPy a copy, as a list does.
        ValueError
            If `b` holds a number that is not finite, or `out` overlaps A (unless a GPU has a copy of A).
        NotPositiveDefinite
            If A turns out to be indefinite, by less than the layers could tell.
        NotConverged
            If no method reached the tolerance; it has the best x.

        Notes
        -----
        Ctrl-C ends the wait, not the work: that goes on in the background until its end, reads A and `b`, and writes `out`.

        References
        ----------
        CG: Golub and Ye, SIAM J. Sci. Comput. 21 (1999), doi:10.1137/S1064827597323415. GMRES: Carson and Higham, SIAM J. Sci. Comput.
        40 (2018), doi:10.1137/17M1140819; Saad, SIAM J. Sci. Comput. 14 (1993), doi:10.1137/0914028.
        """
        right = _arrays.as_operand("b", b)
        n = self._core.order
        if right.shape[0] != n:
            raise ShapeError(f"b is {_arrays.size_of(right)}, must have {n} rows")
        x, result = _arrays.room_like(right, b) if out is None else (_arrays.as_output_operand("out", out, right.shape), out)
        taken, given = _arrays.given(right, self._stream), _arrays.given(x, self._stream)
        report, error = self._core.solve(taken, given, refine, tolerance, max_iterations, restart)
        self._last_solve = report
        if error is not None:
            _warn(f"{int(digits(error))} digits of x are to be expected: A is ill-conditioned (error up to about {error:.0e})")
        if not report.converged and refine != "none":
            raise NotConverged(_failure(report), result, report)
        return result  # type: ignore[no-any-return]

    def logdet(self, *, probes: int = 16, steps: int = 30, seed: int = 1) -> _core.LogDeterminant:
        """Log-determinant of A, and how far off it may be.

        Exact to rounding where all layers are fp64 or n <= `probes`; else the factor's, with an estimate of what the
        layers' rounding did to it.

        Parameters
        ----------
        probes : int
            Random vectors, at least 2; the error falls with their square root.
        steps : int
            Of Lanczos at most.
        seed : int
            Of the probes.

        Returns
        -------
        LogDeterminant
            `value`, and `error`: they differ from the truth by more in one case of a thousand.

        References
        ----------
        Ubaru, Chen and Saad, SIAM J. Matrix Anal. Appl. 38 (2017), doi:10.1137/16M1104974.
        """
        return self._core.log_determinant(probes, steps, seed)

    def condition(self) -> _core.Condition:
        """Estimate the condition number of the equilibrated matrix in the 1-norm, by two or three solves of a few columns.

        Returns
        -------
        Condition
            `value`, seldom below a third of the true one.

        References
        ----------
        Higham and Tisseur, SIAM J. Matrix Anal. Appl. 21 (2000), doi:10.1137/S0895479899356080.
        """
        return self._core.condition()

    def lower_triangle(self) -> _arrays.Array:
        """L of A ~ L L^T as a new array in Fortran order, zero above its diagonal, with the roundings of its layers.

        Returns
        -------
        ndarray of float64, (n, n)
        """
        L = np.zeros(self.shape, order="F")
        self._core.copy(L)
        return L

    def as_linear_operator(self, *, refine: Refinement = "auto") -> LinearOperator:
        """x -> A^-1 x for SciPy.

        Parameters
        ----------
        refine : str
            As for `solve`; "none" is a cheap preconditioner for SciPy's Krylov methods.

        Returns
        -------
        scipy.sparse.linalg.LinearOperator, (n, n)
        """
        from scipy.sparse.linalg import LinearOperator

        def solve(b: _arrays.Array) -> Any:
            return self.solve(b, refine=refine)

        return LinearOperator(self.shape, matvec=solve, matmat=solve, rmatvec=solve, rmatmat=solve, dtype=np.float64)


def cholesky(
    A: AnyMatrix,
    layers: Layers = "auto",
    *,
    lower: bool = True,
    leaf_size: int = 0,
    shift: float = 0.0,
    equilibrate: bool = True,
    ladder: bool = True,
    jitter: Jitter = None,
    check_symmetric: bool = False,
) -> Factor:
    """Factor a symmetric positive definite matrix in layers of precision.

    Parameters
    ----------
    A : array of float64, (n, n)
        In C or Fortran order, with any padding: used where it is, neither copied nor changed. With other strides it is
        copied. NumPy's, or any package's that speaks DLPack, in host memory or on the GPU that Strata was built for. It must not
        change as long as the factor is used.
    layers : str or sequence of str
        Precisions of the off-diagonal blocks from the largest on, the last one for the diagonal leaves, too:
        "fp16,fp16,fp32" or ["fp16", "fp16", "fp32"]. "auto": by n and the machine; where fp64 is as fast, fp64.
    lower : bool
        Which triangle of A is read.
    leaf_size : int
        Columns of a diagonal leaf; 0: by the machine.
    shift : float
        The diagonal is multiplied by 1 + shift at first; in [0, 1].
    equilibrate : bool
        Factor D A D with powers of two D that bring the diagonal to about 1.
    ladder : bool
        On breakdown try shifts, higher layers and fp64.
    jitter : "auto" or None
        "auto": where A is not positive definite, factor a copy with a larger diagonal. The smallest power of ten of the mean diagonal is
        added with which the copy is (1e-2 at most). Solves are then with the copy; an `AccuracyWarning` tells, and `report.jitter`.
    check_symmetric : bool
        Compare the other triangle, too, which is not read otherwise: n^2 numbers.

    Returns
    -------
    Factor
        It can be pickled and copied: that keeps A, and factors it again.

    Raises
    ------
    ShapeError
        If A is not square.
    TypeError
        If A is not of float64, or on a GPU that this build has no backend for.
    ValueError
        If an option is out of range, or naming the first number of the triangle that is not finite; with `check_symmetric` naming the
        first entry that differs from its mirror image by more than rounding.
    NotPositiveDefinite
        With the order of the leading minor that is not positive: of A, found in fp64, if there is a ladder.
    MemoryError
        With the bytes needed.

    References
    ----------
    V. Carrica, R. Alomairy, E. Ringoot, A. Edelman, Hierarchical Precision and Recursion for Accelerating Symmetric Linear
    Solves on MXUs. Ladder and scaling: Higham and Pranesh, SIAM J. Sci. Comput. 43 (2021), doi:10.1137/19M1298263.
    """
    matrix = _arrays.as_operand("A", A, (2,))
    if check_symmetric:
        _symmetric.require_symmetric(matrix)
    queue, taken = _enqueued(matrix)
    text = _arrays.joined("layers", layers)
    lower = bool(lower)  # SciPy takes 0, 1 and NumPy's, too
    if jitter not in (None, "auto"):
        raise ValueError(f"jitter is {jitter!r}, must be 'auto' or None")
    found = _core.cholesky(queue, taken, lower, text, leaf_size, shift, equilibrate, ladder, jitter == "auto")
    if jitter == "auto":
        _tell_jitter(found.jitter)
    options = {"layers": text, "leaf_size": leaf_size, "shift": shift, "equilibrate": equilibrate, "ladder": ladder, "jitter": jitter}
    return Factor(found, matrix, lower, options)


def forward_error(solve: _core.SolveReport, condition: _core.Condition) -> float:
    """About how far off a solution may be, relative to its largest entries.

    Parameters
    ----------
    solve : SolveReport
        `Factor.last_solve`.
    condition : Condition
        `Factor.condition()`.

    Returns
    -------
    float
        The condition times the relative residual; at most 1, and 1 where the condition is not known.

    References
    ----------
    Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 2002, section 7.1.
    """
    return _core.forward_error(solve, condition)


def digits(forward_error: float) -> float:
    """The decimal digits that an error leaves, 0 to 16: those to expect in the largest entries of a solution.

    Parameters
    ----------
    forward_error : float
        As the function of that name has it.

    Returns
    -------
    float

    References
    ----------
    As `forward_error`.

    Examples
    --------
    >>> import numpy, strata
    >>> A = numpy.array([[4.0, 2.0], [2.0, 3.0]])
    >>> factor = strata.cholesky(A)
    >>> x = factor.solve(numpy.array([8.0, 8.0]))
    >>> strata.digits(strata.forward_error(factor.last_solve, factor.condition())) >= 14
    True
    """
    return _core.digits(forward_error)


def is_positive_definite(A: Any, *, lower: bool = True) -> _core.Definiteness:
    """Whether a symmetric matrix is positive definite, where its factor is not wanted.

    Parameters
    ----------
    A : array of float64, (n, n)
        As for `cholesky`; it is read during the call alone.
    lower : bool
        Which triangle of A is read.

    Returns
    -------
    Definiteness
        True, for `if` and `bool`, where A is positive definite. `info` is 0, or the order of the first leading minor that is
        not positive, or has a NaN or an infinity in its last row.

    Raises
    ------
    ShapeError
        If A is not square.
    TypeError
        If A is not of float64, or on a GPU that this build has no backend for.
    MemoryError
        With the bytes needed: about 4 n^2.

    Notes
    -----
    The answer of `cholesky` in fp64: n^3 / 3 flops where A is positive definite, else hardly more than LAPACK's potrf takes to
    that minor.
    Ctrl-C ends the wait, not the work, which reads A until its end.

    References
    ----------
    Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 2002, section 10.1.

    Examples
    --------
    >>> import numpy, strata
    >>> A = numpy.array([[1.0, 2.0], [2.0, 1.0]])
    >>> bool(strata.is_positive_definite(A))
    False
    >>> strata.is_positive_definite(A).info
    2
    """
    queue, taken = _enqueued(_arrays.as_operand("A", A, (2,)))
    return _core.is_positive_definite(queue, taken, bool(lower))


def _factored(A: Any, lower: bool, options: dict[str, Any]) -> Factor:
    return cholesky(A, lower=lower, **options)


def _enqueued(matrix: _arrays.Operand) -> tuple[_core.Queue | None, Any]:
    """Where work on a matrix of the device is done, and the matrix as the extension takes it there."""
    queue = _core.Queue() if isinstance(matrix, _arrays.OnDevice) else None
    return queue, _arrays.given(matrix, lambda: queue.stream if queue is not None else 0)


def _tell_jitter(jitter: float) -> None:
    if jitter > 0:
        _warn(f"A is not positive definite: its diagonal was made larger by {jitter:.0e} of its mean, and that matrix was factored")


def _failure(report: _core.SolveReport) -> str:
    text = f"the refinement did not converge in {report.iterations} iterations; the backward error is {report.backward_error:.3g}"
    return f"{text}; it was not factored again: {report.obstacle}" if report.obstacle else text
