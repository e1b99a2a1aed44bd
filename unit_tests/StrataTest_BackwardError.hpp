// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_BACKWARD_ERROR_HPP
#define STRATATEST_BACKWARD_ERROR_HPP

#include <core/io/Strata_HostMatrix.hpp>

#include <algorithm>
#include <cmath>

namespace strata::test {

/// The normwise backward error of the worst column, with residuals in long double.
inline double backward_error(HostMatrix const& A, HostMatrix const& X, HostMatrix const& B) {
  std::size_t const n = A.extent(0);
  long double norm = 0;
  double worst = 0;
  for (std::size_t i = 0; i < n; ++i) {
    long double sum = 0;
    for (std::size_t k = 0; k < n; ++k) sum += std::abs(A(i, k));
    norm = std::max(norm, sum);
  }
  for (std::size_t j = 0; j < B.extent(1); ++j) {
    long double residual = 0, x = 0, b = 0;
    for (std::size_t i = 0; i < n; ++i) {
      long double r = B(i, j);
      for (std::size_t k = 0; k < n; ++k) r -= static_cast<long double>(A(i, k)) * X(k, j);
      residual = std::max(residual, std::abs(r));
      x = std::max<long double>(x, std::abs(X(i, j)));
      b = std::max<long double>(b, std::abs(B(i, j)));
    }
    worst = std::max(worst, static_cast<double>(residual / (norm * x + b)));
  }
  return worst;
}

}  // namespace strata::test

#endif
