# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Sparse systems: Krylov methods in fp64 with multigrid in low precision, chosen by the matrix."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _arrays, _core, _sparse_input
from ._arrays import AnyArray
from ._core import SparseAttempt, SparseLevel, SparseReport
from ._errors import NotConverged, ShapeError
from ._sparse_options import Kind, Method, Monitor, Norm, Options, Precision

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator
    from typing_extensions import Unpack

__all__ = ["Options", "PetscPreconditioner", "Preconditioner", "Solver", "SparseAttempt", "SparseLevel", "SparseReport", "SparseWarning", "solve"]

class SparseWarning(RuntimeWarning):
    """What a user should know of a sparse matrix or of x: rows that are empty, parts that nothing holds, no right digit."""


class Solver:
    """Solves with one sparse matrix: chooses method and preconditioner, sets up once, goes on to others where one does not do.

    Parameters
    ----------
    A : sparse matrix of SciPy, CuPy or PyTorch (CSR) of float64 or float32, (n, n)
        On the device that Strata works on it stays there; the host has counts alone.
        Its rows are copied, float32 without a copy in float64 before. CSR with sorted columns and 32 or 64-bit indices is copied once; other formats are converted first.
    solver : {"auto", "cg", "minres", "gmres", "fgmres", "bicgstab", "direct"}
        "auto": as is fastest, or does at last. "cg" and "minres" are for symmetric matrices, "direct" factors the matrix.
    preconditioner : {"auto", "none", "jacobi", "l1-jacobi", "chebyshev", "gs", "ic", "ilu", "amg", "direct"}
        "auto": what a forecast says is fastest, then the next: `last_solve.attempts` has each with its reason. "ic": of symmetric matrices.
    precision : {"fp32", "fp64", "bf16", "fp16"}
        Of the preconditioner's matrices, at first.
    tolerance : float
        Limit on |b - A x| / |b| in the 2-norm; where rows differ much in size also with rows in the units of x; in (0, 1).
    restart : int
        Basis vectors of GMRES; with the default all, of up to 300 unknowns.
    max_iterations : int
        Of all attempts together.
    block_size : int
        Unknowns of a node, one after the other, which multigrid keeps apart, or with modes aggregates together; divides n, up to 16. 0:
        found from the pattern.
    fill : int
        Level of fill of "ic" and "ilu".
    coordinates : array, (n_nodes, 2) or (n_nodes, 3), optional
        Places of the nodes, whose unknowns are displacements along the axes: multigrid knows the motions of a rigid body.
    near_null_space : array, (n,) or (n, k), optional
        Vectors that multigrid represents on all levels, up to 16. Of those that A maps to 0 `b` and x have no part.
    absolute_tolerance : float
        A residual |b - A x| that will do, too, in the 2-norm.
    stop : {"residual", "preconditioned", "energy"}
        What `tolerance` bounds. CG can also bound the residual in the preconditioner's norm, over the first residual's. Or it bounds an estimate of
        the error in A's norm, over the first error's.

    Raises
    ------
    ShapeError
        If A is not square, or its index arrays do not fit: with the row.
    TypeError
        If A is not a sparse matrix of float64 or float32.
    ValueError
        For options out of range, or an entry that is not finite, which it names. For CG with a matrix that is not symmetric, or a
        preconditioner that needs a diagonal without zeros.
    MemoryError
        With the bytes needed.

    References
    ----------
    Multigrid: P. Vanek, J. Mandel, M. Brezina, Computing 56 (1996), doi:10.1007/BF02238511. GMRES: E. Carson, N. Higham, SIAM J. Sci.
    Comput. 40 (2018), doi:10.1137/17M1140819. CG: G. Golub, Q. Ye, SIAM J. Sci. Comput. 21 (1999), doi:10.1137/S1064827597323415.
    FGMRES: Y. Saad, SIAM J. Sci. Comput. 14 (1993), doi:10.1137/0914028. MINRES: C. Paige, M. Saunders, SIAM J. Numer. Anal. 12 (1975),
    doi:10.1137/0712047. BiCGStab: H. van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992), doi:10.1137/0913035.

    Examples
    --------
    >>> import numpy, scipy.sparse, strata
    >>> A = scipy.sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(100, 100), format="csr")
    >>> solver = strata.sparse.Solver(A)
    >>> x = solver.solve(A @ numpy.ones(100))
    >>> bool(abs(x - 1).max() < 1e-7)
    True
    """

    def __init__(
        self,
        A: Any,
        *,
        solver: Method = "auto",
        preconditioner: Kind = "auto",
        precision: Precision = "fp32",
        tolerance: float = 1e-10,
        restart: int = 50,
        max_iterations: int = 10000,
        block_size: int = 0,
        fill: int = 0,
        coordinates: Any = None,
        near_null_space: Any = None,
        absolute_tolerance: float = 0.0,
        stop: Norm = "residual",
    ) -> None:
        self._options = _core.SparseOptions(
            solver, preconditioner, precision, tolerance, restart, max_iterations, block_size, fill, absolute_tolerance, stop
        )
        _sparse_input.set_modes(self._options, A, coordinates, near_null_space)
        self._last_solve: SparseReport | None = None
        self._core = _core.sparse_solver(*_sparse_input.given(A), self._options)
        _warn(self._core.set_up.matrix_remarks)

    def update(self, A: Any) -> None:
        """Take another matrix, or other values, with the same options.

        A may have the pattern of the matrix before, zeros left out. Then multigrid's aggregates and the patterns of its levels are kept,
        and values alone are made: `report.has_old_pattern` says so. On a GPU they are in memory from the first update
        on, so that the second is the first to be faster.

        Parameters
        ----------
        A : sparse matrix, (n, n), as for `Solver`

        Raises
        ------
        ShapeError, TypeError, ValueError, MemoryError
            As `Solver`, which is then as it was.
        """
        self._core = self._core.updated(*_sparse_input.given(A))
        _warn(self._core.set_up.matrix_remarks)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return self._core.rows, self._core.rows

    @property
    def report(self) -> SparseReport:
        """What is known before a solve: the choice, the levels, the rows."""
        return self._core.set_up

    @property
    def last_solve(self) -> SparseReport | None:
        """Of the last `solve` the report of its worst column; None before it."""
        return self._last_solve

    def __repr__(self) -> str:
        core = self._core
        report = core.set_up
        return f"<strata.sparse.Solver of order {core.rows}: {report.solver} with {report.preconditioner}>"

    def solve(self, b: AnyArray, x0: AnyArray | None = None, *, monitor: Monitor | None = None) -> AnyArray:
        """Solve A x = b.

        Parameters
        ----------
        b : array of float64, (n,) or (n, m)
            Several columns go through CG eight abreast, so that they read the matrix together, each with an end of its own; other methods
            take one after the other. On a GPU columns lie in Fortran order.
        x0 : array of float64, shape of `b`, optional
            A guess; 0 by default.
        monitor : callable, optional
            `monitor(iteration, relative_residual)` after each iteration, of columns that go abreast with the largest. What it raises
            ends the solve and is raised here.

        Returns
        -------
        array, shape of `b`
            x, in the package of `b`. It never has a larger residual than the guess. The matrix is singular where the rows of a connected part of its
            graph add up to 0: x has mean 0 there. For a symmetric matrix `b` is projected: `last_solve.incompatible` says by how much.

        Warns
        -----
        SparseWarning
            Of a right-hand side that the matrix has no solution for, and of an x that may have no right digit. `Solver` and `update`
            warn of matrices that are singular.

        Raises
        ------
        ShapeError
            If `b` or `x0` do not fit.
        ValueError
            If they hold a number that is not finite, in host memory.
        TypeError
            If they are not of float64, or on a GPU that this build has no backend for.
        NotConverged
            If a column reached neither the tolerance nor what rounding in fp64 allows; it has the best x and the report of the
            worst column.

        Notes
        -----
        Ctrl-C ends the wait at once, and the work at its next iteration.

        References
        ----------
        As `Solver`.
        """
        core = self._core  # an update in another thread takes another one
        result: AnyArray
        right, x, result = _columns(core.rows, b, x0)
        reports = core.solve(_arrays.given(right, lambda: core.stream), _arrays.given(x, lambda: core.stream), monitor)
        worst = max(reports, key=lambda report: (not report.solved, report.relative_residual), default=None)
        self._last_solve = worst
        _warn([] if worst is None else worst.solution_remarks)
        if worst is not None and not worst.solved:
            raise NotConverged(_failure(worst), result, worst)
        return result

    def as_preconditioner(self) -> LinearOperator:
        """The preconditioner that the solver has chosen, by itself: M^-1, for the Krylov methods of SciPy or others.

        Returns
        -------
        scipy.sparse.linalg.LinearOperator, (n, n)
            With the matrix of the solver, but levels of its own, which are made once. In several threads the two take turns. See
            `Preconditioner`.
        """
        return Preconditioner._of(self._core.preconditioner()).as_linear_operator()


class Preconditioner:
    """M^-1 of a sparse matrix, one fixed linear operator, for the Krylov methods of SciPy or others.

    Symmetric and positive definite where A is. Its matrices are in `precision`, its vectors in fp64.

    Parameters
    ----------
    A : sparse matrix, (n, n), as for `Solver`
        As for `Solver`.
    kind : {"amg", "ic", "ilu", "gs", "chebyshev", "l1-jacobi", "jacobi", "direct", "none"}
        A cycle of multigrid, incomplete factors, a symmetric Gauss-Seidel sweep, polynomials, the diagonal, factors, the identity.
    precision : {"fp32", "fp64", "bf16", "fp16"}
    block_size, fill : int, as for `Solver`

    Raises
    ------
    ShapeError, TypeError, ValueError, MemoryError
        As `Solver`.

    References
    ----------
    "ic": J. Meijerink, H. van der Vorst, Math. Comp. 31 (1977), doi:10.2307/2006423. "direct": P. Amestoy, T. Davis, I. Duff, SIAM J.
    Matrix Anal. Appl. 17 (1996), doi:10.1137/S0895479894278952.
    "amg": P. Vanek, J. Mandel, M. Brezina, Computing 56 (1996), doi:10.1007/BF02238511; its sweeps: A. Baker, R. Falgout, T. Kolev,
    U. M. Yang, SIAM J. Sci. Comput. 33 (2011), doi:10.1137/100798806. "gs": rows by colours, M. Jones, P. Plassmann, SIAM J. Sci.
    Comput. 14 (1993), doi:10.1137/0914041.
    """

    def __init__(self, A: Any, kind: Kind = "amg", *, precision: Precision = "fp32", block_size: int = 0, fill: int = 0) -> None:
        options = _core.SparseOptions("auto", kind, precision, 1e-10, 50, 10000, block_size, fill)
        self._core = _core.sparse_preconditioner(*_sparse_input.given(A), options)

    @classmethod
    def _of(cls, core: _core.SparsePreconditioner) -> Preconditioner:
        made = cls.__new__(cls)
        made._core = core
        return made

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return self._core.rows, self._core.rows

    def apply(self, r: AnyArray) -> AnyArray:
        """M^-1 r.

        Parameters
        ----------
        r : array of float64, (n,) or (n, m)

        Returns
        -------
        array, shape of `r`

        Raises
        ------
        ShapeError, TypeError
            If `r` does not fit.

        References
        ----------
        As `Preconditioner`.
        """
        result: AnyArray
        right, z, result = _columns(self._core.rows, r, None)
        self._core.apply(_arrays.given(right, self._stream), _arrays.given(z, self._stream))
        return result

    def _stream(self) -> int:
        return self._core.stream

    def as_linear_operator(self) -> LinearOperator:
        """For SciPy: `scipy.sparse.linalg.cg(A, b, M=M.as_linear_operator())`.

        Returns
        -------
        scipy.sparse.linalg.LinearOperator, (n, n)
        """
        from scipy.sparse.linalg import LinearOperator

        return LinearOperator(self.shape, matvec=self.apply, matmat=self.apply, dtype=np.float64)


class PetscPreconditioner:
    """A `Preconditioner` as the context of a PC of PETSc's type "python", through petsc4py; on one process.

    In a program `pc.setType("python"); pc.setPythonContext(strata.sparse.PetscPreconditioner("gs"))`, or by PETSc's options
    `-pc_type python -pc_python_type strata.sparse.PetscPreconditioner`.

    Parameters
    ----------
    kind, precision
        As for `Preconditioner`.
    block_size : int, optional
        As for `Solver`; by default the block size of PETSc's matrix.

    Notes
    -----
    PETSc has it set up again when the matrix has changed. Its matrix is of real numbers in fp64 and of a type that has rows, and the
    one from which preconditioners are made, `P` of `ksp.setOperators(A, P)`.

    References
    ----------
    As `Preconditioner`.
    """

    def __init__(self, kind: Kind = "amg", *, precision: Precision = "fp32", block_size: int | None = None) -> None:
        self._kind, self._precision, self._block_size = kind, precision, block_size
        self._M: Preconditioner | None = None

    def setUp(self, pc: Any) -> None:
        """Take the matrix from which the preconditioner is made; PETSc calls it.

        Raises
        ------
        ValueError
            On more than one process.
        ShapeError, TypeError, ValueError, MemoryError
            As `Preconditioner`.
        """
        from scipy.sparse import csr_matrix

        _, P = pc.getOperators()
        processes = P.getComm().getSize()
        if processes != 1:
            raise ValueError(f"the matrix is spread over {processes} processes, must be on one")
        indptr, indices, data = P.getValuesCSR()
        A = csr_matrix((data, indices, indptr), shape=P.getSize())
        self._M = Preconditioner(A, self._kind, precision=self._precision, block_size=self._block_size or _blocks_of(P))

    def apply(self, pc: Any, x: Any, y: Any) -> None:
        """y = M^-1 x, with the vectors' numbers where they are; PETSc calls it.

        References
        ----------
        As `Preconditioner`.
        """
        if self._M is None:
            self.setUp(pc)
        assert self._M is not None
        self._M._core.apply(x.getArray(readonly=1), y.getArray())


def solve(A: Any, b: AnyArray, x0: AnyArray | None = None, *, monitor: Monitor | None = None, **options: Unpack[Options]) -> AnyArray:
    """Solve A x = b for a sparse A: `Solver(A, **options).solve(b, x0, monitor=monitor)`.

    Parameters
    ----------
    A : sparse matrix, (n, n), as for `Solver`
    b : array of float64, (n,) or (n, m)
    x0 : array of float64, shape of `b`, optional
    monitor : callable, optional
        As for `Solver.solve`.
    **options
        As for `Solver`.

    Returns
    -------
    array, shape of `b`

    Raises
    ------
    ShapeError, TypeError, ValueError, MemoryError, NotConverged
        As `Solver` and `Solver.solve`.

    References
    ----------
    As `Solver`.
    """
    return Solver(A, **options).solve(b, x0, monitor=monitor)


def _blocks_of(P: Any) -> int:
    """Of PETSc's matrix; 0 where it says 1, as of all that it was told nothing of."""
    size = int(P.getBlockSize())
    return size if size > 1 else 0


def _columns(n: int, b: Any, x0: Any) -> tuple[_arrays.Operand, _arrays.Operand, Any]:
    """b as columns in one piece, and room for x with the guess in it, also in the package of b."""
    right = _arrays.as_operand("b", b)
    if right.shape[0] != n:
        raise ShapeError(f"b is {_arrays.size_of(right)}, must have {n} rows")
    if isinstance(right, _arrays.OnDevice):
        if x0 is not None and not _arrays.is_on_device(x0):
            raise TypeError("x0 is in host memory, must be on the GPU as b is")
        room = right.like("zeros_like") if x0 is None else _guess(x0, right.shape) + 0.0
        return right, _arrays.OnDevice("x0", room), room
    x = np.zeros(right.shape, order="F")
    if x0 is not None:
        x[...] = _arrays.as_float64("x0", _guess(x0, x.shape))
    return np.asfortranarray(right), x, _arrays.like(x, b)


def _guess(x0: Any, shape: tuple[int, ...]) -> Any:
    guess = x0 if hasattr(x0, "shape") else np.asarray(x0)
    if tuple(guess.shape) != shape:
        raise ShapeError(f"x0 is {_arrays.size_of(guess)}, must be {' x '.join(map(str, shape))}")
    return guess


def _warn(remarks: list[str]) -> None:
    """To the line that called the package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_back.f_globals.get("__name__") == __name__:
        level, frame = level + 1, frame.f_back
    for remark in remarks:
        warnings.warn(remark, SparseWarning, stacklevel=level + 1)


def _failure(report: SparseReport) -> str:
    text = f"{report.solver} with {report.preconditioner} ended as {report.status} after {report.iterations} iterations; "
    text += f"the relative residual is {report.relative_residual:.3g}"
    if report.contradicts_empty_row:
        return f"{text}; b is not 0 where a row of A is empty, so there is no solution"
    text = f"{text}; no higher precision was tried: {report.obstacle}" if report.obstacle else text
    return f"{text}; {report.advice}" if report.advice else text
