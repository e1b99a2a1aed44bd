# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Gaussian fields with Matern covariances: exact likelihoods, maximum-likelihood fits, kriging.

The covariance of two places at distance h is C(h) = sigma2 2^(1-nu) / Gamma(nu) (h/range)^nu K_nu(h/range), without a factor
sqrt(2 nu) in h; an observation's variance is larger by the nugget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np

from . import _arrays, _core
from ._core import CovarianceFactorReport, FitReport, FitStep, Likelihood, Matern, can_fit
from ._errors import ShapeError

__all__ = [
    "CovarianceFactorReport",
    "Factor",
    "Fit",
    "FitReport",
    "FitStep",
    "Likelihood",
    "Matern",
    "Prediction",
    "can_fit",
    "covariance_matrix",
    "fit",
    "loglikelihood",
    "predict",
    "synthetic_field",
]

Mean = Literal["none", "constant"]
Metric = Literal["euclidean", "great-circle"]


class Prediction:
    """The field where it was not observed.

    Attributes
    ----------
    mean : array, (m,)
        Its conditional expectation.
    variance : array, (m,)
        Of the field about it; a new observation's is larger by the nugget.
    backward_error : float
        Normwise, the worst of the solves.
    converged : bool
        All of them.
    """

    def __init__(self, core: _core.Prediction, package: Any) -> None:
        self.mean = _arrays.like(np.asarray(core.mean), package)
        self.variance = _arrays.like(np.asarray(core.variance), package)
        self.backward_error = core.backward_error
        self.converged = core.converged

    def __repr__(self) -> str:
        return f"<strata.geostat.Prediction at {len(self.mean)} locations>"


class Factor:
    """The factor of the covariance matrix of observations, for several sets of values at the same places.

    Parameters
    ----------
    locations : array of float64, (n, 2)
        Where observations were made: x and y, or longitude and latitude in degrees. Copied.
    covariance : Matern
        Its range in the unit of x and y, or in kilometres.
    metric : {"euclidean", "great-circle"}
        The latter on a sphere of radius 6371.0088 km.
    accuracy : float
        Tiles may be rounded to fp32, fp16 and fp8 as long as the matrix is changed by no more than this times its Frobenius
        norm; 0: fp64 throughout. In [0, 1).
    tile_size : int
        0: chosen for n.

    Raises
    ------
    ShapeError
        If locations are not (n, 2).
    ValueError
        For parameters out of range, places that are not finite, or two that coincide without a nugget.
    NotPositiveDefinite
        With the order of the leading minor that is not positive.
    MemoryError
        With the bytes needed.

    Notes
    -----
    The matrix is made tile by tile, and only its lower triangle is stored. J. Ren, H. Ltaief, S. Abdulah, D. Keyes, Accelerating
    Mixed-Precision Out-of-Core Cholesky Factorization with Static Task Scheduling.
    """

    def __init__(self, locations: Any, covariance: Matern, *, metric: Metric = "euclidean", accuracy: float = 0.0, tile_size: int = 0) -> None:
        self._core = _core.covariance_factor(covariance, _places("locations", locations), metric, accuracy, tile_size)
        self._metric = metric

    @classmethod
    def _of(cls, core: _core.CovarianceFactor, metric: Metric) -> Factor:
        made = cls.__new__(cls)
        made._core, made._metric = core, metric
        return made

    @property
    def covariance(self) -> Matern:
        """Of which the matrix is."""
        return self._core.covariance

    @property
    def report(self) -> CovarianceFactorReport:
        """What the factorisation took."""
        return self._core.report

    def __repr__(self) -> str:
        return f"<strata.geostat.Factor of order {self._core.order}: {self.covariance!r}>"

    def logdet(self) -> _core.LogDeterminant:
        """Log-determinant of the covariance matrix, and how far off it may be."""
        return self._core.log_determinant()

    def loglikelihood(self, values: Any, mean: Mean = "none") -> Likelihood:
        """The log-likelihood of these observations.

        Parameters
        ----------
        values : array of float64, (n,)
        mean : {"none", "constant"}
            The mean is zero, or one number, estimated with the covariance.

        Returns
        -------
        Likelihood

        Raises
        ------
        ShapeError, TypeError, ValueError
            If values do not fit or are not finite.
        """
        return self._core.likelihood(_values(values), mean)

    def predict(self, values: Any, new_locations: Any, mean: Mean = "none") -> Prediction:
        """Best linear prediction (kriging) of the field at new places.

        Parameters
        ----------
        values : array of float64, (n,)
        new_locations : array of float64, (m, 2)
        mean : {"none", "constant"}

        Returns
        -------
        Prediction

        Raises
        ------
        ShapeError, TypeError, ValueError
            If values or places do not fit or are not finite.

        Notes
        -----
        Cressie, Statistics for Spatial Data, 1993, sections 3.2 and 3.4.5.
        """
        found = self._core.predict(_values(values), _places("new_locations", new_locations), self._metric, mean)
        return Prediction(found, new_locations)


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


def loglikelihood(
    locations: Any,
    values: Any,
    covariance: Matern,
    *,
    mean: Mean = "none",
    metric: Metric = "euclidean",
    accuracy: float = 0.0,
    tile_size: int = 0,
) -> Likelihood:
    """The Gaussian log-likelihood, -1/2 (n log 2 pi + log det S + (y - mean)' S^-1 (y - mean)).

    Parameters
    ----------
    locations : array of float64, (n, 2)
    values : array of float64, (n,)
    covariance : Matern
    mean : {"none", "constant"}
    metric, accuracy, tile_size
        As for `Factor`.

    Returns
    -------
    Likelihood
        `log_likelihood` and its parts, each with its error.

    Raises
    ------
    ShapeError, TypeError, ValueError, MemoryError, NotPositiveDefinite
        As `Factor` and `Factor.loglikelihood`.

    Examples
    --------
    >>> import numpy, strata
    >>> places = numpy.array([[0.0, 0.0], [0.0, 1.0]])
    >>> found = strata.geostat.loglikelihood(places, numpy.zeros(2), strata.geostat.Matern(sigma2=1.0, range=1.0))
    >>> round(found.log_likelihood, 6)  # -log(2 pi) - log(1 - exp(-2)) / 2
    -1.76517
    """
    factor = Factor(locations, covariance, metric=metric, accuracy=accuracy, tile_size=tile_size)
    return factor.loglikelihood(values, mean)


def predict(
    locations: Any,
    values: Any,
    new_locations: Any,
    covariance: Matern,
    *,
    mean: Mean = "none",
    metric: Metric = "euclidean",
    accuracy: float = 0.0,
    tile_size: int = 0,
) -> Prediction:
    """Kriging: the field at new places from observations.

    Parameters
    ----------
    locations : array of float64, (n, 2)
    values : array of float64, (n,)
    new_locations : array of float64, (m, 2)
    covariance : Matern
    mean, metric, accuracy, tile_size
        As for `Factor` and `Factor.predict`.

    Returns
    -------
    Prediction

    Raises
    ------
    ShapeError, TypeError, ValueError, MemoryError, NotPositiveDefinite
        As `Factor` and `Factor.predict`.
    """
    factor = Factor(locations, covariance, metric=metric, accuracy=accuracy, tile_size=tile_size)
    return factor.predict(values, new_locations, mean)


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
    places, observed = _places("locations", locations), _values(values)
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


def covariance_matrix(covariance: Matern, locations: Any, metric: Metric = "euclidean") -> Any:
    """The covariance matrix of observations, with the nugget on its diagonal.

    Parameters
    ----------
    covariance : Matern
    locations : array of float64, (n, 2)
    metric : {"euclidean", "great-circle"}

    Returns
    -------
    array, (n, n)
        In Fortran order; while it is made there are two of them.

    Raises
    ------
    ShapeError, TypeError, ValueError
        As `Factor`.
    """
    places = _places("locations", locations)
    A = np.empty((len(places), len(places)), order="F")
    _core.covariance_matrix(covariance, places, metric, A)
    return _arrays.like(A, locations)


def synthetic_field(covariance: Matern, locations: Any, seed: int = 1, metric: Metric = "euclidean") -> Any:
    """Observations of a Gaussian field with zero mean, the nugget's errors included.

    Parameters
    ----------
    covariance : Matern
    locations : array of float64, (n, 2)
    seed : int
    metric : {"euclidean", "great-circle"}

    Returns
    -------
    array, (n,)

    Raises
    ------
    ShapeError, TypeError, ValueError, MemoryError
        As `Factor`.
    """
    field = _core.synthetic_field(covariance, _places("locations", locations), metric, seed)
    return _arrays.like(np.asarray(field), locations)


def _places(name: str, array: Any) -> _arrays.Array:
    found = _arrays.as_float64(name, array)
    if found.ndim != 2 or found.shape[1] != 2:
        raise ShapeError(f"{name} are {_arrays.size_of(found)}, must be n x 2")
    return found


def _values(array: Any) -> _arrays.Array:
    return _arrays.as_vector("values", array)
