# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Whether the triangle that is not read says the same."""

from __future__ import annotations

import numpy as np

from . import _arrays

_ROWS = 256  # compared at once
_TOLERANCE = 16 * 2.0**-52


def require_symmetric(operand: _arrays.Operand) -> None:
    """Compare both triangles up to rounding, where the matrix is.

    Raises
    ------
    ValueError
        Naming the first entry, by rows, that differs from its mirror image.
    """
    A = operand.array if isinstance(operand, _arrays.OnDevice) else operand
    n = A.shape[0]
    if A.shape[1] != n:
        return  # which is refused elsewhere
    size = abs(A.diagonal()) ** 0.5
    for begin in range(0, n, _ROWS):
        rows, mirrored = A[begin : begin + _ROWS], A[:, begin : begin + _ROWS].T
        scale = abs(rows) + abs(mirrored) + size[begin : begin + _ROWS, None] * size[None, :]
        with np.errstate(invalid="ignore"):  # infinity less itself
            differs = ~((rows == mirrored) | (abs(rows - mirrored) <= _TOLERANCE * scale))
        if bool(differs.any()):
            i, j = divmod(int((differs * 1).argmax()), n)
            i += begin
            raise ValueError(f"A is not symmetric: A[{i}, {j}] is {float(A[i, j])!r}, A[{j}, {i}] is {float(A[j, i])!r} (counted from 0)")
