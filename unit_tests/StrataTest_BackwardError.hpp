// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_BACKWARD_ERROR_HPP
#define STRATATEST_BACKWARD_ERROR_HPP

#include <core/io/Strata_HostMatrix.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace strata::test {

/// Sizes of A and of b where A has subnormal numbers, or X has, or a scale is near the ends of fp64.
inline constexpr std::pair<double, double> sizes_at_the_ends_of_fp64[] = {
    {1e-320, 1e-320}, {1e-310, 1e-310}, {1e-310, 1e-20}, {1e200, 1e-120}, {1e300, 1e-20},
    {1e300, 1e-120},  {1e300, 1e-173},  {1e300, 1e-200}, {1e-310, 1e200}};

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
