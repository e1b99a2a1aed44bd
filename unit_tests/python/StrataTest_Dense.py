# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Factors, refined solves and log-determinants; arrays as they come; errors by their text."""

from __future__ import annotations

import array
from typing import Any, Callable

import numpy as np
import problems
import pytest
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
import strata
from problems import EPS, Array

N = 200
MATRICES: dict[str, Callable[[], Array]] = {
    "condition 1e4": lambda: problems.graded(N, 1e4),
    "condition 1e10": lambda: problems.graded(N, 1e10),
    "Matern 1/2": lambda: problems.matern(N),
    "Matern 3/2": lambda: problems.matern(N, 1.5),
}
TOLERANCE = problems.tolerance(N)


def right_hand_side(*shape: int) -> Array:
    return np.random.default_rng(7).standard_normal(shape)


def with_triangle(a: Array, lower: bool, other: float = np.nan) -> Array:
    """The other triangle overwritten."""
    a = a.copy()
    a[np.triu_indices(len(a), 1) if lower else np.tril_indices(len(a), -1)] = other
    return a


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("layers", ["auto", "fp64", "fp32", "fp16,fp32", ["fp16", "fp16", "fp32"]])
@pytest.mark.parametrize("name", MATRICES)
def test_solves_to_fp64_in_all_layers(name: str, layers: str | list[str], order: Any) -> None:
    a = np.array(MATRICES[name](), order=order)
    for b in (right_hand_side(N), right_hand_side(N, 3)):
        factor = strata.cholesky(a, layers)
        x = factor.solve(b)
        assert x.shape == b.shape
        assert problems.backward_error(a, x, b) <= TOLERANCE
        report = factor.last_solve
        assert report is not None and report.converged
        assert report.backward_error <= report.tolerance == pytest.approx(np.sqrt(N) * EPS)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("order", ["C", "F"])
def test_reads_one_triangle(order: Any, lower: bool) -> None:
    a, b = problems.graded(N, 1e4), right_hand_side(N)
    x = strata.cholesky(np.array(with_triangle(a, lower), order=order), lower=lower).solve(b)
    assert problems.backward_error(a, x, b) <= TOLERANCE


@pytest.mark.parametrize("n", [0, 1])
def test_small_orders(n: int) -> None:
    factor = strata.cholesky(np.full((n, n), 4.0))
    assert factor.shape == (n, n) and factor.info == 0
    np.testing.assert_array_equal(factor.solve(np.full(n, 8.0)), np.full(n, 2.0))
    assert factor.solve(np.zeros((n, 0))).shape == (n, 0)
    assert factor.solve(np.full((n, 2), 8.0)).shape == (n, 2)
    assert factor.logdet().value == pytest.approx(n * np.log(4.0), abs=1e-15)
    np.testing.assert_array_equal(factor.lower_triangle(), np.full((n, n), 2.0))


def test_says_which_minor_is_not_positive() -> None:
    a = np.eye(5)
    a[3, 3] = -1
    with pytest.raises(strata.NotPositiveDefinite, match="leading minor of order 4 is not positive") as caught:
        strata.cholesky(a)
    assert caught.value.minor == 4
    with pytest.raises(np.linalg.LinAlgError):  # as SciPy's users catch it
        strata.cho_factor(a)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("order", ["C", "F"])
def test_tells_whether_a_matrix_is_positive_definite(order: Any, lower: bool) -> None:
    a = problems.graded(N, 1e4)
    padded = np.full((N + 3, N + 5), np.nan, order=order)
    padded[:N, :N] = with_triangle(a, lower)
    for matrix in (np.array(with_triangle(a, lower), order=order), padded[:N, :N]):
        for minor, bad in ((0, None), (1, -1.0), (64, 0.0), (150, -1.0), (N, -1.0), (7, np.nan), (151, np.inf)):
            given = matrix[: len(a), : len(a)]
            kept = given[minor - 1, minor - 1]
            if bad is not None:
                given[minor - 1, minor - 1] = bad
            before = given.copy()
            found = strata.is_positive_definite(given, lower=lower)
            assert bool(found) is (minor == 0) and found.info == minor
            np.testing.assert_array_equal(given, before)
            given[minor - 1, minor - 1] = kept


def test_tells_what_it_found_of_definiteness() -> None:
    a = np.eye(5)
    a[4, 2] = 2.0  # the lower triangle alone
    found = strata.is_positive_definite(a)
    assert isinstance(found, strata.Definiteness) and not found
    assert repr(found) == "Definiteness(info=5)" and found.asdict() == {"info": 5}
    assert strata.is_positive_definite(a, lower=False)
    a[4, 2] = np.nan  # no error, as it is for a factor
    assert strata.is_positive_definite(a).info == 5
    with pytest.raises(ValueError, match="not finite"):
        strata.cholesky(a)


@pytest.mark.parametrize("n", [0, 1])
def test_small_orders_are_positive_definite(n: int) -> None:
    assert strata.is_positive_definite(np.full((n, n), 4.0))
    assert strata.is_positive_definite(np.full((n, n), -4.0)).info == n


def test_says_so_when_only_a_solve_sees_that_it_is_indefinite() -> None:
    values = np.ones(N)
    values[-1] = -1e-6
    q, _ = np.linalg.qr(right_hand_side(N, N))
    a = (q * values) @ q.T
    a = (a + a.T) / 2
    factor = strata.cholesky(a, "fp16", shift=0.01)
    assert factor.info == 0 and factor.report.shift == 0.01
    with pytest.raises(strata.NotPositiveDefinite) as caught:
        factor.solve(q[:, -1].copy())
    assert factor.info == caught.value.minor > 0


def test_refuses_numbers_that_are_not_finite() -> None:
    for bad in (np.nan, np.inf, -np.inf):
        a = np.eye(4)
        a[2, 1] = bad
        with pytest.raises(ValueError, match=r"A\(2, 1\) is not finite"):
            strata.cholesky(a)
        b = np.ones(4)
        b[3] = bad
        with pytest.raises(ValueError, match="finite"):
            strata.cholesky(np.eye(4)).solve(b)


@pytest.mark.parametrize(
    "a, error, text",
    [
        (np.zeros((2, 3)), strata.ShapeError, "A is 2 x 3, must be square"),
        (np.zeros(3), strata.ShapeError, "A has 1 dimensions, must have 2"),
        (np.zeros((2, 2, 2)), strata.ShapeError, "A has 3 dimensions, must have 2"),
        (4.0, strata.ShapeError, "A has 0 dimensions, must have 2"),
        (np.eye(2, dtype=np.float32), TypeError, "A is of float32, must be of float64"),
        (np.eye(2, dtype=int), TypeError, "A is of int64, must be of float64"),
        (np.eye(2, dtype=">f8"), TypeError, "A is of >f8"),
        (np.eye(2, dtype=complex), TypeError, "A is of complex128.*no complex numbers"),
        ([[4, 2], [2, 3]], TypeError, r"A is of int64, must be of float64: numpy.asarray\(A, 'float64'\) copies it"),
        ("abc", TypeError, "A is a str, must be an array of float64"),
        (None, TypeError, "A is a NoneType, must be an array of float64"),
        (4, TypeError, "A is a int, must be an array of float64"),
        (np.eye(2).view(np.ma.MaskedArray), TypeError, "A is a masked array"),
        (scipy.sparse.identity(2), TypeError, r"A is sparse: its toarray\(\) makes it dense; strata.sparse solves with a sparse A"),
    ],
)
def test_refuses_what_is_no_matrix(a: Any, error: type[Exception], text: str) -> None:
    calls: tuple[Callable[[Any], Any], ...] = (strata.cholesky, strata.is_positive_definite)
    for call in calls:
        with pytest.raises(error, match=text):
            call(a)


def test_refuses_what_are_no_layers_and_no_factor() -> None:
    words: Any = iter(["fp16", "fp32"])
    assert strata.cholesky(np.eye(64), words, leaf_size=16).report.layers == "fp16,fp32"
    bad: list[Any] = [None, 3, ["fp16", 32]]
    for layers in bad:
        with pytest.raises(TypeError, match="layers is .*, must be a str or a sequence of them"):
            strata.cholesky(np.eye(2), layers)
    with pytest.raises(TypeError, match="what strata.cho_factor has made, not a ndarray"):
        strata.cho_solve(scipy.linalg.cho_factor(np.eye(2)), np.ones(2))
    alone: Any = strata.cholesky(np.eye(2))
    with pytest.raises(TypeError, match=r"the pair \(c, lower\) that strata.cho_factor has made, not a Factor alone"):
        strata.cho_solve(alone, np.ones(2))


@pytest.mark.parametrize("lower", [1, 0, np.bool_(True), np.bool_(False)])
def test_lower_is_taken_as_scipy_takes_it(lower: Any) -> None:
    a = problems.graded(8, 10.0)
    a[np.triu_indices(8, 1) if lower else np.tril_indices(8, -1)] = np.nan  # not read
    b = np.ones(8)
    expected = scipy.linalg.cho_solve(scipy.linalg.cho_factor(a, bool(lower), check_finite=False), b, check_finite=False)
    for x in (strata.solve(a, b, lower=lower), strata.cho_solve(strata.cho_factor(a, lower), b)):
        np.testing.assert_allclose(x, expected, rtol=1e-10)
    assert strata.is_positive_definite(a, lower=lower)


class Copies:
    """As a frame whose columns lie apart: NumPy gets a copy of it."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.zeros(3)


def test_x_is_written_to_what_has_memory_for_it() -> None:
    out = array.array("d", [0.0, 0.0])
    assert strata.cholesky(4.0 * np.eye(2)).solve(np.ones(2), out) is out
    assert list(out) == [0.25, 0.25]


def test_refuses_right_hand_sides_that_do_not_fit() -> None:
    factor = strata.cholesky(np.eye(3))
    b = np.ones(3)
    for right, out, error, text in (
        (np.ones(2), None, strata.ShapeError, "b is 2, must have 3 rows"),
        (np.ones((2, 3)), None, strata.ShapeError, "b is 2 x 3, must have 3 rows"),
        (np.ones((3, 1, 1)), None, strata.ShapeError, "b has 3 dimensions"),
        (b.astype("f4"), None, TypeError, "b is of float32"),
        (b, np.ones((3, 1)), strata.ShapeError, "out is 3 x 1, must be 3"),
        (b, np.ones(3, "f4"), TypeError, "out is of float32"),
        (np.ones((3, 2)), np.ones((6, 4))[::2, ::2], strata.ShapeError, "out has strides of"),
        (b, [0.0, 0.0, 0.0], TypeError, "out is a list, which gives NumPy a copy of its numbers"),
        (b, Copies(), TypeError, "out is a Copies, which gives NumPy a copy of its numbers"),
    ):
        with pytest.raises(error, match=text):
            factor.solve(right, out)


@pytest.mark.parametrize(
    "options, text",
    [
        ({"layers": "fp12"}, "fp12"),
        ({"layers": ""}, "no precision ''"),
        ({"layers": []}, "no precision ''"),
        ({"leaf_size": -1}, "leaf"),
        ({"shift": -1.0}, "shift"),
    ],
)
def test_refuses_options_out_of_range(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        strata.cholesky(np.eye(3), **options)


def test_refuses_options_of_solves_out_of_range() -> None:
    factor = strata.cholesky(np.eye(3))
    bad: tuple[dict[str, Any], ...] = ({"refine": "magic"}, {"tolerance": -1.0}, {"restart": 0}, {"max_iterations": -1})
    for options in bad:
        with pytest.raises(ValueError):
            factor.solve(np.ones(3), **options)
    with pytest.raises(ValueError, match="assume_a is 'gen'"):
        strata.solve(np.eye(3), np.ones(3), assume_a="gen")  # type: ignore[arg-type]


def test_has_the_best_solution_where_it_does_not_converge() -> None:
    a, b = problems.graded(N, 1e4), right_hand_side(N)
    with pytest.raises(strata.NotConverged, match="the backward error is") as caught:
        strata.cholesky(a).solve(b, tolerance=1e-30)
    assert isinstance(caught.value, ArithmeticError)
    assert not caught.value.report.converged
    assert problems.backward_error(a, caught.value.x, b) <= TOLERANCE


@pytest.mark.parametrize("layers", ["fp64", "fp32", "fp16,fp32"])
@pytest.mark.parametrize("name", ["condition 1e4", "Matern 1/2", "Matern 3/2"])
def test_log_determinants_have_the_error_that_they_state(name: str, layers: str) -> None:
    a = MATRICES[name]()
    found = strata.cholesky(a, layers).logdet()
    assert abs(found.value - problems.log_determinant(a)) <= found.error
    if layers == "fp64":
        assert found.error < 1e-6 and found.standard_error == 0
    elif np.isfinite(found.error):
        better = strata.cholesky(a, layers).logdet(probes=64)
        assert better.error < found.error or found.standard_error == 0


def test_log_determinants_repeat_with_their_seed() -> None:
    factor = strata.cholesky(problems.graded(N, 1e2), "fp16,fp32")
    assert factor.logdet(seed=3).value == factor.logdet(seed=3).value != factor.logdet(seed=4).value
    with pytest.raises(ValueError, match="probes"):
        factor.logdet(probes=1)


def test_condition_is_near_the_true_one() -> None:
    a = problems.graded(N, 1e4)
    d = 2.0 ** -np.round(np.log2(np.diag(a)) / 2)
    h = a * d[:, None] * d[None, :]
    true = np.abs(h).sum(axis=0).max() * np.abs(np.linalg.inv(h)).sum(axis=0).max()
    found = strata.cholesky(a, "fp32").condition()
    assert found.converged and true / 10 <= found.value <= true * 4  # powers of two may be rounded otherwise


def test_the_factor_itself() -> None:
    a = problems.graded(N, 1e4)
    L = strata.cholesky(a, "fp64", equilibrate=False).lower_triangle()
    assert np.abs(np.triu(L, 1)).max() == 0
    error = np.abs(L @ L.T - a).max() / np.abs(a).max()
    assert error <= N * EPS
    np.testing.assert_allclose(L, np.linalg.cholesky(a), rtol=0, atol=N * 1e4 * EPS)


def test_reports_say_what_was_done() -> None:
    factor = strata.cholesky(problems.graded(N, 1e4), "fp16,fp32", leaf_size=50)
    report = factor.report
    assert (report.n, report.layers, report.leaf_size, report.rung) == (N, "fp16,fp32", 50, "as asked")
    assert report.asdict()["n"] == N and len(report.attempts) == 1 and report.attempts[0].outcome == "held"
    assert repr(report).startswith("FactorReport(n=200, layers='fp16,fp32', leaf_size=50,")
    assert repr(factor) == "<strata.Factor of order 200: fp16,fp32, as asked>"
    assert factor.last_solve is None
    factor.solve(np.zeros(N))
    assert factor.last_solve is not None and list(factor.last_solve.asdict())[:2] == ["converged", "backward_error"]


def test_updates_with_new_values() -> None:
    b = right_hand_side(N)
    factor = strata.cholesky(problems.graded(N, 1e4), "fp16,fp32")
    for condition in (1e2, 1e6):
        a = np.asfortranarray(problems.graded(N, condition, seed=3))
        factor.refactor(a)
        assert problems.backward_error(a, factor.solve(b), b) <= TOLERANCE
    with pytest.raises(strata.ShapeError, match=f"A is 3 x 3, the factor's order is {N}"):
        factor.refactor(np.eye(3))
    assert problems.backward_error(a, factor.solve(b), b) <= TOLERANCE
    with pytest.raises(strata.NotPositiveDefinite):
        factor.refactor(-np.eye(N))
    with pytest.raises(ValueError):
        factor.solve(b)
    with pytest.warns(DeprecationWarning, match="update is now called refactor; the old name works until 0.4"):
        factor.update(a)
    assert problems.backward_error(a, factor.solve(b), b) <= TOLERANCE


def test_as_scipy_has_them() -> None:
    a, b = problems.graded(N, 1e4), right_hand_side(N, 2)
    for lower in (False, True):
        theirs = scipy.linalg.cho_solve(scipy.linalg.cho_factor(a, lower), b)
        c = strata.cho_factor(with_triangle(a, lower), lower)
        assert c[1] is lower
        x = strata.cho_solve(c, b)
        # Both are backward stable: they differ by no more than the condition allows.
        np.testing.assert_allclose(x, theirs, rtol=0, atol=1e4 * N * EPS * np.abs(theirs).max())
        y = strata.solve(with_triangle(a, lower), b, lower=lower, assume_a="pos")
        np.testing.assert_allclose(y, x, rtol=0, atol=1e4 * N * EPS * np.abs(theirs).max())


def test_is_a_linear_operator() -> None:
    a, b = problems.graded(N, 1e4), right_hand_side(N, 2)
    factor = strata.cholesky(a, "fp16,fp32")
    inverse = factor.as_linear_operator()
    assert inverse.shape == (N, N)
    assert problems.backward_error(a, inverse @ b, b) <= TOLERANCE
    assert problems.backward_error(a, inverse @ b[:, 0], b[:, 0]) <= TOLERANCE
    steps: list[int] = []
    cheap = factor.as_linear_operator(refine="none")
    x, failed = scipy.sparse.linalg.cg(a, b[:, 0], rtol=1e-12, M=cheap, callback=lambda _: steps.append(1))
    assert failed == 0 and len(steps) < 60
    assert np.linalg.norm(a @ x - b[:, 0]) <= 1e-11 * np.linalg.norm(b[:, 0])
