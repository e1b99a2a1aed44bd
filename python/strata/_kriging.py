# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""The factor of a covariance matrix, and the predictions that it makes."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Literal, Union

import numpy as np

from . import _arrays, _core
from ._core import Covariance, CovarianceFactorReport, CrossValidation, FisherInformation, Likelihood, LikelihoodGradient, StandardErrors
from ._covariances import described, made_of
from ._given import as_errors, as_places, as_values, require_covariance, fold_numbers
from ._trend import Mean, Prediction, Trend, chosen_mean

Metric = Literal["euclidean", "great-circle", "chordal"]
Storage = Literal["automatic", "host", "devices"]
Parameter = Literal["sigma2", "range", "nu", "nugget"]
Parameters = Union[Parameter, Iterable[Parameter]]
PARAMETERS: tuple[Parameter, ...] = ("sigma2", "range", "nu", "nugget")
FitParameter = Literal["sigma2", "range", "nu", "nugget", "sigma2_2", "range_2", "nu_2"]
FitParameters = Union[FitParameter, Iterable[FitParameter]]
FIT_PARAMETERS: tuple[FitParameter, ...] = (*PARAMETERS, "sigma2_2", "range_2", "nu_2")


class Factor:
    """The factor of the covariance matrix of observations, for several sets of values at the same places.

    Parameters
    ----------
    locations : array of float64, (n, 2)
        Where observations were made: x and y, or longitude and latitude in degrees. Copied.
    covariance : Covariance
        Its range in the unit of x and y, or in kilometres.
    metric : {"euclidean", "great-circle", "chordal"}
        The latter two on, and straight through, a sphere of radius 6371.0088 km.
    accuracy : float
        Tiles may be rounded to fp32, fp16 and fp8 as long as the matrix is changed by no more than this times its Frobenius
        norm; 0: fp64 throughout. In [0, 1).
    tile_size : int
        0: chosen for n.
    devices : int
        GPUs, or workers on a host.
    budget_bytes : int
        Of each device; 0: what it has.
    storage : {"automatic", "host", "devices"}
        Whose memory the matrix is in. The devices hold it together, or one of them whole in fp64, unless a tile size is given.
        Automatic: GPUs if they have room for it.
    error_variances : array of float64, (n,), optional
        Variances of the observations' errors that are known, beside the nugget.

    Raises
    ------
    ShapeError
        If locations are not (n, 2), or the error variances not n.
    ValueError
        For parameters out of range, places that are not finite, or two that coincide without a nugget.
    NotPositiveDefinite
        With the order of the leading minor that is not positive.
    MemoryError
        With the bytes needed.

    Notes
    -----
    The matrix is made tile by tile, and only its lower triangle is stored.

    References
    ----------
    As `strata.ooc.cholesky`.
    """

    def __init__(
        self,
        locations: Any,
        covariance: Covariance,
        *,
        metric: Metric = "euclidean",
        accuracy: float = 0.0,
        tile_size: int = 0,
        devices: int = 1,
        budget_bytes: int = 0,
        storage: Storage = "automatic",
        error_variances: Any = None,
    ) -> None:
        require_covariance("covariance", covariance)
        places, errors = as_places("locations", locations), as_errors(error_variances)
        self._core = _core.covariance_factor(covariance, places, metric, accuracy, tile_size, devices, budget_bytes, storage, errors)
        self._metric = metric
        options = {"accuracy": accuracy, "tile_size": tile_size, "devices": devices, "budget_bytes": budget_bytes, "storage": storage}
        self._options = {**options, "error_variances": errors}
        self._places = places.copy()

    @classmethod
    def _of(cls, core: _core.CovarianceFactor, metric: Metric, places: _arrays.Array, options: dict[str, Any]) -> Factor:
        made = cls.__new__(cls)
        made._core, made._metric, made._places, made._options = core, metric, places, options
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Places, covariance and options: a copy, and what is loaded from a pickle, factors again."""
        theta, kind = described(self.covariance)
        return _factored, (self._places, theta, {"metric": self._metric, **self._options}, kind)

    @property
    def covariance(self) -> Covariance:
        """Of which the matrix is."""
        return self._core.covariance

    @property
    def report(self) -> CovarianceFactorReport:
        """What the factorisation took."""
        return self._core.report

    def __repr__(self) -> str:
        return f"<strata.geostat.Factor of order {self._core.order}: {self.covariance!r}>"

    def refactor(self, covariance: Covariance) -> None:
        """Factor another covariance of the same places, in the memory that there is.

        Parameters
        ----------
        covariance : Covariance

        Raises
        ------
        ValueError
            As `Factor`; the factor is as it was.
        NotPositiveDefinite, MemoryError
            As `Factor`. There is no factor then, until it is refactored.
        """
        require_covariance("covariance", covariance)
        self._core.update(covariance)

    def update(self, covariance: Covariance) -> None:
        """The old name of `refactor`, which works until 0.4."""
        warnings.warn("update is now called refactor; the old name works until 0.4", DeprecationWarning, stacklevel=2)
        self.refactor(covariance)

    def logdet(self) -> _core.LogDeterminant:
        """Log-determinant of the covariance matrix, and how far off it may be.

        References
        ----------
        As `strata.Factor.logdet`.
        """
        return self._core.log_determinant()

    def _trend(self, mean: Mean | None, X: Any, reml: bool = False) -> _core.Trend:
        how = chosen_mean(mean, stacklevel=4) if X is None else mean or "constant"
        return Trend(how, X, self._core.order, reml=reml).core

    def loglikelihood(self, values: Any, mean: Mean | None = None, *, X: Any = None, reml: bool = False) -> Likelihood:
        """The log-likelihood of these observations.

        Parameters
        ----------
        values : array of float64, (n,)
        mean : {"none", "constant"}
            The mean is zero, or one number, estimated with the covariance. Constant where it is not given, which is new and
            warns in this version.
        X : array of float64, (n, k), optional
            Columns of a trend, whose coefficients are estimated with the covariance; with a constant unless mean is "none" or they
            hold one.
        reml : bool
            The likelihood of contrasts, which the coefficients have no influence on.

        Returns
        -------
        Likelihood

        Raises
        ------
        ShapeError, TypeError, ValueError
            If values do not fit or are not finite.

        References
        ----------
        J. Ren, H. Ltaief, S. Abdulah, D. Keyes, Accelerating Mixed-Precision Out-of-Core Cholesky Factorization with Static Task
        Scheduling, equation 1.
        """
        return self._core.likelihood(as_values(values), self._trend(mean, X, reml))

    def gradient(
        self, values: Any, mean: Mean | None = None, wanted: Parameters = PARAMETERS, *, X: Any = None, reml: bool = False
    ) -> LikelihoodGradient:
        """The exact gradient of the log-likelihood by sigma2, range, nu and nugget.

        Parameters
        ----------
        values : array of float64, (n,)
        mean, X, reml
            As for `loglikelihood`.
        wanted : {"sigma2", "range", "nu", "nugget"} or iterable of them
            The others are NaN. Without nu, where it is 1/2, 3/2 or 5/2, it takes less time.

        Returns
        -------
        LikelihoodGradient
            `by`, (4,). At a nugget of 0 the derivative by it is the one from above.

        Raises
        ------
        ShapeError, TypeError, ValueError
            As `loglikelihood`; ValueError for a name of no parameter.

        Notes
        -----
        1/2 (w' S_k w - trace(S^-1 S_k)) with w = S^-1 (y - mean): about the work of two factorisations in fp64.

        References
        ----------
        Mardia and Marshall, Biometrika 71 (1984), doi:10.1093/biomet/71.1.135.
        """
        chosen = choose(wanted)
        return self._core.gradient(as_values(values), self._trend(mean, X, reml), [name in chosen for name in PARAMETERS])

    def fisher_information(self, wanted: Parameters = PARAMETERS) -> FisherInformation:
        """What observations at these places tell of the parameters, whatever their values turn out to be.

        Parameters
        ----------
        wanted : {"sigma2", "range", "nu", "nugget"} or iterable of them
            The others are NaN.

        Returns
        -------
        FisherInformation
            `of`, (4, 4): 1/2 trace(S^-1 S_j S^-1 S_k).

        Raises
        ------
        ValueError
            For a name of no parameter.
        MemoryError
            With the bytes needed: about 2 n^2 for each of range and nu, 8 n^2 up to 512 places.

        References
        ----------
        Mardia and Marshall, Biometrika 71 (1984), doi:10.1093/biomet/71.1.135.
        """
        chosen = choose(wanted)
        return self._core.fisher_information([name in chosen for name in PARAMETERS], _core.trend("none", None, [], "ml"), _core.AlsoEstimated())

    def standard_errors(self, estimated: Parameters = PARAMETERS) -> StandardErrors:
        """How far estimates by maximum likelihood are from the truth, as far as the Fisher information tells.

        Parameters
        ----------
        estimated : {"sigma2", "range", "nu", "nugget"} or iterable of them
            The others are known.

        Returns
        -------
        StandardErrors
            `of` and `of_logarithm`, (4,); NaN where `reasons` says why there is none. They hold for many observations and
            estimates inside their bounds.

        Raises
        ------
        ValueError, MemoryError
            As `fisher_information`.

        References
        ----------
        As `fisher_information`; Zhang, J. Amer. Statist. Assoc. 99 (2004), doi:10.1198/016214504000000241.
        """
        chosen = choose(estimated)
        return self._standard_errors(["" if name in chosen else "not estimated" for name in PARAMETERS])

    def _standard_errors(self, reasons: list[str], trend: _core.Trend | None = None, also: _core.AlsoEstimated | None = None) -> StandardErrors:
        known, further = trend or _core.trend("none", None, [], "ml"), also or _core.AlsoEstimated()
        information = self._core.fisher_information([not reason for reason in reasons], known, further)
        return _core.standard_errors(information, self.covariance, reasons, further)

    def predict(
        self, values: Any, new_locations: Any, mean: Mean | None = None, *, X: Any = None, X_new: Any = None, variance: bool = True, exact: bool = False
    ) -> Prediction:
        """Best linear prediction (kriging) of the field at new places.

        Parameters
        ----------
        values : array of float64, (n,)
        new_locations : array of float64, (m, 2)
        mean, X
            As for `loglikelihood`.
        X_new : array of float64, (m, k), optional
            The same columns at the new places.
        variance : bool
            Without it takes a fraction of the time.
        exact : bool
            The nugget is a variation of the field below all distances, not an error: predictions at observations are these, but for known errors.

        Returns
        -------
        Prediction

        Raises
        ------
        ShapeError, TypeError, ValueError
            If values or places do not fit or are not finite.

        References
        ----------
        Cressie, Statistics for Spatial Data, 1993, sections 3.2 and 3.4.5.
        """
        how = chosen_mean(mean) if X is None else mean or "constant"
        return self._predict(values, new_locations, Trend(how, X, self._core.order), X_new, variance, exact)

    def _predict(self, values: Any, new_locations: Any, trend: Trend, X_new: Any, variance: bool, exact: bool) -> Prediction:
        places = as_places("new_locations", new_locations)
        columns = trend.at(X_new, len(places))
        return Prediction(self._core.predict(as_values(values), places, self._metric, trend.core, columns, variance, exact), new_locations)

    def loo(
        self, values: Any, mean: Mean = "constant", *, X: Any = None, folds: int | Sequence[int] | None = None, seed: int = 1
    ) -> CrossValidation:
        """Each observation predicted from the others, by the factor that is there.

        Parameters
        ----------
        values : array of float64, (n,)
        mean, X
            As for `loglikelihood`. The coefficients of the trend are estimated from the others each time; the covariance stays.
        folds : int or sequence of int, (n,), optional
            So many parts at random, or a number for each observation: observations of one number are left out together.
        seed : int
            Of the parts at random.

        Returns
        -------
        CrossValidation
            `residual` and `variance`, (n,), `rmse`, `mean_square_z` and `coverage`.

        Raises
        ------
        ShapeError, TypeError, ValueError
            As `loglikelihood`; for folds that do not fit.

        References
        ----------
        Dubrule, Math. Geol. 15 (1983), doi:10.1007/BF01033232.
        """
        return self._loo(values, Trend(mean, X, self._core.order), folds, seed)

    def _loo(self, values: Any, trend: Trend, folds: int | Sequence[int] | None, seed: int) -> CrossValidation:
        return self._core.cross_validate(as_values(values), trend.core, fold_numbers(self._core.order, folds, seed))

    def simulate(
        self, values: Any, new_locations: Any, count: int = 1, mean: Mean = "constant", *, X: Any = None, X_new: Any = None, seed: int = 1, exact: bool = False
    ) -> Any:
        """Fields without noise at new places that agree with the observations (conditional simulation).

        Parameters
        ----------
        values : array of float64, (n,)
        new_locations : array of float64, (m, 2)
        count : int
            How many.
        mean, X, X_new
            As for `predict`; the uncertainty of the trend is in the fields.
        seed : int
            The same fields for the same seed.
        exact : bool
            As for `predict`.

        Returns
        -------
        array, (count, m)

        Raises
        ------
        ShapeError, TypeError, ValueError, MemoryError
            As `predict`; MemoryError with the bytes needed, about 8 m^2.

        References
        ----------
        Chiles and Delfiner, Geostatistics, 2012, section 7.3.
        """
        return self._simulate(values, new_locations, count, Trend(mean, X, self._core.order), X_new, seed, exact)

    def _simulate(self, values: Any, new_locations: Any, count: int, trend: Trend, X_new: Any, seed: int, exact: bool) -> Any:
        places = as_places("new_locations", new_locations)
        columns = trend.at(X_new, len(places))
        drawn = self._core.simulate(as_values(values), places, self._metric, trend.core, columns, count, seed, exact)
        return _arrays.like(np.asarray(drawn), new_locations)


def _factored(places: _arrays.Array, theta: tuple[float, float, float, float], options: dict[str, Any], kind: dict[str, Any] | None = None) -> Factor:
    return Factor(places, made_of(theta, kind), **options)


def choose(names: FitParameters, among: Iterable[str] = PARAMETERS) -> set[str]:
    """Names of parameters, or one of them. Raises ValueError for others."""
    chosen: set[str] = {names} if isinstance(names, str) else set(names)
    for name in sorted(chosen.difference(among)):
        raise ValueError(f"no parameter {name!r}; there are {', '.join(among)}")
    return chosen
