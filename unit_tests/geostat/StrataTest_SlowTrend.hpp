// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_SLOW_TREND_HPP
#define STRATATEST_SLOW_TREND_HPP

#include "StrataTest_Field.hpp"

#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>
#include <vector>

namespace strata::test {

/// Columns of a trend of places that lie as on a map in metres: a constant, both coordinates and
/// something else.
inline std::vector<std::vector<double>> some_columns(Locations const& at) {
  std::vector<std::vector<double>> F(4);
  for (std::size_t i = 0; i < at.x.size(); ++i) {
    F[0].push_back(1);
    F[1].push_back(4e5 + 1000 * at.x[i]);
    F[2].push_back(5e6 + 1000 * at.y[i]);
    F[3].push_back(std::sin(9 * at.x[i]) + at.y[i] * at.y[i]);
  }
  return F;
}

/// The inverse of a positive definite matrix, by Gauss and Jordan, and its determinant's logarithm.
inline std::pair<Numbers, long double> inverse_of(Numbers A, std::size_t k) {
  Numbers X(k * k);
  for (std::size_t i = 0; i < k; ++i) X[i + i * k] = 1;
  long double log_det = 0;
  for (std::size_t p = 0; p < k; ++p) {
    long double const pivot = A[p + p * k];
    log_det += std::log(pivot);
    for (std::size_t j = 0; j < k; ++j) A[p + j * k] /= pivot, X[p + j * k] /= pivot;
    for (std::size_t i = 0; i < k; ++i) {
      if (i == p) continue;
      long double const factor = A[i + p * k];
      for (std::size_t j = 0; j < k; ++j) {
        A[i + j * k] -= factor * A[p + j * k];
        X[i + j * k] -= factor * X[p + j * k];
      }
    }
  }
  return {X, log_det};
}

/// Generalised least squares and both likelihoods in long double, columns as they are.
struct SlowTrend {
  std::vector<Numbers> F;
  Numbers covariance;  ///< (F' S^-1 F)^-1
  Numbers b, r;        ///< coefficients, y - F b
  long double ml, reml;

  SlowTrend(SlowField const& S, std::vector<std::vector<double>> const& columns, Numbers const& y) {
    for (auto const& column : columns) F.emplace_back(column.begin(), column.end());
    std::size_t const k = F.size(), n = y.size();
    Numbers A(k * k), gram(k * k), h(k);
    for (std::size_t i = 0; i < k; ++i) {
      h[i] = S.form(F[i], y);
      for (std::size_t j = 0; j < k; ++j) {
        A[i + j * k] = S.form(F[i], F[j]);
        for (std::size_t l = 0; l < n; ++l) gram[i + j * k] += F[i][l] * F[j][l];
      }
    }
    auto const [inverse, log_det_A] = inverse_of(A, k);
    covariance = inverse;
    b.resize(k);
    r = y;
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t j = 0; j < k; ++j) b[i] += inverse[i + j * k] * h[j];
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t l = 0; l < n; ++l) r[l] -= F[i][l] * b[i];
    long double const log_two_pi = std::log(2 * std::numbers::pi_v<long double>),
                      both = S.log_det() + S.form(r, r);
    ml = -0.5L * (static_cast<long double>(n) * log_two_pi + both);
    reml = -0.5L * (static_cast<long double>(n - k) * log_two_pi + both + log_det_A -
                    inverse_of(gram, k).second);
  }
};

}  // namespace strata::test

#endif
