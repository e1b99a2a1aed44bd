# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Sparse matrices of SciPy, and what is known of their unknowns, as the core takes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _arrays, _core
from ._errors import ShapeError


def set_modes(options: _core.SparseOptions, A: Any, coordinates: Any, near_null_space: Any) -> None:
    """Tell them of the unknowns of A. Raises ShapeError, ValueError."""
    if coordinates is not None and near_null_space is not None:
        raise ValueError("give coordinates or near_null_space, not both")
    if coordinates is None and near_null_space is None:
        return
    name = "near_null_space" if coordinates is None else "coordinates"
    values = np.asarray(near_null_space if coordinates is None else coordinates, dtype=np.float64)
    if values.ndim == 1 and coordinates is None:
        values = values[:, None]
    if values.ndim != 2:
        raise ShapeError(f"{name} is {_arrays.size_of(values)}, must have rows and columns")
    count, columns = values.shape
    unknowns = count if coordinates is None else count * columns
    if unknowns != A.shape[0]:
        raise ShapeError(f"{name} is {_arrays.size_of(values)}, for {unknowns} unknowns; A is of order {A.shape[0]}")
    set_modes = options.set_near_null_space if coordinates is None else options.set_coordinates
    set_modes(np.ascontiguousarray(values).ravel(), columns)


def rows(A: Any) -> tuple[Any, Any, Any]:
    """CSR's three arrays of a square sparse matrix, each entry once. Raises TypeError, ShapeError."""
    import scipy.sparse

    if not scipy.sparse.issparse(A):
        raise TypeError(f"A is a {type(A).__name__}, must be a sparse matrix or array of scipy.sparse")
    if A.dtype not in (np.float64, np.float32):
        raise TypeError(_arrays.not_float64("A", A.dtype, A))
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ShapeError(f"A is {_arrays.size_of(A)}, must be square")
    _check_indices(A)
    csr = A.tocsr()  # itself, if it is
    if not csr.has_canonical_format:
        csr = csr.copy() if csr is A else csr
        csr.sum_duplicates()
    return csr.indptr, csr.indices[: csr.nnz], csr.data[: csr.nnz]


def _check_indices(A: Any) -> None:
    """Before SciPy converts them, which trusts them. Raises ShapeError, and ValueError for entries of rows or columns."""
    if A.format in ("csr", "csc"):
        used = int(A.indptr[-1]) if len(A.indptr) == A.shape[0] + 1 and 0 <= A.indptr[-1] <= len(A.data) else len(A.data)
        _core.check_lines(A.indptr, A.indices[:used], A.data[:used], A.format == "csr")
    elif A.format == "bsr":
        blocks = min(len(A.indices), len(A.data))
        begin, end = A.indptr[:-1], A.indptr[1:]
        if len(begin) != A.shape[0] // A.blocksize[0]:
            raise ShapeError(f"A has {len(A.indptr)} block row pointers, which do not fit {A.shape[0]} rows in blocks of {A.blocksize[0]}")
        bad = np.flatnonzero((begin < 0) | (end < begin) | (end > blocks))
        if bad.size:
            i = bad[0]
            raise ShapeError(f"A: block row {i} is from {begin[i]} to {end[i]} of {blocks} blocks")
    elif A.format == "coo":
        if not len(A.row) == len(A.col) == len(A.data):
            raise ShapeError(f"A has {len(A.row)} rows, {len(A.col)} columns and {len(A.data)} values, which do not fit")
        for name, index in (("row", A.row), ("column", A.col)):
            bad = np.flatnonzero((index < 0) | (index >= A.shape[0]))
            if bad.size:
                raise ShapeError(f"A: entry {bad[0]} has the {name} {index[bad[0]]}, there are {A.shape[0]}")
