# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a first hour asks for: numbers of log-determinants, triangles compared, copies and pickles, pictures."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import problems
import pytest
import scipy.sparse
import strata
from problems import Array
from strata import geostat

N = 300


def figure() -> Any:
    return pytest.importorskip("matplotlib.figure").Figure()


def test_a_log_determinant_is_a_number() -> None:
    a = problems.graded(N, 1e3)
    found = strata.logdet(a, "fp32")
    assert isinstance(found, strata.LogDeterminant)
    assert float(found) == found.value == float(strata.cholesky(a, "fp32").logdet())
    assert abs(float(found) - np.linalg.slogdet(a)[1]) <= found.error
    with pytest.raises(strata.NotPositiveDefinite):
        strata.logdet(-a)


@pytest.mark.parametrize("place", [(0, 1), (5, 2), (299, 0), (257, 256), (3, 298)])
def test_names_the_entry_that_is_not_symmetric(place: tuple[int, int]) -> None:
    a = problems.graded(N, 1e3)
    a = (a + a.T) / 2
    strata.cholesky(a, check_symmetric=True)
    a[place] += 1e-12
    i, j = min(place), max(place)
    for call in (strata.cholesky, strata.logdet, lambda a, **how: strata.solve(a, np.ones(N), **how)):
        with pytest.raises(ValueError, match=rf"A is not symmetric: A\[{i}, {j}\] is .*, A\[{j}, {i}\] is .* \(counted from 0\)"):
            call(a, check_symmetric=True)
        call(a)


def test_rounding_is_symmetric_and_so_is_infinity() -> None:
    a = problems.graded(N, 1e3)
    a = (a + a.T) / 2
    a[4, 9] = np.nextafter(a[4, 9], 10)
    strata.cholesky(a, check_symmetric=True)
    a[4, 9] = a[9, 4] = np.inf
    with warnings.catch_warnings(), pytest.raises(ValueError, match="not finite"):
        warnings.simplefilter("error")
        strata.cholesky(a, check_symmetric=True)
    a[4, 9] = np.nan
    with pytest.raises(ValueError, match=r"A\[4, 9\] is nan"):
        strata.cholesky(a, check_symmetric=True)


def test_a_tensor_is_compared_where_it_is() -> None:
    torch = pytest.importorskip("torch")
    a = torch.eye(4, dtype=torch.float64)
    a[1, 3] = 0.5
    with pytest.raises(ValueError, match=r"A\[1, 3\] is 0.5, A\[3, 1\] is 0.0"):
        strata.cholesky(a, check_symmetric=True)


@pytest.mark.parametrize("again", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy, copy.copy])
def test_a_factor_survives_a_pickle_and_a_copy(again: Any) -> None:
    a, b = problems.graded(N, 1e4), np.ones(N)
    lower_only = np.tril(a)
    factor = strata.cholesky(lower_only, "fp16,fp32", leaf_size=64)
    other = again(factor)
    assert other is not factor
    assert (other.report.layers, other.report.leaf_size) == (factor.report.layers, factor.report.leaf_size)
    np.testing.assert_array_equal(other.solve(b), factor.solve(b))
    factor.refactor(np.tril(4 * a))
    np.testing.assert_allclose(again(factor).solve(b), factor.solve(b), rtol=1e-12)


def test_a_factor_of_a_covariance_survives_a_pickle() -> None:
    places = problems.places(60)
    covariance = geostat.Matern(1.0, 0.2, 0.5, 0.1)
    values: Array = np.asarray(geostat.synthetic_field(covariance, places))
    factor = geostat.Factor(places, covariance, tile_size=20, accuracy=1e-6)
    other = pickle.loads(pickle.dumps(factor))
    assert other.covariance == covariance
    assert other.loglikelihood(values, mean="none").log_likelihood == factor.loglikelihood(values, mean="none").log_likelihood
    new = problems.places(5, seed=9)
    np.testing.assert_array_equal(other.predict(values, new, "none").mean, factor.predict(values, new, "none").mean)


def test_the_picture_of_layers_has_every_block() -> None:
    axes = figure().subplots()
    report = strata.cholesky(problems.graded(N, 1e3), "fp16,fp32", leaf_size=64).report
    assert report.plot(axes) is axes
    blocks = report.blocks()
    drawn = [(int(p.get_y()), int(p.get_x()), int(p.get_height()), int(p.get_width())) for p in axes.patches]
    assert drawn == [block[:4] for block in blocks]
    assert {text.get_text() for text in axes.get_legend().get_texts()} == {block[4] for block in blocks} == {"fp16", "fp32"}
    covered = sum(rows * cols if row != col else rows * (rows + 1) // 2 for row, col, rows, cols, _ in blocks)
    assert covered == N * (N + 1) // 2


def test_the_picture_of_a_solve_has_its_errors() -> None:
    factor = strata.cholesky(problems.graded(N, 1e4), "fp16,fp32")
    factor.solve(np.ones(N))
    report = factor.last_solve
    assert report is not None
    axes = report.plot(figure().subplots())
    drawn = axes.get_lines()[0].get_ydata()
    np.testing.assert_array_equal(drawn, report.history)
    assert len(drawn) > 1 and drawn[-1] <= report.tolerance

    solver = strata.sparse.Solver(scipy.sparse.diags([-1.0, 2.5, -1.0], [-1, 0, 1], shape=(200, 200)).tocsr(), preconditioner="none")
    solver.solve(np.ones(200))
    assert solver.last_solve is not None
    np.testing.assert_array_equal(solver.last_solve.plot(figure().subplots()).get_lines()[0].get_ydata(), solver.last_solve.history)


@pytest.mark.skipif(not geostat.can_fit(), reason="built without NLopt")
def test_the_picture_of_a_fit_is_what_it_predicts() -> None:
    places = problems.places(60)
    values: Array = np.asarray(geostat.synthetic_field(geostat.Matern(1.0, 0.2, 0.5, 0.1), places))
    fit = geostat.fit(places, values, fixed=["nu"], tolerance=1e-2)
    axes = fit.plot(figure().subplots())
    mesh, dots = axes.collections
    np.testing.assert_array_equal(dots.get_array(), values)
    mean = np.asarray(mesh.get_array()).ravel()
    assert mean[0] == pytest.approx(fit.predict(places.min(axis=0)[None, :]).mean[0])
    assert mean[-1] == pytest.approx(fit.predict(places.max(axis=0)[None, :]).mean[0])


def test_says_what_pictures_need() -> None:
    text = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import numpy, strata\n"
        "try: strata.cholesky(numpy.eye(3)).report.plot()\n"
        "except ImportError as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "plot() draws with matplotlib, which is not installed: pip install matplotlib"
