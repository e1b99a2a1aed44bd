// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_BACKWARD_ERROR_HPP
#define STRATATEST_BACKWARD_ERROR_HPP

#include "StrataTest_ResidualNorms.hpp"
#include <core/io/Strata_HostMatrix.hpp>

#include <utility>

namespace strata::test {

/// Sizes of A and of b where A has subnormal numbers, or X has, or a scale is near the ends of
/// fp64.
inline constexpr std::pair<double, double> sizes_at_the_ends_of_fp64[] = {
    {1e-320, 1e-320}, {1e-310, 1e-310}, {1e-310, 1e-20}, {1e200, 1e-120}, {1e300, 1e-20},
    {1e300, 1e-120},  {1e300, 1e-173},  {1e300, 1e-200}, {1e-310, 1e200}};

/// The normwise backward error of the worst column, with residuals in long double.
inline double backward_error(HostMatrix const& A, HostMatrix const& X, HostMatrix const& B) {
  return worst_of(residual_norms(B.extent_int(0), B.extent_int(1), A, X, B),
                  &ResidualNorms::backward_error);
}

}  // namespace strata::test

#endif
