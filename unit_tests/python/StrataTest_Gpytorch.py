# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""strata.gpytorch: an ExactGP that trains with Strata's factor, beside the same one without."""

from __future__ import annotations

from typing import Any

import problems
import pytest
import strata

torch: Any = pytest.importorskip("torch")
gpytorch: Any = pytest.importorskip("gpytorch")
import strata.gpytorch  # noqa: E402

N = 60


class Model(gpytorch.models.ExactGP):  # type: ignore[misc]
    def __init__(self, x: Any, y: Any, likelihood: Any, ours: bool) -> None:
        super().__init__(x, y, likelihood)
        self.ours = ours
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=1.5))

    def forward(self, x: Any) -> Any:
        covariance = self.covar_module(x)
        if self.ours:
            covariance = strata.gpytorch.StrataOperator(covariance)
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), covariance)


def trained(ours: bool, dtype: Any) -> tuple[float, Any]:
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


@pytest.mark.parametrize(("dtype", "close"), [(torch.float64, 1e-10), (torch.float32, 1e-4)])
def test_an_exact_gp_trains_and_predicts_as_with_its_own_factor(dtype: Any, close: float, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs, predicted = trained(False, dtype)
    made = []

    def counted(*given: Any, **options: Any) -> Any:
        made.append(1)
        return strata.cholesky(*given, **options)

    monkeypatch.setattr(strata.torch, "cholesky", counted)
    ours, there = trained(True, dtype)
    assert len(made) >= 10  # a factor for each step is Strata's
    assert abs(ours - theirs) <= close
    torch.testing.assert_close(there, predicted, rtol=close, atol=close)


def test_refuses_batches() -> None:
    with pytest.raises(ValueError, match=r"one matrix, not one of shape \(2, 3, 3\)"):
        strata.gpytorch.StrataOperator(torch.eye(3).expand(2, 3, 3))
