# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Sparse matrices of CuPy and PyTorch on the device: here look-alikes in host memory, in StrataTest_Device.py the packages themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
import strata
from strata import _arrays

if strata._core.device()[0] != 1:
    pytest.skip("arrays of a real device: StrataTest_Device.py", allow_module_level=True)


def laplacian(points: int) -> Any:
    one = scipy.sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(points, points))
    return scipy.sparse.kronsum(one, one).tocsr()


class OnDevice:
    """An array of the device as another package has it: by DLPack alone."""

    def __init__(self, numbers: Any) -> None:
        self.numbers, self.dtype, self.shape = numbers, numbers.dtype, numbers.shape

    def __len__(self) -> int:
        return len(self.numbers)

    def __dlpack_device__(self) -> Any:
        return self.numbers.__dlpack_device__()

    def __dlpack__(self, stream: Any = None, max_version: Any = None) -> Any:
        assert stream is not None
        return self.numbers.__dlpack__(max_version=max_version)

    def astype(self, dtype: str) -> OnDevice:
        return OnDevice(self.numbers.astype(dtype))


class CupysCsr:
    """A matrix as CuPy's."""

    def __init__(self, A: scipy.sparse.csr_array) -> None:
        self.shape, self.dtype = A.shape, A.dtype
        self.indptr, self.indices, self.data = OnDevice(A.indptr), OnDevice(A.indices), OnDevice(A.data)

    def tocsr(self) -> CupysCsr:
        return self


class TorchsCsr:
    """A tensor as PyTorch's."""

    def __init__(self, A: scipy.sparse.csr_array, layout: str = "torch.sparse_csr") -> None:
        self.shape, self.dtype, self.layout, self.A = A.shape, A.dtype, layout, A

    def crow_indices(self) -> OnDevice:
        return OnDevice(self.A.indptr.astype(np.int64))

    def col_indices(self) -> OnDevice:
        return OnDevice(self.A.indices.astype(np.int64))

    def values(self) -> TorchsCsr:
        return self

    def detach(self) -> OnDevice:
        return OnDevice(self.A.data)


@pytest.mark.parametrize("kind", [CupysCsr, TorchsCsr])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_on_the_device_are_taken_where_they_are(monkeypatch: pytest.MonkeyPatch, kind: Any, dtype: Any) -> None:
    monkeypatch.setattr(_arrays, "_HOST", ())
    A = scipy.sparse.csr_array(laplacian(20).astype(dtype))
    b = A @ np.ones(A.shape[0])
    solver = strata.sparse.Solver(kind(A))
    monkeypatch.undo()
    assert abs(solver.solve(b) - 1).max() < 1e-7
    np.testing.assert_array_equal(solver.solve(b), strata.sparse.Solver(A).solve(b))
    monkeypatch.setattr(_arrays, "_HOST", ())
    solver.update(kind(2 * A))
    M = strata.sparse.Preconditioner(kind(A), "jacobi")
    monkeypatch.undo()
    assert abs(solver.solve(b) - 0.5).max() < 1e-7
    np.testing.assert_allclose(M.apply(b), b / A.diagonal())


def test_wrong_rows_on_the_device_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_arrays, "_HOST", ())

    def wrong(field: str, place: int, value: float) -> CupysCsr:
        A = CupysCsr(scipy.sparse.csr_array(laplacian(5)))
        getattr(A, field).numbers[place] = value
        return A

    for A, error, words in (
        (wrong("indices", 7, 25), ValueError, r"row 2 has a column outside \[0, 25\)"),
        (wrong("indices", 0, -1), ValueError, r"row 0 has a column outside"),
        (wrong("data", 3, np.nan), ValueError, "row 1 has a value that is not finite"),
        (wrong("indptr", 2, 90), ValueError, "row 2 begins or ends outside the"),
        (wrong("indptr", 0, 1), ValueError, "the first of the row pointers is 1, must be 0"),
        (wrong("indptr", 25, 90), ValueError, "the last of the row pointers is 90, there are 105 values"),
    ):
        with pytest.raises(error, match=words):
            strata.sparse.Solver(A)
    long = CupysCsr(scipy.sparse.csr_array(laplacian(5)))
    long.shape = (24, 24)
    with pytest.raises(strata.ShapeError, match="A is 24 x 24 with 26 row pointers"):
        strata.sparse.Solver(long)
    mixed = CupysCsr(scipy.sparse.csr_array(laplacian(5)))
    mixed.indptr = mixed.indptr.astype("int64")
    with pytest.raises(ValueError, match="indptr and indices must both be of int32, or of int64"):
        strata.sparse.Solver(mixed)
    whole = CupysCsr(scipy.sparse.csr_array(laplacian(5)))
    whole.data = whole.data.astype("int32")
    with pytest.raises(TypeError, match="A is of int32, must be of float64"):
        strata.sparse.Solver(whole)
    with pytest.raises(TypeError, match=r"A\.to_sparse_csr\(\)"):
        strata.sparse.Solver(TorchsCsr(scipy.sparse.csr_array(laplacian(5)), "torch.sparse_coo"))
