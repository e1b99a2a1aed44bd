# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Dense systems in one call, and as SciPy's functions do it."""

from __future__ import annotations

from typing import Literal

from . import _arrays, _core, _symmetric
from ._arrays import AnyArray, AnyMatrix
from .dense import Factor, Jitter, Layers, cholesky
from .symmetric import symmetric_factor


def solve(
    A: AnyMatrix,
    b: AnyArray,
    layers: Layers = "auto",
    *,
    lower: bool = False,
    assume_a: Literal["pos", "positive definite", "sym", "symmetric"] = "pos",
    tolerance: float = 0.0,
    jitter: Jitter = None,
    check_symmetric: bool = False,
) -> AnyArray:
    """Solve A x = b for a symmetric A, positive definite or not, as scipy.linalg.solve does with assume_a="pos" and "sym".

    Parameters
    ----------
    A : array of float64, (n, n)
        Of which one triangle is read.
    b : array of float64, (n,) or (n, m)
    layers : str or sequence of str
        As for `cholesky`.
    lower : bool
        Which triangle.
    assume_a : {"pos", "positive definite", "sym", "symmetric"}
        "sym": A need not be definite; `symmetric_factor` is used.
    tolerance : float
        As for `Factor.solve`.
    jitter : "auto" or None
        As for `cholesky`; not for "sym".
    check_symmetric : bool
        As for `cholesky`.

    Returns
    -------
    array, shape of `b`
        x, to a normwise backward error of sqrt(n) 2^-52 by default.

    Raises
    ------
    ShapeError, TypeError, ValueError, MemoryError, NotPositiveDefinite, NotConverged
        As `cholesky` and `Factor.solve`.
    Singular
        As `symmetric_factor` and `SymmetricFactor.solve`.

    References
    ----------
    As `cholesky` and `Factor.solve`.
    """
    if assume_a in ("sym", "symmetric"):
        if jitter is not None:
            raise ValueError(f"jitter is {jitter!r}, must be None where assume_a is {assume_a!r}: A need not be positive definite")
        if check_symmetric:
            _symmetric.require_symmetric(_arrays.as_operand("A", A, (2,)))
        return symmetric_factor(A, layers, lower=lower).solve(b, tolerance=tolerance)
    if assume_a not in ("pos", "positive definite"):
        raise ValueError(f"assume_a is {assume_a!r}, must be 'pos' or 'sym': A has to be symmetric")
    return cholesky(A, layers, lower=lower, jitter=jitter, check_symmetric=check_symmetric).solve(b, tolerance=tolerance)


def logdet(A: AnyMatrix, layers: Layers = "auto", *, lower: bool = True, check_symmetric: bool = False) -> _core.LogDeterminant:
    """Log-determinant of a symmetric positive definite matrix, and how far off it may be.

    Parameters
    ----------
    A : array of float64, (n, n)
    layers : str or sequence of str
    lower : bool
    check_symmetric : bool
        As for `cholesky`.

    Returns
    -------
    LogDeterminant
        Its float() is the value.

    Raises
    ------
    ShapeError, TypeError, ValueError, MemoryError, NotPositiveDefinite
        As `cholesky`.

    References
    ----------
    As `Factor.logdet`.

    Examples
    --------
    >>> import numpy, strata
    >>> round(float(strata.logdet(numpy.array([[4.0, 2.0], [2.0, 3.0]]))), 6)
    2.079442
    """
    return cholesky(A, layers, lower=lower, check_symmetric=check_symmetric).logdet()


def cho_factor(a: AnyMatrix, lower: bool = False, layers: Layers = "auto") -> tuple[Factor, bool]:
    """As scipy.linalg.cho_factor: what `cho_solve` takes.

    Parameters
    ----------
    a : array of float64, (n, n)
        As for `cholesky`; it must not change as long as the factor is used.
    lower : bool
        Which triangle of `a` is read.
    layers : str or sequence of str
        As for `cholesky`.

    Returns
    -------
    (Factor, bool)
        The factor, where SciPy has an array, and `lower`.

    Raises
    ------
    NotPositiveDefinite
        A numpy.linalg.LinAlgError; and what `cholesky` raises.

    References
    ----------
    As `cholesky`.
    """
    return cholesky(a, layers, lower=lower), lower


def cho_solve(c_and_lower: tuple[Factor, bool], b: AnyArray) -> AnyArray:
    """As scipy.linalg.cho_solve, with what `cho_factor` has made; refined to fp64.

    Parameters
    ----------
    c_and_lower : (Factor, bool)
    b : array of float64, (n,) or (n, m)

    Returns
    -------
    array, shape of `b`

    Raises
    ------
    ShapeError, TypeError, ValueError, NotConverged
        As `Factor.solve`; TypeError for what `scipy.linalg.cho_factor` has made, too.

    References
    ----------
    As `Factor.solve`.
    """
    if isinstance(c_and_lower, Factor):
        raise TypeError("cho_solve takes the pair (c, lower) that strata.cho_factor has made, not a Factor alone, which has a method solve")
    factor, _ = c_and_lower
    if not isinstance(factor, Factor):
        raise TypeError(f"cho_solve takes what strata.cho_factor has made, not a {type(factor).__name__}")
    return factor.solve(b)
