// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/kriging/Strata_Variogram.hpp>

#include <core/Strata_Errors.hpp>
#include <core/problems/Strata_Random.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace strata::geostat {

namespace {

// All, or so many at random.
std::vector<std::int64_t> taken(std::int64_t n, VariogramOptions const& options) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  if (n <= options.most) return order;
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
    return random_bits(options.seed, static_cast<std::uint64_t>(a), 8) <
           random_bits(options.seed, static_cast<std::uint64_t>(b), 8);
  });
  order.resize(static_cast<std::size_t>(options.most));
  return order;
}

}  // namespace

double diagonal_of_box(Locations const& locations) {
  if (locations.size() == 0) return 0;
  Locations corners;
  corners.metric = locations.metric;
  auto const ends = [](std::vector<double> const& of_each) {
    auto const [least, most] = std::ranges::minmax(of_each);
    return std::vector<double>{least, most};
  };
  corners.x = ends(locations.x), corners.y = ends(locations.y);
  for (auto const& one : locations.further) corners.further.push_back(ends(one));
  return corners.distance(0, 1);
}

std::vector<VariogramClass> empirical_variogram(Locations const& locations,
                                                std::span<double const> values,
                                                VariogramOptions const& options) {
  check_locations(locations);
  STRATA_REQUIRE(ShapeError, static_cast<std::int64_t>(values.size()) == locations.size(),
                 "variogram: ", values.size(), " values at ", locations.size(), " locations");
  STRATA_REQUIRE(ValueError,
                 options.classes >= 1 && options.classes <= 100000 && options.cutoff >= 0 &&
                     std::isfinite(options.cutoff) && options.most >= 2,
                 "variogram: ", options.classes, " classes up to ", options.cutoff, " of ",
                 options.most, " observations, must be positive and 2 or more");
  std::vector<VariogramClass> all(static_cast<std::size_t>(options.classes)), result;
  if (values.empty()) return result;
  double const cutoff = options.cutoff > 0 ? options.cutoff : diagonal_of_box(locations) / 3,
               width = cutoff / options.classes;
  auto const which = taken(locations.size(), options);
  for (std::size_t a = 0; a < which.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      double const h = locations.distance(which[a], which[b]);
      if (!(h <= cutoff)) continue;
      auto const at = static_cast<std::int64_t>(std::ceil(h / width)) - 1;
      auto& one =
          all[static_cast<std::size_t>(std::clamp<std::int64_t>(at, 0, options.classes - 1))];
      double const difference =
          values[static_cast<std::size_t>(which[a])] - values[static_cast<std::size_t>(which[b])];
      one.distance += h;
      one.semivariance += difference * difference;
      ++one.pairs;
    }
  for (auto const& one : all) {
    auto const pairs = static_cast<double>(one.pairs);
    if (one.pairs > 0)
      result.push_back({one.distance / pairs, one.semivariance / (2 * pairs), one.pairs});
  }
  return result;
}

double semivariance(MaternCovariance const& covariance, double h) {
  return covariance.nugget + covariance.field() - covariance(h);
}

}  // namespace strata::geostat
