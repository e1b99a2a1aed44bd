# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Factors in tiles from functions, arrays and files."""

from __future__ import annotations

import os
import pathlib
import signal
import threading
import time
from typing import Any

import numpy as np
import problems
import pytest
import scipy.sparse
import strata
from problems import Array
from strata import ooc

N = 220
TOLERANCE = problems.tolerance(N)


def right_hand_side(*shape: int) -> Array:
    return np.random.default_rng(7).standard_normal(shape)


class Block:
    """A matrix that is asked for by blocks; remembers which."""

    def __init__(self, a: Array) -> None:
        self.a, self.asked = a, set[tuple[int, int]]()

    def __call__(self, rows: slice, cols: slice) -> Array:
        self.asked.add((rows.start, cols.start))
        return self.a[rows, cols]


@pytest.mark.parametrize("variant", ["sync", "v3", "v4"])
@pytest.mark.parametrize("accuracy", [0.0, 1e-6])
@pytest.mark.parametrize("make", [lambda: problems.graded(N, 1e4), lambda: problems.matern(N)])
def test_solves_to_fp64(make: Any, accuracy: float, variant: Any) -> None:
    a = make()
    source = Block(a)
    factor = ooc.cholesky(source, N, accuracy=accuracy, tile_size=50, variant=variant)
    assert source.asked == {(i, j) for i in range(0, N, 50) for j in range(0, i + 1, 50)}
    report = factor.report
    assert (report.n, report.tile_size, report.variant, sum(report.tiles)) == (N, 50, variant, 15)
    assert factor.shape == (N, N) and factor.info == 0
    for b in (right_hand_side(N), right_hand_side(N, 3), np.asfortranarray(right_hand_side(N, 2))):
        x = factor.solve(b)
        assert problems.backward_error(a, x, b) <= TOLERANCE
        assert x.shape == b.shape and factor.last_solve is not None and factor.last_solve.converged
    found = factor.logdet()
    assert abs(found.value - problems.log_determinant(a)) <= found.error


def test_products_of_integers() -> None:
    a = problems.graded(N, 1e4)
    factor = ooc.cholesky(a, tile_size=50, precisions="fp64_int8")
    assert (factor.report.moduli, sum(factor.report.moduli_tiles), factor.report.rung) == (14, 10, "as asked")
    found = factor.logdet()
    assert abs(found.value - problems.log_determinant(a)) <= found.error
    assert ooc.cholesky(a, tile_size=50).report.moduli == 0


def test_the_same_bits_on_several_devices_and_budgets() -> None:
    a, b = problems.matern(N), right_hand_side(N)
    expected = ooc.cholesky(a, tile_size=40, accuracy=1e-6).solve(b)
    several: tuple[dict[str, Any], ...] = (
        {"streams": 2},
        {"budget_bytes": 40 * 40 * 8 * 6, "streams": 1},
        {"precisions": ["fp64", "fp32", "fp16", "fp8_e4m3"]},
        {"storage": "devices"},
        {"storage": "devices", "devices": problems.devices(3), "budget_bytes": 1 << 24},
    )
    for options in several:
        factor = ooc.cholesky(a, tile_size=40, accuracy=1e-6, **options)
        np.testing.assert_array_equal(factor.solve(b), expected)
        assert factor.storage == options.get("storage", "host")
    with pytest.raises(MemoryError, match=r"device 0 needs \d+ bytes for its tiles and at least \d+ to factor them, and has 50000"):
        ooc.cholesky(a, tile_size=40, devices=problems.devices(2), budget_bytes=50000, storage="devices")


def test_arrays_and_files_are_read_by_blocks(tmp_path: pathlib.Path) -> None:
    a, b = problems.graded(N, 1e4), right_hand_side(N)
    path = tmp_path / "a.npy"
    np.save(path, a)
    expected = ooc.cholesky(Block(a), N, tile_size=64).solve(b)
    for source in (a, np.asfortranarray(a), np.load(path, mmap_mode="r"), path, str(path)):
        np.testing.assert_array_equal(ooc.cholesky(source, tile_size=64).solve(b), expected)
    narrow = a.astype(np.float32)
    x = ooc.cholesky(narrow, tile_size=64).solve(b)
    assert problems.backward_error(narrow.astype(float), x, b) <= TOLERANCE


def test_goes_on_from_a_checkpoint(tmp_path: pathlib.Path) -> None:
    a, b = problems.graded(N, 1e4), right_hand_side(N)
    first = ooc.cholesky(a, tile_size=50, checkpoint=tmp_path / "columns")
    again = ooc.cholesky(a, tile_size=50, checkpoint=tmp_path / "columns")
    assert first.report.first_column == 0 and again.report.first_column == 5
    np.testing.assert_array_equal(first.solve(b), again.solve(b))
    with pytest.raises(strata.IoError) as caught:
        ooc.cholesky(a + np.eye(N), tile_size=50, checkpoint=tmp_path / "columns")
    assert isinstance(caught.value, OSError) and str(caught.value)


@pytest.mark.parametrize("n", [0, 1])
def test_small_orders(n: int) -> None:
    factor = ooc.cholesky(np.full((n, n), 4.0))
    np.testing.assert_array_equal(factor.solve(np.full(n, 8.0)), np.full(n, 2.0))
    assert factor.logdet().value == pytest.approx(n * np.log(4.0), abs=1e-15)


def test_says_which_minor_is_not_positive() -> None:
    a = np.eye(N)
    a[130, 130] = -1
    with pytest.raises(strata.NotPositiveDefinite) as caught:
        ooc.cholesky(a, tile_size=50)
    assert caught.value.minor == 131


def test_what_the_source_raises_comes_through() -> None:
    a = problems.graded(N, 1e4)

    def source(rows: slice, cols: slice) -> Array:
        if raises and rows.start == 100:
            raise LookupError("no such rows")
        return a[rows, cols]

    raises = True
    with pytest.raises(LookupError, match="no such rows"):
        ooc.cholesky(source, N, tile_size=50)
    raises = False
    factor = ooc.cholesky(source, N, tile_size=50)
    raises = True
    with pytest.raises(LookupError, match="no such rows"):
        factor.solve(np.ones(N))
    raises = False
    assert problems.backward_error(a, factor.solve(np.ones(N)), np.ones(N)) <= TOLERANCE


@pytest.mark.parametrize(
    "source, options, error, text",
    [
        (np.zeros((2, 3)), {}, strata.ShapeError, "A is 2 x 3, must be square"),
        (np.zeros(3), {}, strata.ShapeError, "A is 3, must be square"),
        (np.eye(3), {"n": 4}, strata.ShapeError, "n is 4, the array is 3 x 3"),
        (lambda rows, cols: np.eye(3), {}, TypeError, "n must be given"),
        (lambda rows, cols: np.eye(2), {"n": 3}, strata.ShapeError, r"the block at \(0, 0\) is 2 x 2, must be 3 x 3"),
        (np.eye(3, dtype=complex), {}, TypeError, r"the block at \(0, 0\) is of complex128"),
        (np.eye(3, dtype=int), {}, TypeError, "must be of floating point"),
        (np.eye(3).view(np.ma.MaskedArray), {}, TypeError, r"the block at \(0, 0\) is a masked array"),
        (scipy.sparse.identity(3, format="csr"), {}, TypeError, r"the block at \(0, 0\) is sparse"),
        (np.eye(3).tolist(), {}, TypeError, "the source is a list, must be a callable, an array with a shape or the path of an .npy file"),
        (None, {}, TypeError, "the source is a NoneType, must be a callable"),
        (np.full((3, 3), np.nan), {}, ValueError, "not finite"),
        (np.eye(3), {"tile_size": -1}, strata.ShapeError, "tile"),
        (np.eye(3), {"accuracy": 1.5}, ValueError, "accuracy"),
        (np.eye(3), {"precisions": "fp32"}, ValueError, "fp64"),
        (np.eye(3), {"variant": "v9"}, ValueError, "no variant 'v9'"),
        (np.eye(3), {"devices": 0}, ValueError, "devices is 0"),
        (np.eye(N), {"budget_bytes": 1000, "tile_size": 50}, MemoryError, "bytes"),
        ("absent.npy", {}, FileNotFoundError, "absent"),
    ],
)
def test_refuses(source: Any, options: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        ooc.cholesky(source, **options)


def test_refuses_an_archive(tmp_path: pathlib.Path) -> None:
    np.savez(tmp_path / "a.npz", A=np.eye(3))
    with pytest.raises(TypeError, match="the source is a NpzFile, must be .* the path of an .npy file"):
        ooc.cholesky(tmp_path / "a.npz")


def test_ctrl_c_ends_it() -> None:
    a, calls = np.eye(50), [0]

    def slow(rows: slice, cols: slice) -> Array:
        time.sleep(0.01)
        calls[0] += 1
        return a[: rows.stop - rows.start, : cols.stop - cols.start]

    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    begin = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        ooc.cholesky(slow, 50 * 100, tile_size=50)  # a minute
    assert time.perf_counter() - begin < 1.5
    time.sleep(0.2)
    then = calls[0]
    time.sleep(0.3)
    assert calls[0] == then
