# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""strata.gpytorch: an ExactGP that trains with Strata's factor, beside the same one without."""

from __future__ import annotations

from typing import Any

import numpy as np
import problems
import pytest
import strata

torch: Any = pytest.importorskip("torch")
gpytorch: Any = pytest.importorskip("gpytorch")
import strata.gpytorch  # noqa: E402

N = 60


class Model(gpytorch.models.ExactGP):  # type: ignore[misc]
    def __init__(self, x: Any, y: Any, likelihood: Any, ours: dict[str, Any] | None) -> None:
        super().__init__(x, y, likelihood)
        self.ours = ours
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=1.5))

    def forward(self, x: Any) -> Any:
        covariance = self.covar_module(x)
        if self.ours is not None:
            covariance = strata.gpytorch.StrataOperator(covariance, **self.ours)
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), covariance)


def trained(ours: dict[str, Any] | None, dtype: Any) -> tuple[float, Any]:
    """The loss after ten steps of Adam, and predictions."""
    x = torch.from_numpy(problems.places(N)).to(dtype)
    y = torch.sin(6 * x[:, 0]) * torch.cos(4 * x[:, 1]) + 0.1 * torch.cos(1000 * x[:, 0])
    likelihood = gpytorch.likelihoods.GaussianLikelihood().to(dtype)
    model = Model(x, y, likelihood, ours).to(dtype)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
    marginal = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    for _ in range(10):
        optimiser.zero_grad()
        loss = -marginal(model(x), y)
        loss.backward()
        optimiser.step()
    model.eval(), likelihood.eval()
    with torch.no_grad():
        there = likelihood(model(torch.from_numpy(problems.places(7, seed=3)).to(dtype)))
    return loss.item(), torch.stack([there.mean, there.variance])


WAYS = [(torch.float64, {}, 1e-7), (torch.float64, {"gradient_tolerance": 0.0}, 1e-10), (torch.float32, {}, 1e-4)]


@pytest.mark.parametrize(("dtype", "options", "close"), WAYS)
def test_an_exact_gp_trains_and_predicts_as_with_its_own_factor(
    dtype: Any, options: dict[str, Any], close: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs, predicted = trained(None, dtype)
    made = []

    def counted(*given: Any, **options: Any) -> Any:
        made.append(1)
        return strata.cholesky(*given, **options)

    monkeypatch.setattr(strata.torch, "cholesky", counted)
    ours, there = trained(options, dtype)
    assert len(made) >= 10  # a factor for each step is Strata's
    assert abs(ours - theirs) <= close
    torch.testing.assert_close(there, predicted, rtol=close, atol=close)


def covariance(n: int = N, nugget: float = 1e-2) -> Any:
    x = torch.from_numpy(problems.places(n))
    return torch.exp(-torch.cdist(x, x) / 0.3) + nugget * torch.eye(n, dtype=torch.float64)


def symmetric(M: Any) -> Any:
    return (M + M.T) / 2


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("layers", ["fp64", "fp16,fp32"])
def test_the_likelihood_has_derivatives(layers: str, columns: int) -> None:
    A = covariance(12).requires_grad_()
    R = torch.from_numpy(np.random.default_rng(7).standard_normal((12, columns))).requires_grad_()

    def terms(M: Any, r: Any, reduce: bool = True) -> Any:
        one = strata.gpytorch.StrataOperator(symmetric(M), layers, 0.0)
        return one.inv_quad_logdet(r, logdet=True, reduce_inv_quad=reduce)

    assert torch.autograd.gradcheck(lambda M, r: terms(M, r)[0], (A, R), rtol=1e-5, atol=1e-4)
    assert torch.autograd.gradcheck(lambda M, r: terms(M, r, False)[0], (A, R), rtol=1e-5, atol=1e-4)
    if layers == "fp64":  # else the log-determinant is an estimate
        assert torch.autograd.gradcheck(lambda M, r: terms(M, r)[1] - 3 * terms(M, r)[0], (A, R), rtol=1e-5, atol=1e-4)
        assert torch.autograd.gradgradcheck(lambda M, r: terms(M, r)[1] + terms(M, r)[0] ** 2, (A, R), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("nugget", [1e-1, 1e-4, 1e-8, 1e-12])
def test_the_gradients_error_is_below_its_tolerance(nugget: float) -> None:
    A = covariance(300, nugget)
    R = torch.ones(300, 1, dtype=torch.float64)

    def gradient(tolerance: float) -> Any:
        M = A.clone().requires_grad_()
        strata.gpytorch.StrataOperator(M, "fp64", tolerance).inv_quad_logdet(R, logdet=True)[1].backward()
        return M.grad

    truth = torch.linalg.inv(A)
    lengths = truth.diagonal().sqrt()
    off = [float((abs(gradient(tolerance) - truth) / lengths[:, None] / lengths).max()) for tolerance in (1e-3, 0.0)]
    assert off[1] <= 1e-10 / nugget**0.5  # that of torch's inverse as well
    assert off[0] <= 1e-3
    if nugget >= 1e-4:
        assert off[0] > 10 * off[1]  # in fp32


def test_a_matrix_without_a_gradient_needs_no_inverse(monkeypatch: pytest.MonkeyPatch) -> None:
    A, R = covariance(), torch.ones(N, 2, dtype=torch.float64, requires_grad=True)
    promoted = []
    monkeypatch.setattr(strata.Factor, "promote", lambda *_: promoted.append(1))
    quadratic, determinant = strata.gpytorch.StrataOperator(A, "fp16,fp32").inv_quad_logdet(R, logdet=True)
    (quadratic + determinant).backward()
    torch.testing.assert_close(R.grad, 2 * torch.linalg.solve(A, R.detach()), rtol=1e-10, atol=1e-10)
    assert not promoted


@pytest.mark.parametrize("in_dims", [(0, 0), (0, None), (None, 0)])
def test_the_likelihood_is_mapped_over_batches(in_dims: tuple[int | None, int | None]) -> None:
    As = torch.stack([covariance(12, nugget) for nugget in (1e-2, 1e-1, 1.0)])
    Rs = torch.from_numpy(np.random.default_rng(5).standard_normal((3, 12, 2)))

    def loss(A: Any, R: Any) -> Any:
        return sum(strata.gpytorch.StrataOperator(A, "fp64", 0.0).inv_quad_logdet(R, logdet=True))

    given = [whole if dimension == 0 else whole[0] for whole, dimension in zip((As, Rs), in_dims)]
    each = [tuple(whole[k if dimension == 0 else 0] for whole, dimension in zip((As, Rs), in_dims)) for k in range(3)]
    torch.testing.assert_close(torch.func.vmap(loss, in_dims)(*given), torch.stack([loss(*one) for one in each]))
    slope = torch.func.grad(loss, (0, 1))
    for found, one in zip(zip(*torch.func.vmap(slope, in_dims)(*given)), each):
        torch.testing.assert_close(found, slope(*one))


def test_the_inverse_is_in_fp64_by_default_on_gpus() -> None:
    assert strata.gpytorch.StrataOperator(covariance(3))._made.tolerance == 1e-3
    assert strata.gpytorch.StrataOperator(torch.eye(3, device="meta"))._made.tolerance == 0


def test_the_loss_does_not_depend_on_the_tolerance() -> None:
    R = torch.ones(N, 1, dtype=torch.float64)
    ways = [strata.gpytorch.StrataOperator(covariance(), "fp64", tolerance).inv_quad_logdet(R, logdet=True) for tolerance in (0.0, 0.1)]
    assert ways[0] == ways[1]


def test_what_is_made_of_one_has_its_options() -> None:
    one = strata.gpytorch.StrataOperator(covariance(), "fp16,fp32", 0.5)
    for made in (one.detach(), one.add_jitter(), one[:3, :3], one.add_diagonal(torch.ones(N, dtype=torch.float64))):
        assert made._made.options == {"layers": "fp16,fp32"} and made._made.tolerance == 0.5


def test_refuses_batches() -> None:
    with pytest.raises(ValueError, match=r"one matrix, not one of shape \(2, 3, 3\)"):
        strata.gpytorch.StrataOperator(torch.eye(3).expand(2, 3, 3))
