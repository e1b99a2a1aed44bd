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
    A = matrix()
    for value in (strata.torch.loglikelihood(theta, places, values, mean="none"), strata.torch.logdet(A), strata.torch.solve(A, right_hand_side(N)).sum()):
        with pytest.raises(RuntimeError, match="first derivatives alone"):
            value.backward(create_graph=True)
    with pytest.raises(TypeError, match="theta is a list, must be a torch.Tensor"):
        strata.torch.loglikelihood(theta.tolist(), places, values, mean="none")
    with pytest.raises(TypeError, match="values is a ndarray, must be a torch.Tensor"):
        strata.torch.loglikelihood(theta, places, values.numpy(), mean="none")
    with pytest.raises(TypeError, match="A is a ndarray, must be a torch.Tensor"):
        strata.torch.logdet(np.eye(2))
    with pytest.raises(TypeError, match="b is a ndarray, must be a torch.Tensor"):
        strata.torch.solve(A, np.ones(N))
    with pytest.raises(strata.NotPositiveDefinite):
        strata.torch.logdet(-torch.eye(3, dtype=torch.float64))


def test_a_matrix_that_was_changed_since_is_noticed() -> None:
    A = matrix()
    M = A * 1.0
    value = strata.torch.logdet(M)
    M += 1.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        value.backward()
