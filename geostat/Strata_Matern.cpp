// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/Strata_Matern.hpp>

#include <cmath>
#include <cstddef>
#include <utility>

namespace strata::geostat {

detail::Directions::Directions(Covariance const& c, bool turned)
    : stretch(1 / c.ratio), differ(c.has_directions() || turned), axes(c.axes) {
  double const angle = radians_per_degree * c.angle;
  cosine = std::cos(angle), sine = std::sin(angle);
}

Locations detail::Directions::operator()(Locations locations) const {
  if (!axes.empty()) return along_axes(std::move(locations));
  if (!differ) return locations;
  STRATA_REQUIRE(ValueError, locations.further.empty(), "a covariance with directions (ratio ",
                 1 / stretch, ") is of the plane, and the locations have ", locations.coordinates(),
                 " coordinates; give a range for each");
  STRATA_REQUIRE(ValueError, locations.metric == Metric::Euclidean,
                 "a covariance with directions (ratio ", 1 / stretch,
                 ") is of the plane, not of the sphere");
  for (std::size_t i = 0; i < locations.x.size(); ++i) {
    double const x = locations.x[i], y = locations.y[i];
    locations.x[i] = x * sine + y * cosine, locations.y[i] = (x * cosine - y * sine) * stretch;
  }
  return locations;
}

Locations detail::Directions::along_axes(Locations locations) const {
  STRATA_REQUIRE(ValueError, locations.metric == Metric::Euclidean,
                 "a range for each coordinate is of Euclidean distances, not of the sphere");
  STRATA_REQUIRE(ValueError, axes.size() + 1 == locations.coordinates(), "a covariance with ",
                 axes.size() + 1, " ranges is not of locations with ", locations.coordinates(),
                 " coordinates");
  for (double& y : locations.y) y /= axes[0];
  for (std::size_t k = 0; k < locations.further.size(); ++k)
    for (double& value : locations.further[k]) value /= axes[k + 1];
  return locations;
}

void check_covariance(MaternCovariance const& covariance, Locations const& locations) {
  covariance.check();
  check_locations(locations);
  bool const globe = locations.metric == Metric::GreatCircle;
  bool const is_gaussian = covariance.family == Family::Gaussian ||
                           (covariance.second && covariance.second->family == Family::Gaussian);
  STRATA_REQUIRE(ValueError, !globe || !is_gaussian,
                 "Gaussian covariances of great-circle distances are not positive definite; take "
                 "chordal distances");
  STRATA_REQUIRE(ValueError, locations.metric == Metric::Euclidean || !covariance.has_directions(),
                 "a covariance with directions (ratio ", covariance.ratio,
                 ") is of the plane, not of the sphere");
  if (covariance.nugget == 0) check_distinct(locations);
}

HostMatrix covariance_matrix(MaternCovariance const& covariance, Locations const& locations,
                             std::function<void(double)> const& on_progress) {
  auto const n = locations.size();
  HostMatrix const A = allocate_host_matrix("strata::geostat::covariance_matrix", n, n);
  fill_covariance(Kokkos::DefaultHostExecutionSpace(), covariance, locations, A, Triangle::Full,
                  on_progress);
  return A;
}

}  // namespace strata::geostat
