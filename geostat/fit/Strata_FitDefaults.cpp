// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_Errors.hpp>
#include <core/io/files/Strata_ParseNumber.hpp>
#include <geostat/fit/Strata_Fit.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

namespace strata::geostat {

namespace {

double mean_square(std::span<double const> values, double about) {
  auto const n = static_cast<double>(values.size());
  double sum = 0;
  for (double const value : values) sum += (value - about) * (value - about) / n;
  return sum;
}

// Between quantiles, so that one place that is far from all others counts for nothing: 95 % of them
// lie there.
double spread(std::vector<double> values) {
  std::ranges::sort(values);
  auto const last = static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(std::ceil(0.975 * last))] -
         values[static_cast<std::size_t>(std::floor(0.025 * last))];
}

// Of the coordinates beyond y.
double further_extent(Locations const& locations, bool of_most) {
  double sum = 0;
  for (auto const& one : locations.further) {
    auto const [low, high] = std::ranges::minmax(one);
    double const width = of_most ? spread(one) : high - low;
    sum += width * width;
  }
  return std::sqrt(sum);
}

double extent(Locations const& locations, double width, double height) {
  bool const globe = is_on_sphere(locations.metric);
  // On the sphere no location is further away than half of the equator.
  double const degree = globe ? detail::earth_radius_km * detail::radians_per_degree : 1;
  return degree * std::hypot(globe ? std::min(width, 180.0) : width, height);
}

// Of nearly all places; of all where these coincide.
double extent(Locations const& locations) {
  double const of_most = std::hypot(extent(locations, spread(locations.x), spread(locations.y)),
                                    further_extent(locations, true));
  if (of_most > 0) return of_most;
  auto const [left, right] = std::ranges::minmax(locations.x);
  auto const [bottom, top] = std::ranges::minmax(locations.y);
  return std::hypot(extent(locations, right - left, top - bottom),
                    further_extent(locations, false));
}

// The variance of what a trend leaves, which is more than rounding.
double left_by(Trend const& trend, std::span<double const> values) {
  auto const n = static_cast<double>(values.size());
  double const left = mean_square(trend.residuals(values), 0) * n /
                      (n - static_cast<double>(trend.columns())),
               whole = mean_square(values, 0);
  STRATA_REQUIRE(ValueError, std::sqrt(left) > 0x1p-50 * n * std::sqrt(whole),
                 "default_fit_options: the values are a combination of the trend's ",
                 trend.columns(), " columns: nothing is left to fit");
  return left;
}

// Nearly the least distance of neighbours.
double nearest(Locations const& locations) {
  auto const distances = detail::nearest_distances(locations);
  STRATA_REQUIRE(ValueError, !distances.empty(), "default_fit_options: all locations coincide");
  return distances[(distances.size() - 1) / 20];
}

// A spherical covariance ends at its range, a Gaussian one falls later than the others.
double ranges_in_extent(Family family) {
  return family == Family::Spherical ? 3 : family == Family::Gaussian ? 6 : 10;
}

struct Shape {
  double start, most;
};

// Where nu starts, and its upper bound.
Shape shape_of(Family family, bool globe) {
  bool const is_powered = family == Family::PoweredExponential;
  double const limit = is_powered ? 2 : 3, limit_on_globe = is_powered ? 1 : 0.5;
  if (globe) return {0.9 * limit_on_globe, limit_on_globe};
  return {is_powered ? 1.0 : 0.5, limit};
}

}  // namespace

FitOptions default_fit_options(Locations const& locations, std::span<double const> values,
                               Trend const& trend, Family family, std::optional<Family> second) {
  check_locations(locations);
  STRATA_REQUIRE(ShapeError, static_cast<std::int64_t>(values.size()) == locations.size(),
                 "default_fit_options: ", values.size(), " values at ", locations.size(),
                 " locations");
  STRATA_REQUIRE(ValueError,
                 std::ranges::adjacent_find(values, std::not_equal_to<>()) != values.end(),
                 "default_fit_options: a fit needs at least two values that differ; all of these ",
                 values.size(), " are the same");
  detail::check_values(locations.size(), values);
  double centre = 0;
  for (double const value : values) centre += value / static_cast<double>(values.size());
  bool const has_columns = trend.columns() > 0 && !trend.is_constant();
  double const variance = has_columns ? left_by(trend, values) : mean_square(values, centre);
  double const field = trend.columns() == 0 ? mean_square(values, 0) : variance;
  STRATA_REQUIRE(ValueError, std::isnormal(1e-14 * variance) && std::isfinite(100 * field),
                 "default_fit_options: the values have the variance ", variance,
                 " and the mean square ", mean_square(values, 0),
                 ", of which fp64 can't hold 1e-14 and 100 times; take another unit");
  double const neighbour = nearest(locations), apart = extent(locations);
  bool const has_copies = find_copies(locations, values).places > 0 && !are_distinct(locations);
  bool const globe = locations.metric == Metric::GreatCircle;
  FitOptions options;
  options.trend = trend;
  options.start = {0.9 * field, apart / ranges_in_extent(family), 0.5, 0.1 * variance, family};
  options.lower = {1e-14 * variance, std::min(neighbour / 10, apart / 100), 0.1,
                   has_copies ? 1e-6 * variance : 0};
  auto const [nu, most_nu] = shape_of(family, globe);
  options.start.nu = nu;
  options.upper = {100 * field, 10 * apart, most_nu, 100 * field};
  options.lower.family = options.upper.family = family;
  options.fixed[2] = !has_shape(family);
  if (!second) return options;
  auto const [nu_2, most_nu_2] = shape_of(*second, globe);
  options.start.sigma2 = 0.45 * field;
  options.start.range /= 3;
  options.start.second = {0.45 * field, apart / ranges_in_extent(*second), nu_2, *second};
  options.lower.second = {0, options.lower.range, 0.1, *second};
  options.upper.second = {100 * field, 10 * apart, most_nu_2, *second};
  options.fixed_second[2] = !has_shape(*second);
  return options;
}

bool is_fixed(FitOptions const& options, std::size_t number) {
  auto const& start = options.start;
  auto const& second = start.second;
  bool const is_nu = number == 2 || number == 6;
  if (number < 4) return options.fixed[number] || (is_nu && !has_shape(start.family));
  return !second || options.fixed_second[number - 4] || (is_nu && !has_shape(second->family));
}

void fix_parameter(FitOptions& options, std::string_view item, std::string_view option) {
  auto const equals = std::min(item.find('='), item.size());
  auto const name = item.substr(0, equals);
  auto const number = static_cast<std::size_t>(std::ranges::find(all_parameter_names, name) -
                                               all_parameter_names.begin());
  STRATA_REQUIRE(ValueError, number < all_parameter_names.size(), option, ": '", item,
                 "' must be sigma2, range, nu or nugget, or sigma2_2, range_2 or nu_2 of a second "
                 "structure, with or without =VALUE");
  auto const& second = options.start.second;
  STRATA_REQUIRE(ValueError, number < 4 || second, option, ": '", item,
                 "': there is one structure alone");
  Family const family = number < 4 ? options.start.family : second->family;
  STRATA_REQUIRE(ValueError, (number != 2 && number != 6) || has_shape(family), option, ": '", item,
                 "': the family ", name_of(family), " has no nu");
  if (equals < item.size()) {
    auto const text = item.substr(equals + 1);
    double value = 0;
    char const* const wrong = parse_number(text, value);
    STRATA_REQUIRE(ValueError, !wrong, option, ": '", item, "': '", text, "' ", wrong);
    options.start = with_parameter(options.start, number, value);
  }
  (number < 4 ? options.fixed[number] : options.fixed_second[number - 4]) = true;
}

}  // namespace strata::geostat
