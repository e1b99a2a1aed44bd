// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_CROSS_VALIDATION_HPP
#define STRATA_CROSS_VALIDATION_HPP

#include <geostat/Strata_Likelihood.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace strata::geostat {

/// How well each observation is predicted by the observations of other folds.
struct CrossValidation {
  std::int64_t info = 0;  ///< 0, or the leading minor that is not positive: then there is nothing
  std::vector<double> residual;  ///< observed less predicted; NaN: the others do not tell the trend
  std::vector<double>
      variance;  ///< variance of the residual: the prediction's and the observation's nugget
  double mean_error = 0, rmse = 0;  ///< means over all that have a prediction
  /// Mean of (residual / sd)^2; near 1 where variances are right.
  double mean_square_z = 0;
  std::array<double, 3> coverage{};  ///< part of them inside the intervals of `coverage_levels`
  std::int64_t without = 0;          ///< observations without a prediction
  double backward_error = 0;         ///< normwise, of the solves that were refined
  bool converged = true;             ///< all of them met their tolerance
  double seconds = 0;                ///< seconds of the whole validation
};

/// The levels of the intervals whose coverage is counted.
inline constexpr std::array<double, 3> coverage_levels = {0.5, 0.9, 0.95};

/// Leave observations out and predict them from the others, without a refit, and the trend's
/// coefficients anew each time. P is S^-1 - S^-1 F (F' S^-1 F)^-1 F' S^-1. The residuals of a fold
/// B are (P_BB)^-1 (P y)_B, their covariance (P_BB)^-1. One observation has (P y)_i / P_ii and 1 /
/// P_ii.
///
/// Shape    a value for each location; `folds` a number for each: observations of one number are
///          left out together; none: each alone.
/// Result   see CrossValidation. `on_progress` hears what part is done.
/// Sync     fences `exec`.
/// Memory   512 n numbers; with folds n numbers for each observation of the largest. Cost: n^3 / 3
///          flops, with folds 2 n^3, with tiles below fp64 refined solves.
/// Throws   ShapeError if there are neither n folds nor none; what `log_likelihood` throws.
/// Source   Dubrule, Math. Geol. 15 (1983), doi:10.1007/BF01033232; Ginsbourger and Schaerer,
///          Electron. J. Stat. 19 (2025), arXiv:2101.03108.
template <class ExecutionSpace>
[[nodiscard]] CrossValidation cross_validate(ExecutionSpace const& exec,
                                             CovarianceFactor<ExecutionSpace>& factor,
                                             std::span<double const> values,
                                             Trend const& trend = Mean::Constant,
                                             std::span<std::int64_t const> folds = {},
                                             std::function<void(double)> const& on_progress = {});

/// A fold from 0 to k - 1 for each of n observations, at random: sizes differ by one at most.
///
/// Throws   ValueError unless 2 <= k <= n.
std::vector<std::int64_t> random_folds(std::int64_t n, std::int64_t k, std::uint64_t seed = 1);

/// The same by regions: k stretches of Hilbert's curve, so that neighbours are left out together.
std::vector<std::int64_t> block_folds(Locations const& locations, std::int64_t k);

namespace detail {

/// Means and coverage by the residuals and variances that are there.
void summarise(CrossValidation& result);

}  // namespace detail

}  // namespace strata::geostat

#endif
