# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Arrays as they come: orders, strides, read-only ones, other packages'."""

from __future__ import annotations

import ctypes
import sys
import tracemalloc
import types
import weakref
from typing import Any, Callable

import numpy as np
import problems
import pytest
import scipy.sparse
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
        assert without_copies(lambda: strata.is_positive_definite(matrix))
        b = right_hand_side(N)
        before = b.copy()
        # The residuals are those of the numbers that are there now, unless a GPU has a copy of them.
        read = matrix.copy() if problems.ON_GPU else matrix
        matrix *= 1 + 1e-6
        x = without_copies(lambda: factor.solve(b))
        assert problems.backward_error(np.array(read), x, b) <= TOLERANCE
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
        assert strata.is_positive_definite(matrix)
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
    """An array of a package of GPUs, as DLPack shows it; kDLCUDA by default."""

    def __init__(self, kind: int = 2) -> None:
        self.kind = kind

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, 7

    def __dlpack__(self, **options: Any) -> object:
        raise AssertionError("not asked for")


@pytest.mark.parametrize("kind", [2, 10, 13])  # CUDA's, ROCm's, CUDA's managed
def test_refuses_arrays_on_a_gpu_that_it_has_no_backend_for(kind: int) -> None:
    if strata._core.device()[0] != 1:
        pytest.skip("this Strata works on a GPU")
    array, factor, solver = OnAGpu(kind), strata.cholesky(np.eye(3)), strata.sparse.Solver(scipy.sparse.identity(3, format="csr"))
    text = rf"is on a GPU \(DLPack device {kind}\), for which this build of Strata has no backend: copy it to host memory"
    calls: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("A", lambda: strata.cholesky(array)),
        ("A", lambda: strata.is_positive_definite(array)),
        ("A", lambda: factor.refactor(array)),
        ("b", lambda: factor.solve(array)),
        ("out", lambda: factor.solve(np.ones(3), array)),
        ("b", lambda: solver.solve(array)),
    )
    for name, call in calls:
        with pytest.raises(TypeError, match=f"{name} {text}"):
            call()
    with pytest.raises(TypeError, match=rf"values is on a GPU \(DLPack device {kind}\), which is not for this function"):
        strata.geostat.loglikelihood(np.eye(3, 2), array, strata.geostat.Matern(1.0, 1.0), mean="none")


class There:
    """An array of a package that has its arrays on a device: here the host stands for it."""

    def __init__(self, a: Array) -> None:
        self.a, self.shape, self.dtype, self.streams = a, a.shape, f"there.{a.dtype}", list[int]()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, *, stream: int) -> Any:
        self.streams.append(stream)
        return self.a.__dlpack__()

    def __add__(self, number: float) -> There:
        return There(self.a + number)


def test_arrays_on_the_device_stay_there(monkeypatch: pytest.MonkeyPatch) -> None:
    if strata._core.device() != (1, 0):
        pytest.skip("this Strata works on a GPU")
    package = types.ModuleType("there")
    setattr(package, "empty_like", lambda b: There(np.empty_like(b.a)))
    setattr(package, "zeros_like", lambda b: There(np.zeros_like(b.a)))
    monkeypatch.setitem(sys.modules, "there", package)
    monkeypatch.setattr(There, "__module__", "there")
    monkeypatch.setattr(strata._arrays, "_HOST", (3, 11))
    a, b = problems.graded(N, 1e4), right_hand_side(N, 3)
    A = There(a)
    factor = strata.cholesky(A, "fp16,fp32")
    a *= 1 + 1e-6  # it is read where it is
    right = There(b)
    x = factor.solve(right)
    assert isinstance(x, There) and A.streams == right.streams == x.streams == [0]
    assert problems.backward_error(a, x.a, b) <= TOLERANCE
    assert strata.is_positive_definite(A) and A.streams == [0, 0]
    out = There(np.empty((N, 3)))
    assert factor.solve(right, out) is out
    np.testing.assert_array_equal(out.a, x.a)
    assert isinstance(factor.solve(b), np.ndarray)  # of the host, with a matrix on the device
    factor.refactor(There(2 * a))
    # Both solve to a backward error of TOLERANCE / 2, and so are off by at most 2 condition (TOLERANCE / 2) in the largest
    # number's unit: of small numbers nothing more is known.
    off = np.abs(factor.solve(right).a - x.a / 2).max(axis=0) / np.abs(x.a / 2).max(axis=0)
    assert (off <= 2 * np.linalg.cond(a, np.inf) * TOLERANCE).all(), off
    solver = strata.sparse.Solver(2.0 * scipy.sparse.identity(N, format="csr"))
    for guess in (None, There(np.ones(N))):
        y = solver.solve(There(b[:, 0].copy()), guess)
        assert isinstance(y, There)
        np.testing.assert_allclose(y.a, b[:, 0] / 2, rtol=1e-9)
    assert isinstance(strata.sparse.Preconditioner(scipy.sparse.identity(N, format="csr"), "none").apply(There(b[:, 0].copy())), There)
    single = There(b.astype("f4"))
    for call, error, text in (
        (lambda: factor.solve(single), TypeError, "b is of there.float32, must be of float64"),
        (lambda: factor.solve(There(b[1:])), strata.ShapeError, f"b is {N - 1} x 3, must have {N} rows"),
        (lambda: factor.solve(There(b[None])), strata.ShapeError, "b has 3 dimensions"),
        (lambda: factor.solve(right, There(b[:, :2])), strata.ShapeError, f"out is {N} x 2, must be {N} x 3"),
        (lambda: strata.cholesky(There(np.zeros((2 * N, 2 * N))[::2, ::2])), strata.ShapeError, "A has no axis along which numbers are neighbours"),
        (lambda: solver.solve(There(b[:, 0].copy()), b[:, 0]), TypeError, "x0 is in host memory, must be on the GPU as b is"),
        (lambda: solver.solve(right), strata.ShapeError, "contiguous columns"),
    ):
        with pytest.raises(error, match=text):
            call()
    monkeypatch.setattr(There, "__dlpack_device__", lambda self: (1, 3))
    with pytest.raises(TypeError, match="b is on GPU 3, Strata works on GPU 0: copy it there"):
        factor.solve(right)
    monkeypatch.undo()


class Versioned(There):
    """Of a package that has version 1 of DLPack, and with it arrays that must not be written, as JAX's."""

    def __dlpack__(self, *, stream: int, max_version: tuple[int, int] | None = None) -> Any:
        self.streams.append(stream)
        return self.a.__dlpack__(max_version=max_version)


since_dlpack_1 = pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="NumPy has no version 1 of DLPack")


@since_dlpack_1
def test_read_only_arrays_on_the_device_are_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    if strata._core.device() != (1, 0):
        pytest.skip("this Strata works on a GPU")
    monkeypatch.setattr(strata._arrays, "_HOST", (3, 11))
    a, b, out = problems.graded(N, 1e4), right_hand_side(N, 3), np.zeros((N, 3))
    for array in (a, b, out):
        array.flags.writeable = False
    factor, right = strata.cholesky(Versioned(a)), Versioned(b)
    with pytest.raises(ValueError, match="out is read-only"):
        factor.solve(right, Versioned(out))
    assert (out == 0).all()
    x = Versioned(np.zeros((N, 3)))
    assert factor.solve(right, x) is x and right.streams == [0, 0]
    assert problems.backward_error(a, x.a, b) <= TOLERANCE
    assert factor.solve(x, x) is x  # what can be written is


@since_dlpack_1
def test_capsules_are_let_go() -> None:
    uses: tuple[Callable[[Any], object], ...] = (lambda capsule: None, strata._core.has_lines)
    for use in uses:
        a = np.ones(3)
        alive = weakref.ref(a)
        a.flags.writeable = use is strata._core.has_lines
        capsule = a.__dlpack__(max_version=(1, 0))
        found, is_read_only = strata._core.unversioned(capsule)
        assert is_read_only != a.flags.writeable
        del a, capsule
        assert alive() is not None
        use(found)
        del found
        assert alive() is None
    plain = np.ones(3).__dlpack__()
    assert strata._core.unversioned(plain) == (plain, False)


@since_dlpack_1
def test_refuses_a_later_dlpack() -> None:
    capsule = np.ones(3).__dlpack__(max_version=(1, 0))
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    major = ctypes.c_uint32.from_address(pointer(capsule, b"dltensor_versioned"))
    major.value = 2
    with pytest.raises(BufferError, match=r"a capsule of DLPack 2.\d, must be of version 1"):
        strata._core.unversioned(capsule)
    major.value = 1


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
    x: Any = strata.solve(Foreign(a), Foreign(b))
    if where == "nowhere":
        assert isinstance(x, np.ndarray)
    else:
        assert isinstance(x, Foreign)
        x = x.a
    assert problems.backward_error(a, x, b) <= TOLERANCE


@pytest.mark.skipif(problems.ON_GPU, reason="a GPU has a copy of the matrix")
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
    read = a.copy() if problems.ON_GPU else a
    a *= 1 + 1e-6  # the tensor's memory is read, which is the array's
    x = factor.solve(torch.from_numpy(b))
    assert isinstance(x, torch.Tensor) and x.dtype == torch.float64
    assert problems.backward_error(read, x.numpy(), b) <= TOLERANCE
    out = torch.empty((N, 2), dtype=torch.float64)
    address = out.data_ptr()
    assert factor.solve(torch.from_numpy(b), out) is out and out.data_ptr() == address
    assert torch.equal(out, x)
    assert isinstance(factor.solve(b), np.ndarray)
    assert strata.is_positive_definite(torch.from_numpy(a)) and strata.is_positive_definite(torch.from_numpy(-a)).info == 1
    with pytest.raises(TypeError, match=r"b is of float32, must be of float64: b.double\(\) copies it"):
        factor.solve(torch.from_numpy(b).float())
    with pytest.raises(RuntimeError, match="requires grad"):
        factor.solve(torch.from_numpy(b).requires_grad_())
