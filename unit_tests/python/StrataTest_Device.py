# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of PyTorch, CuPy and JAX on the GPU that Strata was built for; skipped where there is none."""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np
import problems
import pytest
import scipy.sparse
import strata

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
if strata._core.device()[0] == 1:
    pytest.skip("this build of Strata works in host memory", allow_module_level=True)

N = 600
TOLERANCE = problems.tolerance(N)


class Package:
    """What the tests need of one: to the device and back, and where an array lies."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.module: Any = pytest.importorskip(name)
        if name == "jax":
            self.module.config.update("jax_enable_x64", True)
        try:
            self.there(np.ones(3))
        except Exception as error:
            pytest.skip(f"{name} has no GPU: {error}")

    def there(self, a: Any) -> Any:
        if self.name == "torch":
            return self.module.from_numpy(np.array(a)).cuda()
        if self.name == "cupy":
            return self.module.asarray(a)
        return self.module.device_put(a, self.module.devices("gpu")[0])

    def back(self, x: Any) -> Any:
        assert x.__dlpack_device__() == strata._core.device()
        return x.cpu().numpy() if self.name == "torch" else x.get() if self.name == "cupy" else np.asarray(x)

    def address(self, x: Any) -> int:
        return int(x.data_ptr() if self.name == "torch" else x.data.ptr if self.name == "cupy" else x.unsafe_buffer_pointer())


@pytest.fixture(params=["torch", "cupy", "jax"])
def package(request: pytest.FixtureRequest) -> Package:
    return Package(request.param)


def right_hand_side(*shape: int) -> Any:
    return np.random.default_rng(7).standard_normal(shape)


@pytest.mark.parametrize("layers", ["auto", "fp64", "fp16,fp32"])
def test_results_are_of_the_package_and_on_the_device(package: Package, layers: str) -> None:
    a = problems.graded(N, 1e4)
    factor = strata.cholesky(package.there(a), layers)
    for b in (right_hand_side(N), right_hand_side(N, 3)):
        x = factor.solve(package.there(b))
        assert type(x) is type(package.there(b)) and x.shape == b.shape
        assert problems.backward_error(a, package.back(x), b) <= TOLERANCE
        assert problems.backward_error(a, package.back(strata.solve(package.there(a), package.there(b), layers)), b) <= TOLERANCE
        assert problems.backward_error(a, factor.solve(b), b) <= TOLERANCE  # from the host and to it
        assert problems.backward_error(a, package.back(strata.cholesky(a, layers).solve(package.there(b))), b) <= TOLERANCE
    assert abs(factor.logdet().value - problems.log_determinant(a)) <= factor.logdet().error


def test_tells_whether_a_matrix_on_the_device_is_positive_definite(package: Package) -> None:
    a = problems.graded(N, 1e4)
    assert strata.is_positive_definite(package.there(a))
    a[400, 400] = -1
    for lower in (True, False):
        assert strata.is_positive_definite(package.there(a), lower=lower).info == 401


def test_the_matrix_and_the_result_stay_where_they_are(package: Package) -> None:
    if package.name == "jax":
        pytest.skip("its arrays do not change")
    a, b = problems.graded(N, 1e4), right_hand_side(N)
    A, right = package.there(a), package.there(b)
    factor = strata.cholesky(A, "fp16,fp32")
    A *= 1 + 1e-6  # the residuals are those of the numbers that are there now
    out = package.there(np.zeros(N))
    address = package.address(out)
    assert factor.solve(right, out) is out and package.address(out) == address
    assert problems.backward_error(a * (1 + 1e-6), package.back(out), b) <= TOLERANCE
    in_place = package.there(b)
    factor.solve(in_place, in_place)
    np.testing.assert_array_equal(package.back(in_place), package.back(out))
    with pytest.raises(ValueError, match="overlaps"):
        factor.solve(right, A[0])


def test_no_second_matrix_on_the_device() -> None:
    torch = Package("torch").module
    n = 12000  # where the workspaces of cuBLAS and cuSOLVER, which any factor has, are little
    A = torch.full((n, n), 1.0 / n, dtype=torch.float64, device="cuda")
    A.diagonal().add_(1.0)
    strata.cholesky(A, "fp16").solve(A[0].clone())  # what is allocated once and for all
    torch.cuda.synchronize()
    before = torch.cuda.mem_get_info()[0]
    factor = strata.cholesky(A, "fp16")
    factor.solve(A[0].clone())
    # The factor in fp16 and the solve's partial sums, n^2 / 100 numbers: not 8 n^2 bytes more for A.
    assert before - torch.cuda.mem_get_info()[0] < 6 * n * n


def test_waits_for_the_callers_stream() -> None:
    torch = Package("torch").module
    a, b = problems.graded(N, 1e2), right_hand_side(N)
    A, right = torch.zeros((N, N), dtype=torch.float64, device="cuda"), torch.zeros(N, dtype=torch.float64, device="cuda")
    filled, filled_right = torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()
    slow = torch.randn(6000, 6000, dtype=torch.float64, device="cuda")
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        for _ in range(4):
            slow = slow @ slow
        A.copy_(filled)
        factor = strata.cholesky(A)
        for _ in range(4):
            slow = slow @ slow
        right.copy_(filled_right)
        x = factor.solve(right)
        twice = x * 2  # enqueued at once behind what Strata did
    assert problems.backward_error(a, x.cpu().numpy(), b) <= TOLERANCE
    assert torch.equal(twice, 2 * x)


def test_sparse_systems(package: Package) -> None:
    one = scipy.sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(40, 40))
    A = scipy.sparse.kronsum(one, one).tocsr()
    b = right_hand_side(1600)
    solver = strata.sparse.Solver(A)
    for guess in (None, package.there(np.ones(1600))):
        x = package.back(solver.solve(package.there(b), guess))
        assert np.linalg.norm(A @ x - b) <= 1.001e-10 * np.linalg.norm(b)
    z = package.back(strata.sparse.Preconditioner(A, "amg").apply(package.there(b)))
    np.testing.assert_allclose(z, strata.sparse.Preconditioner(A, "amg").apply(b), rtol=1e-12, atol=1e-12 * abs(z).max())


def test_sparse_matrices_on_the_device() -> None:
    one = scipy.sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(40, 40))
    A = scipy.sparse.kronsum(one, one).tocsr()
    b = right_hand_side(1600)
    for name in ("torch", "cupy"):
        package = Package(name)
        if name == "torch":
            parts = [package.there(part) for part in (A.indptr, A.indices, A.data)]
            there = package.module.sparse_csr_tensor(*parts, size=A.shape)
        else:
            there = importlib.import_module("cupyx.scipy.sparse").csr_matrix(A)
        solver = strata.sparse.Solver(there)
        x = package.back(solver.solve(package.there(b)))
        assert np.linalg.norm(A @ x - b) <= 1.001e-10 * np.linalg.norm(b)
        np.testing.assert_array_equal(x, package.back(strata.sparse.Solver(A).solve(package.there(b))))
        solver.update(there * 2)
        assert np.linalg.norm(2 * (A @ package.back(solver.solve(package.there(b)))) - b) <= 1.001e-10 * np.linalg.norm(b)
        assert np.isfinite(package.back(strata.sparse.Preconditioner(there, "gs").apply(package.there(b)))).all()


def test_gradients_on_the_device() -> None:
    torch = Package("torch").module
    functions = importlib.import_module("strata.torch")
    A = torch.from_numpy(problems.graded(12, 1e2)).cuda().requires_grad_()
    b = torch.from_numpy(right_hand_side(12, 2)).cuda().requires_grad_()
    assert torch.autograd.gradcheck(lambda M, c: functions.solve((M + M.T) / 2, c), (A, b), rtol=1e-5, atol=1e-4)
    assert torch.autograd.gradcheck(lambda M: functions.logdet((M + M.T) / 2, "fp64"), (A,), rtol=1e-5, atol=1e-4)
    theta = torch.tensor([1.0, 0.2, 0.5, 0.1], dtype=torch.float64, device="cuda", requires_grad=True)
    places = torch.from_numpy(problems.places(50)).cuda()
    functions.loglikelihood(theta, places, places[:, 0].contiguous(), mean="none").backward()
    assert theta.grad.device == theta.device and torch.isfinite(theta.grad).all()


def test_refuses_what_it_can_not_use_there(package: Package) -> None:
    A, b = package.there(problems.graded(N, 1e2)), package.there(right_hand_side(N))
    factor = strata.cholesky(A)
    with pytest.raises(TypeError, match="b is of .*float32, must be of float64"):
        factor.solve(package.there(right_hand_side(N).astype("f4")))
    with pytest.raises(strata.ShapeError, match=f"b is {N - 1}, must have {N} rows"):
        factor.solve(b[1:])
    with pytest.raises(TypeError, match="values is on a GPU .*, which is not for this function"):
        strata.geostat.loglikelihood(problems.places(N), b, strata.geostat.Matern(1.0, 0.1), mean="none")
    if package.name == "torch" and package.module.cuda.device_count() > 1:
        with pytest.raises(TypeError, match="b is on GPU 1, Strata works on GPU 0: copy it there"):
            factor.solve(b.to("cuda:1"))
