// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PREDICTION_HPP
#define STRATA_PREDICTION_HPP

#include <geostat/Strata_Likelihood.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace strata::geostat {

/// The field where it was not observed.
struct Prediction {
  std::vector<double> mean;  ///< its conditional expectation
  std::vector<double>
      /// variance of the field about the prediction; a new observation's is larger by the nugget
      variance;
  double backward_error = 0;  ///< normwise, the worst of the solves
  bool converged = true;      ///< all of them
};

/// Best linear prediction (kriging) of the field at new locations.
///
/// With weights W = S^-1 C for the covariances C between observed and new locations
///   mean = m + C' S^-1 (y - m),   variance = sigma2 - diag(C' W) + (1 - 1' W)^2 / (1' S^-1 1),
/// where the last term, which counts that m was estimated, and m itself are there for Mean::Constant only.
///
/// Shape    a value for each location of the factor; any number of new locations, of the same metric.
/// Result   without a nugget the observations themselves at observed locations, with variance 0 (to rounding); variances
///          that rounding made negative are 0. `on_progress` hears, after each 256 locations, what part of them is done.
/// Sync     fences `exec`.
/// Memory   2 n min(m, 256) numbers for m new locations.
/// Throws   ValueError if there is no factor, or the metrics differ; what `log_likelihood` throws for values, and
///          `check_locations` for the new locations.
/// Source   Cressie, Statistics for Spatial Data, 1993, sections 3.2 and 3.4.5.
template <class ExecutionSpace>
[[nodiscard]] Prediction predict(ExecutionSpace const& exec,
                                 CovarianceFactor<ExecutionSpace>& factor,
                                 std::span<double const> values, Locations const& new_locations,
                                 Mean mean = Mean::Constant,
                                 std::function<void(double)> const& on_progress = {});

}  // namespace strata::geostat

#endif
