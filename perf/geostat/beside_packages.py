# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""The same fit and map as beside_packages.R by Strata and scikit-learn: beside_packages.py FILE.csv [PACKAGE ...]. Processor seconds."""

import sys
import time
import warnings

import numpy as np

SIDE = (np.arange(100) + 0.5) / 100
GRID = np.column_stack([column.ravel() for column in np.meshgrid(SIDE, SIDE)])


def by_strata(places, values, **how):
    from strata import geostat

    fit = geostat.fit(places, values, family="exponential", **how)
    c = fit.covariance
    return (c.sigma2, c.range, c.nugget), lambda: fit.predict(GRID)


def by_neighbours(places, values):
    return by_strata(places, values, neighbours=30, exact_up_to=0)


def by_sklearn(places, values):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    kernel = ConstantKernel(0.9 * values.var(), (1e-3, 1e3)) * Matern(0.1, (1e-3, 1e2), nu=0.5) + WhiteKernel(0.1 * values.var(), (1e-8, 1e2))
    model = GaussianProcessRegressor(kernel).fit(places, values - values.mean())
    found = model.kernel_
    return (found.k1.k1.constant_value, found.k1.k2.length_scale, found.k2.noise_level), lambda: model.predict(GRID, return_std=True)


def exact(places, values, theta):
    from strata import geostat

    return geostat.loglikelihood(places, values, geostat.Exponential(*theta), mean="constant").log_likelihood


PACKAGES = {"strata": by_strata, "strata-30": by_neighbours, "sklearn": by_sklearn}


def main():
    data = np.loadtxt(sys.argv[1], delimiter=",", skiprows=1)
    places, values = data[:, :2].copy(), data[:, 2].copy()
    print(f"n = {len(values)}")
    for name in sys.argv[2:] or PACKAGES:
        begin = time.process_time()
        theta, predict = PACKAGES[name](places, values)
        fitted = time.process_time()
        predict()
        end = time.process_time()
        likelihood = exact(places, values, theta) if len(values) <= 4000 else float("nan")
        print(f"{name:<16} fit {fitted - begin:8.2f} s, maps {end - fitted:8.2f} s; sigma2 {theta[0]:.5g} range {theta[1]:.5g} "
              f"nugget {theta[2]:.5g}, log-likelihood {likelihood:.5f}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
