# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Fits end: fields without a nugget, white noise, processor time. STRATA_STUDY=1 runs hundreds of fits for a fixed sample."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from strata import geostat

STUDY = os.environ.get("STRATA_STUDY") == "1"
FIELDS, NOISES, TIMED = (200, 20, 20) if STUDY else (16, 6, 3)
Case = tuple[Any, Any, geostat.Matern]


def fields(count: int) -> Iterator[Case]:
    """Fields of 60 to 260 random places without a nugget, of all variances, ranges and smoothnesses that are common."""
    random = np.random.default_rng(5)
    for seed in range(1, count + 1):
        places = random.random((int(random.integers(60, 260)), 2))
        nu, length = float(random.choice([0.3, 0.5, 0.8, 1.2, 1.5, 2.2])), float(random.uniform(0.03, 0.3))
        truth = geostat.Matern(float(10 ** random.uniform(-3, 3)), length, nu)
        yield places, geostat.synthetic_field(truth, places, seed=seed), truth


def noises(count: int) -> Iterator[Case]:
    random = np.random.default_rng(6)
    for _ in range(count):
        n = int(random.integers(40, 160))
        yield random.random((n, 2)), random.standard_normal(n), geostat.Matern(1e-13, 0.1, 0.5, 1.0)


def fitted(places: Any, values: Any, search: Any = "scoring") -> geostat.Fit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of default bounds, which some of these reach
        return geostat.fit(places, values, search=search)


def check(case: Case) -> geostat.Fit:
    """It ended, at a maximum, and each parameter has a standard error or a reason for none."""
    places, values, truth = case
    found = fitted(places, values)
    assert found.report.converged, (found, len(values))
    assert found.report.evaluations < 120, found
    assert found.likelihood.log_likelihood >= geostat.loglikelihood(places, values, truth, mean="constant").log_likelihood - 1e-3
    errors, factor = found.standard_errors(), found.factor
    assert factor is not None
    gradient = factor.gradient(values, "constant").by
    for k, reason in enumerate(errors.reasons):
        assert reason or errors.of[k] > 0, (found, errors.reasons)
        if not reason:  # a step of it alone would gain half of the square
            assert abs(gradient[k] * errors.of[k]) < 0.02 + 10 * found.report.noise, (found, k)
    return found


def test_fields_without_a_nugget() -> None:
    at_zero = [check(case).covariance.nugget == 0 for case in fields(FIELDS)]
    assert np.mean(at_zero) > 0.3


def test_white_noise() -> None:
    for case in noises(NOISES):
        check(case)


@pytest.mark.skipif(not geostat.can_fit("bobyqa"), reason="built without NLopt")
def test_takes_half_of_bobyqas_time_at_most() -> None:
    seconds = {"scoring": 0.0, "bobyqa": 0.0}
    for places, values, _ in fields(TIMED):
        best = {}
        for search in seconds:
            begin = time.process_time()
            best[search] = fitted(places, values, search).likelihood.log_likelihood
            seconds[search] += time.process_time() - begin
        assert best["scoring"] > best["bobyqa"] - 1e-4
    assert seconds["scoring"] <= seconds["bobyqa"] / 2, seconds


def test_one_misplaced_station_moves_nothing() -> None:
    random = np.random.default_rng(3)
    places = np.array([4e5, 5e6]) + 1000 * random.random((100, 2))
    values = geostat.synthetic_field(geostat.Matern(1.0, 100.0, 0.5, 0.1), places, seed=2)
    right = geostat.fit(places, values, fixed="nu")
    moved = places.copy()
    moved[17] = moved[17, ::-1]
    found = geostat.fit(moved, values, fixed="nu")
    assert not any(found.report.at_bound[:2])
    assert abs(found.covariance.range / right.covariance.range - 1) < 0.3
