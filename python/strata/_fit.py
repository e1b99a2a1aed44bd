# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Maximum-likelihood fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from . import _core
from ._core import FitReport, FitStep, Likelihood, Matern
from ._errors import ShapeError
from ._kriging import Factor, Mean, Metric, Prediction, as_places, as_values


class Fit:
    """A maximum-likelihood estimate, as `fit` makes it.

    Attributes
    ----------
    covariance : Matern
        The best that was found.
    likelihood : Likelihood
        There.
    report : FitReport
        Why the search ended, evaluations, seconds.
    factor : Factor or None
        Of the covariance matrix there; None if the matrix was nowhere positive definite.
    """

    def __init__(self, report: FitReport, factor: Factor | None, values: Any, mean: Mean) -> None:
        self.report = report
        self.factor = factor
        self._values = values
        self._mean: Mean = mean

    @property
    def covariance(self) -> Matern:
        """The best that was found."""
        return self.report.covariance

    @property
    def likelihood(self) -> Likelihood:
        """There."""
        return self.report.likelihood

    def __repr__(self) -> str:
        return f"<strata.geostat.Fit {self.covariance!r}, log-likelihood {self.likelihood.log_likelihood:.10g}: {self.report.reason}>"

    def predict(self, new_locations: Any) -> Prediction:
        """Kriging at new places, with the values and the mean of the fit: see `Factor.predict`.

        Parameters
        ----------
        new_locations : array of float64, (m, 2)

        Returns
        -------
        Prediction

        Raises
        ------
        ValueError
            If there is no factor; and as `Factor.predict`.
        """
        if self.factor is None:
            raise ValueError("the covariance matrix was nowhere positive definite: there is no factor")
        return self.factor.predict(self._values, new_locations, self._mean)


def fit(
    locations: Any,
    values: Any,
    *,
    start: Matern | None = None,
    lower: Matern | None = None,
    upper: Matern | None = None,
    fixed: Iterable[Literal["sigma2", "range", "nu", "nugget"]] = (),
    mean: Mean = "constant",
    search: Literal["bobyqa", "nelder-mead"] = "bobyqa",
    tolerance: float = 1e-5,
    max_evaluations: int = 500,
    metric: Metric = "euclidean",
    accuracy: float = 0.0,
    tile_size: int = 0,
    on_step: Callable[[FitStep], object] | None = None,
) -> Fit:
    """Fit a Matern covariance by maximum likelihood.

    Parameters
    ----------
    locations : array of float64, (n, 2)
    values : array of float64, (n,)
    start, lower, upper : Matern, optional
        Where the search begins, and its bounds; by default from the sample variance and the extent of the places.
    fixed : iterable of {"sigma2", "range", "nu", "nugget"}
        Parameters that stay as in `start`.
    mean : {"none", "constant"}
    search : {"bobyqa", "nelder-mead"}
    tolerance : float
        Relative, of each parameter.
    max_evaluations : int
    metric, accuracy, tile_size
        As for `Factor`. With tiles below fp64 the search goes on in fp64 at its end.
    on_step : callable, optional
        Called with a `FitStep` after each evaluation; what it raises ends the fit.

    Returns
    -------
    Fit

    Raises
    ------
    ValueError
        For a start that is not inside its bounds, naming the parameter; fewer than two values, or all the same.
    Error
        If this build has no optimiser: see `can_fit`.
    ShapeError, TypeError, MemoryError
        As `Factor`.

    Notes
    -----
    Ctrl-C ends the fit after the evaluation that is under way. Powell, report DAMTP 2009/NA06 (BOBYQA).
    """
    places, observed = as_places("locations", locations), as_values(values)
    if len(observed) != len(places):
        raise ShapeError(f"values are {len(observed)}, locations {len(places)}")
    options = _core.default_fit_options(places, metric, observed)
    options.choose(mean, search, accuracy, tile_size)
    options.start = options.start if start is None else start
    options.lower = options.lower if lower is None else lower
    options.upper = options.upper if upper is None else upper
    names: tuple[str, ...] = ("sigma2", "range", "nu", "nugget")
    chosen: set[str] = set(fixed)
    for name in sorted(chosen - set(names)):
        raise ValueError(f"no parameter {name!r}; there are {', '.join(names)}")
    options.fixed = [name in chosen for name in names]
    options.tolerance, options.max_evaluations = tolerance, max_evaluations
    report, factor = _core.fit(places, metric, observed, options, on_step)
    return Fit(report, None if factor is None else Factor._of(factor, metric), observed, mean)
