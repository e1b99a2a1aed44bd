# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Fits and predictions of the package by Vecchia's approximation, beside the exact ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import problems
import pytest
from strata import geostat

N = 600
C = geostat.Matern(sigma2=1.5, range=0.1, nu=0.5, nugget=0.2)
PLACES = problems.places(N)
X: Any = np.column_stack([PLACES[:, 0], np.cos(7 * PLACES[:, 1])])
VALUES: Any = np.asarray(geostat.synthetic_field(C, PLACES)) + 3 + X @ [2.0, -1.0]
NEW = np.array([[0.3, 0.4], [0.71, 0.2], [0.05, 0.95]])
X_NEW: Any = np.column_stack([NEW[:, 0], np.cos(7 * NEW[:, 1])])


def test_a_fit_and_its_predictions_are_near_the_exact_ones() -> None:
    exact = geostat.fit(PLACES, VALUES, X=X, fixed="nu", reml=True)
    near = geostat.fit(PLACES, VALUES, X=X, fixed="nu", reml=True, neighbours=20)
    errors, known = near.standard_errors(), exact.standard_errors()
    for k, name in enumerate(("sigma2", "range", "nu", "nugget")):
        if name == "nu":
            assert errors.reasons[k] == "fixed"
            continue
        assert abs(getattr(near.covariance, name) - getattr(exact.covariance, name)) < 0.5 * known.of[k]
        assert errors.of[k] == pytest.approx(known.of[k], rel=0.2)
    for name, b in exact.coefficients.items():
        assert abs(near.coefficients[name] - b) < 0.2 * exact.coefficient_errors[name]
    assert near.factor is None and exact.approximation is None and exact.exact is None
    assert near.approximation is not None and near.approximation.neighbours == 20
    assert near.exact is not None
    off = exact.likelihood.log_likelihood - near.exact.likelihood.log_likelihood
    assert -1e-6 < off < 0.5
    assert np.isnan(near.exact.distance[2]) and np.abs(near.exact.distance[[0, 1, 3]]).max() < 0.5
    here, there = near.predict(NEW, X_NEW), exact.predict(NEW, X_NEW)
    np.testing.assert_allclose(here.mean, there.mean, atol=0.1 * np.sqrt(there.variance).max())
    np.testing.assert_allclose(here.variance, there.variance, rtol=0.05)


def test_all_neighbours_are_the_exact_fit() -> None:
    few, values = PLACES[:80], VALUES[:80]
    exact = geostat.fit(few, values, fixed="nu", tolerance=1e-7)
    near = geostat.fit(few, values, fixed="nu", tolerance=1e-7, neighbours=200)
    assert near.likelihood.log_likelihood == pytest.approx(exact.likelihood.log_likelihood, abs=1e-8)
    np.testing.assert_allclose(near.predict(NEW).mean, exact.predict(NEW).mean, rtol=1e-3)


def test_families_directions_and_known_errors_are_as_of_the_exact_fit() -> None:
    few, values = PLACES[:80], VALUES[:80]
    errors = 0.05 + 0.1 * (np.arange(80.0) % 4)
    for how in ({"family": "spherical"}, {"family": "exponential", "anisotropy": (30.0, 0.5)}, {"family": "exponential", "error_variances": errors}):
        exact = geostat.fit(few, values, tolerance=1e-7, **how)
        near = geostat.fit(few, values, tolerance=1e-7, neighbours=200, **how)
        assert near.likelihood.log_likelihood == pytest.approx(exact.likelihood.log_likelihood, abs=1e-7)
        assert (near.covariance.family, near.covariance.angle, near.covariance.ratio) == (exact.covariance.family, exact.covariance.angle, exact.covariance.ratio)
        for certain in (False, True):
            np.testing.assert_allclose(near.predict(NEW, exact=certain).mean, exact.predict(NEW, exact=certain).mean, rtol=1e-3)
    assert near.predict(NEW, variance=False).variance.size == 0
    np.testing.assert_array_equal(near.predict(NEW, variance=False).mean, near.predict(NEW).mean)
    at = near.predict(few[:3], exact=True)
    assert np.all(np.asarray(at.variance) > 0)  # the known errors are errors still


def test_the_exact_likelihood_is_left_out_beyond_a_size() -> None:
    assert geostat.fit(PLACES, VALUES, fixed="nu", neighbours=8, exact_up_to=N - 1).exact is None


def test_says_what_it_does_not_do() -> None:
    near = geostat.fit(PLACES[:60], VALUES[:60], fixed="nu", neighbours=8)
    with pytest.raises(ValueError, match="by neighbours"):
        near.profile_interval("range")
    with pytest.raises(ValueError, match="1001"):
        geostat.fit(PLACES, VALUES, neighbours=1001)
    with pytest.raises(ValueError, match="-1"):
        geostat.fit(PLACES, VALUES, neighbours=-1)
    if geostat.can_fit("bobyqa"):
        with pytest.raises(ValueError, match="scoring"):
            geostat.fit(PLACES, VALUES, neighbours=8, search="bobyqa")
    with pytest.raises(ZeroDivisionError):
        geostat.fit(PLACES, VALUES, neighbours=8, on_step=lambda step: 1 // 0)
