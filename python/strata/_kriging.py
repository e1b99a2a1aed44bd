# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""The factor of a covariance matrix, and the predictions that it makes."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, Literal, Union

import numpy as np

from . import _arrays, _core
from ._core import CovarianceFactorReport, FisherInformation, Likelihood, LikelihoodGradient, Matern, StandardErrors
from ._errors import ShapeError

Mean = Literal["none", "constant"]
Metric = Literal["euclidean", "great-circle"]
Storage = Literal["automatic", "host", "devices"]
Parameter = Literal["sigma2", "range", "nu", "nugget"]
Parameters = Union[Parameter, Iterable[Parameter]]
PARAMETERS: tuple[Parameter, ...] = ("sigma2", "range", "nu", "nugget")


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
    devices : int
        GPUs, or workers on a host.
    budget_bytes : int
        Of each device; 0: what it has.
    storage : {"automatic", "host", "devices"}
        Whose memory the matrix is in. The devices hold it together, or one of them whole in fp64, unless a tile size is given.
        Automatic: GPUs if they have room for it.

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
    The matrix is made tile by tile, and only its lower triangle is stored.

    References
    ----------
    As `strata.ooc.cholesky`.
    """

    def __init__(
        self,
        locations: Any,
        covariance: Matern,
        *,
        metric: Metric = "euclidean",
        accuracy: float = 0.0,
        tile_size: int = 0,
        devices: int = 1,
        budget_bytes: int = 0,
        storage: Storage = "automatic",
    ) -> None:
        require_matern("covariance", covariance)
        places = as_places("locations", locations)
        self._core = _core.covariance_factor(covariance, places, metric, accuracy, tile_size, devices, budget_bytes, storage)
        self._metric = metric
        self._options = {"accuracy": accuracy, "tile_size": tile_size, "devices": devices, "budget_bytes": budget_bytes, "storage": storage}
        self._places = places.copy()

    @classmethod
    def _of(cls, core: _core.CovarianceFactor, metric: Metric, places: _arrays.Array, options: dict[str, Any]) -> Factor:
        made = cls.__new__(cls)
        made._core, made._metric, made._places, made._options = core, metric, places, options
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Places, covariance and options: a copy, and what is loaded from a pickle, factors again."""
        c = self.covariance
        return _factored, (self._places, (c.sigma2, c.range, c.nu, c.nugget), {"metric": self._metric, **self._options})

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

    def refactor(self, covariance: Matern) -> None:
        """Factor another covariance of the same places, in the memory that there is.

        Parameters
        ----------
        covariance : Matern

        Raises
        ------
        ValueError
            As `Factor`; the factor is as it was.
        NotPositiveDefinite, MemoryError
            As `Factor`. There is no factor then, until it is refactored.
        """
        require_matern("covariance", covariance)
        self._core.update(covariance)

    def update(self, covariance: Matern) -> None:
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

    def loglikelihood(self, values: Any, mean: Mean | None = None) -> Likelihood:
        """The log-likelihood of these observations.

        Parameters
        ----------
        values : array of float64, (n,)
        mean : {"none", "constant"}
            The mean is zero, or one number, estimated with the covariance. Constant where it is not given, which is new and
            warns in this version.

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
        return self._core.likelihood(as_values(values), chosen_mean(mean))

    def gradient(self, values: Any, mean: Mean | None = None, wanted: Parameters = PARAMETERS) -> LikelihoodGradient:
        """The exact gradient of the log-likelihood by sigma2, range, nu and nugget.

        Parameters
        ----------
        values : array of float64, (n,)
        mean : {"none", "constant"}
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
        return self._core.gradient(as_values(values), chosen_mean(mean), [name in chosen for name in PARAMETERS])

    def fisher_information(self, wanted: Parameters = PARAMETERS) -> FisherInformation:
        """What observations at these places tell of the parameters, whatever their values turn out to be.

        Parameters
        ----------
        wanted : {"sigma2", "range", "nu", "nugget"} or iterable of them
            Rows and columns that are not wanted are NaN.

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
        return self._core.fisher_information([name in chosen for name in PARAMETERS])

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
        Mardia and Marshall, Biometrika 71 (1984), doi:10.1093/biomet/71.1.135; Zhang, J. Amer. Statist. Assoc. 99 (2004),
        doi:10.1198/016214504000000241.
        """
        chosen = choose(estimated)
        return self._standard_errors(["" if name in chosen else "not estimated" for name in PARAMETERS])

    def _standard_errors(self, reasons: list[str]) -> StandardErrors:
        information = self._core.fisher_information([not reason for reason in reasons])
        return _core.standard_errors(information, self.covariance, reasons)

    def predict(self, values: Any, new_locations: Any, mean: Mean | None = None) -> Prediction:
        """Best linear prediction (kriging) of the field at new places.

        Parameters
        ----------
        values : array of float64, (n,)
        new_locations : array of float64, (m, 2)
        mean : {"none", "constant"}
            As for `loglikelihood`.

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
        found = self._core.predict(as_values(values), as_places("new_locations", new_locations), self._metric, chosen_mean(mean))
        return Prediction(found, new_locations)


def _factored(places: _arrays.Array, theta: tuple[float, float, float, float], options: dict[str, Any]) -> Factor:
    return Factor(places, Matern(*theta), **options)


def chosen_mean(mean: Mean | None) -> Mean:
    """That of the caller's caller; constant, with a warning, where none was given."""
    if mean is not None:
        return mean
    text = "mean is 'constant' where it is not given, as in fit and in the program; before 0.3 it was 'none': give it to say which"
    warnings.warn(text, FutureWarning, stacklevel=3)
    return "constant"


def choose(names: Parameters) -> set[str]:
    """Names of parameters, or one of them. Raises ValueError for others."""
    chosen: set[str] = {names} if isinstance(names, str) else set(names)
    for name in sorted(chosen.difference(PARAMETERS)):
        raise ValueError(f"no parameter {name!r}; there are {', '.join(PARAMETERS)}")
    return chosen


def require_matern(name: str, value: Any) -> None:
    """Raises TypeError for what is no covariance."""
    if not isinstance(value, Matern):
        kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
        raise TypeError(f"{name} is a {kind}, must be a strata.geostat.Matern")


def as_places(name: str, array: Any) -> _arrays.Array:
    """n x 2 numbers, where they are. Raises ShapeError, TypeError."""
    found = _arrays.as_float64(name, array)
    if found.ndim != 2 or found.shape[1] != 2:
        raise ShapeError(f"{name} are {_arrays.size_of(found)}, must be n x 2")
    return found


def as_values(array: Any) -> _arrays.Array:
    """A contiguous vector. Raises ShapeError, TypeError."""
    return _arrays.as_vector("values", array)
