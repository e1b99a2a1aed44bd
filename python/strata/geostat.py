# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Gaussian fields: exact likelihoods, maximum-likelihood fits, kriging.

The covariance of two places at distance h, x = h/range, is sigma2 times 2^(1-nu) / Gamma(nu) x^nu K_nu(x) for `Matern`, without a factor
sqrt(2 nu) in h; e^-x for `Exponential`, e^-x^2 for `Gaussian`, 1 - 3/2 x + 1/2 x^3 up to x = 1 for `Spherical`, e^-x^power for
`PoweredExponential`; an observation's variance is larger by the nugget. Messages count locations and values from 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _arrays, _core
from ._core import (
    Covariance,
    CovarianceFactorReport,
    CrossValidation,
    ExactBeside,
    FisherInformation,
    FitReport,
    FitStep,
    Likelihood,
    LikelihoodGradient,
    ProfileInterval,
    StandardErrors,
    VecchiaReport,
    can_fit,
)
from ._covariances import Exponential, Gaussian, Matern, PoweredExponential, Spherical
from ._fit import Fit, fit
from ._given import as_places, as_values, require_covariance
from ._kriging import Factor, Metric, Storage
from ._trend import Mean, Prediction, Trend, chosen_mean

__all__ = [
    "Covariance",
    "CovarianceFactorReport",
    "CrossValidation",
    "ExactBeside",
    "Exponential",
    "Factor",
    "FisherInformation",
    "Fit",
    "FitReport",
    "FitStep",
    "Gaussian",
    "Likelihood",
    "LikelihoodGradient",
    "Matern",
    "PoweredExponential",
    "Prediction",
    "ProfileInterval",
    "Spherical",
    "StandardErrors",
    "VecchiaReport",
    "can_fit",
    "covariance_matrix",
    "fit",
    "loglikelihood",
    "loglikelihood_and_gradient",
    "predict",
    "synthetic_field",
    "variogram",
]


def loglikelihood(
    locations: Any,
    values: Any,
    covariance: Covariance,
    *,
    mean: Mean | None = None,
    metric: Metric = "euclidean",
    accuracy: float = 0.0,
    tile_size: int = 0,
    devices: int = 1,
    budget_bytes: int = 0,
    storage: Storage = "automatic",
) -> Likelihood:
    """The Gaussian log-likelihood, -1/2 (n log 2 pi + log det S + (y - mean)' S^-1 (y - mean)).

    Parameters
    ----------
    locations : array of float64, (n, 2)
    values : array of float64, (n,)
    covariance : Covariance
    mean : {"none", "constant"}
        Constant where it is not given, which is new and warns in this version.
    metric, accuracy, tile_size, devices, budget_bytes, storage
        As for `Factor`.

    Returns
    -------
    Likelihood
        `log_likelihood` and its parts, each with its error.

    Raises
    ------
    ShapeError, TypeError, ValueError, MemoryError, NotPositiveDefinite
        As `Factor` and `Factor.loglikelihood`.

    References
    ----------
    As `Factor.loglikelihood`.

    Examples
    --------
    >>> import numpy, strata
    >>> places = numpy.array([[0.0, 0.0], [0.0, 1.0]])
    >>> found = strata.geostat.loglikelihood(places, numpy.zeros(2), strata.geostat.Matern(sigma2=1.0, range=1.0), mean="none")
    >>> round(found.log_likelihood, 6)  # -log(2 pi) - log(1 - exp(-2)) / 2
    -1.76517
    """
    how = chosen_mean(mean)
    factor = Factor(
        locations,
        covariance,
        metric=metric,
        accuracy=accuracy,
        tile_size=tile_size,
        devices=devices,
        budget_bytes=budget_bytes,
        storage=storage,
    )
    return factor.loglikelihood(values, how)


def loglikelihood_and_gradient(
    locations: Any,
    values: Any,
    covariance: Covariance,
    *,
    mean: Mean | None = None,
    metric: Metric = "euclidean",
    accuracy: float = 0.0,
    tile_size: int = 0,
    devices: int = 1,
    budget_bytes: int = 0,
    storage: Storage = "automatic",
) -> tuple[Likelihood, LikelihoodGradient]:
    """The log-likelihood and its exact gradient by sigma2, range, nu and nugget, of one factor.

    Parameters
    ----------
    locations : array of float64, (n, 2)
    values : array of float64, (n,)
    covariance : Covariance
    mean, metric, accuracy, tile_size, devices, budget_bytes, storage
        As for `loglikelihood`.

    Returns
    -------
    (Likelihood, LikelihoodGradient)
        See `Factor.gradient`.

    Raises
    ------
    ShapeError, TypeError, ValueError, MemoryError, NotPositiveDefinite
        As `loglikelihood`.

    References
    ----------
    As `Factor.loglikelihood` and `Factor.gradient`.
    """
    how = chosen_mean(mean)
    factor = Factor(
        locations,
        covariance,
        metric=metric,
        accuracy=accuracy,
        tile_size=tile_size,
        devices=devices,
        budget_bytes=budget_bytes,
        storage=storage,
    )
    return factor.loglikelihood(values, how), factor.gradient(values, how)


def predict(
    locations: Any,
    values: Any,
    new_locations: Any,
    covariance: Covariance,
    *,
    mean: Mean | None = None,
    X: Any = None,
    X_new: Any = None,
    metric: Metric = "euclidean",
    accuracy: float = 0.0,
    tile_size: int = 0,
    devices: int = 1,
    budget_bytes: int = 0,
    storage: Storage = "automatic",
) -> Prediction:
    """Kriging: the field at new places from observations.

    Parameters
    ----------
    locations : array of float64, (n, 2)
    values : array of float64, (n,)
    new_locations : array of float64, (m, 2)
    covariance : Covariance
    mean, X, X_new, metric, accuracy, tile_size, devices, budget_bytes, storage
        As for `Factor` and `Factor.predict`.

    Returns
    -------
    Prediction

    Raises
    ------
    ShapeError, TypeError, ValueError, MemoryError, NotPositiveDefinite
        As `Factor` and `Factor.predict`.

    References
    ----------
    As `Factor.predict`.
    """
    how = chosen_mean(mean) if X is None else mean or "constant"
    factor = Factor(
        locations,
        covariance,
        metric=metric,
        accuracy=accuracy,
        tile_size=tile_size,
        devices=devices,
        budget_bytes=budget_bytes,
        storage=storage,
    )
    return factor.predict(values, new_locations, how, X=X, X_new=X_new)


def covariance_matrix(covariance: Covariance, locations: Any, metric: Metric = "euclidean") -> Any:
    """The covariance matrix of observations, with the nugget on its diagonal.

    Parameters
    ----------
    covariance : Covariance
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

    References
    ----------
    Gneiting, Kleiber and Schlather, J. Amer. Statist. Assoc. 105 (2010), without a factor sqrt(2 nu) in h. Its Bessel function: Temme,
    J. Comput. Phys. 19 (1975), doi:10.1016/0021-9991(75)90082-0.
    """
    require_covariance("covariance", covariance)
    places = as_places("locations", locations)
    A = np.empty((len(places), len(places)), order="F")
    _core.covariance_matrix(covariance, places, metric, A)
    return _arrays.like(A, locations)


def synthetic_field(covariance: Covariance, locations: Any, seed: int = 1, metric: Metric = "euclidean") -> Any:
    """Observations of a Gaussian field with zero mean, the nugget's errors included.

    Parameters
    ----------
    covariance : Covariance
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

    Notes
    -----
    L z of the covariance matrix L L^T and standard normal numbers z.

    References
    ----------
    Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, appendix A.2. The bits of z: Steele, Lea and Flood, OOPSLA 2014,
    doi:10.1145/2660193.2660195.
    """
    require_covariance("covariance", covariance)
    field = _core.synthetic_field(covariance, as_places("locations", locations), metric, seed)
    return _arrays.like(np.asarray(field), locations)


def variogram(
    locations: Any, values: Any, *, X: Any = None, mean: Mean = "constant", classes: int = 15, cutoff: float = 0.0, metric: Metric = "euclidean"
) -> Any:
    """The empirical variogram, by Matheron's estimator.

    Parameters
    ----------
    locations : array of float64, (n, 2)
    values : array of float64, (n,)
    X : array of float64, (n, k), optional
        Columns of a trend, of which the values lose what least squares explain.
    mean : {"none", "constant"}
        Whether there is a constant, too.
    classes : int
        Of one width up to the cutoff; those without a pair are left out.
    cutoff : float
        0: a third of the diagonal of the box around the places.
    metric : {"euclidean", "great-circle"}

    Returns
    -------
    array, (classes, 3)
        Mean distance of the pairs, semivariance, number of pairs. Of more than 5000 places so many are taken, at random.

    Raises
    ------
    ShapeError, TypeError, ValueError
        As `Factor`; for classes or a cutoff out of range.

    References
    ----------
    Matheron, Economic Geology 58 (1963), doi:10.2113/gsecongeo.58.8.1246.
    """
    places, observed = as_places("locations", locations), as_values(values)
    left = Trend(mean, X, len(places)).core.residuals(np.asarray(observed))
    return _core.variogram(places, metric, left, classes, cutoff)
