# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Symmetric matrices that need not be definite: solves, inertia, determinants, refusals."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.linalg
import strata
from problems import Array


def saddle(n: int, m: int) -> Array:
    """A system of kriging: a covariance bordered by a mean's columns."""
    t = np.linspace(0, 1, n)
    K = np.exp(-abs(t[:, None] - t) * 5)
    F = t[:, None] ** np.arange(m)
    return np.block([[K, F], [F.T, np.zeros((m, m))]])


def backward_error(A: Array, x: Array, b: Array) -> float:
    return float(abs(b - A @ x).max() / (abs(A).sum(axis=1).max() * abs(x).max() + abs(b).max()))


@pytest.mark.parametrize("layers", ["auto", "fp32", "fp64"])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("order", ["C", "F"])
def test_saddle_points_are_solved_as_scipy_does(layers: str, lower: bool, order: str) -> None:
    A = saddle(300, 3)
    b = np.random.default_rng(1).standard_normal((303, 2))
    triangle = np.tril(A) if lower else np.triu(A)
    given = np.asfortranarray(triangle) if order == "F" else np.ascontiguousarray(triangle)
    x = strata.solve(given, b, layers, assume_a="sym", lower=lower)
    assert backward_error(A, x, b) < 303 * 2.0**-52
    assert np.allclose(x, scipy.linalg.solve(A, b, assume_a="sym"), rtol=1e-9)


def test_signs_and_determinants_are_those_of_the_eigenvalues() -> None:
    A = saddle(200, 3)
    eigenvalues = np.linalg.eigvalsh(A)
    for options in ({"layers": "fp32"}, {"layers": "fp64"}, {"pivoted": True}):
        factor = strata.symmetric_factor(A, **options)
        inertia = factor.inertia()
        assert (inertia.positive, inertia.negative, inertia.decided) == (int((eigenvalues > 0).sum()), 3, True)
        found = factor.logdet()
        sign, value = np.linalg.slogdet(A)
        assert found.sign == sign and abs(found.value - value) < found.error + 1e-12 * abs(value) and found.error < 1e-6
        assert factor.report.smallest_scaling == factor.report.largest_scaling == 1
        assert 1 / 3 < factor.condition().value / np.linalg.cond(A, 1) < 3
        assert "SymmetricFactor" in repr(factor) and factor.shape == A.shape


def test_the_report_names_each_rung_that_was_climbed() -> None:
    n = 300
    A = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    A -= (np.linalg.eigvalsh(A)[100] + 1e-12) * np.eye(n)
    factor = strata.symmetric_factor(A, "fp32")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", strata.AccuracyWarning)
        factor.solve(np.ones(n))
    rungs = [attempt.rung for attempt in factor.report.attempts]
    assert rungs[0] == "layers" and len(rungs) > 1 and rungs == [r for r in ("layers", "fp64", "pivoted") if r in rungs]
    assert factor.report.attempts[0].outcome == "not converged"
    assert factor.last_solve is not None and factor.last_solve.converged


@pytest.mark.parametrize("A", [np.zeros((3, 3)), np.ones((5, 5)), np.diag([1.0, -1.0, 0.0])])
def test_singular_matrices_are_refused_with_the_reason(A: Array) -> None:
    with pytest.raises(strata.Singular, match="A is singular"):
        strata.solve(A, np.ones(len(A)), assume_a="sym")
    assert issubclass(strata.Singular, np.linalg.LinAlgError)


def test_a_singular_factor_stays_singular() -> None:
    A = np.diag([1.0] + 8 * [2.0] + [1.0]) - np.eye(10, k=1) - np.eye(10, k=-1)
    factor = strata.symmetric_factor(A, "fp64")
    for _ in range(2):
        with pytest.raises(strata.Singular, match="A is singular"):
            factor.solve(np.arange(10.0))
    for method in (factor.inertia, factor.logdet, factor.condition):
        with pytest.raises(strata.Singular, match="A is singular"):
            method()


def test_mistakes_are_named() -> None:
    A = saddle(20, 2)
    with pytest.raises(ValueError, match="must be 'pos' or 'sym'"):
        strata.solve(A, np.ones(22), assume_a="gen")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="jitter is 'auto', must be None"):
        strata.solve(A, np.ones(22), assume_a="sym", jitter="auto")
    A[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"A\(3, 1\) is not finite"):
        strata.symmetric_factor(A)
    with pytest.raises(strata.ShapeError):
        strata.symmetric_factor(np.ones((2, 3)))
    assert strata.solve(np.zeros((0, 0)), np.zeros(0), assume_a="sym").shape == (0,)
