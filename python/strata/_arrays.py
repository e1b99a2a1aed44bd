# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of any package as NumPy's, without a copy, and results in the caller's package."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._errors import ShapeError

Array = NDArray[np.float64]

_CPU = 1  # DLPack's kDLCPU


def as_numpy(name: str, array: Any) -> NDArray[Any]:
    """The same numbers as a NumPy array: a view, where the package of `array` has one to give.

    Raises
    ------
    TypeError
        For an array on a GPU, a masked array, a sparse matrix.
    """
    if isinstance(array, np.ndarray):
        if hasattr(array, "mask"):
            raise TypeError(f"{name} is a masked array: what should become of its masked numbers?")
        return array
    if hasattr(array, "tocsr"):
        raise TypeError(f"{name} is sparse: strata.sparse takes it, or {name}.toarray() makes it dense")
    if not hasattr(array, "__dlpack_device__"):
        return np.asarray(array)
    device = array.__dlpack_device__()[0]
    if device != _CPU:
        raise TypeError(f"{name} is on a GPU (DLPack device {int(device)}): the package takes arrays in host memory yet")
    return np.asarray(array) if hasattr(array, "__array__") else np.from_dlpack(array)


def as_float64(name: str, array: Any) -> Array:
    """As `as_numpy`, of fp64.

    Raises
    ------
    TypeError
        For another type of number.
    """
    found = as_numpy(name, array)
    if found.dtype != np.float64:
        raise TypeError(f"{name} is of {found.dtype}, must be of float64: {name}.astype('float64') copies it")
    return found


def as_matrix(name: str, array: Any) -> Array:
    """One or two dimensions; copied where no axis has neighbours in memory or they are not aligned."""
    found = as_float64(name, array)
    if found.ndim not in (1, 2):
        raise ShapeError(f"{name} has {found.ndim} dimensions, must have 1 or 2")
    return found if found.flags.aligned and _core.has_lines(found) else np.array(found, dtype=np.float64, order="F")


def as_vector(name: str, array: Any) -> Array:
    """One dimension, contiguous; copied if it is not."""
    found = as_float64(name, array)
    if found.ndim != 1:
        raise ShapeError(f"{name} has {found.ndim} dimensions, must have 1")
    return np.ascontiguousarray(found, dtype=np.float64)


def like(result: NDArray[Any], array: Any) -> Any:
    """The result as an array of the package of `array`, without a copy; NumPy's where that does not take others' arrays."""
    if isinstance(array, np.ndarray) or not hasattr(array, "__dlpack__"):
        return result
    package = sys.modules.get(type(array).__module__.partition(".")[0].removesuffix("lib"))  # jaxlib's arrays are jax's
    for place in (package, getattr(package, "dlpack", None)):
        if hasattr(place, "from_dlpack"):
            return place.from_dlpack(result)  # type: ignore[union-attr]
    return result


def size_of(array: NDArray[Any]) -> str:
    """ "3 x 4", for messages."""
    return " x ".join(map(str, array.shape)) or "a number"


def as_output(name: str, array: Any, shape: tuple[int, ...]) -> Array:
    """A view that can be written, of this shape; never a copy.

    Raises
    ------
    TypeError, ShapeError, ValueError
        If it can't be one.
    """
    found = as_float64(name, array)
    if found.shape != shape:
        raise ShapeError(f"{name} is {size_of(found)}, must be {' x '.join(map(str, shape))}")
    if not found.flags.writeable:
        raise ValueError(f"{name} is read-only")
    if not (found.flags.aligned and _core.has_lines(found)):
        raise ShapeError(f"{name} has strides of {found.strides} bytes: along one axis numbers must be neighbours")
    return found
