# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Gradients of likelihoods, the Fisher information, standard errors and profile intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import problems
import pytest
import strata
from problems import EPS, Array
from strata import geostat

N = 120
TRUTH = geostat.Matern(sigma2=1.5, range=0.1, nu=0.7, nugget=0.05)
PLACES = problems.places(N)
VALUES = geostat.synthetic_field(TRUTH, PLACES) + 3.0


def theta_of(c: geostat.Matern) -> Array:
    return np.array([c.sigma2, c.range, c.nu, c.nugget])


def derivatives(c: geostat.Matern) -> list[Array]:
    """Of the covariance matrix, by differences of fourth order."""
    at = theta_of(c)

    def matrix(k: int, step: float) -> Array:
        return np.asarray(geostat.covariance_matrix(geostat.Matern(*(at + step * np.eye(4)[k])), PLACES))

    found: list[Array] = []
    for k in range(4):
        h = 1e-3 * at[k]
        found.append((8 * (matrix(k, h) - matrix(k, -h)) - (matrix(k, 2 * h) - matrix(k, -2 * h))) / (12 * h))
    return found


@pytest.mark.parametrize("mean", ["none", "constant"])
@pytest.mark.parametrize("accuracy", [0.0, 1e-6])
def test_gradients_are_the_formula(mean: Any, accuracy: float) -> None:
    likelihood, gradient = geostat.loglikelihood_and_gradient(PLACES, VALUES, TRUTH, mean=mean, accuracy=accuracy, tile_size=40)
    inverse = np.linalg.inv(geostat.covariance_matrix(TRUTH, PLACES))
    w = inverse @ (VALUES - likelihood.mean)
    for k, by in enumerate(derivatives(TRUTH)):
        expected = (w @ by @ w - (inverse * by).sum()) / 2
        assert gradient.by[k] == pytest.approx(expected, rel=1e-7, abs=1e-7)
    assert gradient.solve_converged and gradient.by.shape == (4,)
    factor = geostat.Factor(PLACES, TRUTH, accuracy=accuracy, tile_size=40)
    np.testing.assert_array_equal(factor.gradient(VALUES, mean).by, gradient.by)
    part = factor.gradient(VALUES, mean, ["range", "nugget"]).by
    assert np.isnan(part[[0, 2]]).all()
    np.testing.assert_array_equal(part[[1, 3]], gradient.by[[1, 3]])
    with pytest.raises(ValueError, match="no parameter 'kappa'"):
        factor.gradient(VALUES, mean, ["kappa"])  # type: ignore[list-item]
    assert likelihood.log_likelihood == factor.loglikelihood(VALUES, mean).log_likelihood


def test_the_information_is_the_formula() -> None:
    factor = geostat.Factor(PLACES, TRUTH)
    found = factor.fisher_information().of
    inverse = np.linalg.inv(geostat.covariance_matrix(TRUTH, PLACES))
    parts = [inverse @ by for by in derivatives(TRUTH)]
    expected = np.array([[(a * b.T).sum() / 2 for b in parts] for a in parts])
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert np.abs((found - expected) / scale).max() <= 1e-8
    np.testing.assert_array_equal(found, found.T)
    errors = factor.standard_errors()
    assert errors.reasons == [""] * 4
    covariance = np.linalg.inv(found)
    np.testing.assert_allclose(errors.of, np.sqrt(np.diag(covariance)), rtol=1e-9)
    np.testing.assert_allclose(errors.of_logarithm, np.asarray(errors.of / theta_of(TRUTH)), rtol=4 * EPS)
    np.testing.assert_allclose(errors.correlation, covariance / np.outer(errors.of, errors.of), rtol=1e-7)
    assert np.isfinite(errors.of_logarithm_of_ratio)


def test_only_what_is_wanted() -> None:
    factor = geostat.Factor(PLACES, TRUTH)
    part = factor.fisher_information(["range", "sigma2"]).of
    assert np.isfinite(part[:2, :2]).all() and np.isnan(part[2:, :]).all()
    errors = factor.standard_errors(["range"])
    assert errors.reasons == ["not estimated", "", "not estimated", "not estimated"]
    assert errors.of[1] == pytest.approx(part[1, 1] ** -0.5, rel=1e-12) and np.isnan(errors.of[0])
    for call in (factor.fisher_information, factor.standard_errors):
        with pytest.raises(ValueError, match="no parameter 'kappa'; there are sigma2, range, nu, nugget"):
            call(["kappa"])  # type: ignore[list-item]


def test_refuses_values_that_do_not_fit() -> None:
    factor = geostat.Factor(PLACES, TRUTH)
    with pytest.raises(strata.ShapeError, match=f"{N - 1}"):
        factor.gradient(VALUES[1:], "none")
    with pytest.raises(ValueError, match="value 1 is nan"):
        factor.gradient(np.full(N, np.nan), "none")
    with pytest.raises(ValueError, match="no mean 'linear'"):
        factor.gradient(VALUES, "linear")  # type: ignore[arg-type]
    one = geostat.loglikelihood_and_gradient(np.zeros((1, 2)), np.array([2.0]), geostat.Matern(4.0, 1.0), mean="none")[1]
    assert np.abs(one.by[:2]).max() <= 4 * EPS


needs_nlopt = pytest.mark.skipif(not geostat.can_fit(), reason="built without NLopt")


@needs_nlopt
def test_a_fit_knows_how_sure_it_is() -> None:
    fitted = geostat.fit(PLACES, VALUES, fixed=["nu"], start=TRUTH, lower=geostat.Matern(0.1, 0.01, 0.1, 0.001), upper=geostat.Matern(20, 2, 3, 1))
    factor = fitted.factor
    assert factor is not None and fitted.report.at_bound == [False] * 4
    errors = fitted.standard_errors()
    assert errors.reasons == ["", "", "fixed", ""]
    np.testing.assert_array_equal(errors.of, factor.standard_errors(["sigma2", "range", "nugget"]).of)
    steps: list[geostat.FitStep] = []
    interval = fitted.profile_interval("range", on_step=steps.append)
    assert len(steps) == interval.evaluations and interval.converged and interval.parameter == "range" and interval.level == 0.95
    assert interval.lower < fitted.covariance.range < interval.upper and interval.lower_end == interval.upper_end == "level"
    # At the ends the likelihood of the best other parameters has fallen by half of chi-square's quantile, 3.841.
    held = fitted.covariance
    for end in (interval.lower, interval.upper):
        at = [step.likelihood.log_likelihood for step in steps if abs(np.log(step.covariance.range / end)) < 1e-2]
        assert fitted.likelihood.log_likelihood - max(at) == pytest.approx(3.841 / 2, abs=0.05)
    narrow = fitted.profile_interval("range", level=0.5)
    assert interval.lower < narrow.lower < held.range < narrow.upper < interval.upper
    for parameter, options, text in (("kappa", {}, "no parameter 'kappa'"), ("nu", {}, "nu"), ("range", {"level": 1.0}, "level"), ("range", {"tolerance": -1.0}, "tolerance")):
        with pytest.raises(ValueError, match=text):
            fitted.profile_interval(parameter, **options)  # type: ignore[arg-type]

    def stop(step: geostat.FitStep) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        fitted.profile_interval("range", on_step=stop)


@needs_nlopt
def test_a_parameter_at_its_bound_has_no_error() -> None:
    fitted = geostat.fit(PLACES, VALUES, fixed=["nu"], start=TRUTH, lower=geostat.Matern(0.1, 0.01, 0.1, 0.001), upper=geostat.Matern(20, 0.101, 3, 1))
    if not fitted.report.at_bound[1]:
        pytest.skip("the best range is inside")
    errors = fitted.standard_errors()
    assert errors.reasons[1:3] == ["at its bound", "fixed"] and np.isnan(errors.of[1]) and np.isfinite(errors.of[0])
