# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""What callers of covariances give: places, values, a covariance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _arrays, _core
from ._core import Covariance
from ._errors import ShapeError


def require_covariance(name: str, value: Any) -> None:
    """Raises TypeError for what is no covariance."""
    if not isinstance(value, Covariance):
        kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
        raise TypeError(f"{name} is a {kind}, must be a strata.geostat.Covariance")


def as_places(name: str, array: Any) -> _arrays.Array:
    """n x 2 numbers, or up to n x 8, where they are. Raises ShapeError, TypeError."""
    found = _arrays.as_float64(name, array)
    if found.ndim != 2 or not 2 <= found.shape[1] <= 8:
        raise ShapeError(f"{name} are {_arrays.size_of(found)}, must be n x 2, or have up to 8 coordinates")
    return found


def as_errors(array: Any) -> _arrays.Array | None:
    """A contiguous vector, or none. Raises ShapeError, TypeError."""
    return None if array is None else _arrays.as_vector("error_variances", array)


def as_values(array: Any) -> _arrays.Array:
    """A contiguous vector. Raises ShapeError, TypeError."""
    return _arrays.as_vector("values", array)


def fold_numbers(n: int, folds: int | Sequence[int] | None, seed: int) -> Sequence[int]:
    """A number for each of n observations: given ones, parts at random, or none."""
    if folds is None:
        return []
    return _core.random_folds(n, folds, seed) if isinstance(folds, int) else [int(fold) for fold in folds]
