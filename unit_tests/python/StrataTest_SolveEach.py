# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Many systems of different orders in one call, beside SciPy's one after the other."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import strata
from problems import Array


def system(n: int, m: int, seed: int) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, n))
    return X @ X.T + n * np.eye(n), random.standard_normal((n, m) if m else n)


def test_systems_of_different_orders_are_solved_as_scipy_does() -> None:
    orders = [0, 1, 2, 5, 64, 3, 1, 130, 33, 0, 600, 17]
    given = [system(n, k % 3, k) for k, n in enumerate(orders)]
    for lower in (True, False):
        for order in ("C", "F"):
            matrices = [np.array(np.tril(A) if lower else np.triu(A), order=order) for A, _ in given]
            before = [A.copy() for A in matrices]
            solutions, logdet = strata.solve_each(matrices, [b for _, b in given], lower=lower)
            for (A, b), kept, same, x, log in zip(given, matrices, before, solutions, logdet):
                assert np.array_equal(kept, same) and x.shape == b.shape
                if len(A):
                    assert np.allclose(x, scipy.linalg.solve(A, b, assume_a="pos"), rtol=1e-12, atol=1e-14)
                assert abs(log - np.linalg.slogdet(A)[1]) <= 1e-13 * max(1, abs(log))


def test_any_array_will_do() -> None:
    A, b = system(6, 0, 1)
    wide = np.zeros((12, 18))
    wide[::2, ::3] = A
    narrow = b.astype(np.float32)
    (x, y, z), _ = strata.solve_each([wide[::2, ::3], A[::-1, ::-1], A.tolist()], [b, b[::-1], narrow])
    assert np.allclose(A @ x, b) and np.allclose(x, y[::-1]) and np.allclose(A @ z, narrow) and z.dtype == np.float64
    nothing, logs = strata.solve_each([], [])
    assert nothing == [] and logs.shape == (0,)


def test_errors_name_the_system() -> None:
    given = [system(n, 1, n) for n in (4, 9, 3, 40)]
    matrices, sides = [A for A, _ in given], [b for _, b in given]
    bad = [A.copy() for A in matrices]
    bad[1][5, 5], bad[3][2, 1] = -1, np.nan
    with pytest.raises(strata.NotPositiveDefinite, match=r"system 1, from 0: the leading minor of order 6 .* 2 of 4 systems") as caught:
        strata.solve_each(bad, sides)
    assert caught.value.minor == 6
    with pytest.raises(strata.ShapeError, match="4 matrices and 3 right-hand sides"):
        strata.solve_each(matrices, sides[:3])
    with pytest.raises(strata.ShapeError, match="system 2, from 0: b is 40 x 1, must have 3 rows"):
        strata.solve_each(matrices[:3], [*sides[:2], sides[3]])
    with pytest.raises(strata.ShapeError, match="system 0, from 0: A is 2 x 3, must be square"):
        strata.solve_each([np.ones((2, 3))], [np.ones(2)])


def test_what_is_no_matrix_of_real_numbers_is_refused() -> None:
    with pytest.raises(TypeError, match="matrix 0 is of complex128"):
        strata.solve_each([np.array([[2 + 1j]])], [[1.0]])
    with pytest.raises(TypeError, match="right-hand side 1 is a masked array"):
        strata.solve_each([np.eye(1), np.eye(2)], [[1.0], np.ones(2).view(np.ma.MaskedArray)])


def test_rows_that_overlap_in_memory_are_copied() -> None:
    hankel = np.lib.stride_tricks.as_strided(np.array([5.0, 1.0, 5.0]), (2, 2), (8, 8))
    (x,), _ = strata.solve_each([hankel], [[6.0, 6.0]])
    assert np.allclose(x, [1, 1])
