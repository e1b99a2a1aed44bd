// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_CONDITION_HPP
#define STRATA_CONDITION_HPP

#include <core/Strata_Errors.hpp>
#include <dense/refine/Strata_Refinement.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace strata::dense {

/// What is measured of a result.
enum class Measure {
  Nothing,  ///< what is known already is told
  Error,    ///< a bound of its error
};

/// How much errors are magnified by a system A X = B.
struct ConditionEstimate {
  /// ||H||_1 ||H^-1||_1, H = D A D the equilibrated matrix (A, if it is not): never above the true
  /// one but for rounding, seldom below a third. Beyond 1 / (n 2^-53) it only says that A is
  /// singular to working precision.
  double value = 0;
  std::int64_t solves = 0;  ///< solves with H, each with up to eight columns at once
  bool refined = false;     ///< the factor alone was too coarse: solves with it were refined
  bool converged =
      true;            ///< false: a refinement did not converge, the true value may be far larger
  double seconds = 0;  ///< time of the estimate
};

/// About how far off a solution may be, max_i |x_i - y_i| / d_i over max_i |y_i| / d_i with the
/// exact solution y. It is the condition times the relative residual, at most 1, and 1 where the
/// condition is not known.
inline double forward_error(RefinementReport const& solve, ConditionEstimate const& condition) {
  double const residual = solve.relative_residual == 0 ? 0x1p-53 : solve.relative_residual,
               error = residual * condition.value;
  return error < 1 && condition.converged ? error : 1;  // NaN as well
}

/// The decimal digits that this leaves: those to expect in the largest entries of a solution, 0 to
/// 16.
inline double digits(double forward_error) {
  return forward_error > 0 ? std::clamp(0.0 - std::log10(forward_error), 0.0, 16.0) : 16;
}

/// Why a matrix has no Cholesky factor.
struct Breakdown {
  /// order of the leading minor that is not positive; 0: there is a factor
  std::int64_t order = 0;
  /// The pivot that was not positive, as a part of the entry on the diagonal of the equilibrated
  /// matrix; NaN: not known.
  double pivot = std::numeric_limits<double>::quiet_NaN();
  double least_pivot = 1;  ///< least pivot before that one
  /// Rounding explains the breakdown: A may be positive definite with about this condition, or a
  /// larger one.
  bool numerical = false;
  double condition = 0;  ///< where that is so
  double ridge =
      0;  ///< a power of ten on the diagonal that is likely to help, as a part of the mean diagonal
  /// Where that is so: the two rows that are most alike, from 0, and sqrt((a_ii + a_jj - 2 |a_ij|)
  /// / (a_ii + a_jj)).
  std::int64_t row = 0, other_row = 0;
  double apart = 1;  ///< see `row`
};

/// "the leading minor of order 9 is not positive: ...", and what to do about it.
std::string describe(Breakdown const& breakdown);

/// An entry of a matrix that is NaN or infinite.
struct NonFiniteEntry : ValueError {
  /// Entry (i, j), from 0.
  NonFiniteEntry(std::int64_t i, std::int64_t j);
  std::int64_t row, col;  ///< indices from 0
};

/// What f() returns, for the matrix of which a caller gave the upper triangle, or the lower one: a
/// non-finite entry is named as it stands there.
template <class Function>
auto in_terms_of_triangle(bool is_upper, Function&& f) {
  try {
    return f();
  } catch (NonFiniteEntry const& entry) {
    if (!is_upper) throw;
    throw NonFiniteEntry(entry.col, entry.row);
  }
}

}  // namespace strata::dense

#endif
