# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Columns of right-hand sides, monitors, and what a sparse solve stops by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
import strata
from problems import Array

POINTS = 40
N = POINTS * POINTS


def poisson() -> Any:
    """Five points on a square."""
    one = scipy.sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(POINTS, POINTS))
    return scipy.sparse.kronsum(one, one).tocsr()


def solution(*shape: int) -> Array:
    return np.random.default_rng(3).standard_normal(shape)


def relative_residual(A: Any, x: Array, b: Array) -> float:
    return float(np.linalg.norm(b - A @ x) / np.linalg.norm(b))


@pytest.mark.parametrize("preconditioner", ["amg", "ic", "jacobi"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_columns_go_abreast_each_with_its_own_end(order: Any, preconditioner: Any) -> None:
    A, X = poisson(), solution(N, 10)
    B = np.asarray(A @ X, order=order)
    B[:, 1] = 0.0
    solver = strata.sparse.Solver(A, solver="cg", preconditioner=preconditioner)
    found = solver.solve(B)
    assert found.shape == B.shape
    np.testing.assert_array_equal(found[:, 1], 0.0)
    for j in (0, *range(2, 10)):
        assert relative_residual(A, found[:, j], B[:, j]) <= 1.01e-10
    report = solver.last_solve
    assert report is not None and report.columns_abreast in (2, 8)
    assert f"abreast with {report.columns_abreast - 1} other columns" in report.attempts[0].reason
    assert len(report.history) == report.iterations
    alone = solver.solve(B[:, 0])
    assert solver.last_solve is not None and solver.last_solve.columns_abreast == 1
    np.testing.assert_allclose(found[:, 0], alone, atol=1e-7 * abs(alone).max())
    again = solver.solve(B, found)
    assert solver.last_solve.iterations == 0
    np.testing.assert_array_equal(again, found)


def test_a_monitor_hears_of_each_iteration() -> None:
    A, b = poisson(), solution(N)
    solver = strata.sparse.Solver(A, solver="cg", preconditioner="jacobi")
    heard: list[tuple[int, float]] = []
    solver.solve(b, monitor=lambda iteration, residual: heard.append((iteration, residual)))
    report = solver.last_solve
    assert report is not None and [iteration for iteration, _ in heard] == list(range(1, report.iterations + 1))
    np.testing.assert_array_equal([residual for _, residual in heard], report.history)
    heard.clear()
    solver.solve(b)
    assert not heard
    strata.sparse.solve(A, np.stack([b, 2 * b], axis=1), solver="cg", preconditioner="jacobi", monitor=lambda *told: heard.append(told))
    assert len(heard) == report.iterations


@pytest.mark.parametrize("columns", [1, 3])
def test_what_a_monitor_raises_ends_the_solve(columns: int) -> None:
    A, B, calls = poisson(), solution(N, columns), [0]

    class Enough(Exception):
        pass

    def monitor(iteration: int, residual: float) -> None:
        calls[0] += 1
        if iteration == 5:
            raise Enough(f"at {residual:.1e}")

    solver = strata.sparse.Solver(A, solver="cg", preconditioner="jacobi")
    with pytest.raises(Enough, match="at "):
        solver.solve(B, monitor=monitor)
    assert calls[0] == 5
    X = solver.solve(B)  # it is as it was
    assert all(relative_residual(A, X[:, j], B[:, j]) <= 1.01e-10 for j in range(columns))


def test_an_absolute_residual_will_do() -> None:
    A, B = poisson(), solution(N, 3)
    B[:, 1] *= 1e-3
    solver = strata.sparse.Solver(A, solver="cg", preconditioner="jacobi", absolute_tolerance=1e-4)
    for right in (B, B[:, :1]):
        X = solver.solve(right)
        report = solver.last_solve
        assert report is not None and report.tolerance > 1e-10
        for j in range(right.shape[1]):
            assert 1e-6 < np.linalg.norm(right[:, j] - A @ X[:, j]) <= 1.01e-4
    strata.sparse.Solver(A, absolute_tolerance=1e9).solve(B[:, 0])
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="absolute tolerance"):
            strata.sparse.Solver(A, absolute_tolerance=bad)


@pytest.mark.parametrize("preconditioner", ["jacobi", "ic"])
def test_stops_by_the_energy_norm(preconditioner: Any) -> None:
    A, x = poisson(), solution(N)
    b = A @ x
    errors = []
    for tolerance in (1e-2, 1e-4, 1e-6):
        solver = strata.sparse.Solver(A, preconditioner=preconditioner, tolerance=tolerance, stop="energy")
        error = solver.solve(b) - x
        errors.append(np.sqrt(error @ (A @ error) / (x @ (A @ x))))
        report = solver.last_solve
        assert report is not None and report.solver == "cg" and report.status == "converged"
    assert all(error <= 2 * tolerance for error, tolerance in zip(errors, (1e-2, 1e-4, 1e-6)))
    assert errors[2] > 1e-10  # not by the residual


def test_stops_by_the_preconditioners_norm() -> None:
    A, b = poisson(), solution(N)
    diagonal = A.diagonal()
    solver = strata.sparse.Solver(A, preconditioner="jacobi", tolerance=1e-5, stop="preconditioned")
    r = b - A @ solver.solve(b)
    reached = np.sqrt((r @ (r / diagonal)) / (b @ (b / diagonal)))
    assert 1e-7 < reached <= 1.01e-5
    with pytest.raises(ValueError, match="the norm energy to stop by is CG's, the solver is gmres"):
        strata.sparse.Solver(A, solver="gmres", stop="energy")
    with pytest.raises(ValueError, match="no norm 'maximum'"):
        strata.sparse.Solver(A, stop="maximum")  # type: ignore[arg-type]
