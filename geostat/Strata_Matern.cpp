// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/Strata_Matern.hpp>

#include <core/io/files/Strata_ParseNumber.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace strata::geostat {

void MaternCovariance::check() const {
  auto const require = [](bool valid, char const* name, double value, char const* range) {
    STRATA_REQUIRE(ValueError, valid && std::isfinite(value), "Matern covariance: ", name, " is ",
                   value, ", must be finite and ", range);
  };
  require(sigma2 > 0, "sigma2", sigma2, "positive");
  require(range > 0, "range", range, "positive");
  STRATA_REQUIRE(ValueError, range >= 1e-150, "Matern covariance: range is ", range,
                 ", must be at least 1e-150; take another unit");  // as distances are squared
  require(nu > 0 && nu <= 50, "nu", nu, "in (0, 50]");
  require(nugget >= 0, "nugget", nugget, "not negative");
}

double MaternCovariance::operator()(double h) const {
  double const x = h / range;
  if (detail::has_closed_form(nu)) return sigma2 * detail::matern_closed_form(nu, x);
  thread_local std::optional<detail::BesselK> last;
  if (!last || last->order() != nu) last.emplace(nu);
  return sigma2 * last->matern(x);
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
    char const* const wrong = strata::parse_number(field, values[count]);
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

Parameters parameters_of(MaternCovariance const& c) { return {c.sigma2, c.range, c.nu, c.nugget}; }

MaternCovariance covariance_of(Parameters const& p) { return {p[0], p[1], p[2], p[3]}; }

void check_covariance(MaternCovariance const& covariance, Locations const& locations) {
  covariance.check();
  check_locations(locations);
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
