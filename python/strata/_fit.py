# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Maximum-likelihood fits."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal

from . import _arrays, _core
from ._core import Covariance, CrossValidation, FitReport, FitStep, Likelihood, ProfileInterval, StandardErrors
from ._errors import ShapeError
from ._given import as_errors, as_places, as_values, require_covariance
from ._kriging import PARAMETERS, Factor, Metric, Parameter, Parameters, Storage, choose
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
        Of the covariance matrix there; None if the matrix was nowhere positive definite.
    locations, values : ndarray of float64
        That it was fitted to.
    """

    def __init__(self, report: FitReport, factor: Factor | None, observed: tuple[_arrays.Array, _arrays.Array], trend: Trend, options: _core.FitOptions) -> None:
        self.report = report
        self.factor = factor
        self.locations, self.values = observed
        self._trend = trend
        self._options = options

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

        Parameters
        ----------
        new_locations : array of float64, (m, 2)
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
        return self._there()._predict(self.values, new_locations, self._trend, X_new, variance, exact)

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
        return self._there()._loo(self.values, self._trend, folds, seed)

    def simulate(self, new_locations: Any, count: int = 1, *, X_new: Any = None, seed: int = 1, exact: bool = False) -> Any:
        """Fields at new places that agree with the observations: see `Factor.simulate`.

        Parameters
        ----------
        new_locations : array of float64, (m, 2)
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
        return self._there()._simulate(self.values, new_locations, count, self._trend, X_new, seed, exact)

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
        return self._there()._standard_errors(_core.why_no_error(self.report, self._options.fixed), self._trend.core)

    def profile_interval(
        self, parameter: Parameter, *, level: float = 0.95, tolerance: float = 1e-3, on_step: Callable[[FitStep], object] | None = None
    ) -> ProfileInterval:
        """Values of one parameter that the observations don't contradict, the others fitted anew for each.

        Parameters
        ----------
        parameter : {"sigma2", "range", "nu", "nugget"}
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
        choose([parameter])
        index = PARAMETERS.index(parameter)
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

    def _there(self) -> Factor:
        if self.factor is None:
            raise ValueError("the covariance matrix was nowhere positive definite: there is no factor")
        return self.factor


def fit(
    locations: Any,
    values: Any,
    *,
    family: Family = "matern",
    anisotropy: Literal["fit"] | tuple[float, float] | None = None,
    error_variances: Any = None,
    start: Covariance | None = None,
    lower: Covariance | None = None,
    upper: Covariance | None = None,
    fixed: Parameters = (),
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
    on_step: Callable[[FitStep], object] | None = None,
) -> Fit:
    """Fit a covariance by maximum likelihood.

    Parameters
    ----------
    locations : array of float64, (n, 2)
    values : array of float64, (n,)
    family : {"matern", "exponential", "gaussian", "spherical", "powered"}
        The one of `start` where that is given.
    anisotropy : "fit" or (angle, ratio), optional
        Angle of the longest range, in degrees clockwise from y, and the range across it by that; by default those of `start`.
    error_variances : array of float64, (n,), optional
        As for `Factor`.
    start, lower, upper : Covariance, optional
        Where the search begins, and its bounds; by default from the extent of the places and the values.
    fixed : {"sigma2", "range", "nu", "nugget"} or iterable of them
        Parameters that stay as in `start`.
    mean : {"none", "constant"}
    X : array of float64, (n, k), optional
        Columns of a trend, whose coefficients are estimated with the covariance, as `Fit.coefficients`; a constant beside them unless mean is
        "none" or they hold one. A pandas DataFrame's names are kept.
    names : sequence of str, optional
        What the columns are called.
    reml : bool
        Maximise the likelihood of contrasts, which the coefficients have no influence on.
    search : {"scoring", "bobyqa", "nelder-mead"}
        By the exact gradient, or without derivatives.
    tolerance, max_evaluations : float, int
        Relative, of each parameter; of the likelihood.
    metric, accuracy, tile_size, devices, budget_bytes, storage
        As for `Factor`. With tiles below fp64 the search goes on in fp64 at its end.
    on_step : callable, optional
        Called with a `FitStep` after each evaluation; what it raises ends the fit, as does Ctrl-C.

    Returns
    -------
    Fit

    Raises
    ------
    ValueError
        For a start that is not inside its bounds, naming the parameter; fewer than two values, or all the same.
    Error
        If this build lacks the search that is asked for: see `can_fit`.
    ShapeError, TypeError, MemoryError
        As `Factor`.

    Warns
    -----
    UserWarning
        For places that repeat with the same value, and for a parameter at a bound that was not given.

    References
    ----------
    Scoring, by the average information: Gilmour, Thompson and Cullis, Biometrics 51 (1995), doi:10.2307/2533274. BOBYQA: Powell, report DAMTP 2009/NA06. Nelder and Mead, Computer Journal 7 (1965), with the bounds of Richardson and Kuester,
    Commun. ACM 16 (1973). Both by Johnson, The NLopt package.
    """
    require_covariances(start=start, lower=lower, upper=upper)
    places, observed, errors = as_places("locations", locations), as_values(values), as_errors(error_variances)
    if len(observed) != len(places):
        raise ShapeError(f"values are {len(observed)}, locations {len(places)}")
    trend = Trend(mean, X, len(places), reml=reml, names=names)
    options = _core.default_fit_options(places, metric, observed, trend.core, family if start is None else start.family, errors)
    options.choose(search, accuracy, tile_size, devices, budget_bytes, storage)
    how = {"accuracy": accuracy, "tile_size": tile_size, "devices": devices, "budget_bytes": budget_bytes, "storage": storage}
    chosen = choose(fixed)
    options.start, options.directions = with_axes(start or options.start, anisotropy), anisotropy == "fit"
    options.lower, options.upper = lower or options.lower, upper or options.upper
    options.fixed = [name in chosen or (name == "nu" and options.start.family not in ("matern", "powered")) for name in PARAMETERS]
    options.tolerance, options.max_evaluations = tolerance, max_evaluations
    if "nugget" not in chosen and errors is None:
        warn_of_copies(places, metric, observed)
    report, factor = _core.fit(places, metric, observed, options, on_step, errors)
    warn_of_bounds(report, options, lower, upper)
    return Fit(report, None if factor is None else Factor._of(factor, metric, places, {**how, "error_variances": errors}), (places.copy(), observed), trend, options)


def require_covariances(**given: Covariance | None) -> None:
    """Raises TypeError for what is none, and not None."""
    for name, value in given.items():
        if value is not None:
            require_covariance(name, value)


def with_axes(start: Covariance, anisotropy: Literal["fit"] | tuple[float, float] | None) -> Covariance:
    """The start with these directions. Raises ValueError for other words, and a ratio out of range."""
    if anisotropy is None or anisotropy == "fit":
        return start
    if isinstance(anisotropy, str) or len(anisotropy) != 2:
        raise ValueError(f'anisotropy is {anisotropy!r}, must be "fit" or (angle, ratio)')
    angle, ratio = anisotropy
    return Covariance(start.sigma2, start.range, start.nu, start.nugget, family=start.family, angle=angle, ratio=ratio)


def warn_of_bounds(report: FitReport, options: _core.FitOptions, lower: Covariance | None, upper: Covariance | None) -> None:
    """Warn the caller's caller of parameters at bounds that were not given."""
    for name, bound in zip(PARAMETERS, report.at_bound):
        at = getattr(report.covariance, name)
        low, high = getattr(options.lower, name), getattr(options.upper, name)
        side, given = ("lower", lower) if at - low < high - at else ("upper", upper)
        if bound and given is None and not (name == "nugget" and at == 0):
            text = f"{name} is at its {side} bound, {at:.4g}, which is the default for these data: {side} sets others"
            warnings.warn(text, UserWarning, stacklevel=3)


def warn_of_copies(places: Any, metric: Metric, observed: Any) -> None:
    """Warn the caller's caller of places that repeat with the same value."""
    repeated, same, first, second = _core.copies(places, metric, observed)
    if same > 0:
        text = (
            f"{repeated} places are in the data more than once, {same} times with the same value (locations {first + 1} and {second + 1}, "
            "counted from 1): the likelihood grows as the nugget goes to 0, so that its lower bound decides the fit; leave copies out, or fix the nugget"
        )
        warnings.warn(text, UserWarning, stacklevel=3)
