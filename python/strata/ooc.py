# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Symmetric positive definite matrices in tiles: larger than a device, made by a function or read from a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from . import _arrays, _core
from ._core import TileAttempt, TileFactorReport
from ._errors import NotConverged, ShapeError
from .dense import _failure

__all__ = ["Factor", "TileAttempt", "TileFactorReport", "cholesky"]

Source = Callable[[slice, slice], Any]


class Factor:
    """A Cholesky factor in tiles in host memory. `cholesky` makes it; it keeps the source, which residuals ask again."""

    def __init__(self, core: _core.TileFactor) -> None:
        self._core = core
        self._last_solve: _core.SolveReport | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return self._core.order, self._core.order

    @property
    def info(self) -> int:
        """0, or the order of the leading minor that turned out not to be positive."""
        return self._core.info

    @property
    def report(self) -> TileFactorReport:
        """What was done: tiles by precision, rung of the ladder, bytes, seconds."""
        return self._core.report

    @property
    def storage(self) -> str:
        """Whose memory the tiles are in: 'host' or 'devices'."""
        return self._core.storage

    @property
    def last_solve(self) -> _core.SolveReport | None:
        """Errors and iterations of the last `solve`; None before it."""
        return self._last_solve

    def __repr__(self) -> str:
        report = self.report
        return f"<strata.ooc.Factor of order {report.n} in tiles of {report.tile_size}: {report.rung}>"

    def solve(self, b: Any, out: Any = None, *, tolerance: float = 0.0) -> Any:
        """Solve A x = b, refined in fp64 with residuals by the source.

        Parameters
        ----------
        b : array of float64, (n,) or (n, m)
        out : array of float64, shape of `b`, optional
            Where x goes; it may be `b`.
        tolerance : float
            On the normwise backward error; 0: sqrt(n) 2^-52.

        Returns
        -------
        array, shape of `b`
            x. `last_solve` has its errors.

        Raises
        ------
        ShapeError, TypeError, ValueError, NotPositiveDefinite, NotConverged
            As `strata.Factor.solve`; and what the source raises.

        References
        ----------
        As `strata.Factor.solve`.
        """
        right = _arrays.as_matrix("b", b)
        n = self._core.order
        if right.shape[0] != n:
            raise ShapeError(f"b is {_arrays.size_of(right)}, must have {n} rows")
        x = np.empty_like(right) if out is None else _arrays.as_output("out", out, right.shape)
        report = self._core.solve(right, x, tolerance)
        self._last_solve = report
        result = _arrays.like(x, b) if out is None else out
        if not report.converged:
            raise NotConverged(_failure(report), result, report)
        return result

    def logdet(self, *, probes: int = 16, steps: int = 30, seed: int = 1) -> _core.LogDeterminant:
        """Log-determinant of A, and how far off it may be: as `strata.Factor.logdet`, with passes over the source.

        References
        ----------
        As `strata.Factor.logdet`.
        """
        return self._core.log_determinant(probes, steps, seed)


def cholesky(
    source: Any,
    n: int | None = None,
    *,
    accuracy: float = 0.0,
    precisions: str | Sequence[str] = "fp64,fp32,fp16,fp8_e4m3",
    tile_size: int = 0,
    devices: int = 1,
    budget_bytes: int = 0,
    storage: Literal["host", "devices", "automatic"] = "host",
    variant: Literal["sync", "async", "v1", "v2", "v3", "v4"] = "v4",
    streams: int = 0,
    checkpoint: str | os.PathLike[str] = "",
    ladder: bool = True,
) -> Factor:
    """Factor a symmetric positive definite matrix in tiles.

    Parameters
    ----------
    source : callable, array-like or path
        `source(rows, cols)` with two slices gives that block of A, an array of floating point; or an array that `source[rows, cols]` reads, as
        numpy.memmap or a data set of HDF5; or the path of an .npy file. Blocks on and below the diagonal are asked for, each
        twice with an accuracy, and again for residuals; always with the same numbers.
    n : int, optional
        Order of A; by default the array's.
    accuracy : float
        Tiles are rounded to lower precisions as long as that changes A by no more than this times its Frobenius norm; 0: fp64.
    precisions : str or sequence of str
        That tiles may have, from the highest to the lowest; the first is fp64, or fp64_int8 or one of int8x6 to int8x16, which multiplies fp64
        tiles as integers.
    tile_size : int
        0: chosen for n.
    devices : int
        GPUs, or workers on a host.
    budget_bytes : int
        Of each device for tiles; 0: what it has.
    storage : {"host", "devices", "automatic"}
        Whose memory the tiles are in; automatic: the devices' if they hold them, else the host's.
    variant : {"v4", "v3", "v2", "v1", "async", "sync"}
        What is kept on a device.
    streams : int
        Of each device; 0: chosen.
    checkpoint : path
        A folder for finished columns, from which a run that was broken off goes on; "": none.
    ladder : bool
        On breakdown or without convergence round the tiles less, and factor again.

    Returns
    -------
    Factor

    Raises
    ------
    ShapeError
        If A is not square, or a block of another shape than asked for.
    TypeError
        If a block is not of floating point, is masked, sparse or on a GPU; for what is no source.
    ValueError
        For options out of range, or naming a tile that holds a number that is not finite.
    NotPositiveDefinite
        With the order of the leading minor that is not positive.
    MemoryError
        With the bytes needed.
    IoError
        From a checkpoint.
    Exception
        What the source raises.

    Notes
    -----
    Ctrl-C ends the work after the task that is under way.

    References
    ----------
    J. Ren, H. Ltaief, S. Abdulah, D. Keyes, Accelerating Mixed-Precision Out-of-Core Cholesky Factorization with Static Task
    Scheduling. Precisions of tiles: Higham and Mary, Acta Numerica 31 (2022), section 14. Ladder: Higham and Pranesh, SIAM J. Sci.
    Comput. 43 (2021), doi:10.1137/19M1298263.

    Examples
    --------
    >>> import numpy, strata
    >>> def block(rows, cols):
    ...     i, j = numpy.arange(rows.start, rows.stop), numpy.arange(cols.start, cols.stop)
    ...     return numpy.exp(-abs(i[:, None] - j[None, :]) / 10.0)
    >>> factor = strata.ooc.cholesky(block, n=500)
    >>> x = factor.solve(numpy.ones(500))
    >>> factor.last_solve.converged
    True
    """
    if isinstance(source, (str, os.PathLike)):
        source = np.load(source, mmap_mode="r")
    shape = getattr(source, "shape", None)
    if shape is not None and (len(shape) != 2 or shape[0] != shape[1]):
        raise ShapeError(f"A is {' x '.join(map(str, shape))}, must be square")
    if n is None:
        if shape is None and not callable(source):
            raise TypeError(f"the source is a {type(source).__name__}, must be a callable, an array with a shape or the path of an .npy file")
        if shape is None:
            raise TypeError("n must be given for a source that has no shape")
        n = int(shape[0])
    if shape is not None and n != shape[0]:
        raise ShapeError(f"n is {n}, the array is {shape[0]} x {shape[1]}")
    block: Source = source if callable(source) else lambda rows, cols: source[rows, cols]

    def fill(tile: _arrays.Array, row: int, col: int) -> None:
        name = f"the block at ({row}, {col})"
        found = _arrays.as_numpy(name, block(slice(row, row + tile.shape[0]), slice(col, col + tile.shape[1])))
        if found.dtype.kind != "f":
            raise TypeError(f"{name} is of {found.dtype}, must be of floating point")
        if found.shape != tile.shape:
            raise ShapeError(f"{name} is {_arrays.size_of(found)}, must be {_arrays.size_of(tile)}")
        tile[...] = found

    names = _arrays.joined("precisions", precisions)
    folder = os.fspath(checkpoint)
    return Factor(_core.tile_cholesky(fill, n, accuracy, names, tile_size, devices, budget_bytes, storage, variant, streams, folder, ladder))
