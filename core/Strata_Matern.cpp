// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <boost/math/special_functions/bessel.hpp>
#include <charconv>
#include <cmath>
#include <core/Strata_Matern.hpp>
#include <core/Strata_Random.hpp>
#include <core/detail/Strata_HostThreads.hpp>
#include <core/detail/Strata_ParseNumber.hpp>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace strata {

namespace {

namespace policies = boost::math::policies;
// Overflow for x -> 0 gives infinity instead of an exception; in double throughout.
using BesselPolicy = policies::policy<policies::overflow_error<policies::ignore_error>,
                                      policies::underflow_error<policies::ignore_error>,
                                      policies::promote_double<false>>;

// 2^(1-nu) / Gamma(nu) x^nu K_nu(x) for any nu of (0, 50].
double matern_general(double nu, double normalisation, double x) {
  if (x == 0) return 1;
  double const bessel = boost::math::cyl_bessel_k(nu, x, BesselPolicy());
  // K_nu overflows for tiny x and nu > 1 only; there 1 - x^2 / (4 (nu - 1)) is exact to rounding.
  if (!std::isfinite(bessel)) return nu > 1 ? 1 - x * x / (4 * (nu - 1)) : 1;
  double const value = normalisation * std::pow(x, nu) * bessel;
  return bessel == 0 ? 0 : std::min(1.0, value);
}

double normalisation(double nu) { return std::exp2(1 - nu) / std::tgamma(nu); }

// Equal for equal places: longitudes are taken modulo 360, and a pole has one.
std::pair<double, double> place(Locations const& locations, std::int64_t i) {
  double const x = locations.x[i], y = locations.y[i];
  if (locations.metric == Metric::Euclidean) return {x, y};
  double const turned = std::remainder(x, 360);
  return {std::abs(y) == 90 ? 0 : turned == -180 ? 180 : turned, y};
}

void check_distinct(Locations const& locations) {
  std::vector<std::pair<std::pair<double, double>, std::int64_t>> places(locations.x.size());
  for (std::int64_t i = 0; i < locations.size(); ++i) places[i] = {place(locations, i), i};
  std::sort(places.begin(), places.end());
  auto const twin =
      std::adjacent_find(places.begin(), places.end(),
                         [](auto const& a, auto const& b) { return a.first == b.first; });
  if (twin == places.end()) return;
  auto const [x, y] = twin->first;
  throw ValueError(detail::message("locations ", twin->second + 1, " and ",
                                   std::next(twin)->second + 1, " (counted from 1) are both at (",
                                   x, ", ", y,
                                   "): without a nugget the covariance matrix is singular"));
}

void check_coordinates(std::span<double const> x, std::span<double const> y) {
  STRATA_REQUIRE(ShapeError, x.size() == y.size(), "locations: ", x.size(), " x and ", y.size(),
                 " y coordinates");
  for (std::size_t i = 0; i < x.size(); ++i)
    STRATA_REQUIRE(ValueError, std::isfinite(x[i]) && std::isfinite(y[i]), "location ", i + 1,
                   " is (", x[i], ", ", y[i], "), must be finite");
}

// Bits of v at the even places.
std::uint64_t spread_bits(std::uint32_t value) {
  std::uint64_t v = value;
  v = (v | v << 16) & 0x0000ffff0000ffffull;
  v = (v | v << 8) & 0x00ff00ff00ff00ffull;
  v = (v | v << 4) & 0x0f0f0f0f0f0f0f0full;
  v = (v | v << 2) & 0x3333333333333333ull;
  return (v | v << 1) & 0x5555555555555555ull;
}

}  // namespace

void MaternCovariance::check() const {
  auto const require = [](bool valid, char const* name, double value, char const* range) {
    STRATA_REQUIRE(ValueError, valid && std::isfinite(value), "Matern covariance: ", name, " is ",
                   value, ", must be finite and ", range);
  };
  require(sigma2 > 0, "sigma2", sigma2, "positive");
  require(range > 0, "range", range, "positive");
  require(nu > 0 && nu <= 50, "nu", nu, "in (0, 50]");
  require(nugget >= 0, "nugget", nugget, "not negative");
}

double MaternCovariance::operator()(double h) const {
  double const x = h / range;
  if (detail::has_closed_form(nu)) return sigma2 * detail::matern_closed_form(nu, x);
  return sigma2 * matern_general(nu, normalisation(nu), x);
}

MaternCovariance MaternCovariance::parse(std::string_view text) {
  constexpr std::string_view prefix = "matern:";
  constexpr std::array<char const*, 4> field_names = {"SIGMA2", "RANGE", "NU", "NUGGET"};
  STRATA_REQUIRE(ValueError, text.starts_with(prefix), "covariance '", text,
                 "' must be matern:SIGMA2,RANGE,NU[,NUGGET]");
  std::array<double, 4> values{};
  std::size_t count = 0, start = prefix.size();
  while (start <= text.size()) {
    std::size_t const comma = std::min(text.find(',', start), text.size());
    STRATA_REQUIRE(ValueError, count < 4, "covariance '", text, "' has more than 4 numbers");
    auto const field = text.substr(start, comma - start);
    char const* const wrong = detail::parse_number(field, values[count]);
    STRATA_REQUIRE(ValueError, !wrong, "covariance '", text, "': ", field_names[count], " '", field,
                   "' ", wrong);
    ++count;
    start = comma + 1;
  }
  STRATA_REQUIRE(ValueError, count >= 3, "covariance '", text, "' has ", count,
                 count == 1 ? " number" : " numbers", ", needs SIGMA2,RANGE,NU[,NUGGET]");
  MaternCovariance const covariance{values[0], values[1], values[2], values[3]};
  covariance.check();
  return covariance;
}

std::string to_string(MaternCovariance const& c) {
  std::string text = "matern:";
  for (double const value : {c.sigma2, c.range, c.nu, c.nugget}) {
    std::array<char, 32> digits{};
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    if (text.back() != ':') text += ',';
    text.append(digits.data(), end);
  }
  return text;
}

double Locations::distance(std::int64_t i, std::int64_t j) const {
  return detail::distance(metric, x[i], y[i], x[j], y[j]);
}

Locations Locations::permuted(std::span<std::int64_t const> order) const {
  Locations result{std::vector<double>(order.size()), std::vector<double>(order.size()), metric};
  for (std::size_t k = 0; k < order.size(); ++k) {
    result.x[k] = x.at(order[k]);
    result.y[k] = y.at(order[k]);
  }
  return result;
}

void check_covariance(MaternCovariance const& covariance, Locations const& locations) {
  covariance.check();
  check_coordinates(locations.x, locations.y);
  if (locations.metric == Metric::GreatCircle)
    for (std::int64_t i = 0; i < locations.size(); ++i)
      STRATA_REQUIRE(ValueError, std::abs(locations.y[i]) <= 90, "location ", i + 1,
                     " has latitude ", locations.y[i], ", must lie in [-90, 90]");
  if (covariance.nugget == 0) check_distinct(locations);
}

std::vector<std::int64_t> morton_order(std::span<double const> x, std::span<double const> y) {
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
    code[i] = spread_bits(cell(*left, x[i])) | spread_bits(cell(*bottom, y[i])) << 1;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return code[a] < code[b]; });
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

namespace detail {

void covariance_panel(MaternCovariance const& c, Locations const& locations, std::int64_t first,
                      std::int64_t cols, HostMatrix const& panel) {
  double const factor = normalisation(c.nu);
  for_each_on_host(cols, [&](std::int64_t k) {
    std::int64_t const j = first + k;
    panel(j, k) = c.sigma2 + c.nugget;
    for (std::int64_t i = j + 1; i < locations.size(); ++i)
      panel(i, k) = c.sigma2 * matern_general(c.nu, factor, locations.distance(i, j) / c.range);
  });
}

}  // namespace detail
}  // namespace strata
