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

/// What is predicted, and from what.
struct PredictionOptions {
  /// The trend's columns at the new locations, each with a number for each; none for no or a
  /// constant mean.
  std::vector<std::vector<double>> trend_columns = {};
  NuggetIs nugget = NuggetIs::Error;  ///< what it is there
  bool variances = true;  ///< asks for variances; a prediction alone costs 2 n flops, not n^2
  /// Hears, after each block of locations, what part of them is done.
  std::function<void(double)> on_progress = {};
};

/// The field where it was not observed.
struct Prediction {
  std::vector<double> mean;  ///< its conditional expectation
  /// variance of the field about the mean; a new observation's is larger by the nugget; empty:
  /// not wanted
  std::vector<double> variance;
  double backward_error = 0;  ///< normwise, the worst of the solves
  bool converged = true;      ///< all of them
};

/// Best linear prediction (kriging) of the field at new locations.
///
/// With the covariances C between observed and new locations, V = L^-1 C, L L' = S, and F_0 the
/// trend's columns there,
///   mean = F_0 b + C' S^-1 (y - F b),
///   variance = sigma2 - diag(V' V) + diag(D (F' S^-1 F)^-1 D'),   D = F_0 - C' S^-1 F,
/// where the last term counts that b was estimated (universal kriging; ordinary for a constant
/// mean, simple for none). A nugget that is a variation of the field is in C where a new location
/// is an observation's, and in the variance's first term.
///
/// Shape    a value for each location of the factor; any number of new locations, of the same
///          metric.
/// Result   without a nugget, or with one that is a variation of the field, the observations
///          themselves at observed locations, with variance 0 (to rounding); variances that
///          rounding made negative are 0.
/// Sync     fences `exec`.
/// Memory   64 MiB of blocks of new locations, or 128 of these, but 4096 at most; with tiles below
///          fp64 twice that. Cost: n^2 + 2 (1 + k) n flops and n entries a location, with tiles
///          below fp64 refined solves.
/// Throws   ValueError if there is no factor, or the metrics differ; what `log_likelihood` throws
///          for values, and `check_locations` for the new locations; ValueError for observations
///          that repeat a place, with a nugget that is a variation of the field.
/// Source   Cressie, Statistics for Spatial Data, 1993, sections 3.2 and 3.4.5.
template <class ExecutionSpace>
[[nodiscard]] Prediction predict(ExecutionSpace const& exec,
                                 CovarianceFactor<ExecutionSpace>& factor,
                                 std::span<double const> values, Locations const& new_locations,
                                 Trend const& trend = Mean::Constant,
                                 PredictionOptions const& options = {});

namespace detail {
/// Refuse a nugget that is a variation of the field where observations repeat a place. Without a
/// nugget there is none to be one.
///
/// Throws   ValueError that names two of them.
void check_variation(Locations const& locations, std::span<double const> values,
                     MaternCovariance const& covariance, NuggetIs nugget);
}  // namespace detail

}  // namespace strata::geostat

#endif
