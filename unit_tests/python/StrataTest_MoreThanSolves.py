# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""A dense factor beyond solves: whitening and sampling, the inverse, changes of the matrix; errors by their text."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import problems
import pytest
import strata
from problems import EPS, Array

N = 150


def numbers(*shape: int, seed: int = 7) -> Array:
    return np.random.default_rng(seed).standard_normal(shape)


def lower_half(a: Array) -> Array:
    """NaN above the diagonal, which nobody may read."""
    a = a.copy()
    a[np.triu_indices(len(a), 1)] = np.nan
    return a


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(N,), (N, 1), (N, 3)])
def test_whitens_and_samples(shape: tuple[int, ...], order: Any) -> None:
    a, b = problems.graded(N, 1e4), np.array(numbers(*shape), order=order)
    factor = strata.cholesky(np.array(a, order=order), "fp64")
    L = factor.lower_triangle()
    x = factor.sample(b)
    assert x.shape == b.shape and x.flags.f_contiguous == b.flags.f_contiguous
    assert abs(x - L @ b).max() <= 4 * N * EPS * abs(L).max() * abs(b).max()
    assert abs(factor.whiten(x) - b).max() <= 1e-10
    assert problems.backward_error(a, factor.whiten_transposed(factor.whiten(b)), b) <= 1e-14
    room = b.copy(order="K")
    assert factor.whiten(room, out=room) is room
    assert abs(room - factor.whiten(b)).max() == 0
    strided = np.zeros((N, 7))[:, 1:4]
    if b.shape == strided.shape:
        assert abs(factor.sample(b, out=strided) - x).max() == 0


def test_states_an_error_of_the_whitening() -> None:
    for condition in (1e1, 1e6, 1e10):
        a = problems.graded(N, condition)
        factor = strata.cholesky(a, "fp64")
        W = factor.whiten(np.eye(N))
        stated = factor.whitening_error()
        assert np.linalg.norm(W @ a @ W.T - np.eye(N), 2) <= 2 * stated
        assert stated <= 1e3 * condition * EPS


def test_inverts_with_an_error() -> None:
    a, b = problems.matern(N), numbers(N, 3)
    factor = strata.cholesky(a, "fp64")
    expected = np.linalg.inv(a)
    root = np.sqrt(np.outer(expected.diagonal(), expected.diagonal()))
    unmeasured = factor.inverse(with_error=False)
    assert np.isnan(unmeasured.error)
    whole = factor.inverse()
    np.testing.assert_array_equal(unmeasured.value, whole.value)
    assert (whole.value == whole.value.T).all()
    assert 0 < whole.error < 1e-9
    assert (abs(whole.value - expected) / root).max() <= 4 * whole.error
    room = np.full((N, N + 2), np.nan)
    assert factor.inverse(out=room[:, :N]).value is not None
    assert (room[:, :N] == whole.value).all() and np.isnan(room[:, N:]).all()
    low = factor.inverse(tolerance=1e-3)
    assert 1e-7 < low.error <= 1e-3 and (low.value == low.value.T).all()
    assert whole.error < (abs(low.value - expected) / root).max() <= low.error
    assert factor.inverse(tolerance=1e-9).error == whole.error
    with pytest.raises(ValueError, match="inverse: the tolerance is -1, must be >= 0"):
        factor.inverse(tolerance=-1)
    diagonal, error = factor.inverse_diagonal()
    assert (abs(diagonal - expected.diagonal()) <= 4 * error * diagonal).all()
    rows, cols = [0, 149, 3], np.array([149, 0, 3])
    entries = factor.inverse_entries(rows, cols)
    assert (abs(entries.value - expected[rows, cols]) <= 4 * entries.error * root[rows, cols]).all()
    form = factor.quadratic_form(b)
    assert form.value.shape == (3, 3)
    assert abs(form.value - b.T @ expected @ b).max() <= 1e-10 * form.value.max()
    assert abs(factor.quadratic_form(b, diagonal=True).value - form.value.diagonal()).max() <= 1e-12 * form.value.max()
    one = factor.quadratic_form(b[:, 0])
    assert isinstance(one.value, float) and one.value == pytest.approx(form.value[0, 0], rel=1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("lower", [True, False])
def test_changes_the_matrix(order: Any, lower: bool) -> None:
    a, V = problems.graded(N, 1e4), 0.3 * numbers(N, 5)
    given = lower_half(a)
    given = np.array(given if lower else given.T, order=order)
    factor = strata.cholesky(given, "fp64", lower=lower)
    factor.rank_update(np.array(V, order=order))
    given[:] = np.nan  # is the caller's again
    check(factor, a + V @ V.T)
    factor.rank_downdate(V)
    check(factor, a)
    factor.rank_update(V[:, 0])
    factor.rank_downdate(V[:, 0])
    factor.remove([3, 140, 7])
    kept = np.delete(np.arange(N), [3, 140, 7])
    check(factor, a[kept][:, kept])
    order_of = np.append(kept, [3, 140, 7])
    factor.append(a[order_of][:, [3, 140, 7]])
    assert factor.shape == (N, N) and factor.report.n == N
    check(factor, a[order_of][:, order_of])
    other = problems.graded(N, 1e2)
    factor.refactor(other if lower else other.T)
    check(factor, other)


def check(factor: strata.Factor, a: Array) -> None:
    b = numbers(len(a), 2, seed=9)
    assert abs(factor.matrix() - a).max() <= 100 * EPS * abs(a).max()
    assert problems.backward_error(factor.matrix(), factor.solve(b), b) <= 1e-14
    L = factor.lower_triangle()
    assert abs(L @ L.T - a).max() <= 4 * N * EPS * abs(a).max()
    again = pickle.loads(pickle.dumps(factor))
    assert abs(copy.deepcopy(factor).matrix() - again.matrix()).max() == 0
    assert abs(again.solve(b) - factor.solve(b)).max() <= 1e-8 * abs(factor.solve(b)).max()


def test_refuses_what_leaves_no_factor() -> None:
    a = problems.graded(N, 1e2)
    factor = strata.cholesky(a, "fp64")
    before = factor.lower_triangle()
    v = np.zeros(N)
    v[4] = 2 * np.sqrt(a[4, 4])
    with pytest.raises(strata.NotPositiveDefinite, match="A - V V\\^T is not positive definite: its leading minor of order 5 is not") as caught:
        factor.rank_downdate(v)
    assert caught.value.minor == 5
    with pytest.raises(strata.NotPositiveDefinite, match="A with these columns is not positive definite: its leading minor of order 151"):
        factor.append(np.zeros(N + 1))
    assert (factor.lower_triangle() == before).all() and factor.shape == (N, N)
    check(factor, a)


def test_takes_no_rows_and_no_columns() -> None:
    factor = strata.cholesky(np.empty((0, 0)), "fp64")
    assert factor.inverse().value.shape == (0, 0) and factor.inverse_diagonal().value.shape == (0,)
    assert factor.inverse_entries([], []).value.shape == (0,)
    assert factor.whiten(np.empty((0, 2))).shape == (0, 2)
    factor.append(np.array([4.0]))
    assert factor.shape == (1, 1) and factor.solve(np.array([8.0]))[0] == 2
    factor.rank_update(np.empty((1, 0)))
    factor.remove([0])
    assert factor.shape == (0, 0)


def test_refuses_low_layers_until_they_are_promoted() -> None:
    factor = strata.cholesky(problems.graded(N, 1e2), "fp16,fp32")
    with pytest.raises(ValueError, match="the factor is in fp16,fp32: L L\\^T is A only to about 0.00048.*promote\\(\\) makes one in fp64"):
        factor.sample(np.ones(N))
    factor.promote()
    assert factor.report.layers == "fp64" and factor.whitening_error() < 1e-10
    alone = strata.cholesky(problems.graded(N, 1e2), "fp16,fp32", ladder=False)
    with pytest.raises(ValueError, match="the ladder, which leads to fp64, is off"):
        alone.promote()


def test_says_what_is_wrong() -> None:
    a = problems.graded(N, 1e2)
    factor = strata.cholesky(a, "fp64")
    bad = np.ones(N)
    bad[3] = np.nan
    for work in (factor.whiten, factor.rank_update, factor.quadratic_form):
        with pytest.raises(ValueError, match="holds a non-finite number, in row 3"):
            work(bad)
    with pytest.raises(strata.ShapeError, match="z is 3, must have 150 rows"):
        factor.sample(np.ones(3))
    with pytest.raises(strata.ShapeError, match="rank_downdate: V is 149 x 1, A of order 150"):
        factor.rank_downdate(np.ones(N - 1))
    with pytest.raises(strata.ShapeError, match="append: B is 150 x 1, must have as many rows as A, 150, and as it has columns"):
        factor.append(np.ones(N))
    with pytest.raises(strata.ShapeError, match="rows has 2 numbers, cols 1"):
        factor.inverse_entries([0, 1], [0])
    with pytest.raises(ValueError, match="there is an index 150, must be in \\[0, 150\\)"):
        factor.inverse_entries([0], [N])
    with pytest.raises(ValueError, match="remove: row 2 is there twice"):
        factor.remove([2, 2])
    with pytest.raises(TypeError, match="rows is of float64, must be of integers"):
        factor.remove([0.5])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="b is of float32, must be of float64"):
        factor.whiten(np.ones(N, np.float32))
    if not problems.ON_GPU:  # which has a copy of A
        with pytest.raises(ValueError, match="X overlaps A"):
            factor.inverse(out=a)


def test_works_from_two_threads() -> None:
    factor = strata.cholesky(problems.graded(N, 1e3), "fp64")
    b = numbers(N, 4)
    alone = [factor.whiten(b), factor.inverse().value, factor.sample(b)]
    with ThreadPoolExecutor(2) as pool:
        for found in pool.map(lambda k: (factor.whiten, lambda _: factor.inverse().value, factor.sample)[k % 3](b), range(60)):
            assert any(found.shape == one.shape and (found == one).all() for one in alone)
