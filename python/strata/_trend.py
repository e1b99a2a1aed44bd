# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""The mean of observations, and what kriging does with the mean."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from . import _arrays, _core
from ._errors import ShapeError

Mean = Literal["none", "constant"]


class Trend:
    """The mean of observations as its users give it: a constant, none, or columns, to which a constant is added unless they hold one."""

    def __init__(self, mean: Mean, X: Any, count: int, *, reml: bool = False, names: Sequence[str] | None = None) -> None:
        likelihood = "reml" if reml else "ml"
        self.adds_constant = False
        self.has_columns = X is not None
        if X is None:
            self.core = _core.trend(mean, None, [], likelihood)
            return
        columns = as_columns("X", X, count)
        given = getattr(X, "columns", None) if names is None else names
        labels = [f"x{k + 1}" for k in range(columns.shape[1])] if given is None else [str(name) for name in given]
        if len(labels) != columns.shape[1]:
            raise ShapeError(f"names are {len(labels)}, columns of X {columns.shape[1]}")
        if mean == "constant" and not holds_constant(columns):
            self.adds_constant = True
            columns, labels = np.column_stack([np.ones(count), columns]), ["constant", *labels]
        self.core = _core.trend(mean, np.asfortranarray(columns), labels, likelihood)

    def at(self, X_new: Any, count: int) -> Any:
        """Its columns at new places. Raises ShapeError."""
        if not self.has_columns:
            if X_new is not None:
                raise ShapeError("X_new is of a trend with columns X, of which there are none")
            return None
        if X_new is None:
            raise ShapeError("the trend has columns: X_new must have them at the new places")
        columns = as_columns("X_new", X_new, count)
        if self.adds_constant:
            columns = np.column_stack([np.ones(count), columns])
        return np.asfortranarray(columns)


def as_columns(name: str, X: Any, count: int) -> Any:
    """n x k numbers in NumPy, of a vector one column. Raises ShapeError, TypeError."""
    try:
        columns = np.array(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be numbers: {error}") from None
    if columns.ndim == 1:
        columns = columns[:, None]
    if columns.ndim != 2 or len(columns) != count:
        raise ShapeError(f"{name} is {' x '.join(map(str, columns.shape))}, must have {count} rows")
    return columns


def holds_constant(columns: Any) -> bool:
    """Whether ones are a combination of the columns."""
    if not np.isfinite(columns).all():
        return False  # the library names the number
    scaled = columns / np.maximum(np.abs(columns).max(axis=0, initial=0), 1e-300)
    ones = np.ones(len(scaled))
    left = ones - scaled @ np.linalg.lstsq(scaled, ones, rcond=None)[0]
    return bool(np.abs(left).max(initial=0) < 1e-9)


class Prediction:
    """The field where it was not observed.

    Attributes
    ----------
    mean : array, (m,)
        Its conditional expectation.
    variance : array, (m,)
        Of the field about it; a new observation's is larger by the nugget. Empty if it was not wanted.
    backward_error : float
        Normwise, the worst of the solves.
    converged : bool
        All of them.
    """

    def __init__(self, core: _core.Prediction, package: Any) -> None:
        self.mean = _arrays.like(np.asarray(core.mean), package)
        self.variance = _arrays.like(np.asarray(core.variance), package)
        self.backward_error = core.backward_error
        self.converged = core.converged

    def __repr__(self) -> str:
        return f"<strata.geostat.Prediction at {len(self.mean)} locations>"


def chosen_mean(mean: Mean | None, stacklevel: int = 3) -> Mean:
    """That of the caller's caller; constant, with a warning, where none was given."""
    if mean is not None:
        return mean
    text = "mean is 'constant' where it is not given, as in fit and in the program; before 0.3 it was 'none': give it to say which"
    warnings.warn(text, FutureWarning, stacklevel=stacklevel)
    return "constant"
