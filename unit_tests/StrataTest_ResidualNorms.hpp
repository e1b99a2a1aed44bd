// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_RESIDUAL_NORMS_HPP
#define STRATATEST_RESIDUAL_NORMS_HPP

#include <cmath>
#include <cstdint>
#include <vector>

namespace strata::test {

/// The larger number; NaN if one of them is.
inline long double larger(long double a, long double b) { return a >= b || std::isnan(a) ? a : b; }

/// What a solution x of A x = b is judged by: maximum norms in extended precision, NaN if a number
/// is.
struct ResidualNorms {
  long double A = 0, residual = 0, x = 0, b = 0;

  /// ||b - A x|| / (||A|| ||x|| + ||b||).
  double backward_error() const { return relative_to(A * x + b); }
  /// ||b - A x|| / (||A|| ||x||), which LAPACK bounds.
  double lapack_error() const { return relative_to(A * x); }

 private:
  double relative_to(long double size) const {
    return residual == 0 ? 0 : static_cast<double>(residual / size);
  }
};

/// The norms of each column of X; A, X and B are functions of a row and a column.
template <class MatrixA, class MatrixX, class MatrixB>
std::vector<ResidualNorms> residual_norms(std::int64_t n, std::int64_t columns, MatrixA const& A,
                                          MatrixX const& X, MatrixB const& B) {
  long double norm = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    long double sum = 0;
    for (std::int64_t k = 0; k < n; ++k) sum += std::abs(static_cast<long double>(A(i, k)));
    norm = larger(norm, sum);
  }
  std::vector<ResidualNorms> result;
  for (std::int64_t j = 0; j < columns; ++j) {
    ResidualNorms norms{norm};
    for (std::int64_t i = 0; i < n; ++i) {
      long double r = B(i, j);
      for (std::int64_t k = 0; k < n; ++k) r -= static_cast<long double>(A(i, k)) * X(k, j);
      norms.residual = larger(norms.residual, std::abs(r));
      norms.x = larger(norms.x, std::abs(static_cast<long double>(X(i, j))));
      norms.b = larger(norms.b, std::abs(static_cast<long double>(B(i, j))));
    }
    result.push_back(norms);
  }
  return result;
}

/// An error of the worst column; NaN if one is.
inline double worst_of(std::vector<ResidualNorms> const& columns,
                       double (ResidualNorms::*error)() const) {
  long double worst = 0;
  for (ResidualNorms const& norms : columns) worst = larger(worst, (norms.*error)());
  return static_cast<double>(worst);
}

}  // namespace strata::test

#endif
