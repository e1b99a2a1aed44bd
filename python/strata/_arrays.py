# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of any package as NumPy's, without a copy, and results in the caller's package."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar, Union

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._errors import ShapeError

Array = NDArray[np.float64]


class Dlpack(Protocol):
    """An array of NumPy, PyTorch, CuPy, JAX: of any package that speaks DLPack."""

    @property
    def __dlpack__(self) -> Callable[..., Any]: ...

    def __dlpack_device__(self) -> tuple[Any, Any]: ...


AnyMatrix = Union[Dlpack, Sequence[Sequence[float]]]
# What comes in and goes out alike; of a list the result is NumPy's.
AnyArray = TypeVar("AnyArray", bound=Dlpack)

_HOST = (1, 3, 11)  # DLPack's kDLCPU, and host memory that CUDA or ROCm has pinned
_COPY = "copy it to host memory"
_FLOAT64 = np.dtype(np.float64)


def _dlpack_device(array: Any) -> tuple[int, int]:
    """Of an array that speaks DLPack; the host for others."""
    if isinstance(array, np.ndarray) or not hasattr(array, "__dlpack_device__"):
        return _HOST[0], 0
    kind, number = array.__dlpack_device__()
    return int(kind), int(number)


def is_on_device(array: Any) -> bool:
    """Whether its numbers are not in host memory."""
    return _dlpack_device(array)[0] not in _HOST


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
        raise TypeError(f"{name} is sparse: its toarray() makes it dense; strata.sparse solves with a sparse A")
    if not hasattr(array, "__dlpack_device__"):
        return np.asarray(array)
    if is_on_device(array):
        raise TypeError(f"{name} is on a GPU (DLPack device {_dlpack_device(array)[0]}), which is not for this function: {_COPY}")
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
        if found.ndim == 0 and found is not array:
            raise TypeError(f"{name} is a {type(array).__name__}, must be an array of float64")
        raise TypeError(not_float64(name, found.dtype, array))
    return found


def not_float64(name: str, dtype: np.dtype[Any], array: Any) -> str:
    """What is wrong with an array whose numbers are of this type, and the way out, if there is one."""
    if dtype.kind == "c":
        return f"{name} is of {dtype}, must be of float64: Strata has no complex numbers"
    copy = f"numpy.asarray({name}, 'float64')"
    if hasattr(array, "astype"):
        copy = f"{name}.astype('float64')"
    elif hasattr(array, "double"):  # PyTorch's
        copy = f"{name}.double()"
    return f"{name} is of {dtype}, must be of float64: {copy} copies it"


def as_matrix(name: str, array: Any, dimensions: tuple[int, ...] = (1, 2)) -> Array:
    """One or two dimensions; copied where no axis has neighbours in memory or they are not aligned."""
    if _is_plain(array) and array.ndim in dimensions:
        return array  # type: ignore[no-any-return]
    found = as_float64(name, array)
    _require_dimensions(name, found, dimensions)
    return found if found.flags.aligned and _core.has_lines(found) else np.array(found, dtype=np.float64, order="F")


def _is_plain(array: Any) -> bool:
    """NumPy's own, of fp64 and in one piece, as most are: a call with one costs little more than in C++."""
    if type(array) is not np.ndarray or array.dtype != _FLOAT64:
        return False
    flags = array.flags
    return bool(flags.forc and flags.aligned)


class OnDevice:
    """An array on the device that this Strata was built for, which the library uses where it is, and writes if it `is_written`.

    Raises
    ------
    TypeError
        For another device, or another type of number than one of `types`.
    """

    def __init__(self, name: str, array: Any, *, is_written: bool = False, types: tuple[str, ...] = ("float64",)) -> None:
        there, here = _dlpack_device(array), _core.device()
        if there[0] != here[0]:
            raise TypeError(f"{name} is on a GPU (DLPack device {there[0]}), for which this build of Strata has no backend: {_COPY}")
        if there != here:
            raise TypeError(f"{name} is on GPU {there[1]}, Strata works on GPU {here[1]}: copy it there")
        if not str(array.dtype).endswith(types):
            words = " or ".join(types)
            raise TypeError(f"{name} is of {array.dtype}, must be of {words}: another copy in {types[0]} does it")
        self.name, self.array, self.is_written = name, array, is_written
        self.shape: tuple[int, ...] = tuple(array.shape)
        self.ndim = len(self.shape)

    def given_to(self, stream: int) -> Any:
        """A capsule of DLPack; the stream waits for what the caller's has to do before. Raises ValueError if it can't be written and is to be."""
        try:
            capsule = self.array.__dlpack__(stream=stream, max_version=(1, 0))
        except TypeError:  # from before DLPack 1, where nothing is read-only
            capsule = self.array.__dlpack__(stream=stream)
        capsule, is_read_only = _core.unversioned(capsule)
        if is_read_only and self.is_written:
            raise ValueError(f"{self.name} is read-only")
        return capsule

    def like(self, function: str) -> Any:
        """By that function of its package: "empty_like", "zeros_like"."""
        package: Any = _package_of(self.array)
        for place in (package, getattr(package, "numpy", None)):  # jax.numpy
            if hasattr(place, function):
                return getattr(place, function)(self.array)
        raise TypeError(f"a {type(self.array).__name__} is on a GPU and its package has no {function}: give `out`")


Operand = Union[Array, OnDevice]


def as_operand(name: str, array: Any, dimensions: tuple[int, ...] = (1, 2)) -> Operand:
    """As `as_matrix` in host memory; on the device as it is.

    Raises
    ------
    ShapeError, TypeError
        As `as_matrix` and `OnDevice`.
    """
    if not is_on_device(array):
        return as_matrix(name, array, dimensions)
    found = OnDevice(name, array)
    _require_dimensions(name, found, dimensions)
    return found


def given(operand: Operand, stream: Callable[[], int]) -> Any:
    """What the extension takes."""
    return operand.given_to(stream()) if isinstance(operand, OnDevice) else operand


def as_vector(name: str, array: Any) -> Array:
    """One dimension, contiguous; copied if it is not."""
    if _is_plain(array) and array.ndim == 1:
        return array  # type: ignore[no-any-return]
    found = as_float64(name, array)
    _require_dimensions(name, found, (1,))
    return np.ascontiguousarray(found, dtype=np.float64)


def like(result: NDArray[Any], array: Any) -> Any:
    """The result as an array of the package of `array`, without a copy; NumPy's where that does not take others' arrays."""
    if isinstance(array, np.ndarray) or not hasattr(array, "__dlpack__"):
        return result
    package = _package_of(array)
    for place in (package, getattr(package, "dlpack", None)):
        if hasattr(place, "from_dlpack"):
            return place.from_dlpack(result)  # type: ignore[union-attr]
    return result


def room_like(operand: Operand, array: Any) -> tuple[Operand, Any]:
    """Room for a result in the order of `array`, which `operand` is, and the same in its package."""
    if isinstance(operand, OnDevice):
        room = operand.like("empty_like")
        return OnDevice("a result", room), room
    room = np.empty_like(operand)
    return room, like(room, array)


def _package_of(array: Any) -> Any:
    return sys.modules.get(type(array).__module__.partition(".")[0].removesuffix("lib"))  # jaxlib's arrays are jax's


def joined(name: str, words: str | Iterable[str]) -> str:
    """ "fp16,fp32", from that or from ["fp16", "fp32"].

    Raises
    ------
    TypeError
        For what is neither.
    """
    if isinstance(words, str):
        return words
    found = list(words) if isinstance(words, Iterable) else [words]  # an iterator can be read once
    if not all(isinstance(word, str) for word in found):
        raise TypeError(f"{name} is {words!r}, must be a str or a sequence of them")
    return ",".join(found)


def size_of(array: Any) -> str:
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
    if found is not array and found.size and not np.may_share_memory(found, as_numpy(name, array)):
        raise TypeError(f"{name} is a {type(array).__name__}, which gives NumPy a copy of its numbers: x can't be written to it")
    _require_shape(name, found, shape)
    if not found.flags.writeable:
        raise ValueError(f"{name} is read-only")
    if not (found.flags.aligned and _core.has_lines(found)):
        raise ShapeError(f"{name} has strides of {found.strides} bytes: along one axis numbers must be neighbours")
    return found


def as_output_operand(name: str, array: Any, shape: tuple[int, ...]) -> Operand:
    """As `as_output` in host memory; on the device as it is, where `given` finds out whether it is read-only."""
    if not is_on_device(array):
        return as_output(name, array, shape)
    found = OnDevice(name, array, is_written=True)
    _require_shape(name, found, shape)
    return found


def _require_dimensions(name: str, array: Operand, dimensions: tuple[int, ...]) -> None:
    if array.ndim not in dimensions:
        raise ShapeError(f"{name} has {array.ndim} dimensions, must have {' or '.join(map(str, dimensions))}")


def _require_shape(name: str, array: Operand, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise ShapeError(f"{name} is {size_of(array)}, must be {' x '.join(map(str, shape))}")
