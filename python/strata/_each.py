# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Many dense systems of different orders in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _core
from ._errors import ShapeError


def solve_each(matrices: Sequence[Any], right_hand_sides: Sequence[Any], *, lower: bool = True) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
    """Solve A x = b for each of many symmetric positive definite A, whose orders may differ, in one call.

    For many small systems: groups of a hierarchical model, neighbourhoods of kriging. They are factored in fp64, and neither scaled nor
    refined; an ill-conditioned or a large one is for `solve`. Several are done side by side.

    Parameters
    ----------
    matrices : sequence of arrays, (n, n) each
        Arrays of float64 are read where they are, others are copied. None is changed.
    right_hand_sides : sequence of arrays, (n,) or (n, m) each
    lower : bool
        Which triangle of each A is read.

    Returns
    -------
    list of arrays, array of float64
        The solutions, each of the shape of its right-hand side, and log det A of each system.

    Raises
    ------
    ShapeError
        Naming the system, from 0, whose arrays do not fit.
    NotPositiveDefinite
        Naming the first system that has no factor, or a NaN in its triangle. `minor` is the order of its leading minor.
    MemoryError

    References
    ----------
    As `cholesky`.

    Examples
    --------
    >>> import numpy, strata
    >>> x, logdet = strata.solve_each([[[2.0]], [[4.0, 0.0], [0.0, 5.0]]], [[6.0], [4.0, 10.0]])
    >>> x[0], x[1]
    (array([3.]), array([1., 2.]))
    """
    if len(matrices) != len(right_hand_sides):
        raise ShapeError(f"there are {len(matrices)} matrices and {len(right_hand_sides)} right-hand sides")
    taken, solutions = [], []
    for s, (matrix, right) in enumerate(zip(matrices, right_hand_sides)):
        A = np.asarray(_real(f"matrix {s}", matrix), dtype=np.float64)
        x = np.array(_real(f"right-hand side {s}", right), dtype=np.float64, order="F", copy=True)
        if A.ndim != 2 or A.shape[0] != A.shape[1]:
            raise ShapeError(f"system {s}, from 0: A is {_words(A)}, must be square")
        if x.ndim not in (1, 2) or x.shape[0] != A.shape[0]:
            raise ShapeError(f"system {s}, from 0: b is {_words(x)}, must have {A.shape[0]} rows")
        taken.append(A if A.flags.aligned and _core.has_lines(A) else np.array(A, order="F"))
        solutions.append(x)
    return solutions, np.asarray(_core.solve_each(taken, solutions, bool(lower)))


def _real(name: str, array: Any) -> NDArray[Any]:
    """Lists, too; no masked and no complex numbers."""
    found = _arrays.as_numpy(name, array if hasattr(array, "dtype") else np.asarray(array))
    if found.dtype.kind == "c":
        raise TypeError(_arrays.not_float64(name, found.dtype, array))
    return found


def _words(array: NDArray[np.float64]) -> str:
    return " x ".join(map(str, array.shape)) or "a number"
