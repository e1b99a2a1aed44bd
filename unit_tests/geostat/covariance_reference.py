# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the headers of references: likelihoods, their derivatives, information and kriging by definition, in 60 digits.

Run beside them with mpmath: python3 covariance_reference.py > StrataTest_CovarianceReference.hpp, and
python3 covariance_reference.py sums > StrataTest_SumReference.hpp
"""

import sys

import mpmath as mp

mp.mp.dps = 60
X = [4, 19, 40, 55, 10, 30, 49, 61, 7, 25, 37, 58]
Y = [5, 9, 2, 12, 24, 28, 33, 21, 47, 60, 44, 52]
VALUES = [1.5, -0.25, 0.75, 2.0, -1.25, 0.5, 0.125, -0.75, 1.0, 0.375, -0.5, 1.75]
OF_INFORMATION = [0, 1, 2, 3, 6, 7, 8]
NEW = [(30, 28), (33, 41)]  # the first is the sixth observation
ERRORS = [0.125, 0.25, 0.0625, 0.5, 0.125, 0.03125, 0.25, 0.125, 0.0625, 0.25, 0.125, 0.375]
SHAPED = ("Matern", "PoweredExponential")
EARTH = mp.mpf("6371.0088")

# family, (sigma2, range, nu, nugget), (angle, ratio), metric, with error variances
CASES = [
    ("Matern", (1.5, 0.25, 0.75, 0.125), (0, 1), "Euclidean", False),
    ("Exponential", (1.5, 0.25, 0.5, 0.125), (0, 1), "Euclidean", False),
    ("Gaussian", (1.5, 0.375, 0.5, 0.0625), (0, 1), "Euclidean", False),
    ("Spherical", (1.5, 0.5, 0.5, 0.125), (0, 1), "Euclidean", False),
    ("PoweredExponential", (1.5, 0.25, 1.25, 0.125), (0, 1), "Euclidean", False),
    ("Matern", (1.5, 0.25, 1.5, 0.125), (30, 0.5), "Euclidean", False),
    ("Gaussian", (1.5, 0.5, 0.5, 0.125), (110, 0.625), "Euclidean", False),
    ("Spherical", (1.5, 0.75, 0.5, 0.125), (75, 0.75), "Euclidean", False),
    ("PoweredExponential", (1.5, 0.25, 0.75, 0), (0, 0.5), "Euclidean", False),
    ("Matern", (1.5, 0.25, 0.75, 0.125), (0, 1), "Euclidean", True),
    ("Spherical", (1.5, 0.5, 0.5, 0), (20, 0.5), "Euclidean", True),
    ("Matern", (1.5, 1500, 1.5, 0.125), (0, 1), "Chordal", False),
    ("Gaussian", (1.5, 2500, 0.5, 0.125), (0, 1), "Chordal", True),
    ("Exponential", (1.5, 1500, 0.5, 0.125), (0, 1), "GreatCircle", False),
]
# The same with a second structure: family, (sigma2, range, nu)
SUMS = [
    (("Matern", (0.75, 0.125, 0.75, 0.125), (0, 1), "Euclidean", False), ("Exponential", (0.75, 0.5, 0.5))),
    (("Exponential", (0.5, 0.125, 0.5, 0.125), (0, 1), "Euclidean", True), ("Matern", (1, 0.375, 1.75))),
    (("Spherical", (0.75, 0.5, 0.5, 0.0625), (30, 0.5), "Euclidean", False), ("Gaussian", (0.5, 0.625, 0.5))),
    (("PoweredExponential", (0.75, 0.25, 1.25, 0.125), (0, 1), "Euclidean", False), ("PoweredExponential", (0.5, 0.75, 1.5))),
    (("Matern", (0.75, 1500, 1.5, 0.125), (0, 1), "Chordal", False), ("Matern", (0.5, 600, 0.5))),
]


def place(i, metric):
    x, y = (mp.mpf(X[i]) / 64, mp.mpf(Y[i]) / 64) if i < len(X) else (mp.mpf(NEW[i - len(X)][0]) / 64, mp.mpf(NEW[i - len(X)][1]) / 64)
    return (x, y) if metric == "Euclidean" else (64 * x, 64 * y)


def distance(a, b, metric, angle, ratio):
    dx, dy = b[0] - a[0], b[1] - a[1]
    if metric == "Euclidean":
        t = mp.pi * angle / 180
        u, v = dx * mp.sin(t) + dy * mp.cos(t), dx * mp.cos(t) - dy * mp.sin(t)
        return mp.sqrt(u * u + v * v / (ratio * ratio))
    half = mp.pi / 360
    s = mp.sin(half * dy) ** 2 + mp.cos(2 * half * a[1]) * mp.cos(2 * half * b[1]) * mp.sin(half * dx) ** 2
    return 2 * EARTH * (mp.sqrt(s) if metric == "Chordal" else mp.asin(mp.sqrt(s)))


def rho(family, nu, x):
    if x == 0:
        return mp.mpf(1)
    if family == "Matern":
        return mp.mpf(2) ** (1 - nu) / mp.gamma(nu) * x**nu * mp.besselk(nu, x)
    if family == "Exponential":
        return mp.exp(-x)
    if family == "Gaussian":
        return mp.exp(-x * x)
    if family == "Spherical":
        return 1 - 1.5 * x + x**3 / 2 if x < 1 else mp.mpf(0)
    return mp.exp(-(x**nu))


def entry(case, theta, i, j):
    (family, _, _, metric, errors), second = case
    sigma2, range_, nu, nugget, angle, ratio, sigma2_2, range_2, nu_2 = theta
    h = distance(place(i, metric), place(j, metric), metric, angle, ratio)
    same = i == j and i < len(X)
    further = sigma2_2 * rho(second[0], nu_2, h / range_2) if second else 0
    return sigma2 * rho(family, nu, h / range_) + further + (nugget + (ERRORS[i] if errors else 0) if same else 0)


def matrix(case, theta):
    n = len(X)
    S = mp.matrix(n)
    for i in range(n):
        for j in range(i + 1):
            S[i, j] = S[j, i] = entry(case, theta, i, j)
    return S


def log_likelihood(case, theta):
    n = len(X)
    S = matrix(case, theta)
    inverse, ones, y = S**-1, mp.ones(n, 1), mp.matrix(VALUES)
    mean = (ones.T * inverse * y)[0] / (ones.T * inverse * ones)[0]
    r = y - mean * ones
    return -(n * mp.log(2 * mp.pi) + mp.log(mp.det(S)) + (r.T * inverse * r)[0]) / 2


def moved(theta, k, value):
    return [value if j == k else theta[j] for j in range(len(theta))]


def derivative(f, theta, k):
    """By differences of order 4, which err by 1e-44; a nugget of 0 may move below 0, as S is linear in it."""
    h = mp.mpf(10) ** -11
    g = {side: f(moved(theta, k, theta[k] + side * h)) for side in (-2, -1, 1, 2)}
    return (8 * (g[1] - g[-1]) - (g[2] - g[-2])) / (12 * h)


def numbers(values):
    return "{" + ", ".join("NAN" if v is None else mp.nstr(v, 20) for v in values) + "}"


def wanted(case):
    (family, _, (_, ratio), _, _), second = case
    by = [0, 1, 2, 3] if family in SHAPED else [0, 1, 3]
    of_second = [6, 7] + ([8] if second[0] in SHAPED else []) if second else []
    return by + ([4, 5] if ratio != 1 else []) + of_second


def kriging(case, theta):
    n = len(X)
    inverse, ones, y = matrix(case, theta) ** -1, mp.ones(n, 1), mp.matrix(VALUES)
    spread = 1 / (ones.T * inverse * ones)[0]
    mean = spread * (ones.T * inverse * y)[0]
    results = []
    for variation in (False, True):
        for k in range(len(NEW)):
            c = mp.matrix([entry(case, theta, i, n + k) for i in range(n)])
            extra = theta[3] if variation else 0
            if k == 0:
                c[5] += extra
            left = 1 - (ones.T * inverse * c)[0]
            results.append(mean + (c.T * inverse * (y - mean * ones))[0])
            results.append(theta[0] + theta[6] + extra - (c.T * inverse * c)[0] + spread * left * left)
    return results


def reference(case):
    (family, parameters, (angle, ratio), metric, errors), second = case
    theta = [mp.mpf(v) for v in (*parameters, angle, ratio, *(second[1] if second else (0, 1, 0.5)))]
    used, ordered = (theta, OF_INFORMATION) if second else (theta[:6], OF_INFORMATION[:4])
    by = wanted(case)
    gradient = [derivative(lambda t: log_likelihood(case, t), theta, k) if k in by else None for k in range(len(used))]
    inverse = matrix(case, theta) ** -1
    A = {k: inverse * derivative(lambda t: matrix(case, t), theta, k) for k in by if k not in (4, 5)}
    trace = lambda M: mp.fsum(M[i, i] for i in range(len(X)))
    information = [trace(A[j] * A[k]) / 2 if j in A and k in A else None for j in ordered for k in ordered if k <= j]
    other = f", Family::{second[0]}" if second else ""
    head = f"{{Family::{family}, Metric::{metric}, {numbers(used)}, {'true' if errors else 'false'},"
    return f"    {head} {mp.nstr(log_likelihood(case, theta), 20)}, {numbers(gradient)}, {numbers(information)}, {numbers(kriging(case, theta))}{other}}},"


HEADER = """// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_COVARIANCE_REFERENCE_HPP
#define STRATATEST_COVARIANCE_REFERENCE_HPP

#include <geostat/model/Strata_Covariance.hpp>
#include <geostat/Strata_Locations.hpp>

#include <array>
#include <cmath>
#include <optional>
#include <vector>

/// Numbers by definition in 60 digits, as covariance_reference.py has written them.
namespace strata::test {

using geostat::Family;
using geostat::Metric;

struct CovarianceReference {
  Family family;
  Metric metric;
  /// sigma2, range, nu, nugget, angle, ratio, and the second structure's sigma2, range, nu
  std::vector<double> theta;
  bool with_errors;
  double log_likelihood;  ///< observations have a constant mean
  std::vector<double> gradient;  ///< ordered as theta; NAN: there is none
  /// lower triangle by rows, of the first four and the second structure's
  std::vector<double> information;
  /// mean and variance at the two new places, the nugget being an error, and then a variation
  std::array<double, 8> kriging;
  std::optional<Family> second = {};
};
"""

SUM_HEADER = """// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_SUM_REFERENCE_HPP
#define STRATATEST_SUM_REFERENCE_HPP

#include "StrataTest_CovarianceReference.hpp"

/// The same of sums of two covariances.
namespace strata::test {

inline std::vector<CovarianceReference> const sum_references = {"""


def main():
    if sys.argv[1:] == ["sums"]:
        print(SUM_HEADER)
        for case in SUMS:
            print(reference(case))
        print("};\n\n}  // namespace strata::test\n\n#endif")
        return
    print(HEADER)
    print(f"inline std::vector<double> const reference_x = {{{', '.join(f'{v} / 64.0' for v in X)}}};")
    print(f"inline std::vector<double> const reference_y = {{{', '.join(f'{v} / 64.0' for v in Y)}}};")
    print(f"inline std::vector<double> const reference_values = {{{', '.join(map(str, VALUES))}}};")
    print(f"inline std::vector<double> const reference_errors = {{{', '.join(map(str, ERRORS))}}};")
    print(f"inline std::vector<double> const reference_new_x = {{{', '.join(f'{x} / 64.0' for x, _ in NEW)}}};")
    print(f"inline std::vector<double> const reference_new_y = {{{', '.join(f'{y} / 64.0' for _, y in NEW)}}};")
    print("inline std::vector<CovarianceReference> const covariance_references = {")
    for case in CASES:
        print(reference((case, None)))
    print("};\n\n}  // namespace strata::test\n\n#endif")


if __name__ == "__main__":
    main()
