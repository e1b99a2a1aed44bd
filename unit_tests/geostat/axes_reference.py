# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Writes StrataTest_AxesReference.hpp: likelihoods with a range for each coordinate, by definition in 60 digits.

Run beside it with mpmath: python3 axes_reference.py > StrataTest_AxesReference.hpp
"""

import mpmath as mp
from covariance_reference import ERRORS, NEW, SHAPED, VALUES, X, Y, derivative, numbers, rho

FURTHER = [
    [3, 11, 29, 17, 40, 8, 25, 33, 21, 5, 47, 14],
    [10, 2, 7, 31, 19, 28, 4, 36, 23, 15, 1, 12],
    [6, 27, 9, 13, 22, 38, 16, 5, 30, 18, 24, 35],
]
NEW_FURTHER = [(8, 20), (28, 9), (38, 11)]  # the first is the sixth observation

# family, (sigma2, range, nu, nugget), axes, with error variances, second structure
CASES = [
    ("Matern", (1.5, 0.25, 0.75, 0.125), (0.5,), False, None),
    ("Exponential", (1.5, 0.25, 0.5, 0.125), (2, 0.75), False, None),
    ("Matern", (1.5, 0.25, 1.25, 0.125), (2, 0.75), True, None),
    ("Gaussian", (1.5, 0.5, 0.5, 0.125), (0.75, 1.5), False, None),
    ("Spherical", (1.5, 0.75, 0.5, 0.125), (1.25, 0.75), False, None),
    ("PoweredExponential", (1.5, 0.375, 1.25, 0.125), (0.5, 1.5), False, None),
    ("Matern", (0.75, 0.25, 0.75, 0.125), (1.5, 0.5, 2), False, ("Exponential", (0.75, 0.5, 0.5))),
    ("PoweredExponential", (0.75, 0.5, 0.75, 0.125), (1.5, 0.5, 2), True, ("Matern", (0.75, 0.5, 1.5))),
    ("Matern", (1.5, 0.5, 2.5, 0.125), (1.5, 0.5, 2, 1), False, None),
]


def place(i, d):
    n = len(X)
    first = (X[i], Y[i]) if i < n else NEW[i - n]
    further = [(FURTHER[k][i] if i < n else NEW_FURTHER[k][i - n]) for k in range(d - 2)]
    return [mp.mpf(v) / 64 for v in (*first, *further)]


def entry(case, theta, i, j):
    family, _, axes, errors, second = case
    sigma2, range_, nu, nugget = theta[:4]
    d = len(axes) + 1
    scales = [mp.mpf(1), *theta[4 : 4 + len(axes)]]
    h = mp.sqrt(mp.fsum(((b - a) / s) ** 2 for a, b, s in zip(place(i, d), place(j, d), scales)))
    total = sigma2 * rho(family, nu, h / range_)
    if second:
        sigma2_2, range_2, nu_2 = theta[4 + len(axes) :]
        total += sigma2_2 * rho(second[0], nu_2, h / range_2)
    return total + (nugget + (ERRORS[i] if errors else 0) if i == j and i < len(X) else 0)


def matrix(case, theta):
    n = len(X)
    S = mp.matrix(n)
    for i in range(n):
        for j in range(i + 1):
            S[i, j] = S[j, i] = entry(case, theta, i, j)
    return S


def log_likelihood(case, theta):
    n, S = len(X), matrix(case, theta)
    inverse, ones, y = S**-1, mp.ones(n, 1), mp.matrix(VALUES)
    mean = (ones.T * inverse * y)[0] / (ones.T * inverse * ones)[0]
    r = y - mean * ones
    return -(n * mp.log(2 * mp.pi) + mp.log(mp.det(S)) + (r.T * inverse * r)[0]) / 2


def kriging(case, theta):
    n = len(X)
    inverse, ones, y = matrix(case, theta) ** -1, mp.ones(n, 1), mp.matrix(VALUES)
    spread = 1 / (ones.T * inverse * ones)[0]
    mean = spread * (ones.T * inverse * y)[0]
    sill = theta[0] + (theta[4 + len(case[2])] if case[4] else 0)
    results = []
    for k in range(2):
        c = mp.matrix([entry(case, theta, i, n + k) for i in range(n)])
        left = 1 - (ones.T * inverse * c)[0]
        results += [mean + (c.T * inverse * (y - mean * ones))[0], sill - (c.T * inverse * c)[0] + spread * left * left]
    return results


def reference(case):
    family, parameters, axes, errors, second = case
    theta = [mp.mpf(v) for v in (*parameters, *axes, *(second[1] if second else ()))]
    none = ([] if family in SHAPED else [2]) + ([len(theta) - 1] if second and second[0] not in SHAPED else [])
    by = [k for k in range(len(theta)) if k not in none]
    gradient = [derivative(lambda t: log_likelihood(case, t), theta, k) if k in by else None for k in range(len(theta))]
    inverse = matrix(case, theta) ** -1
    A = {k: inverse * derivative(lambda t: matrix(case, t), theta, k) for k in by}
    trace = lambda M: mp.fsum(M[i, i] for i in range(len(X)))
    information = [trace(A[j] * A[k]) / 2 if j in A and k in A else None for j in range(len(theta)) for k in range(j + 1)]
    head = f"{{Family::{family}, {numbers(theta[:4])}, {numbers(theta[4 : 4 + len(axes)])}, {'true' if errors else 'false'},"
    other = f"SecondStructure{{{mp.nstr(theta[-3], 20)}, {mp.nstr(theta[-2], 20)}, {mp.nstr(theta[-1], 20)}, Family::{second[0]}}}" if second else "std::nullopt"
    return f"    {head} {other}, {mp.nstr(log_likelihood(case, theta), 20)}, {numbers(gradient)}, {numbers(information)}, {numbers(kriging(case, theta))}}},"


HEADER = """// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_AXES_REFERENCE_HPP
#define STRATATEST_AXES_REFERENCE_HPP

#include <geostat/model/Strata_Covariance.hpp>

#include <array>
#include <cmath>
#include <optional>
#include <vector>

/// Numbers by definition in 60 digits, as axes_reference.py has written them.
namespace strata::test {

using geostat::Family;
using geostat::SecondStructure;

/// A covariance with a range for each coordinate.
struct AxesReference {
  Family family;
  std::array<double, 4> theta;  ///< sigma2, range, nu, nugget
  std::vector<double> axes;
  bool with_errors;
  std::optional<SecondStructure> second;
  double log_likelihood;  ///< observations have a constant mean
  /// derivatives in theta, axes and the second structure; NAN: there is none
  std::vector<double> gradient;
  std::vector<double> information;  ///< ordered so, the lower triangle by rows
  std::array<double, 4> kriging;    ///< mean and variance at the two new places
};
"""


def main():
    print(HEADER)
    rows = lambda lists: ",\n    ".join("{" + ", ".join(f"{v} / 64.0" for v in one) + "}" for one in lists)
    print(f"inline std::vector<std::vector<double>> const reference_further = {{\n    {rows(FURTHER)}}};")
    print(f"inline std::vector<std::vector<double>> const reference_new_further = {{\n    {rows(NEW_FURTHER)}}};")
    print("inline std::vector<AxesReference> const axes_references = {")
    for case in CASES:
        print(reference(case))
    print("};\n\n}  // namespace strata::test\n\n#endif")


if __name__ == "__main__":
    main()
