# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Arrays as they come: orders, strides, read-only ones, other packages'."""

from __future__ import annotations

import sys
import tracemalloc
import types
from typing import Any, Callable

import numpy as np
import problems
import pytest
import strata
from problems import Array

N = 200
TOLERANCE = problems.tolerance(N)


def right_hand_side(*shape: int) -> Array:
    return np.random.default_rng(7).standard_normal(shape)


@pytest.mark.parametrize("order", ["C", "F"])
def test_reads_the_matrix_where_it_is(order: Any) -> None:
    a = np.asarray(problems.graded(N, 1e4), order=order)
    padded = np.zeros((N + 5, N + 3), order=order)
    padded[:N, :N] = a
    for matrix in (a, padded[:N, :N]):
        factor = without_copies(lambda: strata.cholesky(matrix, "fp16,fp32"))
        b = right_hand_side(N)
        before = b.copy()
        # The residuals are those of the numbers that are there now: there is no copy of them.
        matrix *= 1 + 1e-6
        x = without_copies(lambda: factor.solve(b))
        assert problems.backward_error(np.array(matrix), x, b) <= TOLERANCE
        np.testing.assert_array_equal(b, before)


def without_copies(call: Callable[[], Any]) -> Any:
    """What the call returns; NumPy, whose arrays tracemalloc sees, must not have made a matrix."""
    tracemalloc.start()
    try:
        result = call()
        assert tracemalloc.get_traced_memory()[1] < N * N
        return result
    finally:
        tracemalloc.stop()


def test_copies_what_has_no_lines() -> None:
    a = problems.graded(N, 1e4)
    wide = np.zeros((2 * N, 2 * N))
    wide[::2, ::2] = a
    shifted = np.zeros(N * N * 8 + 1, dtype=np.uint8)[1:].view(np.float64).reshape(N, N)
    shifted[...] = a
    b = right_hand_side(2 * N, 4)
    for matrix in (wide[::2, ::2], a[::-1, ::-1][::-1, ::-1], a[::-1, ::-1], shifted):
        for right in (b[::2, ::2], b[::2, 0], b[::-2, ::2], np.asfortranarray(b)[:N, ::3]):
            x = strata.solve(matrix, right)
            assert problems.backward_error(np.array(matrix, dtype=float), x, np.array(right, dtype=float)) <= TOLERANCE


def test_writes_in_the_order_of_b_or_where_it_is_told() -> None:
    a = problems.graded(N, 1e4)
    factor = strata.cholesky(a)
    b = right_hand_side(N, 3)
    expected = factor.solve(b)
    assert expected.flags.c_contiguous
    assert factor.solve(np.asfortranarray(b)).flags.f_contiguous
    padded = np.full((N, 5), 9.0)
    for out in (np.empty((N, 3)), np.empty((N, 3), order="F"), padded[:, 1:4]):
        assert factor.solve(b, out) is out
        np.testing.assert_array_equal(out, expected)
    assert (padded[:, [0, 4]] == 9.0).all()
    strided = np.zeros(3 * N)
    factor.solve(b[:, 1], strided[::3])
    assert problems.backward_error(a, strided[::3], b[:, 1]) <= TOLERANCE and (strided[1::3] == 0).all()
    in_place = b.copy()
    assert factor.solve(in_place, in_place) is in_place
    np.testing.assert_array_equal(in_place, expected)


def test_takes_read_only_arrays() -> None:
    a, b = problems.graded(N, 1e4), right_hand_side(N)
    a.flags.writeable = b.flags.writeable = False
    assert problems.backward_error(a, strata.solve(a, b), b) <= TOLERANCE
    with pytest.raises(ValueError, match="out is read-only"):
        strata.cholesky(a).solve(right_hand_side(N), b)


class OnAGpu:
    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self) -> object:
        raise AssertionError("not asked for")


def test_refuses_arrays_on_a_gpu() -> None:
    with pytest.raises(TypeError, match="b is on a GPU"):
        strata.cholesky(np.eye(3)).solve(OnAGpu())


class Foreign:
    """An array of a package that NumPy does not know."""

    def __init__(self, a: Array) -> None:
        self.a = a

    def __dlpack_device__(self) -> tuple[Any, int]:
        return self.a.__dlpack_device__()

    def __dlpack__(self, **options: Any) -> Any:
        return self.a.__dlpack__(**options)


@pytest.mark.parametrize("where", ["package", "package.dlpack", "nowhere"])
def test_results_are_of_the_package_of_b(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package = types.ModuleType("foreign")
    monkeypatch.setitem(sys.modules, "foreign", package)
    monkeypatch.setattr(Foreign, "__module__", "foreignlib.arrays")
    if where != "nowhere":
        holder = package if where == "package" else types.ModuleType("foreign.dlpack")
        setattr(package, "dlpack", holder)
        setattr(holder, "from_dlpack", Foreign)
    a, b = problems.graded(N, 1e4), right_hand_side(N)
    x = strata.solve(Foreign(a), Foreign(b))
    if where == "nowhere":
        assert isinstance(x, np.ndarray)
    else:
        assert isinstance(x, Foreign)
        x = x.a
    assert problems.backward_error(a, x, b) <= TOLERANCE


def test_refuses_an_out_that_overlaps_the_matrix() -> None:
    a = problems.graded(N, 1e4)
    factor = strata.cholesky(a)
    before = a.copy()
    with pytest.raises(ValueError, match="overlaps"):
        factor.solve(right_hand_side(N), a[0])
    np.testing.assert_array_equal(a, before)


def test_torch_tensors_in_and_out() -> None:
    torch = pytest.importorskip("torch")
    a, b = problems.graded(N, 1e4), right_hand_side(N, 2)
    factor = strata.cholesky(torch.from_numpy(a), "fp16,fp32")
    a *= 1 + 1e-6  # the tensor's memory is read, which is the array's
    x = factor.solve(torch.from_numpy(b))
    assert isinstance(x, torch.Tensor) and x.dtype == torch.float64
    assert problems.backward_error(a, x.numpy(), b) <= TOLERANCE
    out = torch.empty((N, 2), dtype=torch.float64)
    address = out.data_ptr()
    assert factor.solve(torch.from_numpy(b), out) is out and out.data_ptr() == address
    assert torch.equal(out, x)
    assert isinstance(factor.solve(b), np.ndarray)
    with pytest.raises(TypeError, match="float32"):
        factor.solve(torch.from_numpy(b).float())
    with pytest.raises(RuntimeError, match="requires grad"):
        factor.solve(torch.from_numpy(b).requires_grad_())
