# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a fit is asked for, and warnings of what comes of it."""

from __future__ import annotations

import warnings
from typing import Any

from . import _arrays, _core
from ._core import FitReport, Matern
from ._errors import ShapeError
from ._given import as_places, as_values, require_matern
from ._kriging import PARAMETERS, Metric, Parameters, choose


def observations(locations: Any, values: Any) -> tuple[_arrays.Array, _arrays.Array]:
    """Places and a value for each. Raises ShapeError, TypeError."""
    places, observed = as_places("locations", locations), as_values(values)
    if len(observed) != len(places):
        raise ShapeError(f"values are {len(observed)}, locations {len(places)}")
    return places, observed


def set_options(options: _core.FitOptions, start: Matern | None, lower: Matern | None, upper: Matern | None, fixed: Parameters) -> None:
    """Those that were given, in place of what comes from the data."""
    for name, given in (("start", start), ("lower", lower), ("upper", upper)):
        if given is not None:
            require_matern(name, given)
    options.start = options.start if start is None else start
    options.lower = options.lower if lower is None else lower
    options.upper = options.upper if upper is None else upper
    chosen = choose(fixed)
    options.fixed = [name in chosen for name in PARAMETERS]


def warn_of_bounds(report: FitReport, options: _core.FitOptions, lower: Matern | None, upper: Matern | None) -> None:
    """Warn the caller's caller of parameters at bounds that were not given."""
    for name, bound in zip(PARAMETERS, report.at_bound):
        at = getattr(report.covariance, name)
        low, high = getattr(options.lower, name), getattr(options.upper, name)
        side, given = ("lower", lower) if at - low < high - at else ("upper", upper)
        if bound and given is None and not (name == "nugget" and at == 0):
            text = f"{name} is at its {side} bound, {at:.4g}, which is the default for these data: {side} sets others"
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
