// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_CONDITION_HPP
#define STRATA_CONDITION_HPP

#include <dense/refine/Strata_Refinement.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace strata::dense {

/// How much errors are magnified by a system A X = B.
struct ConditionEstimate {
  /// ||H||_1 ||H^-1||_1, H = D A D the equilibrated matrix (A, if it is not): never above the true one but for
  /// rounding, seldom below a third of it. Beyond 1 / (n 2^-53) it only says that A is singular to working precision.
  double value = 0;
  std::int64_t solves = 0;  ///< with H, of one or two columns
  bool refined = false;     ///< the factor alone was too coarse: solves with it were refined
  bool converged =
      true;            ///< false: a refinement did not converge, the true value may be far larger
  double seconds = 0;  ///< that it took
};

/// About how far off a solution may be, max_i |x_i - y_i| / d_i over max_i |y_i| / d_i with the exact solution y: the
/// condition times the backward error, which rounding keeps from being known below 2^-53; at most 1, and 1 where the
/// condition is not known.
inline double forward_error(RefinementReport const& solve, ConditionEstimate const& condition) {
  double const error = std::max(solve.equilibrated_error, 0x1p-53) * condition.value;
  return error < 1 && condition.converged ? error : 1;  // NaN as well
}

/// The decimal digits that this leaves: those to expect in the largest entries of a solution, 0 to 16.
inline double digits(double forward_error) {
  return forward_error > 0 ? std::clamp(0.0 - std::log10(forward_error), 0.0, 16.0) : 16;
}

}  // namespace strata::dense

#endif
