# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""What Strata raises; the texts are the library's own. Wrong values are ValueError, too little memory is MemoryError."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from numpy.linalg import LinAlgError


class Error(Exception):
    """Base of what only Strata raises."""


class ShapeError(Error, ValueError):
    """Extents or strides that do not fit together."""


class IoError(Error, OSError):
    """A file that can't be read, written or believed."""


class VendorError(Error, RuntimeError):
    """The status of a vendor's library."""


class NotReady(Error, RuntimeError):
    """Kokkos can't be used: it was ended, or this process was forked from one where it began, or while another thread was in a call."""


class NotPositiveDefinite(Error, LinAlgError):
    """A matrix without a Cholesky factor.

    Attributes
    ----------
    minor : int
        Order of the first leading minor that is not positive, from 1.
    """

    def __init__(self, text: str, minor: int) -> None:
        super().__init__(text, minor)
        self.minor = minor

    def __str__(self) -> str:
        return str(self.args[0])


class Singular(Error, LinAlgError):
    """A symmetric matrix that is singular, or so near to it that no digit of a solution can be expected."""


class NotConverged(Error, ArithmeticError):
    """A solve that did not reach its tolerance.

    Attributes
    ----------
    x : array
        The best solution that was found.
    report : SolveReport or SparseReport
        Its errors.
    """

    def __init__(self, text: str, x: Any = None, report: Any = None) -> None:
        super().__init__(text)
        self.x = x
        self.report = report


class AccuracyWarning(RuntimeWarning):
    """Fewer than three digits of a result are to be expected, or a jitter was added to its matrix.

    A cousin of scipy.linalg.LinAlgWarning.
    """


def warn(text: str) -> None:
    """Warn the code outside of this package that called it."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("strata."):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, AccuracyWarning, stacklevel=level)


for _class in (AccuracyWarning, Error, ShapeError, IoError, VendorError, NotReady, NotPositiveDefinite, Singular, NotConverged):
    _class.__module__ = "strata"  # as users know them
