# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Maximum-likelihood fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from . import _arrays, _core
from ._core import Covariance, CrossValidation, ExactBeside, FitReport, FitStep, Likelihood, ProfileInterval, StandardErrors, VecchiaReport
from ._fit_options import family_of, observations, set_options, warn_of_bounds, warn_of_copies
from ._given import as_errors, as_places, fold_numbers
from ._kriging import FIT_PARAMETERS, Factor, FitParameter, FitParameters, Metric, Storage, choose
from ._plot import kriging_map
from ._trend import Mean, Prediction, Trend


Family = Literal["matern", "exponential", "gaussian", "spherical", "powered"]


class Fit:
    """A maximum-likelihood estimate, as `fit` makes it.

    Attributes
    ----------
    covariance : Covariance
        The best that was found.
    likelihood : Likelihood
        There.
    report : FitReport
        Why the search ended, evaluations, seconds.
    factor : Factor or None
        Of the covariance matrix there; None if the matrix was nowhere positive definite, or the fit is by neighbours.
    approximation : VecchiaReport or None
        What a fit by neighbours consists of.
    exact : ExactBeside or None
        The exact likelihood at an estimate by neighbours, if it was evaluated.
    locations, values : ndarray of float64
        That it was fitted to.
    """

    def __init__(
        self,
        report: FitReport,
        factor: Factor | None,
        observed: tuple[_arrays.Array, _arrays.Array],
        trend: Trend,
        options: _core.FitOptions,
        neighbours: _core.Neighbours | None = None,
        metric: Metric = "euclidean",
    ) -> None:
        self.report = report
        self.factor = factor
        self.locations, self.values = observed
        self._trend = trend
        self._options = options
        self._neighbours = neighbours
        self._metric: Metric = metric

    @property
    def covariance(self) -> Covariance:
        """The best that was found."""
        return self.report.covariance

    @property
    def likelihood(self) -> Likelihood:
        """There."""
        return self.report.likelihood

    def __repr__(self) -> str:
        return f"<strata.geostat.Fit {self.covariance!r}, log-likelihood {self.likelihood.log_likelihood:.10g}: {self.report.reason}>"

    @property
    def approximation(self) -> VecchiaReport | None:
        """What a fit by neighbours consists of."""
        return None if self._neighbours is None else self._neighbours.report

    @property
    def exact(self) -> ExactBeside | None:
        """The exact likelihood at an estimate by neighbours: what the approximation cost."""
        return None if self._neighbours is None else self._neighbours.exact

    @property
    def coefficients(self) -> dict[str, float]:
        """Of the trend's columns, a constant among them, by generalised least squares."""
        return {name: float(b) for name, b in zip(self._trend.core.names, self.likelihood.coefficients)}

    @property
    def coefficient_errors(self) -> dict[str, float]:
        """Their standard errors at this covariance, whose own uncertainty is not in them."""
        variances = self.likelihood.coefficient_covariance.diagonal()
        return {name: float(v) ** 0.5 for name, v in zip(self._trend.core.names, variances)}

    def predict(self, new_locations: Any, X_new: Any = None, *, variance: bool = True, exact: bool = False) -> Prediction:
        """Kriging at new places, with the values and the trend of the fit: see `Factor.predict`.

        Of a fit by m neighbours each place is predicted from the 2 m observations nearest to it.

        Parameters
        ----------
        new_locations : array of float64, (m, 2), or of more coordinates
        X_new : array of float64, (m, k), optional
            The trend's columns there, if the fit has any.
        variance : bool
            Without it takes a fraction of the time.
        exact : bool
            As for `Factor.predict`.

        Returns
        -------
        Prediction

        Raises
        ------
        ValueError
            If there is no factor; and as `Factor.predict`.

        References
        ----------
        As `Factor.predict`.
        """
        if self._neighbours is None:
            return self._there()._predict(self.values, new_locations, self._trend, X_new, variance, exact)
        places = as_places("new_locations", new_locations)
        columns = self._trend.at(X_new, len(places))
        return Prediction(self._neighbours.predict(places, self._metric, columns, self._nearest(), variance, exact), new_locations)

    def loo(self, folds: int | Sequence[int] | None = None, *, seed: int = 1) -> CrossValidation:
        """Each observation predicted from the others without a refit: see `Factor.loo`.

        Parameters
        ----------
        folds : int or sequence of int, (n,), optional
            As for `Factor.loo`.
        seed : int
            Of parts at random.

        Returns
        -------
        CrossValidation

        Raises
        ------
        ValueError
            If there is no factor; for folds that do not fit.

        References
        ----------
        As `Factor.loo`.
        """
        if self._neighbours is None:
            return self._there()._loo(self.values, self._trend, folds, seed)
        return self._neighbours.cross_validate(self.values, fold_numbers(len(self.values), folds, seed))

    def simulate(self, new_locations: Any, count: int = 1, *, X_new: Any = None, seed: int = 1, exact: bool = False) -> Any:
        """Fields at new places that agree with the observations: see `Factor.simulate`.

        Parameters
        ----------
        new_locations : array of float64, (m, 2), or of more coordinates
        count : int
            How many.
        X_new : array of float64, (m, k), optional
            As for `predict`.
        seed : int
            The same fields for the same seed.
        exact : bool
            As for `Factor.predict`.

        Returns
        -------
        array, (count, m)

        Raises
        ------
        ValueError, MemoryError
            If there is no factor; and as `Factor.simulate`.

        References
        ----------
        As `Factor.simulate`.
        """
        if self._neighbours is None:
            return self._there()._simulate(self.values, new_locations, count, self._trend, X_new, seed, exact)
        places = as_places("new_locations", new_locations)
        columns = self._trend.at(X_new, len(places))
        drawn = self._neighbours.simulate(places, self._metric, columns, self._nearest(), count, seed, exact)
        return _arrays.like(np.asarray(drawn), new_locations)

    def standard_errors(self) -> StandardErrors:
        """Of the parameters that were fitted, those at a bound left out: see `Factor.standard_errors`.

        Returns
        -------
        StandardErrors

        Raises
        ------
        ValueError
            If there is no factor.
        MemoryError
            With the bytes needed: about 2 n^2 for each of range and nu, 8 n^2 up to 512 places.

        References
        ----------
        As `Factor.standard_errors`.
        """
        reasons = _core.why_no_error(self.report, self._options.fixed)
        also = _core.also_estimated(self.report, self._options)
        if self._neighbours is not None:
            return _core.standard_errors(self._neighbours.information, self.covariance, reasons, also)
        return self._there()._standard_errors(reasons, self._trend.core, also)

    def profile_interval(
        self, parameter: FitParameter, *, level: float = 0.95, tolerance: float = 1e-3, on_step: Callable[[FitStep], object] | None = None
    ) -> ProfileInterval:
        """Values of one parameter that the observations don't contradict, the others fitted anew for each.

        Parameters
        ----------
        parameter : {"sigma2", "range", "nu", "nugget", "sigma2_2", "range_2", "nu_2"}
            The latter three of a second structure.
        level : float
            Of confidence; in (0, 1).
        tolerance : float
            Of an end, relative to its distance from the estimate in logarithms.
        on_step : callable, optional
            As for `fit`.

        Returns
        -------
        ProfileInterval
            `lower` and `upper`, and what these ends are.

        Raises
        ------
        ValueError
            For a parameter that was fixed, options out of range; if there is no factor.

        Notes
        -----
        About 6 to 10 fits in fp64 for each end. Unlike +- 1.96 standard errors the interval is as skewed as the likelihood.

        References
        ----------
        Venzon and Moolgavkar, Appl. Statist. 37 (1988), doi:10.2307/2347496. The root: Alefeld, Potra and Shi, ACM Trans. Math. Softw.
        21 (1995), doi:10.1145/210089.210111.
        """
        choose([parameter], FIT_PARAMETERS)
        index = FIT_PARAMETERS.index(parameter)
        return self._there()._core.profile_interval(self.values, self._options, index, level, tolerance, on_step)

    def plot(self, axes: Any = None) -> Any:
        """Draw a map of what the fit predicts over the extent of its places, with the observations as dots.

        Parameters
        ----------
        axes : matplotlib.axes.Axes, optional
            By default of a new figure.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            As `predict`.

        References
        ----------
        As `Factor.predict`.
        """
        return kriging_map(self, axes)

    def _nearest(self) -> int:
        return 60 if self._neighbours is None else min(2 * max(self._neighbours.report.neighbours, 1), 1000)

    def _there(self) -> Factor:
        if self._neighbours is not None:
            raise ValueError("the fit is by neighbours and has no factor: fit without them, or make a Factor of its covariance")
        if self.factor is None:
            raise ValueError("the covariance matrix was nowhere positive definite: there is no factor")
        return self.factor


def fit(
    locations: Any,
    values: Any,
    *,
    family: Family | str = "matern",
    anisotropy: Literal["fit", "axes"] | tuple[float, float] | None = None,
    error_variances: Any = None,
    start: Covariance | None = None,
    lower: Covariance | None = None,
    upper: Covariance | None = None,
    fixed: FitParameters = (),
    mean: Mean = "constant",
    X: Any = None,
    names: Sequence[str] | None = None,
    reml: bool = False,
    search: Literal["scoring", "bobyqa", "nelder-mead"] = "scoring",
    tolerance: float = 1e-5,
    max_evaluations: int = 500,
    metric: Metric = "euclidean",
    accuracy: float = 0.0,
    tile_size: int = 0,
    devices: int = 1,
    budget_bytes: int = 0,
    storage: Storage = "automatic",
    neighbours: int = 0,
    exact_up_to: int = 4096,
    on_step: Callable[[FitStep], object] | None = None,
) -> Fit:
    """Fit a covariance by maximum likelihood.

    Parameters
    ----------
    locations, values : arrays of float64, (n, 2), or up to (n, 8), and (n,)
    family : {"matern", "exponential", "gaussian", "spherical", "powered"}
        Or two that are added, "exponential+spherical", with one nugget and the same directions. Those of `start` where that is given.
    anisotropy : "fit", "axes" or (angle, ratio), optional
        Angle of the longest range, in degrees clockwise from y, and the ratio of the range across to this range; by default the start's. "axes": a range for each coordinate.
    error_variances : array of float64, (n,), optional
        As for `Factor`.
    start, lower, upper : Covariance, optional
        Where the search begins, and its bounds; by default from the extent of the places and the values.
    fixed : {"sigma2", "range", "nu", "nugget", "sigma2_2", "range_2", "nu_2"} or iterable of them
        Parameters that stay as in `start`; the latter three are a second structure's.
    mean : {"none", "constant"}
    X, names : array of float64, (n, k), and sequence of str, optional
        Columns of a trend, whose coefficients are estimated with the covariance, as `Fit.coefficients`; a constant beside them unless mean is
        "none" or they hold one. A pandas DataFrame's names are kept.
    reml : bool
        Maximise the likelihood of contrasts, which the coefficients have no influence on.
    search : {"scoring", "bobyqa", "nelder-mead"}
        By the exact gradient, or without derivatives.
    tolerance, max_evaluations : float, int
        Relative, of each parameter; of the likelihood.
    metric, accuracy, tile_size, devices, budget_bytes, storage
        As for `Factor`. With tiles below fp64 the search goes on in fp64 at its end.
    neighbours, exact_up_to : int
        Vecchia's approximation, for many observations: each is conditioned on so many others alone, 1 to 1000, for example 30; 0: the exact
        likelihood. With no more than `exact_up_to` places this is evaluated at the estimate, as `Fit.exact`.
    on_step : callable, optional
        Called with a `FitStep` after each evaluation; what it raises ends the fit, as does Ctrl-C.

    Returns
    -------
    Fit

    Raises
    ------
    ValueError, ShapeError, TypeError, MemoryError
        As `Factor`. ValueError also for a start that is not inside its bounds, naming the parameter; fewer than two values, or all the same; too many neighbours.
    Error
        If this build lacks the search that is asked for: see `can_fit`.

    Warns
    -----
    UserWarning
        For places that repeat with the same value, and for a parameter at a bound that was not given.

    References
    ----------
    Scoring, by the average information: Gilmour, Thompson and Cullis, Biometrics 51 (1995), doi:10.2307/2533274. BOBYQA: Powell, report DAMTP 2009/NA06. Nelder and Mead, Computer Journal 7 (1965), with the bounds of Richardson and Kuester,
    Commun. ACM 16 (1973). Both by Johnson, The NLopt package. Neighbours: Guinness, Technometrics 60 (2018), doi:10.1080/00401706.2018.1437476.
    """
    places, observed = observations(locations, values)
    errors = as_errors(error_variances)
    trend = Trend(mean, X, len(places), reml=reml, names=names)
    how = {"accuracy": accuracy, "tile_size": tile_size, "devices": devices, "budget_bytes": budget_bytes, "storage": storage}
    options = _core.default_fit_options(places, metric, observed, trend.core, family_of(start, family), errors)
    options.choose(search, accuracy, tile_size, devices, budget_bytes, storage)
    set_options(options, start, lower, upper, fixed, anisotropy, places.shape[1])
    options.tolerance, options.max_evaluations = tolerance, max_evaluations
    if errors is None:
        warn_of_copies(places, metric, observed, options)
    factor, model = None, None
    if neighbours == 0:
        report, found = _core.fit(places, metric, observed, options, on_step, errors)
        factor = None if found is None else Factor._of(found, metric, places, {**how, "error_variances": errors})
    else:
        report, model = _core.fit_by_neighbours(places, metric, observed, options, neighbours, exact_up_to, on_step, errors)
    warn_of_bounds(report, options, lower, upper)
    return Fit(report, factor, (places.copy(), observed), trend, options, model, metric)
