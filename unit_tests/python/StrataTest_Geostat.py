# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Likelihoods and kriging against their formulas in NumPy, fits, errors."""

from __future__ import annotations

import os
import signal
import time
from typing import Any, Callable

import numpy as np
import problems
import pytest
import scipy.special
import strata
from problems import EPS, Array
from strata import geostat

N = 150
TRUTH = geostat.Matern(sigma2=1.5, range=0.1, nu=0.5, nugget=0.01)
PLACES = problems.places(N)
VALUES = geostat.synthetic_field(TRUTH, PLACES) + 3.0


def matern(c: geostat.Matern, h: Any) -> Array:
    """The formula, by SciPy's Bessel function."""
    t = np.where(h == 0, 1.0, h / c.range)
    values = c.sigma2 * 2 ** (1 - c.nu) / scipy.special.gamma(c.nu) * t**c.nu * scipy.special.kv(c.nu, t)
    return np.asarray(np.where(h == 0, c.sigma2, values))


def distances(a: Array, b: Array) -> Array:
    return np.asarray(np.sqrt(((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2)))


def matrix(c: geostat.Matern, places: Array = PLACES) -> Array:
    return matern(c, distances(places, places)) + c.nugget * np.eye(len(places))


@pytest.mark.parametrize("nu", [0.3, 0.5, 1.0, 1.5, 2.2, 2.5])
def test_covariances_are_the_formula(nu: float) -> None:
    c = geostat.Matern(2.0, 0.3, nu, 0.1)
    np.testing.assert_allclose(geostat.covariance_matrix(c, PLACES), matrix(c), rtol=1e-11, atol=1e-13)
    h: Any = np.linspace(0, 2, 50)
    expected: Any = matern(c, h)
    np.testing.assert_allclose(c(h), expected, rtol=1e-11)


def test_parameters_are_checked_and_compared() -> None:
    c = geostat.Matern(sigma2=1.5, range=0.1, nugget=0.01)
    assert (c.sigma2, c.range, c.nu, c.nugget) == (1.5, 0.1, 0.5, 0.01)
    assert c == TRUTH and c != geostat.Matern(1, 1) and c != 3 and hash(c) == hash(TRUTH)
    assert eval(repr(c), {"Matern": geostat.Matern}) == c
    for bad, text in (((0.0, 1.0), "sigma2"), ((1.0, -1.0), "range"), ((1.0, 1.0, 0.0), "nu"), ((1.0, 1.0, 1.0, -1.0), "nugget"), ((np.nan, 1.0), "sigma2")):
        with pytest.raises(ValueError, match=text):
            geostat.Matern(*bad)
    with pytest.raises(ValueError, match="h is -1, must be >= 0"):
        c(np.array([-1.0]))


@pytest.mark.parametrize("mean", ["none", "constant"])
@pytest.mark.parametrize("accuracy", [0.0, 1e-6])
def test_likelihoods_are_the_formula(mean: Any, accuracy: float) -> None:
    found = geostat.loglikelihood(PLACES, VALUES, TRUTH, mean=mean, accuracy=accuracy, tile_size=40)
    S = matrix(TRUTH)
    ones = np.ones(N)
    mu = (ones @ np.linalg.solve(S, VALUES)) / (ones @ np.linalg.solve(S, ones)) if mean == "constant" else 0.0
    form = (VALUES - mu) @ np.linalg.solve(S, VALUES - mu)
    log_det = problems.log_determinant(S)
    condition = np.linalg.cond(S)
    assert abs(found.log_det - log_det) <= found.log_det_error + N * condition * EPS  # of the matrix that NumPy made
    assert abs(found.quadratic_form - form) <= N * condition * EPS * form
    assert abs(found.mean - mu) <= N * condition * EPS * 10
    total = -(N * np.log(2 * np.pi) + found.log_det + found.quadratic_form) / 2
    assert abs(found.log_likelihood - total) <= 4 * EPS * abs(total)
    assert found.n == N and found.solve_converged
    if accuracy > 0:
        assert sum(found.factor.tiles[1:]) > 0


@pytest.mark.parametrize("mean", ["none", "constant"])
def test_predictions_are_the_formula(mean: Any) -> None:
    new = problems.places(20, seed=9)
    found = geostat.predict(PLACES, VALUES, new, TRUTH, mean=mean)
    S, C = matrix(TRUTH), matern(TRUTH, distances(PLACES, new))
    W, ones = np.linalg.solve(S, C), np.ones(N)
    weight = ones @ np.linalg.solve(S, ones)
    mu = (ones @ np.linalg.solve(S, VALUES)) / weight if mean == "constant" else 0.0
    variance = TRUTH.sigma2 - (C * W).sum(axis=0)
    if mean == "constant":
        variance += (1 - W.sum(axis=0)) ** 2 / weight
    bar = N * np.linalg.cond(S) * EPS
    np.testing.assert_allclose(found.mean, mu + W.T @ (VALUES - mu), rtol=0, atol=bar * np.abs(VALUES).max())
    np.testing.assert_allclose(found.variance, variance, rtol=0, atol=bar * TRUTH.sigma2)
    assert found.converged and repr(found) == "<strata.geostat.Prediction at 20 locations>"
    assert geostat.predict(PLACES, VALUES, new[:0], TRUTH, mean="none").mean.shape == (0,)


def test_one_factor_for_several_values() -> None:
    factor = geostat.Factor(PLACES, TRUTH)
    assert factor.covariance == TRUTH and factor.report.n == N
    for values in (VALUES, VALUES[::-1], VALUES.astype(np.float64)):
        expected = geostat.loglikelihood(PLACES, values, TRUTH, mean="constant")
        assert factor.loglikelihood(values, "constant").log_likelihood == expected.log_likelihood
    assert factor.logdet().value == pytest.approx(problems.log_determinant(matrix(TRUTH)), abs=1e-9)
    assert repr(factor) == f"<strata.geostat.Factor of order {N}: {TRUTH!r}>"


def test_updates_with_other_parameters() -> None:
    factor = geostat.Factor(PLACES, TRUTH)
    for other in (geostat.Matern(2.0, 0.3, 1.5, 0.1), TRUTH):
        factor.refactor(other)
        assert factor.covariance == other
        assert factor.loglikelihood(VALUES, "none").log_likelihood == geostat.loglikelihood(PLACES, VALUES, other, mean="none").log_likelihood
        np.testing.assert_array_equal(factor.gradient(VALUES, "none").by, geostat.Factor(PLACES, other).gradient(VALUES, "none").by)
    with pytest.raises(strata.NotPositiveDefinite):
        factor.refactor(geostat.Matern(1.0, 1000.0, 2.5))
    with pytest.raises(strata.NotPositiveDefinite):
        factor.loglikelihood(VALUES, "none")
    with pytest.warns(DeprecationWarning, match="update is now called refactor"):
        factor.update(TRUTH)
    assert factor.loglikelihood(VALUES, "none").log_likelihood == geostat.loglikelihood(PLACES, VALUES, TRUTH, mean="none").log_likelihood


@pytest.mark.parametrize("accuracy", [0.0, 1e-5])
def test_devices_hold_a_matrix_with_the_numbers_of_the_host(accuracy: float) -> None:
    def made(storage: Any) -> geostat.Factor:
        return geostat.Factor(PLACES, TRUTH, accuracy=accuracy, tile_size=16, devices=problems.devices(2), budget_bytes=1 << 24, storage=storage)

    host, there = made("host"), made("devices")
    assert (host.report.storage, there.report.storage, there.report.whole, there.report.no_room) == ("host", "devices", False, "")
    for theta in (TRUTH, geostat.Matern(2.0, 0.3, 1.5, 0.1)):
        host.refactor(theta)
        there.refactor(theta)
        assert there.loglikelihood(VALUES, "constant").log_likelihood == host.loglikelihood(VALUES, "constant").log_likelihood
        np.testing.assert_array_equal(there.gradient(VALUES, "none").by, host.gradient(VALUES, "none").by)
    found = geostat.loglikelihood(PLACES, VALUES, TRUTH, mean="none", storage="devices")
    assert (found.factor.storage, found.factor.whole) == ("devices", True)
    with pytest.raises(MemoryError, match=r"device 0 needs \d+ bytes for its tiles and at least \d+ to factor them, and has 100000"):
        geostat.loglikelihood(PLACES, VALUES, TRUTH, mean="none", devices=problems.devices(2), budget_bytes=100000, storage="devices")


def test_great_circles() -> None:
    degrees = np.array([[0.0, 0.0], [90.0, 0.0], [0.0, 90.0]])
    c = geostat.Matern(1.0, 10000.0)
    quarter = np.pi / 2 * 6371.0088
    np.testing.assert_allclose(geostat.covariance_matrix(c, degrees, "great-circle")[0, 1:], np.exp(-quarter / 1e4), rtol=1e-14)


needs_nlopt = pytest.mark.skipif(not geostat.can_fit("bobyqa"), reason="built without NLopt")


def test_fits_find_a_maximum() -> None:
    steps: list[geostat.FitStep] = []
    found = geostat.fit(PLACES, VALUES, fixed=["nu"], on_step=steps.append)
    assert found.report.converged and found.report.evaluations == len(steps) and steps[0].evaluation == 1
    best = found.likelihood.log_likelihood
    assert abs(best - max(step.likelihood.log_likelihood for step in steps)) < 1e-9  # of a factor of its own at the end
    assert best >= geostat.loglikelihood(PLACES, VALUES, TRUTH, mean="constant").log_likelihood
    c = found.covariance
    assert c.nu == 0.5
    for factor in (0.99, 1.01):
        for near in (
            geostat.Matern(c.sigma2 * factor, c.range, c.nu, c.nugget),
            geostat.Matern(c.sigma2, c.range * factor, c.nu, c.nugget),
            geostat.Matern(c.sigma2, c.range, c.nu, c.nugget * factor),
        ):
            assert geostat.loglikelihood(PLACES, VALUES, near, mean="constant").log_likelihood <= best + 1e-6
    assert found.factor is not None and found.factor.covariance == c
    there = geostat.fit(PLACES, VALUES, fixed=["nu"], tile_size=32, devices=problems.devices(2), budget_bytes=1 << 24, storage="devices")
    host = geostat.fit(PLACES, VALUES, fixed=["nu"], tile_size=32, devices=problems.devices(2), budget_bytes=1 << 24, storage="host")
    assert there.covariance == host.covariance and there.factor is not None and there.factor.report.storage == "devices"
    new = problems.places(5, seed=4)
    np.testing.assert_allclose(found.predict(new).mean, geostat.predict(PLACES, VALUES, new, c, mean="constant").mean, rtol=1e-9)


def test_what_a_callback_raises_ends_the_fit() -> None:
    def stop(step: geostat.FitStep) -> None:
        if step.evaluation == 3:
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        geostat.fit(PLACES, VALUES, on_step=stop)


def test_one_mean_for_all_functions() -> None:
    """Of `predict` and the likelihoods it was none, so that a program predicted with a mean of 0 after a fit with a constant one."""
    factor, new = geostat.Factor(PLACES, TRUTH), problems.places(3, seed=4)
    calls: tuple[Callable[..., Any], ...] = (
        lambda **mean: geostat.loglikelihood(PLACES, VALUES, TRUTH, **mean).log_likelihood,
        lambda **mean: geostat.loglikelihood_and_gradient(PLACES, VALUES, TRUTH, **mean)[1].by,
        lambda **mean: geostat.predict(PLACES, VALUES, new, TRUTH, **mean).mean,
        lambda **mean: factor.loglikelihood(VALUES, **mean).log_likelihood,
        lambda **mean: factor.gradient(VALUES, **mean).by,
        lambda **mean: factor.predict(VALUES, new, **mean).mean,
    )
    for call in calls:
        with pytest.warns(FutureWarning, match="mean is 'constant' where it is not given") as caught:
            found = call()
        assert len(caught) == 1 and caught[0].filename == __file__
        np.testing.assert_array_equal(found, call(mean="constant"))


def test_fits_warn_of_copies_and_of_bounds() -> None:
    places, values = np.vstack([PLACES, PLACES[:5]]), np.append(VALUES, VALUES[:5])
    with pytest.warns(UserWarning) as caught:
        found = geostat.fit(places, values, fixed="nu")
    texts = [str(one.message) for one in caught]
    assert texts[0].startswith("5 places are in the data more than once, 5 times with the same value (locations 1 and 151, counted from 1)")
    assert found.report.converged and all(one.filename == __file__ for one in caught)
    with pytest.warns(UserWarning, match="sigma2 is at its lower bound"):
        noise = geostat.fit(PLACES, np.where(np.arange(N) % 2 == 0, 1.0, -1.0) + 0.1 * np.sin(np.arange(N) ** 2.0), start=geostat.Matern(1e-13, 0.1, 0.5, 1.0))
    assert noise.report.converged
    assert "there is no spatial correlation" in noise.standard_errors().reasons


def test_fits_end_at_a_nugget_of_zero() -> None:
    values = geostat.synthetic_field(geostat.Matern(1.0, 0.1, 0.5), PLACES, seed=7)
    found = geostat.fit(PLACES, values)
    assert found.report.converged and found.covariance.nugget == 0 and found.report.at_bound[3]
    assert 0 < found.report.nugget_below < found.covariance.sigma2
    errors = found.standard_errors()
    assert errors.reasons[3] == "at its bound" and np.isfinite(np.asarray(errors.of)[:3]).all()


@needs_nlopt
def test_ctrl_c_ends_a_fit() -> None:
    places = problems.places(700)
    values = geostat.synthetic_field(TRUTH, places)
    steps: list[float] = []

    def press(_: geostat.FitStep) -> None:
        steps.append(time.perf_counter())
        if len(steps) == 3:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.3)  # a fit on a GPU may be through before it is heard

    with pytest.raises(KeyboardInterrupt):
        geostat.fit(places, values, search="bobyqa", tolerance=1e-14, max_evaluations=10**6, on_step=press)
    heard = time.perf_counter()
    assert heard - steps[2] < 1.5
    time.sleep(1.0)
    assert not steps or steps[-1] < heard + 0.9  # it has ended by itself


@pytest.mark.parametrize(
    "options, text",
    [
        ({"fixed": ["kappa"]}, "no parameter 'kappa'"),
        ({"start": geostat.Matern(1e9, 1.0)}, "sigma2"),
        ({"search": "newton"}, "no search 'newton'"),
        ({"mean": "linear"}, "no mean 'linear'"),
        ({"metric": "manhattan"}, "no metric 'manhattan'"),
        ({"accuracy": 2.0}, "accuracy"),
        ({"devices": 0}, "devices: 0, must be at least 1"),
        ({"storage": "disk"}, "no storage of tiles 'disk'"),
    ],
)
def test_refuses_options_of_fits(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        geostat.fit(PLACES, VALUES, **options)


def test_refuses_what_is_no_covariance() -> None:
    bad: list[Any] = [(1.0, 0.1), None, TRUTH.sigma2, np.ones(4)]
    factor = geostat.Factor(PLACES, TRUTH)
    for covariance in bad:
        calls: tuple[Callable[[], Any], ...] = (
            lambda: geostat.loglikelihood(PLACES, VALUES, covariance, mean="none"),
            lambda: geostat.predict(PLACES, VALUES, PLACES[:2], covariance, mean="none"),
            lambda: geostat.covariance_matrix(covariance, PLACES),
            lambda: geostat.synthetic_field(covariance, PLACES),
            lambda: factor.refactor(covariance),
        )
        kind = "numpy.ndarray" if isinstance(covariance, np.ndarray) else type(covariance).__name__
        for call in calls:
            with pytest.raises(TypeError, match=f"covariance is a {kind}, must be a strata.geostat.Covariance"):
                call()
    assert factor.covariance == TRUTH
    for name in ("start", "lower", "upper"):
        options: dict[str, Any] = {name: (1.0, 0.1)}
        with pytest.raises(TypeError, match=f"{name} is a tuple, must be a strata.geostat.Covariance"):
            geostat.fit(PLACES, VALUES, **options)


def test_one_parameter_needs_no_list() -> None:
    factor = geostat.Factor(PLACES, TRUTH)
    np.testing.assert_array_equal(factor.gradient(VALUES, "none", "range").by, factor.gradient(VALUES, "none", ["range"]).by)
    np.testing.assert_array_equal(factor.standard_errors("range").of, factor.standard_errors(["range"]).of)
    found = geostat.fit(PLACES, VALUES, fixed="nu")
    assert found.covariance == geostat.fit(PLACES, VALUES, fixed=["nu"]).covariance


def test_refuses_what_has_no_covariance_matrix() -> None:
    twice = np.vstack([PLACES, PLACES[:1]])
    plain = geostat.Matern(1.0, 0.1)
    with pytest.raises(ValueError, match="locations 1 and 151 .* are both at"):
        geostat.Factor(twice, plain)
    with pytest.raises(ValueError, match="location 1 is .0, inf., must be finite"):
        geostat.Factor(np.array([[0.0, np.inf]]), plain)
    with pytest.raises(strata.NotPositiveDefinite) as caught:
        geostat.Factor(problems.places(400), geostat.Matern(1.0, 1000.0, 2.5))
    assert 1 < caught.value.minor <= 400


@pytest.mark.parametrize(
    "locations, values, error, text",
    [
        (PLACES[:, :1], VALUES, strata.ShapeError, f"locations are {N} x 1, must be n x 2"),
        (PLACES[0], VALUES, strata.ShapeError, "locations are 2, must be n x 2"),
        (PLACES, VALUES[1:], strata.ShapeError, f"{N - 1}"),
        (PLACES, VALUES[:, None], strata.ShapeError, "values has 2 dimensions"),
        (PLACES.astype("f4"), VALUES, TypeError, "locations is of float32"),
        (PLACES, VALUES.astype("f4"), TypeError, "values is of float32"),
        (PLACES, np.where(np.arange(N) == 3, np.nan, VALUES), ValueError, "value 4 is nan, must be finite"),
        (PLACES[:0], VALUES[:0], strata.ShapeError, ""),
    ],
)
def test_refuses_observations_that_do_not_fit(locations: Any, values: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        geostat.loglikelihood(locations, values, TRUTH, mean="none")


def test_arrays_as_they_come() -> None:
    expected = geostat.loglikelihood(PLACES, VALUES, TRUTH, mean="none").log_likelihood
    wide = np.zeros((2 * N, 6))
    wide[::2, 1:5:2] = PLACES
    for locations in (np.asfortranarray(PLACES), wide[::2, 1:5:2]):
        assert geostat.loglikelihood(locations, np.repeat(VALUES, 2)[::2], TRUTH, mean="none").log_likelihood == expected
    one = geostat.loglikelihood(np.zeros((1, 2)), np.array([2.0]), geostat.Matern(4.0, 1.0), mean="none")
    assert one.log_likelihood == pytest.approx(-(np.log(2 * np.pi) + np.log(4.0) + 1.0) / 2, abs=4 * EPS)
    torch = pytest.importorskip("torch")
    places, new = torch.from_numpy(PLACES), torch.from_numpy(PLACES[:3])
    assert geostat.loglikelihood(places, torch.from_numpy(VALUES), TRUTH, mean="none").log_likelihood == expected
    found = geostat.predict(places, torch.from_numpy(VALUES), new, TRUTH, mean="none")
    assert isinstance(found.mean, torch.Tensor) and isinstance(found.variance, torch.Tensor)
