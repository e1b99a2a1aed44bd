// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_VARIOGRAM_HPP
#define STRATA_VARIOGRAM_HPP

#include <geostat/Strata_Matern.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace strata::geostat {

/// Distance of two opposite corners of the box around all locations, by all coordinates; 0: none.
double diagonal_of_box(Locations const& locations);

/// Classes of distances.
struct VariogramOptions {
  int classes = 15;          ///< classes of one width up to the cutoff
  double cutoff = 0;         ///< 0: a third of the diagonal of the box around the locations
  std::int64_t most = 5000;  ///< at most so many observations count, drawn at random
  std::uint64_t seed = 1;    ///< seed of this draw
};

/// Pairs of observations that are about as far apart.
struct VariogramClass {
  double distance = 0;      ///< their mean
  double semivariance = 0;  ///< half of the mean square of their differences
  std::int64_t pairs = 0;   ///< how many
};

/// The empirical variogram, by Matheron's estimator; classes without a pair are left out.
///
/// Shape    a value for each location: where there is a trend what it leaves (`Trend::residuals`).
/// Throws   ShapeError if they differ in number; ValueError for options out of range, and what
///          `check_locations` throws.
/// Source   Matheron, Economic Geology 58 (1963), doi:10.2113/gsecongeo.58.8.1246; classes as of
///          the R package gstat.
std::vector<VariogramClass> empirical_variogram(Locations const& locations,
                                                std::span<double const> values,
                                                VariogramOptions const& options = {});

/// The semivariance of a covariance at a distance h > 0: nugget + sigma2 - C(h).
double semivariance(MaternCovariance const& covariance, double h);

}  // namespace strata::geostat

#endif
