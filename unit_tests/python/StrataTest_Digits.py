# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Matrices near the limit of fp64: digits to expect, warnings, jitters, refusals that say what to do."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import strata
from problems import Array


def pair(n: int, i: int, j: int, apart: float) -> Array:
    a = np.eye(n)
    a[i, j] = a[j, i] = 1 - apart
    return a


def kernel(n: int) -> Array:
    """A squared exponential on a line, which fp64 calls not positive definite."""
    x = np.linspace(0, 1, n)
    return np.exp(-((x[:, None] - x[None]) ** 2) / 0.18)


@pytest.mark.parametrize("rows", [(33, 35), (33, 34), (0, 99)])
def test_conditions_see_two_rows_that_are_nearly_equal(rows: tuple[int, int]) -> None:
    factor = strata.cholesky(pair(100, *rows, 1e-8))
    assert factor.condition().value == pytest.approx(2e8, rel=1e-3)
    factor.solve(np.ones(100))
    assert factor.last_solve is not None
    error = strata.forward_error(factor.last_solve, factor.condition())
    assert 1e-9 < error < 1e-7 and strata.digits(error) == pytest.approx(-np.log10(error))
    assert strata.digits(0) == 16 and strata.digits(1) == 0
    assert factor.last_solve.relative_residual >= factor.last_solve.equilibrated_error


def test_solves_warn_where_few_digits_are_to_be_expected() -> None:
    hard, b = pair(100, 33, 35, 2e-15), np.ones(100)
    with pytest.warns(strata.AccuracyWarning, match="digits of x are to be expected") as seen:
        strata.solve(hard, b)
    assert seen[0].filename == __file__
    factor = strata.cholesky(hard)
    with pytest.warns(strata.AccuracyWarning):
        factor.solve(b)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        factor.solve(b, refine="none")
        strata.solve(pair(100, 33, 35, 1e-6), b)
        strata.solve(np.eye(3), np.ones((3, 2)))
    assert issubclass(strata.AccuracyWarning, RuntimeWarning)


def test_a_jitter_is_the_smallest_power_of_ten_and_is_told() -> None:
    a, b = 5 * kernel(200), np.ones(200)
    with pytest.raises(strata.NotPositiveDefinite, match="numerically not positive definite") as refused:
        strata.cholesky(a, "fp64")
    assert refused.value.minor == strata.is_positive_definite(a).info > 0
    assert "jitter" in str(refused.value)
    with pytest.warns(strata.AccuracyWarning, match="of its mean"):
        factor = strata.cholesky(a, jitter="auto")
    jitter = factor.report.jitter
    assert 1e-15 <= jitter <= 1e-11 and np.log10(jitter) == pytest.approx(round(np.log10(jitter)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = strata.solve(a, b, jitter="auto")
    assert np.abs((a + jitter * 5 * np.eye(200)) @ x - b).max() < 1e-10 * np.abs(x).max()
    assert strata.cholesky(np.eye(4), jitter="auto").report.jitter == 0
    with pytest.warns(strata.AccuracyWarning):
        factor.refactor(a)
    with pytest.raises(ValueError, match="must be 'auto' or None"):
        strata.cholesky(a, jitter="yes")  # type: ignore[arg-type]


def test_refusals_name_rows_that_are_equal() -> None:
    rng = np.random.default_rng(1)
    p = rng.random((80, 2))
    p[50] = p[20]
    a = np.exp(-np.sqrt(((p[:, None] - p[None]) ** 2).sum(-1)) / 0.1)
    a[50, 20] = a[20, 50] = 1 + 4e-16
    with pytest.raises(strata.NotPositiveDefinite, match=r"Rows 20 and 50 \(from 0\) are equal to within"):
        strata.cholesky(a)
    a[50, 20] = a[20, 50] = 2
    with pytest.raises(strata.NotPositiveDefinite, match="order 51 is not positive: A is not positive definite"):
        strata.cholesky(a)


@pytest.mark.parametrize("order", ["C", "F"])
def test_entries_that_are_not_finite_are_named_as_they_stand_in_the_triangle_that_is_read(order: str) -> None:
    a = np.asarray(4 * np.eye(3), order=order)  # type: ignore[call-overload]
    a[0, 2] = np.nan
    with pytest.raises(ValueError, match=r"A\(0, 2\) is not finite"):
        strata.solve(a, np.ones(3))
    with pytest.raises(ValueError, match=r"A\(2, 0\) is not finite"):
        strata.solve(a.T, np.ones(3), lower=True)
    factor = strata.cholesky(np.eye(3), lower=False)
    with pytest.raises(ValueError, match=r"A\(0, 2\) is not finite"):
        factor.refactor(a)


def test_log_determinants_are_numbers_where_nothing_can_be_said() -> None:
    i = np.arange(24)
    a = np.ones((24, 24))
    for k in i[1:]:
        a[k, 1:] = np.cumsum(a[k - 1])[1:]  # Pascal's triangle: its determinant is 1
    for layers in ("fp32", "fp64", "auto"):
        found = strata.cholesky(a, layers, jitter="auto").logdet()
        assert np.isfinite(found.value) and not abs(found.value) > found.error
