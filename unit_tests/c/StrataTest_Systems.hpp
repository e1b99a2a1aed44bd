// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TEST_SYSTEMS_HPP
#define STRATA_TEST_SYSTEMS_HPP

#include "StrataTest_ResidualNorms.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace strata::test {

/// Whether `text` has `part` in it.
inline testing::AssertionResult holds(std::string const& text, std::string const& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no '" << part << "' in '" << text << "'";
}

/// Equal, where NaN is as NaN.
template <class T>
bool same(std::vector<T> const& a, std::vector<T> const& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](T x, T y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

/// An SPD matrix a_ij = exp(-|i-j|/10), a_ii = 1 + ridge, in a padded array: the triangle that is
/// not `uplo`'s and the padding hold NaN, which nobody may read or write.
template <class T>
struct System {
  System(char triangle, std::int64_t order, std::int64_t columns, double ridge = 0.1)
      : uplo(triangle),
        n(order),
        nrhs(columns),
        ld(order + 3),
        A(size(order), nan),
        B(size(columns), nan) {
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i)
        if (in_triangle(i, j)) A[at(i, j)] = static_cast<T>(entry(i, j) + (i == j ? ridge : 0));
    for (std::int64_t j = 0; j < nrhs; ++j)
      for (std::int64_t i = 0; i < n; ++i)
        B[at(i, j)] = static_cast<T>(std::sin(static_cast<double>(1 + i + 2 * j)));
  }

  static constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  static double entry(std::int64_t i, std::int64_t j) {
    return std::exp(-std::abs(static_cast<double>(i - j)) / 10);
  }
  std::size_t size(std::int64_t columns) const {
    return static_cast<std::size_t>((n + 3) * std::max<std::int64_t>(columns, 1));
  }
  std::size_t at(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(i + j * ld);
  }
  bool in_triangle(std::int64_t i, std::int64_t j) const {
    return (uplo == 'L' || uplo == 'l') ? i >= j : i <= j;
  }
  T symmetric(std::int64_t i, std::int64_t j) const {
    return in_triangle(i, j) ? A[at(i, j)] : A[at(j, i)];
  }

  /// max_j ||b_j - A x_j||_inf / (||A||_inf ||x_j||_inf), or another error; NaN if a number of X
  /// is.
  double backward_error(std::vector<T> const& X, double (ResidualNorms::*error)()
                                                     const = &ResidualNorms::lapack_error) const {
    auto const A = [&](std::int64_t i, std::int64_t k) { return symmetric(i, k); };
    auto const in = [&](std::vector<T> const& vectors) {
      return [&](std::int64_t i, std::int64_t j) { return vectors[at(i, j)]; };
    };
    return worst_of(residual_norms(n, nrhs, A, in(X), in(B)), error);
  }

  /// max |A - L L^T| / (n max |a_ij|) for the factor in the triangle of F; NaN if one of its
  /// numbers is.
  double factor_error(std::vector<T> const& F) const {
    double worst = 0;
    auto const l = [&](std::int64_t i, std::int64_t k) {
      return static_cast<double>(in_triangle(i, k) ? F[at(i, k)] : F[at(k, i)]);
    };
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = j; i < n; ++i) {
        double r = symmetric(i, j);
        for (std::int64_t k = 0; k <= j; ++k) r -= l(i, k) * l(j, k);
        worst = std::abs(r) <= worst ? worst : std::abs(r);
      }
    return worst / (static_cast<double>(std::max<std::int64_t>(n, 1)) * 1.1);
  }

  /// Whether what lies outside of the triangle `uplo` (of the n x columns numbers of M otherwise)
  /// is NaN still.
  bool rest_is_untouched(std::vector<T> const& M, bool triangle) const {
    for (std::size_t k = 0; k < M.size(); ++k) {
      auto const i = static_cast<std::int64_t>(k) % ld, j = static_cast<std::int64_t>(k) / ld;
      bool const mine = i < n && j < (triangle ? n : nrhs) && (!triangle || in_triangle(i, j));
      if (!mine && !std::isnan(M[k])) return false;
    }
    return true;
  }

  char uplo;
  std::int64_t n, nrhs, ld;
  std::vector<T> A, B;
};

}  // namespace strata::test

#endif
