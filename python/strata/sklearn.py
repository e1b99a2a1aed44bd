# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""For scikit-learn: Gaussian process regression with its kernels and Strata's Cholesky. `import strata.sklearn`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg.lapack
import scipy.optimize
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from . import _kernels
from ._errors import NotPositiveDefinite
from .dense import Factor, cholesky

try:
    from sklearn.utils.validation import validate_data as _validated
except ImportError:  # before 1.6

    def _validated(estimator: Any, *arrays: Any, **options: Any) -> Any:
        return estimator._validate_data(*arrays, **options)


__all__ = ["GaussianProcessRegressor"]


class GaussianProcessRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Gaussian process regression, with the parameters and attributes of scikit-learn's class of this name.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel, optional
        Of the covariance; its parameters are fitted within their bounds. By default ConstantKernel(1) * RBF(1), both fixed.
    alpha : float or array, (n,)
        Added to the diagonal: the variance of the observations' errors; > 0.
    optimizer : "fmin_l_bfgs_b", callable or None
        "fmin_l_bfgs_b": SciPy's L-BFGS-B with the exact gradient; a callable as scikit-learn has it; None: the parameters stay.
    n_restarts_optimizer : int
        Further searches, from random parameters within their bounds.
    normalize_y : bool
        Subtract the mean of y and divide by its standard deviation.
    random_state : int, RandomState or None
        Of the restarts.
    layers : str or sequence of str
        Precisions of the factor, as for `strata.cholesky`. Solves are refined to fp64, but below it the log-determinant is an
        estimate, whose noise can keep a search with gradients from its end.

    Attributes
    ----------
    kernel_ : Kernel
        With the parameters that were found.
    X_train_, y_train_ : array
    alpha_ : array, shape of `y_train_`
        K^-1 y.
    log_marginal_likelihood_value_ : float
        Of `kernel_.theta`.
    n_features_in_ : int

    References
    ----------
    Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, algorithm 2.1 and equation 5.9.

    Examples
    --------
    >>> import numpy
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from strata.sklearn import GaussianProcessRegressor
    >>> X = numpy.linspace(0, 6, 20)[:, None]
    >>> model = GaussianProcessRegressor(RBF(1.0)).fit(X, numpy.sin(X[:, 0]))
    >>> bool(abs(model.predict([[2.5]])[0] - numpy.sin(2.5)) < 1e-4)
    True
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        alpha: Any = 1e-10,
        optimizer: str | Callable[..., tuple[Any, float]] | None = "fmin_l_bfgs_b",
        n_restarts_optimizer: int = 0,
        normalize_y: bool = False,
        random_state: Any = None,
        layers: str | Sequence[str] = "fp64",
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.normalize_y = normalize_y
        self.random_state = random_state
        self.layers = layers

    def fit(self, X: Any, y: Any) -> GaussianProcessRegressor:
        """Fit the kernel's parameters by maximum likelihood, and factor the covariance matrix.

        Parameters
        ----------
        X : array, (n, features), or a list of what the kernel takes
        y : array, (n,) or (n, targets)

        Returns
        -------
        GaussianProcessRegressor
            Itself.

        Raises
        ------
        ValueError
            For arrays that don't fit, an unknown optimizer, bounds that are not finite with restarts.
        NotPositiveDefinite
            If the covariance matrix has no factor with the parameters that were found: a larger alpha helps.

        Warns
        -----
        sklearn.exceptions.ConvergenceWarning
            If the search did not end at a maximum, or at one whose parameters are close to their bounds.

        References
        ----------
        As `GaussianProcessRegressor`.
        """
        self.kernel_ = clone(self._prior())
        X, y = _validated(self, X, y, multi_output=True, y_numeric=True, **self._form())
        self._y_mean, self._y_scale = np.zeros(y.shape[1:]), np.ones(y.shape[1:])
        if self.normalize_y:
            deviation = y.std(axis=0)
            self._y_mean, self._y_scale = y.mean(axis=0), np.where(deviation > 10 * np.finfo(float).eps, deviation, 1.0)
        self.X_train_, self.y_train_ = X, (y - self._y_mean) / self._y_scale
        if np.ndim(self.alpha) > 0 and np.shape(self.alpha) != (len(y),):
            raise ValueError(f"alpha has shape {np.shape(self.alpha)}, must be a number or have {len(y)}")
        if self.optimizer is not None and self.kernel_.n_dims > 0:
            self.kernel_.theta = self._search()
            self._warn_of_bounds()
        try:
            self._factor: Factor | None = cholesky(self._covariance(self.kernel_)[0], self.layers)
        except NotPositiveDefinite as error:
            text = f"{error}. The kernel, {self.kernel_}, makes no positive definite matrix of these X: increase alpha, which is {self._alpha_text()}"
            raise NotPositiveDefinite(text, error.minor) from error
        self.alpha_ = self._factor.solve(self.y_train_)
        self.log_marginal_likelihood_value_ = self._likelihood(self._factor, self.alpha_)
        return self

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """The mean of the process at X, and how far the values may be from it; before `fit`, of the prior, whose mean is 0.

        Parameters
        ----------
        X : array, (m, features), or a list
        return_std, return_cov : bool
            Standard deviations or covariances, too; not both.

        Returns
        -------
        array, (m,) or (m, targets); or a tuple of this array and
        array, (m,) or (m, targets); or (m, m) or (m, m, targets)

        Raises
        ------
        ValueError
            If X does not fit.

        References
        ----------
        As `GaussianProcessRegressor`.
        """
        if return_std and return_cov:
            raise ValueError("return_std and return_cov: one of them")
        X = _validated(self, X, reset=False, **self._form())
        if not hasattr(self, "alpha_"):
            kernel, mean = self._prior(), np.zeros(len(X))
            return (mean, np.sqrt(kernel.diag(X))) if return_std else (mean, kernel(X)) if return_cov else mean
        C = self.kernel_(X, self.X_train_)
        mean = C @ self.alpha_ * self._y_scale + self._y_mean
        if not return_std and not return_cov:
            return mean
        W = self._factored().solve(np.ascontiguousarray(C.T))
        if return_cov:
            spread, unit = self.kernel_(X) - C @ W, self._y_scale**2
        else:
            # Rounding can make a variance negative where it is 0.
            spread, unit = np.sqrt(np.maximum(self.kernel_.diag(X) - np.einsum("ij,ji->i", C, W), 0.0)), self._y_scale
        return mean, spread * unit if np.ndim(unit) == 0 else np.multiply.outer(spread, unit)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> Any:
        """Draws of the process at X, with the mean and the covariances of `predict`.

        Parameters
        ----------
        X : array, (m, features), or a list
        n_samples : int
        random_state : int, RandomState or None

        Returns
        -------
        array, (m, n_samples) or (m, targets, n_samples)

        Raises
        ------
        ValueError
            If X does not fit.

        References
        ----------
        Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, appendix A.2; by `numpy.random`.
        """
        random = check_random_state(random_state)
        mean, spread = self.predict(X, return_cov=True)
        if mean.ndim == 1:
            return random.multivariate_normal(mean, spread, n_samples).T
        targets = range(mean.shape[1])
        return np.stack([random.multivariate_normal(mean[:, k], spread[:, :, k], n_samples).T for k in targets], axis=1)

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False) -> Any:
        """The log-likelihood of the observations, the sum over targets, and its gradient.

        Parameters
        ----------
        theta : array, optional
            Logarithms of the kernel's parameters; by default those that were fitted.
        eval_gradient : bool

        Returns
        -------
        float, or a tuple of this float and an array, shape of `theta`
            -inf and zeros where the covariance matrix is not positive definite.

        References
        ----------
        As `GaussianProcessRegressor`.
        """
        check_is_fitted(self, "kernel_")  # named, as a class that predicts before its fit passes else
        kernel = self.kernel_ if theta is None else self.kernel_.clone_with_theta(np.asarray(theta))
        if theta is None and not eval_gradient:
            return self.log_marginal_likelihood_value_
        return self._evaluate(kernel, eval_gradient)

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        if "_factor" in state:
            state["_factor"] = None  # made anew when it is needed
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags

    def _more_tags(self) -> dict[str, Any]:  # before 1.6
        return {"requires_fit": False}

    def _prior(self) -> Any:
        return ConstantKernel(1.0, "fixed") * RBF(1.0, "fixed") if self.kernel is None else self.kernel

    def _form(self) -> dict[str, Any]:
        vectors = self.kernel is None or self.kernel.requires_vector_input
        return {"ensure_2d": vectors, "dtype": "numeric" if vectors else None}

    def _alpha_text(self) -> str:
        return f"{self.alpha:g}" if np.ndim(self.alpha) == 0 else f"{np.min(self.alpha):g} at least"

    def _warn_of_bounds(self) -> None:
        """Of parameters that ended at a bound, in scikit-learn's words, which users look for."""
        place = 0
        for part in self.kernel_.hyperparameters:
            if part.fixed:
                continue
            for k in range(part.n_elements):
                name = part.name if part.n_elements == 1 else f"{part.name}[{k}]"
                low, high = self.kernel_.bounds[place]
                for side, bound, way in (("lower", low, "Decreasing"), ("upper", high, "Increasing")):
                    if np.isclose(self.kernel_.theta[place], bound, rtol=0, atol=1e-5):
                        text = (
                            f"The optimal value found for dimension {k} of parameter {name} is close to the specified {side} bound "
                            f"{np.exp(bound):g}. {way} the bound and calling fit again may find a better value."
                        )
                        warnings.warn(text, ConvergenceWarning, stacklevel=3)
                place += 1

    def _covariance(self, kernel: Any, gradient: bool = False) -> tuple[Any, Any]:
        """K + diag(alpha), and the derivatives of K if asked for."""
        K, by = kernel(self.X_train_, eval_gradient=True) if gradient else (kernel(self.X_train_), None)
        K = np.array(K, dtype=np.float64)
        K[np.diag_indices_from(K)] += self.alpha
        return K, by

    def _factored(self) -> Factor:
        return cholesky(self._covariance(self.kernel_)[0], self.layers) if self._factor is None else self._factor

    def _likelihood(self, factor: Factor, weights: Any) -> float:
        targets = 1 if self.y_train_.ndim == 1 else self.y_train_.shape[1]
        n = len(self.y_train_)
        return float(-((self.y_train_ * weights).sum() + targets * (factor.logdet().value + n * np.log(2 * np.pi))) / 2)

    def _evaluate(self, kernel: Any, gradient: bool) -> Any:
        by_rows = gradient and np.ndim(self.X_train_) == 2 and _kernels.is_known(kernel)
        K, by = self._covariance(kernel, gradient and not by_rows)
        try:
            factor = cholesky(K, self.layers)
        except NotPositiveDefinite:
            return (-np.inf, np.zeros_like(kernel.theta)) if gradient else -np.inf
        weights = factor.solve(self.y_train_)
        value = self._likelihood(factor, weights)
        if not gradient:
            return value
        # 1/2 (w' K_k w - trace(K^-1 K_k)) for each target
        columns = weights.reshape(len(weights), -1)
        inner = columns @ columns.T - columns.shape[1] * _inverse(factor)
        if by_rows:
            return value, _kernels.contraction(kernel, self.X_train_, inner) / 2
        return value, np.einsum("ij,ijk->k", inner, by) / 2

    def _search(self) -> Any:
        """theta of the largest likelihood that was found."""

        def objective(theta: Any, eval_gradient: bool = True) -> Any:
            found = self._evaluate(self.kernel_.clone_with_theta(theta), eval_gradient)
            return (-found[0], -found[1]) if eval_gradient else -found

        bounds, starts = self.kernel_.bounds, [self.kernel_.theta]
        if self.n_restarts_optimizer > 0:
            if not np.isfinite(bounds).all():
                raise ValueError("n_restarts_optimizer needs finite bounds of the kernel's parameters")
            random = check_random_state(self.random_state)
            starts += [random.uniform(bounds[:, 0], bounds[:, 1]) for _ in range(self.n_restarts_optimizer)]
        found = [self._minimise(objective, start, bounds) for start in starts]
        theta, _, trouble = min(found, key=lambda one: one[1])
        if trouble:
            text = f"the search of the kernel's parameters, L-BFGS-B, ended without a maximum: {trouble}"
            warnings.warn(text, ConvergenceWarning, stacklevel=3)
        return theta

    def _minimise(self, objective: Callable[..., Any], start: Any, bounds: Any) -> tuple[Any, float, str]:
        """theta, the value there, and why it is no minimum, if it is not known to be one."""
        if callable(self.optimizer):
            return (*self.optimizer(objective, start, bounds=bounds), "")
        if self.optimizer != "fmin_l_bfgs_b":
            raise ValueError(f"no optimizer {self.optimizer!r}; there are 'fmin_l_bfgs_b', None and callables")
        found = scipy.optimize.minimize(objective, start, method="L-BFGS-B", jac=True, bounds=bounds)
        return found.x, float(found.fun), "" if found.success else str(found.message)


def _inverse(factor: Factor) -> Any:
    """A^-1, by LAPACK where the factor is in fp64 throughout, else by refined solves."""
    if factor.report.layers != "fp64":
        return factor.solve(np.eye(factor.shape[0]))
    lower, _ = scipy.linalg.lapack.dpotri(factor.lower_triangle(), lower=1, overwrite_c=1)  # L has no 0 on its diagonal
    return lower + np.tril(lower, -1).T
