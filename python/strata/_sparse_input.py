# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Sparse matrices of SciPy, CuPy and PyTorch, and what is known of their unknowns, as the core takes them."""

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


def given(A: Any) -> tuple[Any, Any, Any, Any]:
    """A queue for arrays of the device, or None, and CSR's three arrays as the extension takes them. Raises TypeError, ShapeError."""
    csr = _torch_rows(A) if str(getattr(A, "layout", "")).startswith("torch.") else _other_rows(A)
    if csr is None or not _arrays.is_on_device(csr[2]):
        return (None, *rows(A if csr is None else _scipy_matrix(A, csr)))
    begin, column, value = csr
    if str(value.dtype).endswith("float32"):  # a copy on the device
        value = value.double() if hasattr(value, "double") else value.astype("float64")
    if len(A.shape) != 2 or A.shape[0] != A.shape[1] or tuple(begin.shape) != (A.shape[0] + 1,):
        raise ShapeError(f"A is {_arrays.size_of(A)} with {len(begin)} row pointers, must be square with one more than rows")
    whole = ("int64", "int32")
    arrays = (_arrays.OnDevice("A's row pointers", begin, types=whole), _arrays.OnDevice("A's columns", column, types=whole))
    queue = _core.Queue()
    return (queue, *(array.given_to(queue.stream) for array in (*arrays, _arrays.OnDevice("A", value))))


def _torch_rows(A: Any) -> tuple[Any, Any, Any]:
    if not str(A.layout).endswith("sparse_csr"):
        raise TypeError(f"A is a tensor in the layout {A.layout}: A.to_sparse_csr() has its rows")
    return A.crow_indices(), A.col_indices(), A.values().detach()


def _other_rows(A: Any) -> tuple[Any, Any, Any] | None:
    """Of CuPy's matrices, in whatever format, and others that look like them; None of SciPy's."""
    import scipy.sparse

    if scipy.sparse.issparse(A) or not hasattr(A, "tocsr"):
        return None
    csr = A.tocsr()
    return csr.indptr, csr.indices, csr.data


def _scipy_matrix(A: Any, csr: tuple[Any, Any, Any]) -> Any:
    """The matrix of three arrays in host memory."""
    import scipy.sparse

    begin, column, value = (_arrays.as_numpy("A", array) for array in csr)
    return scipy.sparse.csr_array((value, column, begin), shape=tuple(A.shape))


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
