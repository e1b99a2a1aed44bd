# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Trends, REML, leave-one-out, simulations and variograms of the package, against dense NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import problems
import pytest
import strata
from problems import Array
from strata import geostat

N = 120
C = geostat.Matern(sigma2=1.5, range=0.2, nu=0.5, nugget=0.2)
PLACES = problems.places(N)
X: Any = np.column_stack([PLACES[:, 0], np.cos(7 * PLACES[:, 1])])
VALUES: Any = geostat.synthetic_field(C, PLACES) + 3 + X @ [2.0, -1.0]
F: Any = np.column_stack([np.ones(N), X])
FACTOR = geostat.Factor(PLACES, C)


def covariance(a: Array, b: Array) -> Any:
    return C.sigma2 * np.exp(-np.sqrt(((a[:, None] - b[None]) ** 2).sum(axis=2)) / C.range)


S: Any = covariance(PLACES, PLACES) + C.nugget * np.eye(N)


def test_likelihoods_and_coefficients_are_those_of_generalised_least_squares() -> None:
    A = F.T @ np.linalg.solve(S, F)
    b = np.linalg.solve(A, F.T @ np.linalg.solve(S, VALUES))
    r = VALUES - F @ b
    twice = np.linalg.slogdet(S)[1] + r @ np.linalg.solve(S, r)
    ml = FACTOR.loglikelihood(VALUES, X=X)
    assert ml.log_likelihood == pytest.approx(-0.5 * (N * math.log(2 * math.pi) + twice), rel=1e-11)
    np.testing.assert_allclose(ml.coefficients, b, rtol=1e-9)
    np.testing.assert_allclose(ml.coefficient_covariance, np.linalg.inv(A), rtol=1e-8)
    assert math.isnan(ml.mean)
    reml = FACTOR.loglikelihood(VALUES, X=X, reml=True)
    more = np.linalg.slogdet(A)[1] - np.linalg.slogdet(F.T @ F)[1]
    assert reml.log_likelihood == pytest.approx(-0.5 * ((N - 3) * math.log(2 * math.pi) + twice + more), rel=1e-11)
    assert FACTOR.loglikelihood(VALUES, X=F).log_likelihood == pytest.approx(ml.log_likelihood, rel=1e-12)  # its constant is there
    without = FACTOR.loglikelihood(VALUES, "none", X=X)
    assert len(without.coefficients) == 2 and without.log_likelihood < ml.log_likelihood
    h = 1e-5
    up, down = (geostat.Matern(C.sigma2, C.range + d, C.nu, C.nugget) for d in (h, -h))
    values = [geostat.Factor(PLACES, c).loglikelihood(VALUES, X=X, reml=True).log_likelihood for c in (up, down)]
    assert FACTOR.gradient(VALUES, X=X, reml=True).by[1] == pytest.approx((values[0] - values[1]) / (2 * h), rel=1e-5)


def test_a_fit_has_coefficients_and_predicts_with_them() -> None:
    found = geostat.fit(PLACES, VALUES, X=X, names=["east", "cosine"], reml=True, fixed=["nu"])
    assert list(found.coefficients) == ["constant", "east", "cosine"]
    assert all(abs(found.coefficients[name] - true) < 4 * found.coefficient_errors[name] for name, true in (("east", 2.0), ("cosine", -1.0)))
    assert found.standard_errors().of[1] > geostat.Factor(PLACES, found.covariance).standard_errors(["sigma2", "range", "nugget"]).of[1]
    new = problems.places(5, seed=9)
    X_new = np.column_stack([new[:, 0], np.cos(7 * new[:, 1])])
    there = found.predict(new, X_new)
    by_hand = geostat.predict(PLACES, VALUES, new, found.covariance, X=X, X_new=X_new)
    np.testing.assert_allclose(there.mean, by_hand.mean, rtol=1e-10)
    np.testing.assert_allclose(there.variance, by_hand.variance, rtol=1e-8)
    means = found.predict(new, X_new, variance=False)
    np.testing.assert_allclose(means.mean, there.mean, rtol=1e-12)
    assert len(means.variance) == 0
    with pytest.raises(strata.ShapeError, match="X_new must have them"):
        found.predict(new)


def test_predictions_are_universal_kriging() -> None:
    new = problems.places(5, seed=9)
    X_new = np.column_stack([new[:, 0], np.cos(7 * new[:, 1])])
    k0, f = covariance(PLACES, new), np.column_stack([np.ones(5), X_new])
    A = F.T @ np.linalg.solve(S, F)
    b = np.linalg.solve(A, F.T @ np.linalg.solve(S, VALUES))
    D = f - k0.T @ np.linalg.solve(S, F)
    there = FACTOR.predict(VALUES, new, X=X, X_new=X_new)
    np.testing.assert_allclose(there.mean, f @ b + k0.T @ np.linalg.solve(S, VALUES - F @ b), rtol=1e-9)
    expected = C.sigma2 - (k0 * np.linalg.solve(S, k0)).sum(axis=0) + (D * np.linalg.solve(A, D.T).T).sum(axis=1)
    np.testing.assert_allclose(there.variance, expected, rtol=1e-8)


@pytest.mark.parametrize("folds", [None, 6, [k % 4 for k in range(N)]])
def test_observations_are_left_out(folds: Any) -> None:
    found = FACTOR.loo(VALUES, X=X, folds=folds)
    parts = np.arange(N) if folds is None else np.array(folds) if not isinstance(folds, int) else None
    if parts is not None:
        out = parts == parts[7]
        kriged = geostat.predict(PLACES[~out], VALUES[~out], PLACES[out], C, X=X[~out], X_new=X[out])
        np.testing.assert_allclose(found.residual[out], VALUES[out] - kriged.mean, atol=1e-8)
        np.testing.assert_allclose(found.variance[out], kriged.variance + C.nugget, atol=1e-8)
    assert found.rmse == pytest.approx(float(np.sqrt(np.mean(found.residual**2))))
    assert found.without == 0 and 0.5 < found.mean_square_z < 2
    with pytest.raises(strata.ShapeError, match="folds of"):
        FACTOR.loo(VALUES, folds=[1, 2])


def test_simulations_have_the_mean_of_kriging() -> None:
    new = problems.places(6, seed=9)
    X_new = np.column_stack([new[:, 0], np.cos(7 * new[:, 1])])
    fields = FACTOR.simulate(VALUES, new, 2000, X=X, X_new=X_new, seed=3)
    there = FACTOR.predict(VALUES, new, X=X, X_new=X_new)
    assert fields.shape == (2000, 6)
    assert np.abs(fields.mean(axis=0) - there.mean).max() < 5 * np.sqrt(there.variance.max() / 2000)
    np.testing.assert_allclose(fields.var(axis=0), there.variance, rtol=5 * np.sqrt(2 / 2000))
    np.testing.assert_array_equal(fields, FACTOR.simulate(VALUES, new, 2000, X=X, X_new=X_new, seed=3))


def test_variograms_count_pairs() -> None:
    found = geostat.variogram(PLACES, VALUES, classes=5, cutoff=0.5)
    h = np.sqrt(((PLACES[:, None] - PLACES[None]) ** 2).sum(axis=2))[np.triu_indices(N, 1)]
    d = ((VALUES[:, None] - VALUES[None]) ** 2)[np.triu_indices(N, 1)]
    inside = (h > 0.2) & (h <= 0.3)
    np.testing.assert_allclose(found[2], [h[inside].mean(), d[inside].mean() / 2, inside.sum()])
    assert geostat.variogram(PLACES, VALUES, X=X).shape == (15, 3)


def test_trends_that_do_not_fit_are_refused() -> None:
    for bad, error, text in (
        (np.column_stack([X, X[:, 0]]), ValueError, "x3 is a combination of x1"),
        (X[:5], strata.ShapeError, "must have 120 rows"),
        (np.where(X == X[3, 0], np.nan, X), ValueError, "must be finite"),
        (np.zeros((N, 2, 2)), strata.ShapeError, "must have 120 rows"),
        (["a"] * N, TypeError, "X must be numbers"),
    ):
        with pytest.raises(error, match=text):
            geostat.fit(PLACES, VALUES, X=bad)
    with pytest.raises(strata.ShapeError, match="names are 1, columns of X 2"):
        geostat.fit(PLACES, VALUES, X=X, names=["one"])
