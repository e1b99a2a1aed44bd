// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/Strata_Locations.hpp>

#include <core/Strata_Errors.hpp>
#include <core/problems/Strata_Random.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

namespace strata::geostat {

namespace {

// All coordinates, and zeros.
using Point = std::array<double, most_coordinates>;

// Equal for equal locations: longitudes are taken modulo 360, and a pole has one.
Point point(Locations const& locations, std::int64_t i) {
  double const x = locations.x[i], y = locations.y[i];
  if (locations.metric == Metric::Euclidean) {
    Point result{x, y};
    for (std::size_t k = 0; k < locations.further.size(); ++k)
      result[k + 2] = locations.further[k][i];
    return result;
  }
  double const turned = std::remainder(x, 360);
  return {std::abs(y) == 90 ? 0 : turned == -180 ? 180 : turned, y};
}

// What messages call the location at position i: a number from 1.
std::int64_t number_of(std::span<std::int64_t const> numbers, std::size_t i) {
  return 1 + (numbers.empty() ? static_cast<std::int64_t>(i) : numbers[i]);
}

void check_coordinates_match(std::span<double const> x, std::span<double const> y,
                             std::span<std::int64_t const> numbers) {
  STRATA_REQUIRE(ShapeError, x.size() == y.size(), "locations: ", x.size(), " x and ", y.size(),
                 " y coordinates");
  STRATA_REQUIRE(ShapeError, numbers.empty() || numbers.size() == x.size(),
                 "locations: ", numbers.size(), " numbers of ", x.size(), " locations");
}

void check_coordinates(std::span<double const> x, std::span<double const> y,
                       std::span<std::int64_t const> numbers = {}) {
  check_coordinates_match(x, y, numbers);
  for (std::size_t i = 0; i < x.size(); ++i)
    STRATA_REQUIRE(ValueError, std::isfinite(x[i]) && std::isfinite(y[i]), "location ",
                   number_of(numbers, i), " is (", x[i], ", ", y[i], "), must be finite");
}

// Bits of v at the even positions.
std::uint64_t spread_bits(std::uint32_t value) {
  std::uint64_t v = value;
  v = (v | v << 16) & 0x0000ffff0000ffffull;
  v = (v | v << 8) & 0x00ff00ff00ff00ffull;
  v = (v | v << 4) & 0x0f0f0f0f0f0f0f0full;
  v = (v | v << 2) & 0x3333333333333333ull;
  return (v | v << 1) & 0x5555555555555555ull;
}

std::uint64_t morton_code(std::uint32_t x, std::uint32_t y) {
  return spread_bits(x) | spread_bits(y) << 1;
}

// The quadrants of a square are visited in the order (0,0), (0,1), (1,1), (1,0). Within the first
// and the last quadrant the curve is mirrored, so that it enters and leaves where they touch.
std::uint64_t hilbert_code(std::uint32_t x, std::uint32_t y) {
  std::uint64_t code = 0;
  for (int bit = 31; bit >= 0; --bit) {
    std::uint32_t const right = x >> bit & 1, up = y >> bit & 1;
    code = code << 2 | ((3 * right) ^ up);
    if (up == 1) continue;
    if (right == 1) {
      x = ~x;
      y = ~y;
    }
    std::swap(x, y);
  }
  return code;
}

// The order of the codes of the points' cells.
template <class Code>
std::vector<std::int64_t> order_along(std::span<double const> x, std::span<double const> y,
                                      Code const& code_of) {
  check_coordinates(x, y);
  std::vector<std::int64_t> order(x.size());
  if (x.empty()) return order;
  auto const [left, right] = std::minmax_element(x.begin(), x.end());
  auto const [bottom, top] = std::minmax_element(y.begin(), y.end());
  double const half_extent =
      std::max(*right / 2 - *left / 2, *top / 2 - *bottom / 2);  // cannot overflow
  auto const cell = [half_extent](double from, double value) -> std::uint32_t {
    if (half_extent == 0) return 0;
    return static_cast<std::uint32_t>((value / 2 - from / 2) / half_extent * 0xffffffffu);
  };
  std::vector<std::uint64_t> code(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    code[i] = code_of(cell(*left, x[i]), cell(*bottom, y[i]));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return code[a] < code[b]; });
  return order;
}

}  // namespace

double Locations::distance(std::int64_t i, std::int64_t j) const {
  if (!further.empty()) {
    double sum = (x[j] - x[i]) * (x[j] - x[i]) + (y[j] - y[i]) * (y[j] - y[i]);
    for (auto const& one : further) sum += (one[j] - one[i]) * (one[j] - one[i]);
    return std::sqrt(sum);
  }
  auto const at = [this](std::int64_t k) -> detail::Location {
    return {x[k], y[k], detail::cosine_of_latitude(metric, y[k])};
  };
  return detail::distance(metric, at(i), at(j));
}

Locations Locations::permuted(std::span<std::int64_t const> order) const {
  check_coordinates_match(x, y, numbers);
  STRATA_REQUIRE(ShapeError, order.size() == x.size(), "permuted: an order of ", order.size(),
                 " for ", x.size(), " locations");
  std::vector<bool> taken(order.size(), false);
  for (std::int64_t const position : order) {
    STRATA_REQUIRE(ValueError, position >= 0 && position < size() && !taken[position],
                   "permuted: the order holds ", position, ", must hold each of 0 to ", size() - 1,
                   " once");
    taken[position] = true;
  }
  Locations result{std::vector<double>(order.size()), std::vector<double>(order.size()), metric};
  for (std::size_t k = 0; k < order.size(); ++k) {
    result.x[k] = x[order[k]];
    result.y[k] = y[order[k]];
    result.numbers.push_back(numbers.empty() ? order[k] : numbers[order[k]]);
    if (!error_variances.empty()) result.error_variances.push_back(error_variances[order[k]]);
  }
  for (auto const& one : further) {
    auto& moved = result.further.emplace_back();
    for (std::int64_t const position : order) moved.push_back(one[position]);
  }
  return result;
}

namespace {

void check_errors(Locations const& locations) {
  auto const& errors = locations.error_variances;
  if (errors.empty()) return;
  STRATA_REQUIRE(ShapeError, errors.size() == locations.x.size(), errors.size(),
                 " error variances of ", locations.size(), " locations");
  for (std::size_t i = 0; i < errors.size(); ++i)
    STRATA_REQUIRE(ValueError, errors[i] >= 0 && std::isfinite(errors[i]), "location ",
                   number_of(locations.numbers, i), " has the error variance ", errors[i],
                   ", must be finite and not negative");
}

void check_further(Locations const& locations, double farthest) {
  STRATA_REQUIRE(ValueError, locations.coordinates() <= most_coordinates, "locations have ",
                 locations.coordinates(), " coordinates, more than ", most_coordinates);
  STRATA_REQUIRE(ValueError, locations.further.empty() || locations.metric == Metric::Euclidean,
                 "locations on the sphere have ", locations.coordinates(),
                 " coordinates, must be 2");
  for (auto const& one : locations.further) {
    STRATA_REQUIRE(ShapeError, one.size() == locations.x.size(), "locations: ", locations.x.size(),
                   " x and ", one.size(), " of another coordinate");
    for (std::size_t i = 0; i < one.size(); ++i)
      STRATA_REQUIRE(ValueError, std::abs(one[i]) <= farthest, "location ",
                     number_of(locations.numbers, i), " has the coordinate ", one[i],
                     ", must be finite and at most 1e150 in magnitude");
  }
}

}  // namespace

void check_locations(Locations const& locations) {
  constexpr double farthest = 1e150;  // squares of distances are numbers in fp64
  check_further(locations, farthest);
  check_coordinates(locations.x, locations.y, locations.numbers);
  check_errors(locations);
  if (locations.metric == Metric::Euclidean) {
    for (std::size_t i = 0; i < locations.x.size(); ++i)
      STRATA_REQUIRE(ValueError,
                     std::abs(locations.x[i]) <= farthest && std::abs(locations.y[i]) <= farthest,
                     "location ", number_of(locations.numbers, i), " is (", locations.x[i], ", ",
                     locations.y[i], "), must be at most 1e150 in magnitude; take another unit");
    return;
  }
  for (std::int64_t i = 0; i < locations.size(); ++i)
    STRATA_REQUIRE(ValueError, std::abs(locations.y[i]) <= 90, "location ",
                   number_of(locations.numbers, i), " has latitude ", locations.y[i],
                   ", must lie in [-90, 90]");
}

namespace {

// With their positions, in an order that brings equal ones together.
std::vector<std::pair<Point, std::int64_t>> sorted_points(Locations const& locations) {
  std::vector<std::pair<Point, std::int64_t>> points(locations.x.size());
  for (std::int64_t i = 0; i < locations.size(); ++i) points[i] = {point(locations, i), i};
  std::sort(points.begin(), points.end());
  return points;
}

// As they are, or on the sphere of radius 1.
Point in_space(Locations const& locations, std::int64_t i) {
  if (locations.metric == Metric::Euclidean) return point(locations, i);
  double const x = locations.x[i], y = locations.y[i];
  double const lon = detail::radians_per_degree * x, lat = detail::radians_per_degree * y;
  return {std::cos(lat) * std::cos(lon), std::cos(lat) * std::sin(lon), std::sin(lat)};
}

double squared_distance(Point const& a, Point const& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
  return sum;
}

}  // namespace

Copies find_copies(Locations const& locations, std::span<double const> values) {
  STRATA_REQUIRE(ShapeError, values.size() == locations.x.size(), "find_copies: ", values.size(),
                 " values at ", locations.size(), " locations");
  auto const points = sorted_points(locations);
  Copies result;
  for (std::size_t begin = 0, end = 0; begin < points.size(); begin = end) {
    while (end < points.size() && points[end].first == points[begin].first) ++end;
    if (end - begin < 2) continue;
    ++result.places;
    result.observations += static_cast<std::int64_t>(end - begin) - 1;
    std::vector<std::pair<double, std::int64_t>> here;
    for (std::size_t k = begin; k < end; ++k)
      here.emplace_back(values[points[k].second], points[k].second);
    std::sort(here.begin(), here.end());
    for (std::size_t k = 1; k < here.size(); ++k) {
      bool const is_same = here[k].first == here[k - 1].first;
      auto const [a, b] = std::minmax({number_of(locations.numbers, here[k - 1].second) - 1,
                                       number_of(locations.numbers, here[k].second) - 1});
      bool const is_better = is_same && result.of_same_value == 0,
                 is_as_good = is_same || result.of_same_value == 0;
      if (result.first < 0 || is_better || (is_as_good && a < result.first))
        result.first = a, result.second = b;
      result.of_same_value += is_same ? 1 : 0;
    }
  }
  return result;
}

std::vector<std::int64_t> without_copies(Locations const& locations,
                                         std::span<double const> values) {
  STRATA_REQUIRE(ShapeError, values.size() == locations.x.size(), "without_copies: ", values.size(),
                 " values at ", locations.size(), " locations");
  std::vector<std::tuple<Point, double, std::int64_t>> all;
  for (std::int64_t i = 0; i < locations.size(); ++i)
    all.emplace_back(point(locations, i), values[i], i);
  std::sort(all.begin(), all.end());
  std::vector<std::int64_t> result;
  for (std::size_t k = 0; k < all.size(); ++k) {
    auto const& [place, value, position] = all[k];
    bool const is_copy =
        k > 0 && place == std::get<0>(all[k - 1]) && value == std::get<1>(all[k - 1]);
    if (!is_copy) result.push_back(position);
  }
  std::sort(result.begin(), result.end());
  return result;
}

// A sweep along the axis on which they spread furthest: in both directions until that axis alone is
// further than the nearest.
std::vector<double> detail::nearest_distances(Locations const& locations) {
  std::vector<Point> places;
  auto const points = sorted_points(locations);
  for (std::size_t k = 0; k < points.size(); ++k)
    if (k == 0 || points[k].first != points[k - 1].first)
      places.push_back(in_space(locations, points[k].second));
  if (places.size() < 2) return {};
  std::size_t axis = 0;
  double widest = -1;
  for (std::size_t k = 0; k < most_coordinates; ++k) {
    auto const [low, high] =
        std::ranges::minmax(places, {}, [k](auto const& place) { return place[k]; });
    if (high[k] - low[k] > widest) widest = high[k] - low[k], axis = k;
  }
  std::ranges::sort(places, {}, [axis](auto const& place) { return place[axis]; });
  std::vector<double> result;
  auto const count = static_cast<std::int64_t>(places.size());
  for (std::int64_t i = 0; i < count; ++i) {
    double least = HUGE_VAL;
    for (std::int64_t const way : {-1, 1})
      for (std::int64_t k = i + way; k >= 0 && k < count; k += way) {
        double const along = places[k][axis] - places[i][axis];
        if (along * along >= least) break;
        least = std::min(least, squared_distance(places[i], places[k]));
      }
    double const chord = std::sqrt(least);
    double const on_unit =
        locations.metric == Metric::GreatCircle ? 2 * std::asin(std::min(1.0, chord / 2)) : chord;
    result.push_back(locations.metric == Metric::Euclidean ? chord : earth_radius_km * on_unit);
  }
  std::ranges::sort(result);
  return result;
}

namespace {

using Points = std::vector<std::pair<Point, std::int64_t>>;

// Those without a known error above 0, which tells an observation from others at its place.
Points points_without_errors(Locations const& locations) {
  auto points = sorted_points(locations);
  auto const& errors = locations.error_variances;
  if (!errors.empty())
    std::erase_if(points, [&](auto const& point) { return errors[point.second] > 0; });
  return points;
}

Points::const_iterator first_twin(Points const& points) {
  return std::adjacent_find(points.begin(), points.end(),
                            [](auto const& a, auto const& b) { return a.first == b.first; });
}

}  // namespace

bool are_distinct(Locations const& locations) {
  auto const points = points_without_errors(locations);
  return first_twin(points) == points.end();
}

void check_distinct(Locations const& locations) {
  auto const points = points_without_errors(locations);
  auto const twin = first_twin(points);
  if (twin == points.end()) return;
  std::string place;
  for (std::size_t k = 0; k < locations.coordinates(); ++k)
    place += strata::detail::message(k == 0 ? "" : ", ", twin->first[k]);
  auto const [first, second] = std::minmax({number_of(locations.numbers, twin->second),
                                            number_of(locations.numbers, std::next(twin)->second)});
  throw ValueError(strata::detail::message(
      "locations ", first, " and ", second, " (counted from 1) are both at (", place,
      "): without a nugget the covariance matrix is singular"));
}

std::vector<std::int64_t> morton_order(std::span<double const> x, std::span<double const> y) {
  return order_along(x, y, morton_code);
}

std::vector<std::int64_t> hilbert_order(std::span<double const> x, std::span<double const> y) {
  return order_along(x, y, hilbert_code);
}

std::vector<std::int64_t> order_of(Ordering ordering, Locations const& locations) {
  if (ordering == Ordering::Morton) return morton_order(locations.x, locations.y);
  if (ordering == Ordering::Hilbert) return hilbert_order(locations.x, locations.y);
  std::vector<std::int64_t> order(locations.x.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Locations synthetic_locations(std::int64_t n, std::uint64_t seed) {
  STRATA_REQUIRE(ShapeError, n >= 0, "synthetic_locations: n is ", n, ", must not be negative");
  auto m = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n)));
  while (m * m < n) ++m;
  std::vector<std::int64_t> cells(m * m);
  std::iota(cells.begin(), cells.end(), 0);
  std::nth_element(cells.begin(), cells.begin() + n, cells.end(), [seed](auto a, auto b) {
    return random_bits(seed, a, 2) < random_bits(seed, b, 2);
  });
  cells.resize(n);
  std::sort(cells.begin(), cells.end());
  Locations locations;
  auto const jittered = [&](std::int64_t k, double u) {
    return (static_cast<double>(k) + 0.1 + 0.8 * u) / static_cast<double>(m);
  };
  for (std::int64_t const cell : cells) {
    locations.x.push_back(jittered(cell % m, uniform(seed, cell, 0)));
    locations.y.push_back(jittered(cell / m, uniform(seed, cell, 1)));
  }
  return locations.permuted(morton_order(locations.x, locations.y));
}

}  // namespace strata::geostat
