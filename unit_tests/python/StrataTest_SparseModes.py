# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""What multigrid is told of the unknowns of a sparse matrix, and new values in an old pattern."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
import strata
from problems import ON_GPU, Array


def springs(nx: int, ny: int) -> tuple[Any, Array]:
    """Points of a grid in the plane that springs hold together along axes and diagonals, and their places."""
    places = np.array([(x, y) for y in range(ny) for x in range(nx)], float)
    number = np.arange(nx * ny).reshape(ny, nx)
    pairs = [(number[:, :-1], number[:, 1:]), (number[:-1], number[1:]), (number[:-1, :-1], number[1:, 1:]), (number[1:, :-1], number[:-1, 1:])]
    p, q = (np.concatenate([pair[side].ravel() for pair in pairs]) for side in (0, 1))
    d = places[q] - places[p]
    d /= np.linalg.norm(d, axis=1)[:, None]
    rows, columns, values = [], [], []
    for a, i in ((-1, p), (1, q)):
        for b, j in ((-1, p), (1, q)):
            for r in range(2):
                for c in range(2):
                    rows.append(2 * i + r)
                    columns.append(2 * j + c)
                    values.append(a * b * d[:, r] * d[:, c])
    shape = (2 * nx * ny, 2 * nx * ny)
    return scipy.sparse.coo_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=shape).tocsr(), places


def held(nx: int, ny: int) -> tuple[Any, Array]:
    """The same, held along its first column."""
    K, places = springs(nx, ny)
    free = places[:, 0] > 0
    unknowns = np.repeat(free, 2)
    return K[unknowns][:, unknowns].tocsr(), places[free]


def test_coordinates_save_iterations() -> None:
    A, places = held(120, 6)
    b = np.ones(A.shape[0])
    plain, informed = strata.sparse.Solver(A, preconditioner="amg"), strata.sparse.Solver(A, preconditioner="amg", coordinates=places)
    np.testing.assert_allclose(informed.solve(b), plain.solve(b), rtol=1e-6)
    assert plain.last_solve is not None and informed.last_solve is not None
    assert 2 * informed.last_solve.iterations < plain.last_solve.iterations
    assert (informed.report.block_size, informed.report.modes) == (2, 3)


def test_a_near_null_space_is_what_coordinates_make_of_themselves() -> None:
    A, places = held(60, 5)
    x, y = (places - places.mean(0)).T
    zero, one = np.zeros(len(x)), np.ones(len(x))
    modes = np.stack([np.stack(pair, 1).ravel() for pair in ((one, zero), (zero, one), (-y, x))], 1)
    b = np.ones(A.shape[0])
    given = strata.sparse.Solver(A, block_size=2, near_null_space=modes, preconditioner="amg")
    found = strata.sparse.Solver(A, coordinates=places, preconditioner="amg")
    np.testing.assert_allclose(given.solve(b), found.solve(b), rtol=1e-6)
    assert given.last_solve is not None and found.last_solve is not None
    # The modes differ in their last bits, by which equal strengths of a grid fall one way or the other on a GPU.
    few: Any = {"rel": 0.2} if ON_GPU else {"abs": 1}
    assert given.last_solve.iterations == pytest.approx(found.last_solve.iterations, **few)


def test_a_free_body_loses_its_motions() -> None:
    K, places = springs(30, 7)
    with pytest.warns(strata.sparse.SparseWarning, match="maps 2 combinations of the given modes to 0, beside constants"):
        solver = strata.sparse.Solver(K, coordinates=places)
    u = np.random.default_rng(1).standard_normal(K.shape[0])
    x = solver.solve(K @ u)
    assert np.linalg.norm(K @ (x - u)) < 1e-9 * np.linalg.norm(K @ u)
    assert abs(x[::2].sum()) < 1e-9 and abs(x[1::2].sum()) < 1e-9


def test_refuses_modes_that_do_not_fit() -> None:
    A, places = held(10, 4)
    with pytest.raises(strata.ShapeError, match=r"coordinates is 35 x 2, for 70 unknowns; A is of order 72"):
        strata.sparse.Solver(A, coordinates=places[1:])
    with pytest.raises(ValueError, match="not both"):
        strata.sparse.Solver(A, coordinates=places, near_null_space=places)
    with pytest.raises(strata.ShapeError, match="near_null_space is 5 x 1, for 5 unknowns"):
        strata.sparse.Solver(A, near_null_space=np.ones(5))


def test_new_values_keep_the_pattern() -> None:
    A, places = held(40, 6)
    solver = strata.sparse.Solver(A, coordinates=places, preconditioner="amg")
    assert not solver.report.has_old_pattern
    b = np.ones(A.shape[0])
    before = solver.solve(b)
    solver.update(A)
    np.testing.assert_array_equal(solver.solve(b), before)  # of patterns that a host has kept, a GPU not yet
    stiffer = A * 2.0 + 0.1 * scipy.sparse.diags(A.diagonal())
    solver.update(stiffer.tocsr())
    assert solver.report.has_old_pattern
    np.testing.assert_allclose(solver.solve(b), strata.sparse.Solver(stiffer, coordinates=places).solve(b), rtol=1e-6)
    solver.update(A)
    np.testing.assert_array_equal(solver.solve(b), before)


def test_another_pattern_or_order_is_set_up_anew() -> None:
    one = scipy.sparse.diags([-1.0, 2.1, -1.0], [-1, 0, 1], shape=(2000, 2000)).tocsr()
    wide = (one @ one).tocsr()
    solver = strata.sparse.Solver(one, preconditioner="amg")
    for A in (wide, one[:1500, :1500].tocsr()):
        solver.update(A)
        assert not solver.report.has_old_pattern
        b = np.ones(A.shape[0])
        assert np.linalg.norm(A @ solver.solve(b) - b) <= 1e-9 * np.linalg.norm(b)
    with pytest.raises(strata.ShapeError):
        solver.update(one[:3])
    assert solver.shape == (1500, 1500)
