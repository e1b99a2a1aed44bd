// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_VECCHIA_PREDICTION_HPP
#define STRATA_VECCHIA_PREDICTION_HPP

#include <core/io/Strata_HostMatrix.hpp>
#include <geostat/kriging/Strata_Prediction.hpp>
#include <geostat/vecchia/Strata_Vecchia.hpp>

#include <cstdint>
#include <vector>

namespace strata::geostat {

/// What is predicted, and from how many observations.
struct LocalPredictionOptions {
  /// Nearest observations that each location is predicted from, 1 to 1000.
  std::int64_t neighbours = 60;
  /// The trend's columns at the new locations, as of `PredictionOptions`.
  std::vector<std::vector<double>> trend_columns = {};
  NuggetIs nugget = NuggetIs::Error;  ///< what it is there
  bool variances = true;              ///< whether they are wanted; they cost hardly anything
};

/// Best linear prediction (kriging) of the field at new locations, each from the observations that
/// are nearest to it. The trend's coefficients come from all observations, and their error is in
/// the variance.
///
/// With all observations as neighbours, of which the approximation's blocks have all before them,
/// it is `predict`.
///
/// Shape    any number of new locations, of the same metric.
/// Result   as of `predict`.
/// Sync     fences `exec`.
/// Memory   4 m bytes a location. Cost: m^3 / 3 flops and m^2 / 2 entries a location.
/// Throws   ValueError if the neighbours are not 1 to 1000, the metrics differ or some location has
///          no variance given its neighbours; what `Vecchia::log_likelihood`, `Trend::rows` and
///          `check_locations` throw.
/// Source   Chiles and Delfiner, Geostatistics, 2012, section 3.6.
template <class ExecutionSpace>
[[nodiscard]] Prediction predict(ExecutionSpace const& exec,
                                 Vecchia<ExecutionSpace> const& approximation,
                                 MaternCovariance const& covariance, Locations const& new_locations,
                                 LocalPredictionOptions const& options = {});

namespace detail {

/// Products v' v and v' L^-1 [y Q] of each place. There v = L^-1 c of the covariances c with its
/// neighbours among the observations, whose matrix is L L'. Entries of c at the place itself have
/// `at_same_place` more.
///
/// Shape    `neighbours` the same number for each place. Sync: fences `exec`.
template <class ExecutionSpace>
HostMatrix local_products(ExecutionSpace const& exec, Vecchia<ExecutionSpace> const& approximation,
                          MaternCovariance const& covariance, Locations const& places,
                          NeighbourLists const& neighbours, double at_same_place);

}  // namespace detail

}  // namespace strata::geostat

#endif
