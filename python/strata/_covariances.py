# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Covariances by their families' names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _core
from ._core import Covariance

Matern = Covariance
"""Matern's covariances are those whose family is not named."""


def Exponential(sigma2: float, range: float, nugget: float = 0.0, *, angle: float = 0.0, ratio: float = 1.0, axes: Sequence[float] = ()) -> Covariance:
    """sigma2 e^-x, x = h / range: Matern's with nu = 1/2.

    Parameters
    ----------
    sigma2, range, nugget : float
    angle, ratio : float
        Of the longest range, in degrees clockwise from y, and the range across it by the one along it.
    axes : sequence of float
        Instead, where each coordinate has a range: those of y and further coordinates by `range`, x's.

    Returns
    -------
    Covariance

    Raises
    ------
    ValueError
        For parameters out of range.

    References
    ----------
    Chiles and Delfiner, Geostatistics, 2012, section 2.5.
    """
    return Covariance(sigma2, range, 0.5, nugget, family="exponential", angle=angle, ratio=ratio, axes=axes)


def Gaussian(sigma2: float, range: float, nugget: float = 0.0, *, angle: float = 0.0, ratio: float = 1.0, axes: Sequence[float] = ()) -> Covariance:
    """sigma2 e^-x^2, x = h / range. Without a nugget its matrix is often singular to rounding.

    Parameters
    ----------
    sigma2, range, nugget, angle, ratio, axes
        As for `Exponential`.

    Returns
    -------
    Covariance

    Raises
    ------
    ValueError
        For parameters out of range.

    References
    ----------
    As `Exponential`.
    """
    return Covariance(sigma2, range, 0.5, nugget, family="gaussian", angle=angle, ratio=ratio, axes=axes)


def Spherical(sigma2: float, range: float, nugget: float = 0.0, *, angle: float = 0.0, ratio: float = 1.0, axes: Sequence[float] = ()) -> Covariance:
    """sigma2 (1 - 3/2 x + 1/2 x^3) for x = h / range < 1, and 0 beyond.

    Parameters
    ----------
    sigma2, range, nugget, angle, ratio, axes
        As for `Exponential`.

    Returns
    -------
    Covariance

    Raises
    ------
    ValueError
        For parameters out of range.

    References
    ----------
    As `Exponential`.
    """
    return Covariance(sigma2, range, 0.5, nugget, family="spherical", angle=angle, ratio=ratio, axes=axes)


def PoweredExponential(sigma2: float, range: float, power: float, nugget: float = 0.0, *, angle: float = 0.0, ratio: float = 1.0, axes: Sequence[float] = ()) -> Covariance:
    """sigma2 e^-x^power, x = h / range.

    Parameters
    ----------
    sigma2, range : float
    power : float
        In (0, 2].
    nugget, angle, ratio, axes
        As for `Exponential`.

    Returns
    -------
    Covariance

    Raises
    ------
    ValueError
        For parameters out of range.

    References
    ----------
    As `Exponential`.
    """
    return Covariance(sigma2, range, power, nugget, family="powered", angle=angle, ratio=ratio, axes=axes)


def described(c: Covariance) -> tuple[tuple[float, float, float, float], dict[str, Any]]:
    """Parts that a pickle holds, of which `made_of` makes the same."""
    kind: dict[str, Any] = {"family": c.family, "angle": c.angle, "ratio": c.ratio}
    if c.axes:
        kind["axes"] = c.axes
    if c.second is not None:
        kind["second"] = (c.second.sigma2, c.second.range, c.second.nu, c.second.family)
    return (c.sigma2, c.range, c.nu, c.nugget), kind


def made_of(theta: tuple[float, float, float, float], kind: dict[str, Any] | None) -> Covariance:
    """The covariance of `described`."""
    given = dict(kind or {})
    second = given.pop("second", None)
    first = Covariance(*theta, **given)
    return first if second is None else _core.with_second(first, *second)
