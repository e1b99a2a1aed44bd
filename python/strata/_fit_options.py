# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a fit is asked for, and warnings of its outcome."""

from __future__ import annotations

import warnings
from typing import Any, Literal, NamedTuple, Union

from . import _arrays, _core
from ._core import Covariance, FitReport
from ._covariances import described, made_of
from ._errors import ShapeError
from ._given import as_places, as_values, require_covariance
from ._kriging import FIT_PARAMETERS, PARAMETERS, FitParameters, Metric, choose

Anisotropy = Union[Literal["fit", "axes"], tuple[float, float], None]


def observations(locations: Any, values: Any) -> tuple[_arrays.Array, _arrays.Array]:
    """Places and a value for each. Raises ShapeError, TypeError."""
    places, observed = as_places("locations", locations), as_values(values)
    if len(observed) != len(places):
        raise ShapeError(f"values are {len(observed)}, locations {len(places)}")
    return places, observed


def family_of(start: Covariance | None, family: str) -> str:
    """The start's where there is one. Raises TypeError for a start that is no covariance."""
    if start is None:
        return family
    require_covariance("start", start)
    return start.family if start.second is None else f"{start.family}+{start.second.family}"


def set_options(
    options: _core.FitOptions, start: Covariance | None, lower: Covariance | None, upper: Covariance | None, fixed: FitParameters, anisotropy: Anisotropy, coordinates: int
) -> None:
    """Those that were given, in place of what comes from the data."""
    for name, given in (("start", start), ("lower", lower), ("upper", upper)):
        if given is not None:
            require_covariance(name, given)
    options.start = with_axes(options.start if start is None else start, anisotropy, coordinates)
    options.directions = anisotropy in ("fit", "axes")
    options.lower = options.lower if lower is None else lower
    options.upper = options.upper if upper is None else upper
    chosen, second = choose(fixed, FIT_PARAMETERS), options.start.second
    options.fixed = _held(chosen, "", PARAMETERS, options.start.family)
    if second is not None:
        options.fixed_second = _held(chosen, "_2", PARAMETERS[:3], second.family)
    elif not chosen.issubset(PARAMETERS):
        raise ValueError(f"{min(chosen.difference(PARAMETERS))} can't be fixed: there is one structure alone")


def _held(chosen: set[str], behind: str, names: tuple[str, ...], family: str) -> list[bool]:
    """Whether each parameter of a structure of this family stays. Raises ValueError for a nu that it does not have."""
    without_nu = family not in ("matern", "powered")
    if without_nu and f"nu{behind}" in chosen:
        raise ValueError(f"nu{behind} can't be fixed: the family {family} has none")
    return [name + behind in chosen or (without_nu and name == "nu") for name in names]


def with_axes(start: Covariance, anisotropy: Anisotropy, coordinates: int) -> Covariance:
    """The start with these directions. Raises ValueError for other words, and a ratio out of range."""
    if anisotropy is None or anisotropy == "fit":
        return start
    if anisotropy == "axes":
        theta, kind = described(start)
        return made_of(theta, {**kind, "axes": start.axes or (1.0,) * (coordinates - 1)})
    if isinstance(anisotropy, str) or len(anisotropy) != 2:
        raise ValueError(f'anisotropy is {anisotropy!r}, must be "fit", "axes" or (angle, ratio)')
    angle, ratio = anisotropy
    theta, kind = described(start)
    return made_of(theta, {**kind, "angle": angle, "ratio": ratio})


class _Range(NamedTuple):
    range: float


def warn_of_bounds(report: FitReport, options: _core.FitOptions, lower: Covariance | None, upper: Covariance | None) -> None:
    """Warn the caller's caller of parameters at bounds that were not given."""
    theta, least, most = report.covariance, options.lower, options.upper
    ends: list[tuple[str, str, Any, Any, Any]] = [("", name, theta, least, most) for name, bound in zip(PARAMETERS, report.at_bound) if bound]
    if theta.second is not None:
        if theta.sigma2 < 1e-8 * theta.second.sigma2:  # all is the second structure's, which is no bound that was given
            ends = [end for end in ends if end[1] != "sigma2"]
        second = zip(PARAMETERS, report.second_at_bound)
        if theta.second.sigma2 > 0:
            ends += [(" of the second structure", name, theta.second, least.second, most.second) for name, bound in second if bound]
    for axis, bound in enumerate(report.axis_at_bound):
        if bound:
            ends.append((f" of coordinate {axis + 1}", "range", _Range(theta.ranges[axis + 1]), least, most))
    for whose, name, *where in ends:
        at, low, high = (getattr(one, name) for one in where)
        side, given = ("lower", lower) if at - low < high - at else ("upper", upper)
        if given is None and not (name == "nugget" and at == 0):
            text = f"{name}{whose} is at its {side} bound, {at:.4g}, which is the default for these data: {side} sets others"
            warnings.warn(text, UserWarning, stacklevel=3)


def warn_of_copies(places: Any, metric: Metric, observed: Any, options: _core.FitOptions) -> None:
    """Warn the caller's caller of places that repeat with the same value, unless the nugget is fixed."""
    if options.fixed[-1]:
        return
    repeated, same, first, second = _core.copies(places, metric, observed)
    if same > 0:
        text = (
            f"{repeated} places are in the data more than once, {same} times with the same value (locations {first + 1} and {second + 1}, "
            "counted from 1): the likelihood grows as the nugget goes to 0, so that its lower bound decides the fit; leave copies out, or fix the nugget"
        )
        warnings.warn(text, UserWarning, stacklevel=3)
