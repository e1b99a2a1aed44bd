# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""strata.sklearn beside scikit-learn's own regressor, and by its checks."""

from __future__ import annotations

import pickle
import tracemalloc
import unittest
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import strata

pytest.importorskip("sklearn")
import strata.sklearn  # noqa: E402
from sklearn.exceptions import ConvergenceWarning, NotFittedError  # noqa: E402
from sklearn.gaussian_process import GaussianProcessRegressor as Theirs  # noqa: E402
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, RationalQuadratic, WhiteKernel  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402
from strata import _kernels  # noqa: E402
from strata.sklearn import GaussianProcessRegressor  # noqa: E402

RANDOM = np.random.default_rng(3)
X = RANDOM.random((80, 3))
Y = np.sin(4 * X).sum(axis=1) + 0.05 * RANDOM.standard_normal(80)
NEW = RANDOM.random((7, 3))
KERNEL = ConstantKernel(1.0) * Matern([0.5, 0.5, 0.5], nu=1.5) + WhiteKernel(0.01)


@parametrize_with_checks([GaussianProcessRegressor(), GaussianProcessRegressor(RBF(), alpha=1e-2, layers="fp16,fp32")])  # type: ignore[misc]
def test_passes_the_checks_of_estimators(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            check(estimator)
        except unittest.SkipTest as reason:
            pytest.skip(str(reason))


@pytest.mark.parametrize("layers", ["fp64", "fp32"])
@pytest.mark.parametrize("normalize_y", [False, True])
@pytest.mark.parametrize("y", [Y, np.stack([Y, Y**2], axis=1)], ids=["one target", "two"])
def test_is_scikit_learns_at_given_parameters(y: Any, normalize_y: bool, layers: str) -> None:
    options = {"kernel": KERNEL, "alpha": 1e-6, "optimizer": None, "normalize_y": normalize_y}
    ours, theirs = GaussianProcessRegressor(**options, layers=layers).fit(X, y), Theirs(**options).fit(X, y)
    for name in ("return_std", "return_cov"):
        for a, b in zip(ours.predict(NEW, **{name: True}), theirs.predict(NEW, **{name: True})):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.predict(NEW), theirs.predict(NEW), rtol=0, atol=1e-10)
    bar = 1e-9 if layers == "fp64" else 0.1  # an estimate, whose error is that of 16 probes
    assert ours.log_marginal_likelihood_value_ == pytest.approx(theirs.log_marginal_likelihood_value_, abs=bar)
    theta = KERNEL.theta + 0.3
    a, b = ours.log_marginal_likelihood(theta, eval_gradient=True), theirs.log_marginal_likelihood(theta, eval_gradient=True)
    assert a[0] == pytest.approx(b[0], abs=bar) and ours.log_marginal_likelihood(theta) == a[0]
    np.testing.assert_allclose(a[1], b[1], rtol=1e-8, atol=1e-8)
    assert ours.log_marginal_likelihood() == ours.log_marginal_likelihood_value_


KERNELS = [
    ConstantKernel(1.3) * RBF([0.3, 0.5, 2.0]) + WhiteKernel(0.1),
    RBF(0.4) * RationalQuadratic(0.7, 1.3) + ConstantKernel(0.5, "fixed"),
    ConstantKernel(2.0) * Matern([0.3, 1.0, 0.6], nu=0.5) * RBF(1.5) + Matern(0.2, nu=2.5) + WhiteKernel(0.2, "fixed"),
    (ConstantKernel(0.7) + RBF(0.5)) * (Matern(0.8, nu=1.5) + WhiteKernel(0.3)),
    Matern(0.4, nu=np.inf) + RBF(0.2, "fixed") + RationalQuadratic(0.9, 0.5, alpha_bounds="fixed") + WhiteKernel(0.1),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=range(len(KERNELS)))
def test_gradients_by_rows_are_scikit_learns(kernel: Any, monkeypatch: Any) -> None:
    assert _kernels.is_known(kernel) and not _kernels.is_known(kernel + DotProduct())
    y = np.stack([Y, Y**2], axis=1)
    ours, theirs = (one(kernel, alpha=1e-3, optimizer=None).fit(X, y) for one in (GaussianProcessRegressor, Theirs))
    value, slope = theirs.log_marginal_likelihood(kernel.theta, eval_gradient=True)
    for rows in (1 << 17, 17 * len(X)):  # one block, and several of which the last is smaller
        monkeypatch.setattr(_kernels, "NUMBERS", rows)
        found = ours.log_marginal_likelihood(kernel.theta, eval_gradient=True)
        assert found[0] == pytest.approx(value, abs=1e-8 * abs(value))
        np.testing.assert_allclose(found[1], slope, rtol=1e-8, atol=1e-8 * np.abs(slope).max())


@pytest.mark.parametrize("nu", [0.05, 0.8, 20])
def test_a_gradient_of_any_order_is_that_of_differences(nu: float) -> None:
    kernel = ConstantKernel(1.2) * Matern([0.5, 0.8, 0.4], nu=nu) + WhiteKernel(0.1)
    model = GaussianProcessRegressor(kernel, optimizer=None).fit(X, Y)
    slope = model.log_marginal_likelihood(kernel.theta, eval_gradient=True)[1]
    for k, step in enumerate(1e-3 * np.eye(len(kernel.theta))):
        value = [model.log_marginal_likelihood(kernel.theta + by * step) for by in (-2, -1, 1, 2)]
        assert slope[k] == pytest.approx((8 * (value[2] - value[1]) - (value[3] - value[0])) / 12e-3, rel=1e-6, abs=1e-6)


def test_gradients_take_no_array_for_each_parameter() -> None:
    x = np.random.default_rng(1).random((500, 12))
    model = GaussianProcessRegressor(ConstantKernel(1.0) * RBF(np.ones(12)) + WhiteKernel(0.1), optimizer=None).fit(x, x.sum(axis=1))
    model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True)
    tracemalloc.start()
    try:
        model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 10 * 500 * 500 * 8  # and not 14 + 2 of them


def test_finds_what_scikit_learn_finds() -> None:
    ours, theirs = GaussianProcessRegressor(KERNEL).fit(X, Y), Theirs(KERNEL).fit(X, Y)
    assert ours.log_marginal_likelihood_value_ == pytest.approx(theirs.log_marginal_likelihood_value_, abs=1e-3)
    np.testing.assert_allclose(ours.kernel_.theta, theirs.kernel_.theta, atol=0.02)
    again = GaussianProcessRegressor(KERNEL, n_restarts_optimizer=2, random_state=0).fit(X, Y)
    assert again.log_marginal_likelihood_value_ >= ours.log_marginal_likelihood_value_ - 1e-6


@pytest.mark.parametrize("kernel", [None, KERNEL])
def test_the_prior_is_scikit_learns(kernel: Any) -> None:
    ours, theirs = GaussianProcessRegressor(kernel), Theirs(kernel)
    np.testing.assert_array_equal(ours.predict(NEW), theirs.predict(NEW))
    for name in ("return_std", "return_cov"):
        for a, b in zip(ours.predict(NEW, **{name: True}), theirs.predict(NEW, **{name: True})):
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(ours.sample_y(NEW, 3, random_state=5), theirs.sample_y(NEW, 3, random_state=5))
    assert not hasattr(ours, "n_features_in_")


@pytest.mark.parametrize("y", [Y, np.stack([Y, Y**2], axis=1)], ids=["one target", "two"])
def test_draws_have_the_mean_and_the_covariances_of_predictions(y: Any) -> None:
    model = GaussianProcessRegressor(KERNEL, optimizer=None, normalize_y=True).fit(X, y)
    draws = model.sample_y(NEW, 20000, random_state=1)
    assert draws.shape == (*y[:7].shape, 20000)
    mean, spread = model.predict(NEW, return_cov=True)
    targets = [(draws, mean, spread)] if y.ndim == 1 else [(draws[:, k], mean[:, k], spread[:, :, k]) for k in range(2)]
    for draw, mu, S in targets:
        np.testing.assert_allclose(draw.mean(axis=1), mu, rtol=0, atol=5 * np.sqrt(S.diagonal().max() / 20000))
        np.testing.assert_allclose(np.cov(draw), S, rtol=0, atol=5 * S.diagonal().max() * np.sqrt(2 / 20000))
    np.testing.assert_array_equal(model.sample_y(NEW, 2), model.sample_y(NEW, 2))


def test_optimizers_of_the_callers() -> None:
    seen: list[Any] = []

    def stay(objective: Any, start: Any, bounds: Any) -> tuple[Any, float]:
        value, slope = objective(start)
        assert objective(start, eval_gradient=False) == value and slope.shape == start.shape == (len(bounds),)
        seen.append(start)
        return start, value

    model = GaussianProcessRegressor(KERNEL, optimizer=stay).fit(X, Y)
    np.testing.assert_array_equal(model.kernel_.theta, seen[0])


def test_warns_as_scikit_learn_does() -> None:
    """Of a parameter at its bound (its issue 12638), and of a search that L-BFGS-B gives up (its issue 11663)."""
    x = np.random.default_rng(0).random((30, 1))
    for kernel in (RBF(0.1, (1e-3, 0.2)), ConstantKernel(1.0, "fixed") * RBF([0.1], [(1e-3, 0.2)])):
        texts = []
        for regressor in (GaussianProcessRegressor, Theirs):
            with pytest.warns(ConvergenceWarning) as caught:
                regressor(kernel).fit(x, np.sin(x[:, 0]))
            texts.append([str(one.message).replace("0.20000000000000004", "0.2").replace("0.2000", "0.2") for one in caught][0])
        assert texts[0].split("bound")[0] == texts[1].split("bound")[0] and "0.2" in texts[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GaussianProcessRegressor(KERNEL).fit(X, Y)

    model = GaussianProcessRegressor(RBF(1.0))
    found = type("Found", (), {"x": np.zeros(1), "fun": 1.0, "success": False, "message": "ABNORMAL"})()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scipy.optimize, "minimize", lambda *_, **__: found)
        with pytest.warns(ConvergenceWarning, match="L-BFGS-B, ended without a maximum: ABNORMAL"):
            model.fit(X, Y)


def test_advises_a_larger_alpha() -> None:
    twice = np.vstack([X[:20], X[:20]])
    with pytest.raises(strata.NotPositiveDefinite, match=r"RBF\(length_scale=1\), makes no positive definite matrix.*: increase alpha, which is 1e-20"):
        GaussianProcessRegressor(RBF(1.0, "fixed"), alpha=1e-20).fit(twice, np.r_[Y[:20], Y[:20]])


def test_is_kept_in_a_file() -> None:
    model = GaussianProcessRegressor(KERNEL, optimizer=None).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    for a, b in zip(again.predict(NEW, return_std=True), model.predict(NEW, return_std=True)):
        np.testing.assert_array_equal(a, b)


def test_says_what_is_wrong() -> None:
    with pytest.raises(NotFittedError):
        GaussianProcessRegressor().log_marginal_likelihood()
    with pytest.raises(ValueError, match="no optimizer 'sgd'"):
        GaussianProcessRegressor(KERNEL, optimizer="sgd").fit(X, Y)
    with pytest.raises(ValueError, match=r"alpha has shape \(3,\), must be a number or have 80"):
        GaussianProcessRegressor(alpha=np.ones(3)).fit(X, Y)
    with pytest.raises(ValueError, match="finite bounds"):
        GaussianProcessRegressor(RBF(length_scale_bounds=(1e-5, np.inf)), n_restarts_optimizer=1).fit(X, Y)
    with pytest.raises(ValueError, match="return_std and return_cov: one of them"):
        GaussianProcessRegressor().fit(X, Y).predict(NEW, return_std=True, return_cov=True)
    with pytest.raises(strata.NotPositiveDefinite, match="leading minor"):
        GaussianProcessRegressor(optimizer=None, alpha=-2.0).fit(X, Y)
    model = GaussianProcessRegressor(KERNEL, optimizer=None).fit(X, Y)
    model.alpha = -2.0
    value, slope = model.log_marginal_likelihood(KERNEL.theta, eval_gradient=True)
    assert value == -np.inf and not slope.any()
