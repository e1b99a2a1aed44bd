# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""A dense factor beyond solves: whitening and sampling, the inverse, changes of the matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Union

import numpy as np

from . import _arrays
from ._arrays import AnyArray, AnyMatrix, Dlpack
from ._core import Factor as CoreFactor
from ._errors import ShapeError

Indices = Union[Dlpack, Sequence[int]]


class WithError(NamedTuple):
    """Numbers made of A^-1, and how far off they may be.

    Attributes
    ----------
    value : array or float
        The numbers.
    error : float
        Number (i, j) is off by this times the root of numbers (i, i) and (j, j) at most: of a diagonal it is the relative error.
        Infinite where A is too ill-conditioned for fp64.
    """

    value: Any
    error: float


class MoreThanSolves:
    """What `Factor` does beside solves. The factor must be one in fp64, or in int8x14 to int8x16, without shift."""

    _core: CoreFactor
    _A: Any
    _lower: bool

    def _stream(self) -> int:
        return self._core.stream

    def promote(self) -> None:
        """Factor A in fp64, unless the factor is as accurate. What is beyond solves needs it.

        Raises
        ------
        ValueError
            If the factor is of lower layers, and there is no ladder.
        NotPositiveDefinite, MemoryError
            As `cholesky`.

        References
        ----------
        As `cholesky`.
        """
        self._core.promote()

    def whiten(self, b: AnyArray, out: Any = None) -> AnyArray:
        """L^-1 b with A = L L^T: what has the covariance A becomes white.

        Parameters
        ----------
        b : array of float64, (n,) or (n, m)
            As for `solve`.
        out : array of float64, shape of `b`, optional
            Where the result goes; it may be `b`. By default a new array in the order and the package of `b`.

        Returns
        -------
        array, shape of `b`
            W b with W = L^-1, and W A W^T differs from I by `whitening_error` at most, in the 2-norm.

        Raises
        ------
        ShapeError, TypeError
            As `solve`.
        ValueError
            If the factor is of lower layers than fp64: `promote` makes another; if `b` holds a number that is not finite, or `out`
            overlaps A (unless a GPU has a copy of A).

        References
        ----------
        Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 2002, section 10.1.

        Examples
        --------
        >>> import numpy, strata
        >>> factor = strata.cholesky(numpy.array([[4.0, 2.0], [2.0, 10.0]]))
        >>> factor.whiten(numpy.array([2.0, 4.0]))
        array([1., 1.])
        """
        return self._half(self._core.whiten, "b", b, out)

    def whiten_transposed(self, b: AnyArray, out: Any = None) -> AnyArray:
        """L^-T b with A = L L^T: white noise gets the covariance A^-1.

        Parameters
        ----------
        b : array of float64, (n,) or (n, m)
        out : array of float64, shape of `b`, optional
            As for `whiten`.

        Returns
        -------
        array, shape of `b`
            As `whiten`, which raises the same.

        References
        ----------
        As `whiten`.
        """
        return self._half(self._core.whiten_transposed, "b", b, out)

    def sample(self, z: AnyArray, out: Any = None) -> AnyArray:
        """L z with A = L L^T: white noise gets the covariance A.

        Parameters
        ----------
        z : array of float64, (n,) or (n, m)
            Standard normal numbers, say.
        out : array of float64, shape of `z`, optional
            As for `whiten`.

        Returns
        -------
        array, shape of `z`
            Its covariance L L^T differs from A by n u sqrt(a_ii a_jj) at most in each entry, u = 2^-53.

        References
        ----------
        As `whiten`.

        Examples
        --------
        >>> import numpy, strata
        >>> factor = strata.cholesky(numpy.array([[4.0, 2.0], [2.0, 10.0]]))
        >>> factor.sample(numpy.array([1.0, 1.0]))
        array([2., 4.])
        """
        return self._half(self._core.sample, "z", z, out)

    def whitening_error(self) -> float:
        """A bound of W A W^T - I in the 2-norm, W = L^-1: of the order of the condition times 2^-53.

        Returns
        -------
        float
            Five times the norm that steps of the power method find. Infinite, or above 1, where A is too ill-conditioned for fp64.

        References
        ----------
        Kuczynski and Wozniakowski, SIAM J. Matrix Anal. Appl. 13 (1992), doi:10.1137/0613066.
        """
        return self._core.whitening_error()

    def inverse_diagonal(self) -> WithError:
        """The diagonal of A^-1, by a third of the flops of a dense inverse and half.

        Returns
        -------
        WithError
            An array of float64, (n,), and its relative error.

        References
        ----------
        As `inverse`.

        Examples
        --------
        >>> import numpy, strata
        >>> factor = strata.cholesky(numpy.array([[4.0, 2.0], [2.0, 3.0]]))
        >>> factor.inverse_diagonal().value
        array([0.375, 0.5  ])
        """
        x = np.empty(self._core.order)
        return WithError(x, self._core.inverse_diagonal(x))

    def inverse(self, out: Any = None, *, tolerance: float = 0.0, with_error: bool = True) -> WithError:
        """A^-1 as a whole. `solve` is faster and more accurate for what is multiplied by it.

        Parameters
        ----------
        out : array of float64, (n, n), optional
            Where it goes, in C or Fortran order, with any padding. By default a new array.
        tolerance : float
            An error that is small enough. Above 0 the inverse of an equilibrated matrix is made in fp32, on GPUs by fp16_split products. If its error is larger, or there is no memory for it, it is made in fp64.
        with_error : bool
            Measure the error of an inverse in fp64, for six solves with eight columns. Without, an error that is not known is NaN.

        Returns
        -------
        WithError
            The array, both triangles, and its error.

        References
        ----------
        Du Croz and Higham, IMA J. Numer. Anal. 12 (1992), doi:10.1093/imanum/12.1.1.
        """
        result = np.empty((self._core.order, self._core.order), order="F") if out is None else out
        room = _arrays.as_output_operand("out", result, (self._core.order, self._core.order))
        return WithError(result, self._core.inverse(_arrays.given(room, self._stream), float(tolerance), with_error))

    def inverse_entries(self, rows: Indices, cols: Indices) -> WithError:
        """Numbers of A^-1 at these places.

        Parameters
        ----------
        rows, cols : array of int, (k,)
            Number k is that in row rows[k] and column cols[k], from 0.

        Returns
        -------
        WithError
            An array of float64, (k,), and its error.

        Raises
        ------
        ShapeError, ValueError
            If they differ in size; for an index that is not in [0, n).

        References
        ----------
        As `inverse`.
        """
        i, j = _as_indices("rows", rows), _as_indices("cols", cols)
        if len(i) != len(j):
            raise ShapeError(f"rows has {len(i)} numbers, cols {len(j)}")
        x = np.empty(len(i))
        return WithError(x, self._core.inverse_entries(i, j, x))

    def quadratic_form(self, b: AnyMatrix, *, diagonal: bool = False) -> WithError:
        """b^T A^-1 b.

        Parameters
        ----------
        b : array of float64, (n,) or (n, k)
            As for `solve`.
        diagonal : bool
            The k numbers of each column with itself alone.

        Returns
        -------
        WithError
            A float for one vector, else an array of float64, (k, k) or (k,); and its error.

        References
        ----------
        As `whiten`.

        Examples
        --------
        >>> import numpy, strata
        >>> factor = strata.cholesky(numpy.array([[4.0, 2.0], [2.0, 3.0]]))
        >>> factor.quadratic_form(numpy.array([8.0, 8.0])).value
        24.0
        """
        right = _arrays.as_operand("b", b)
        k = right.shape[1] if right.ndim > 1 else 1
        q = np.empty(k) if diagonal or right.ndim == 1 else np.empty((k, k), order="F")
        error = self._core.quadratic_form(_arrays.given(right, self._stream), q)
        return WithError(float(q[0]) if right.ndim == 1 else q, error)

    def rank_update(self, V: AnyMatrix) -> None:
        """The factor of A + V V^T instead of A's, by O(n^2 k) flops.

        Parameters
        ----------
        V : array of float64, (n,) or (n, k)
            As `b` of `solve`.

        Raises
        ------
        ShapeError, TypeError, ValueError
            If V does not fit; as `whiten`, or if V V^T is out of range.

        Notes
        -----
        The first change copies A's lower triangle. From then on the factor has its own A, which `matrix` gives, and the caller's
        array is free.

        References
        ----------
        Gill, Golub, Murray and Saunders, Math. Comp. 28 (1974), doi:10.1090/S0025-5718-1974-0343558-6.

        Examples
        --------
        >>> import numpy, strata
        >>> factor = strata.cholesky(numpy.array([[4.0, 2.0], [2.0, 3.0]]))
        >>> factor.rank_update(numpy.array([1.0, 0.0]))
        >>> factor.matrix()
        array([[5., 2.],
               [2., 3.]])
        """
        self._change(self._core.rank_update, "V", V)

    def rank_downdate(self, V: AnyMatrix) -> None:
        """The factor of A - V V^T instead of A's, by O(n^2 k) flops.

        Parameters
        ----------
        V : array of float64, (n,) or (n, k)
            As `b` of `solve`.

        Raises
        ------
        NotPositiveDefinite
            If A - V V^T is not: with the order of its first leading minor that is not positive. The factor is what it was then.
        ShapeError, TypeError, ValueError
            As `rank_update`.

        Notes
        -----
        The error has the size of the old A's: digits are lost where little is left, which `whitening_error` measures.

        References
        ----------
        Stewart, J. Inst. Maths Applics 23 (1979), doi:10.1093/imamat/23.2.203.
        """
        self._change(self._core.rank_downdate, "V", V)

    def append(self, columns: AnyMatrix) -> None:
        """m rows and columns more, behind the last of A, by O(n^2 m) flops.

        Parameters
        ----------
        columns : array of float64, (n + 1,) or (n + m, m)
            The new columns of the larger matrix. Of their last m rows the lower triangle is read.

        Raises
        ------
        NotPositiveDefinite
            If the larger matrix is not: with the order of its first leading minor that is not positive. The factor is what it was then.
        ShapeError, TypeError, ValueError
            As `rank_update`.

        References
        ----------
        As `rank_update`.
        """
        self._change(self._core.append, "columns", columns)

    def remove(self, rows: Indices) -> None:
        """Without these rows and columns of A, by O(n^2 k) flops.

        Parameters
        ----------
        rows : array of int, (k,)
            From 0, in any order, each once.

        Raises
        ------
        ValueError
            For an index that is not in [0, n), or is there twice.

        References
        ----------
        As `rank_update`.
        """
        self._core.remove(_as_indices("rows", rows))
        self._is_own = True

    def matrix(self) -> _arrays.Array:
        """A, as it has become by `rank_update`, `rank_downdate`, `append` and `remove`, as a new array.

        Returns
        -------
        ndarray of float64, (n, n)
        """
        A = np.empty((self._core.order, self._core.order), order="F")
        self._core.matrix(A)
        lower = np.tril(A)
        return lower + np.tril(A, -1).T

    _is_own = False  # whether the factor has its own A

    def _half(self, work: Any, name: str, b: AnyArray, out: Any) -> AnyArray:
        right = _arrays.as_operand(name, b)
        n = self._core.order
        if right.shape[0] != n:
            raise ShapeError(f"{name} is {_arrays.size_of(right)}, must have {n} rows")
        x, result = _arrays.room_like(right, b) if out is None else (_arrays.as_output_operand("out", out, right.shape), out)
        work(_arrays.given(right, self._stream), _arrays.given(x, self._stream))
        return result  # type: ignore[no-any-return]

    def _change(self, work: Any, name: str, columns: Any) -> None:
        work(_arrays.given(_arrays.as_operand(name, columns), self._stream))
        self._is_own = True


def _as_indices(name: str, indices: Any) -> list[int]:
    found = _arrays.as_numpy(name, indices)
    if found.ndim != 1:
        raise ShapeError(f"{name} has {found.ndim} dimensions, must have 1")
    if found.size and found.dtype.kind not in "iu":
        raise TypeError(f"{name} is of {found.dtype}, must be of integers")
    return [int(index) for index in found]
