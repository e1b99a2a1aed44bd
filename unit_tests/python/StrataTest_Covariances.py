# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""strata.geostat's families, directions, known error variances and exact predictions, against dense NumPy."""

from __future__ import annotations

import pickle
import types
from typing import Any

import numpy as np
import pytest
from strata import ShapeError, geostat
from strata._fit_options import warn_of_bounds

Array = Any
RANDOM = np.random.default_rng(12)
PLACES = RANDOM.random((80, 2))
VALUES = np.sin(6 * PLACES[:, 0]) + PLACES[:, 1] + 0.2 * RANDOM.standard_normal(80)
ERRORS = 0.05 + 0.3 * RANDOM.random(80)
FAMILIES = [
    (geostat.Exponential(1.5, 0.3, 0.2), lambda x: np.exp(-x)),
    (geostat.Gaussian(1.5, 0.3, 0.2), lambda x: np.exp(-x * x)),
    (geostat.Spherical(1.5, 0.3, 0.2), lambda x: np.where(x < 1, 1 - 1.5 * x + x**3 / 2, 0)),
    (geostat.PoweredExponential(1.5, 0.3, 1.25, 0.2), lambda x: np.exp(-(x**1.25))),
    (geostat.Matern(1.5, 0.3, 1.5, 0.2, angle=30.0, ratio=0.5), lambda x: (1 + x) * np.exp(-x)),
]


def matrix(c: geostat.Covariance, rho: Any, errors: Array | None = None) -> Array:
    t = np.radians(c.angle)
    d = PLACES[:, None] - PLACES[None, :]
    h = np.hypot(d[..., 0] * np.sin(t) + d[..., 1] * np.cos(t), (d[..., 0] * np.cos(t) - d[..., 1] * np.sin(t)) / c.ratio)
    return c.sigma2 * rho(h / c.range) + np.diag(c.nugget + (np.zeros(80) if errors is None else errors))


@pytest.mark.parametrize(("covariance", "rho"), FAMILIES)
def test_matrices_and_likelihoods_are_the_formula(covariance: geostat.Covariance, rho: Any) -> None:
    np.testing.assert_allclose(geostat.covariance_matrix(covariance, PLACES), matrix(covariance, rho), rtol=1e-13, atol=1e-14)
    for errors in (None, ERRORS):
        S = matrix(covariance, rho, errors)
        factor = geostat.Factor(PLACES, covariance, error_variances=errors)
        expected = -0.5 * (80 * np.log(2 * np.pi) + np.linalg.slogdet(S)[1] + VALUES @ np.linalg.solve(S, VALUES))
        assert factor.loglikelihood(VALUES, "none").log_likelihood == pytest.approx(expected, rel=1e-11)
        again = pickle.loads(pickle.dumps(factor))
        assert again.covariance == covariance
        assert again.loglikelihood(VALUES, "none").log_likelihood == factor.loglikelihood(VALUES, "none").log_likelihood


def test_gradients_know_directions() -> None:
    def value(angle: float, ratio: float) -> float:
        return geostat.loglikelihood(PLACES, VALUES, geostat.Gaussian(1.5, 0.3, 0.2, angle=angle, ratio=ratio), mean="constant").log_likelihood

    found = geostat.Factor(PLACES, geostat.Gaussian(1.5, 0.3, 0.2, angle=30.0, ratio=0.5)).gradient(VALUES, "constant")
    assert found.by_angle == pytest.approx((value(30.01, 0.5) - value(29.99, 0.5)) / 0.02, rel=1e-5)
    assert found.by_ratio == pytest.approx((value(30.0, 0.50001) - value(30.0, 0.49999)) / 2e-5, rel=1e-5)
    assert np.isnan(found.by[2])
    plain = geostat.Factor(PLACES, geostat.Gaussian(1.5, 0.3, 0.2)).gradient(VALUES, "constant")
    assert np.isnan(plain.by_angle) and np.isnan(plain.by_ratio)


def test_values_have_names_and_parts() -> None:
    names = {"Exponential", "Gaussian", "Spherical", "PoweredExponential", "Matern"}
    for covariance, _ in FAMILIES:
        assert eval(repr(covariance), {name: getattr(geostat, name) for name in names}) == covariance
        assert hash(covariance) == hash(eval(repr(covariance), {name: getattr(geostat, name) for name in names}))
    assert geostat.Spherical(1.0, 1.0) != geostat.Gaussian(1.0, 1.0)
    assert FAMILIES[2][0].family == "spherical" and FAMILIES[4][0].angle == 30 and FAMILIES[4][0].ratio == 0.5
    with pytest.raises(ValueError, match="the power is 2.5"):
        geostat.PoweredExponential(1.0, 1.0, 2.5)
    with pytest.raises(ValueError, match="ratio is 0"):
        geostat.Gaussian(1.0, 1.0, ratio=0.0)
    with pytest.raises(ValueError, match="no family 'cubic'"):
        geostat.Covariance(1.0, 1.0, family="cubic")


def test_sums_have_both_structures() -> None:
    one, other = geostat.Exponential(1.5, 0.3, 0.2), geostat.Spherical(0.7, 0.6, 0.1)
    total = one + other
    assert total.second == geostat.Spherical(0.7, 0.6) and one.second is None
    assert total.nugget == pytest.approx(0.3, abs=1e-16)
    assert eval(repr(total), {"Exponential": geostat.Exponential, "Spherical": geostat.Spherical}) == total
    assert total != one and hash(total) != hash(one)
    h = np.array([0.0, 0.2, 0.5, 0.9])
    np.testing.assert_allclose(total(h), one(h) + other(h), rtol=1e-15)
    S = matrix(one, FAMILIES[0][1]) + matrix(other, FAMILIES[2][1])
    factor = geostat.Factor(PLACES, total)
    expected = -0.5 * (80 * np.log(2 * np.pi) + np.linalg.slogdet(S)[1] + VALUES @ np.linalg.solve(S, VALUES))
    assert factor.loglikelihood(VALUES, "none").log_likelihood == pytest.approx(expected, rel=1e-11)
    assert pickle.loads(pickle.dumps(factor)).covariance == total
    new = np.array([[0.25, 0.75]])
    h = np.hypot(*(PLACES - new).T)
    c = one(h) + other(h)
    found = factor.predict(VALUES, new, "none")
    assert found.mean[0] == pytest.approx(c @ np.linalg.solve(S, VALUES), abs=1e-11)
    assert found.variance[0] == pytest.approx(2.2 - c @ np.linalg.solve(S, c), abs=1e-11)
    with pytest.raises(ValueError, match="two structures at most"):
        total + one
    with pytest.raises(ValueError, match="the same directions"):
        one + geostat.Gaussian(1.0, 1.0, angle=30.0, ratio=0.5)


@pytest.mark.parametrize("neighbours", [0, 30])
def test_fits_sums(neighbours: int) -> None:
    truth = geostat.Exponential(1.0, 0.04, 0.02) + geostat.Exponential(1.0, 0.6)
    places = np.random.default_rng(5).random((300, 2))
    values = geostat.synthetic_field(truth, places, seed=2)
    found = geostat.fit(places, values, family="exponential+exponential", neighbours=neighbours)
    alone = geostat.fit(places, values, family="exponential", neighbours=neighbours)
    assert found.report.converged and found.covariance.second is not None
    assert found.likelihood.log_likelihood >= alone.likelihood.log_likelihood - 1e-6
    assert found.covariance.range < found.covariance.second.range
    errors = found.standard_errors()
    assert errors.of_second[1] > 0 and np.isnan(errors.of_second[2]) and np.isnan(errors.of_angle)
    again = geostat.fit(places, values, start=found.covariance, neighbours=neighbours)
    assert again.likelihood.log_likelihood == pytest.approx(found.likelihood.log_likelihood, abs=1e-4)
    assert found.predict(places[:2]).variance[0] < found.covariance.sigma2 + found.covariance.second.sigma2


def test_a_second_structure_keeps_what_is_fixed_and_has_intervals() -> None:
    truth = geostat.Exponential(1.0, 0.04, 0.02) + geostat.Exponential(1.0, 0.6)
    places = np.random.default_rng(5).random((150, 2))
    values = geostat.synthetic_field(truth, places, seed=2)
    found = geostat.fit(places, values, start=truth, fixed=["nugget", "range_2"])
    second = found.covariance.second
    assert second is not None and second.range == 0.6 and second.sigma2 != 1.0 and found.covariance.nugget == 0.02
    errors = found.standard_errors()
    assert errors.of_second[0] > 0 and np.isnan(errors.of_second[1])
    interval = found.profile_interval("sigma2_2", tolerance=0.05)
    assert interval.parameter == "sigma2_2" and interval.lower < second.sigma2 < interval.upper
    for fixed, match in (("nu_2", "nu_2 can't be fixed: the family exponential has none"), ("sigma2_3", "no parameter 'sigma2_3'")):
        with pytest.raises(ValueError, match=match):
            geostat.fit(places, values, start=truth, fixed=fixed)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="range_2 can't be fixed: there is one structure alone"):
        geostat.fit(places, values, family="exponential", fixed=["range_2"])
    with pytest.raises(ValueError, match="range_2 is fixed"):
        found.profile_interval("range_2")


@pytest.mark.parametrize("family", ["exponential", "gaussian", "spherical", "powered"])
def test_fits_each_family(family: Any) -> None:
    found = geostat.fit(PLACES, VALUES, family=family)
    assert found.report.converged and found.covariance.family == family
    assert found.standard_errors().of[1] > 0


@pytest.mark.parametrize("fixed", ["nu", ["range", "nu"]])
def test_refuses_to_fix_what_a_family_lacks(fixed: Any) -> None:
    with pytest.raises(ValueError, match="nu can't be fixed: the family spherical has none"):
        geostat.fit(PLACES, VALUES, family="spherical", fixed=fixed)


def test_fits_directions_and_keeps_those_that_are_given() -> None:
    truth = geostat.Exponential(1.0, 0.4, 0.05, angle=120.0, ratio=0.3)
    places = np.random.default_rng(5).random((250, 2))
    values = geostat.synthetic_field(truth, places, seed=2)
    plain, given = geostat.fit(places, values, family="exponential"), geostat.fit(places, values, family="exponential", anisotropy=(120.0, 0.3))
    found = geostat.fit(places, values, family="exponential", anisotropy="fit")
    assert (given.covariance.angle, given.covariance.ratio) == (120.0, 0.3)
    assert abs(found.covariance.angle - 120) < 15 and abs(found.covariance.ratio - 0.3) < 0.15
    errors = found.standard_errors()
    assert 0 < errors.of_angle < 30 and 0 < errors.of_ratio < 0.3
    assert np.isnan(given.standard_errors().of_angle)
    assert plain.likelihood.log_likelihood + 5 < given.likelihood.log_likelihood <= found.likelihood.log_likelihood + 1e-6
    with pytest.raises(ValueError, match='must be "fit", "axes" or'):
        geostat.fit(places, values, anisotropy="yes")  # type: ignore[arg-type]


def test_fits_and_predicts_with_known_errors() -> None:
    found = geostat.fit(PLACES, VALUES, family="exponential", error_variances=ERRORS, fixed="nugget", start=geostat.Exponential(1.0, 0.3))
    S = matrix(found.covariance, lambda x: np.exp(-x), ERRORS)
    ones = np.ones(80)
    mean = (ones @ np.linalg.solve(S, VALUES)) / (ones @ np.linalg.solve(S, ones))
    new = np.array([[0.25, 0.75]])
    c = found.covariance.sigma2 * np.exp(-np.hypot(*(PLACES - new).T) / found.covariance.range)
    assert found.predict(new).mean[0] == pytest.approx(mean + c @ np.linalg.solve(S, VALUES - mean), abs=1e-10)
    with pytest.raises(ShapeError, match="error_variances are 3"):
        geostat.Factor(PLACES, found.covariance, error_variances=np.ones(3))


def test_is_exact_where_that_is_asked() -> None:
    factor = geostat.Factor(PLACES, geostat.Spherical(1.5, 0.5, 0.3))
    smooth, exact = (factor.predict(VALUES, PLACES, "constant", exact=how) for how in (False, True))
    assert np.abs(smooth.mean - VALUES).max() > 0.01
    np.testing.assert_allclose(exact.mean, VALUES, atol=1e-12)
    assert exact.variance.max() < 1e-12
    drawn = factor.simulate(VALUES, PLACES[:3], 2, exact=True)
    np.testing.assert_allclose(drawn, np.tile(VALUES[:3], (2, 1)), atol=1e-4)


def test_measures_chords() -> None:
    degrees = PLACES * [40, 30]
    lon, lat = np.radians(degrees).T
    space = 6371.0088 * np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    h = np.linalg.norm(space[:, None] - space[None, :], axis=2)
    found = geostat.covariance_matrix(geostat.Gaussian(2.0, 900.0, 0.1), degrees, metric="chordal")
    np.testing.assert_allclose(found, 2 * np.exp(-((h / 900) ** 2)) + 0.1 * np.eye(80), atol=1e-12)


def test_a_default_bound_of_the_second_structure_is_a_warning() -> None:
    def of(sigma2: float, range_: float, second: Any = None) -> Any:
        return types.SimpleNamespace(sigma2=sigma2, range=range_, nu=0.5, nugget=0.1, second=second)
    options: Any = types.SimpleNamespace(lower=of(0, 0.1, of(0, 0.1)), upper=of(9, 3, of(9, 3)))
    report: Any = types.SimpleNamespace(covariance=of(1e-9, 1, of(1, 3)), at_bound=[True, False, False, False], second_at_bound=[False, True, False], axis_at_bound=[])
    with pytest.warns(UserWarning, match="range of the second structure is at its upper bound, 3") as told:
        warn_of_bounds(report, options, None, None)
    assert len(told) == 1  # the first structure is not there, which is no bound that was given


SPACE = RANDOM.random((90, 3)) * [1.0, 2.0, 0.5]


def scaled(c: geostat.Covariance, rho: Any) -> Array:
    d = (SPACE[:, None] - SPACE[None, :]) / np.array(c.ranges)
    return c.sigma2 * rho(np.sqrt((d * d).sum(-1))) + c.nugget * np.eye(len(SPACE))


def test_three_coordinates_have_a_range_each() -> None:
    c = geostat.Exponential(1.5, 0.3, 0.2, axes=(2.0, 0.5))
    assert c.ranges == pytest.approx((0.3, 0.6, 0.15)) and c.axes == (2.0, 0.5)
    assert repr(c) == "Exponential(sigma2=1.5, range=0.3, nugget=0.2, axes=(2.0, 0.5))"
    assert c != geostat.Exponential(1.5, 0.3, 0.2, axes=(2.0, 0.6)) and hash(c) == hash(geostat.Exponential(1.5, 0.3, 0.2, axes=(2.0, 0.5)))
    np.testing.assert_allclose(geostat.covariance_matrix(c, SPACE), scaled(c, lambda x: np.exp(-x)), rtol=1e-13, atol=1e-14)
    values = geostat.synthetic_field(c, SPACE, seed=2)
    factor = geostat.Factor(SPACE, c)
    again = pickle.loads(pickle.dumps(factor))
    assert again.covariance == c
    S = scaled(c, lambda x: np.exp(-x))
    expected = -0.5 * (90 * np.log(2 * np.pi) + np.linalg.slogdet(S)[1] + values @ np.linalg.solve(S, values))
    assert factor.loglikelihood(values, "none").log_likelihood == pytest.approx(expected, rel=1e-11)

    def value(axes: tuple[float, float]) -> float:
        return geostat.loglikelihood(SPACE, values, geostat.Exponential(1.5, 0.3, 0.2, axes=axes), mean="constant").log_likelihood

    by = factor.gradient(values, "constant").by_axes
    assert by[0] == pytest.approx((value((2.0002, 0.5)) - value((1.9998, 0.5))) / 4e-4, rel=1e-5)
    assert by[1] == pytest.approx((value((2.0, 0.50005)) - value((2.0, 0.49995))) / 1e-4, rel=1e-5)


def test_fits_find_a_range_for_each_coordinate() -> None:
    truth = geostat.Exponential(1.5, 0.4, 0.1, axes=(3.0, 0.5))
    places = RANDOM.random((400, 3)) * [1.0, 3.0, 0.5]
    values = geostat.synthetic_field(truth, places, seed=5)
    for neighbours in (0, 40):
        found = geostat.fit(places, values, family="exponential", anisotropy="axes", neighbours=neighbours)
        assert found.report.converged and len(found.covariance.axes) == 2
        np.testing.assert_allclose(np.log(found.covariance.axes), np.log(truth.axes), atol=0.6)
        errors = found.standard_errors()
        assert np.all(errors.of_axes > 0) and np.all(errors.of_logarithm_of_axes < 1)
        assert found.predict(places[:3] + 0.01).mean.shape == (3,)
    known = geostat.fit(places, values, start=truth, fixed=["nugget"])
    assert known.covariance.axes == truth.axes
    with pytest.raises(ValueError, match='must be "fit", "axes" or'):
        geostat.fit(places, values, anisotropy="axis")  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="up to 8 coordinates"):
        geostat.covariance_matrix(truth, RANDOM.random((5, 9)))


def test_neighbours_leave_out_and_simulate_as_the_factor_does() -> None:
    found = geostat.fit(PLACES, VALUES, family="exponential", neighbours=79)
    factor = geostat.Factor(PLACES, found.covariance)
    for folds in (None, 4):
        by, exact = found.loo(folds), factor.loo(VALUES, folds=folds)
        np.testing.assert_allclose(by.residual, exact.residual, atol=1e-10)
        np.testing.assert_allclose(by.variance, exact.variance, rtol=1e-10)
        assert by.rmse == pytest.approx(exact.rmse, rel=1e-10)
    new = RANDOM.random((5, 2))
    fields = found.simulate(new, 2000, seed=3)
    assert fields.shape == (2000, 5)
    expected = factor.predict(VALUES, new, "constant")
    assert np.all(np.abs(fields.mean(0) - expected.mean) < 5 * np.sqrt(expected.variance / 2000))
    np.testing.assert_allclose(fields.var(0) / expected.variance, 1, atol=0.2)
    np.testing.assert_array_equal(found.simulate(new, 2, seed=3), fields[:2])
