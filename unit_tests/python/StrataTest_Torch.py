# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""strata.torch: gradients beside differences of the functions themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import problems
import pytest
import strata
from strata import geostat

torch = pytest.importorskip("torch")
import strata.torch  # noqa: E402

N = 12


def symmetric(M: Any) -> Any:
    return (M + M.T) / 2


def matrix(condition: float = 1e2) -> Any:
    return torch.from_numpy(problems.graded(N, condition)).requires_grad_()


def right_hand_side(*shape: int) -> Any:
    return torch.from_numpy(np.random.default_rng(7).standard_normal(shape)).requires_grad_()


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("layers", ["fp64", "fp16,fp32"])
def test_solves_have_gradients(layers: str, lower: bool) -> None:
    A = matrix()
    for b in (right_hand_side(N), right_hand_side(N, 3)):
        assert torch.autograd.gradcheck(lambda M, c: strata.torch.solve(symmetric(M), c, layers, lower=lower), (A, b), rtol=1e-5, atol=1e-4)
    x = strata.torch.solve(A, right_hand_side(N))
    np.testing.assert_array_equal(x.detach().numpy(), strata.cholesky(A.detach()).solve(right_hand_side(N).detach()).numpy())
    (by,) = torch.autograd.grad(strata.torch.solve(A.detach(), b).sum(), b)
    torch.testing.assert_close(by, torch.linalg.solve(A.detach(), torch.ones_like(b)), rtol=1e-10, atol=1e-10)


def test_log_determinants_have_gradients() -> None:
    A = matrix()
    assert torch.autograd.gradcheck(lambda M: strata.torch.logdet(symmetric(M), "fp64"), (A,), rtol=1e-5, atol=1e-4)
    (by,) = torch.autograd.grad(strata.torch.logdet(A), A)
    torch.testing.assert_close(by, torch.linalg.inv(A.detach()), rtol=1e-9, atol=1e-9)


def test_solves_and_log_determinants_have_second_derivatives() -> None:
    A = matrix()
    assert torch.autograd.gradgradcheck(lambda M: strata.torch.logdet(symmetric(M)), (A,), rtol=1e-5, atol=1e-4)
    for b in (right_hand_side(N), right_hand_side(N, 2)):
        assert torch.autograd.gradgradcheck(lambda M, c: strata.torch.solve(symmetric(M), c), (A, b), rtol=1e-5, atol=1e-4)


def test_a_second_derivative_makes_no_second_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def counted(*given: Any, **options: Any) -> Any:
        made.append(1)
        return strata.cholesky(*given, **options)

    monkeypatch.setattr(strata.torch, "cholesky", counted)
    A = matrix()
    (first,) = torch.autograd.grad(strata.torch.logdet(A), A, create_graph=True)
    torch.autograd.grad(first.sum(), A)
    assert len(made) == 1


def negative_log_density(scale: Any, y: Any) -> Any:
    K = torch.exp(-((torch.arange(N, dtype=torch.float64)[:, None] - torch.arange(N)) ** 2) / scale) + torch.eye(N, dtype=torch.float64)
    return (y @ strata.torch.solve(K, y) + strata.torch.logdet(K)) / 2


def plain_negative_log_density(scale: Any, y: Any) -> Any:
    K = torch.exp(-((torch.arange(N, dtype=torch.float64)[:, None] - torch.arange(N)) ** 2) / scale) + torch.eye(N, dtype=torch.float64)
    return (y @ torch.linalg.solve(K, y) + torch.logdet(K)) / 2


def test_function_transforms_see_through() -> None:
    y = right_hand_side(N).detach()
    scale = torch.tensor(3.0, dtype=torch.float64)
    scales = torch.tensor([1.0, 2.0, 5.0], dtype=torch.float64)
    close = {"rtol": 1e-9, "atol": 1e-10}
    of, plain, grad = negative_log_density, plain_negative_log_density, torch.func.grad
    for function, expected in ((grad(of), grad(plain)), (grad(grad(of)), grad(grad(plain))), (grad(of, 1), grad(plain, 1))):
        torch.testing.assert_close(function(scale, y), expected(scale, y), **close)
    for function, expected in ((of, plain), (grad(of), grad(plain))):
        over = torch.func.vmap(function, (0, None))(scales, y)
        torch.testing.assert_close(over, torch.stack([expected(one, y) for one in scales]), **close)


def test_one_matrix_takes_a_batch_of_right_hand_sides_at_once() -> None:
    A, batch = matrix().detach(), right_hand_side(5, N, 2).detach()
    over = torch.func.vmap(lambda b: strata.torch.solve(A, b))(batch)
    torch.testing.assert_close(over, torch.linalg.solve(A, batch), rtol=1e-10, atol=1e-12)
    beside = torch.func.vmap(lambda b: strata.torch.solve(A, b), in_dims=2, out_dims=1)(right_hand_side(N, 2, 4).detach())
    torch.testing.assert_close(beside.movedim(1, 0), torch.linalg.solve(A, right_hand_side(N, 2, 4).detach().movedim(2, 0)), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("mean", ["none", "constant"])
@pytest.mark.parametrize("nu", [0.5, 0.8])
def test_log_likelihoods_have_gradients(nu: float, mean: Any) -> None:
    truth = geostat.Matern(1.5, 0.2, nu, 0.1)
    places = torch.from_numpy(problems.places(40))
    values = geostat.synthetic_field(truth, places)
    theta = torch.tensor([1.2, 0.3, nu, 0.05], dtype=torch.float64, requires_grad=True)

    def function(t: Any) -> Any:
        return strata.torch.loglikelihood(t, places, values, mean=mean)

    assert function(theta).item() == geostat.loglikelihood(places, values, geostat.Matern(*theta.tolist()), mean=mean).log_likelihood
    assert torch.autograd.gradcheck(function, (theta,), eps=1e-5, rtol=1e-6, atol=1e-5)
    # Through the logarithms, by which optimisers search, and with a factor.
    logs = theta.detach().log().requires_grad_()
    (3 * function(logs.exp())).backward()
    expected = geostat.loglikelihood_and_gradient(places, values, geostat.Matern(*theta.tolist()), mean=mean)[1].by * theta.detach().numpy()
    np.testing.assert_allclose(logs.grad.numpy(), 3 * expected, rtol=1e-10)


def test_refuses_what_has_no_gradient() -> None:
    places, values = torch.from_numpy(problems.places(5)), torch.ones(5, dtype=torch.float64)
    theta = torch.tensor([1.0, 0.3, 0.5, 0.1], dtype=torch.float64, requires_grad=True)
    for wrong in (theta[:3], theta.float()):
        with pytest.raises(ValueError, match="theta is .*, must be sigma2, range, nu and nugget in float64"):
            strata.torch.loglikelihood(wrong, places, values, mean="none")
    for at, y in ((places.clone().requires_grad_(), values), (places, values.clone().requires_grad_())):
        with pytest.raises(ValueError, match="there is one in theta alone"):
            strata.torch.loglikelihood(theta, at, y, mean="none")
    with pytest.raises(RuntimeError, match="loglikelihood has first derivatives alone"):
        strata.torch.loglikelihood(theta, places, values, mean="none").backward(create_graph=True)
    with pytest.raises(TypeError, match="theta is a list, must be a torch.Tensor"):
        strata.torch.loglikelihood(theta.tolist(), places, values, mean="none")
    with pytest.raises(TypeError, match="values is a ndarray, must be a torch.Tensor"):
        strata.torch.loglikelihood(theta, places, values.numpy(), mean="none")
    with pytest.raises(TypeError, match="A is a ndarray, must be a torch.Tensor"):
        strata.torch.logdet(np.eye(2))
    with pytest.raises(TypeError, match="b is a ndarray, must be a torch.Tensor"):
        strata.torch.solve(matrix(), np.ones(N))
    with pytest.raises(strata.NotPositiveDefinite):
        strata.torch.logdet(-torch.eye(3, dtype=torch.float64))


def test_a_matrix_that_was_changed_since_is_noticed() -> None:
    A = matrix()
    M = A * 1.0
    value = strata.torch.logdet(M)
    M += 1.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        value.backward()
