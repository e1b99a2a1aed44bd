// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/model/Strata_Covariance.hpp>

#include <core/Strata_Errors.hpp>
#include <core/io/files/Strata_ParseNumber.hpp>
#include <geostat/model/detail/Strata_Correlation.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

namespace strata::geostat {

namespace {

std::string_view title_of(Family family) {
  switch (family) {
    case Family::Matern:
      return "Matern";
    case Family::Exponential:
      return "exponential";
    case Family::Gaussian:
      return "Gaussian";
    case Family::Spherical:
      return "spherical";
    default:
      return "powered exponential";
  }
}

// What the numbers of a text are called.
std::vector<char const*> number_names(Family family) {
  if (family == Family::Matern) return {"SIGMA2", "RANGE", "NU", "NUGGET"};
  if (family == Family::PoweredExponential) return {"SIGMA2", "RANGE", "POWER", "NUGGET"};
  return {"SIGMA2", "RANGE", "NUGGET"};
}

std::string type_of(Family family) {
  std::string type;
  auto const fields = number_names(family);
  for (std::size_t k = 0; k + 1 < fields.size(); ++k)
    type += (k == 0 ? "" : ",") + std::string(fields[k]);
  return type + "[,NUGGET]";
}

Family family_of(std::string_view text) {
  for (Family const family : enum_values<Family>)
    if (text.starts_with(std::string(name_of(family)) + ":")) return family;
  throw ValueError(
      strata::detail::message("covariance '", text, "' must be matern:", type_of(Family::Matern)));
}

}  // namespace

void Covariance::check() const {
  auto const require = [this](bool valid, char const* name, double value, char const* where) {
    STRATA_REQUIRE(ValueError, valid && std::isfinite(value), title_of(family),
                   " covariance: ", name, " is ", value, ", must be finite and ", where);
  };
  require(sigma2 > 0, "sigma2", sigma2, "positive");
  require(range > 0, "range", range, "positive");
  STRATA_REQUIRE(ValueError, range >= 1e-150, title_of(family), " covariance: range is ", range,
                 ", must be at least 1e-150; take another unit");  // as distances are squared
  if (family == Family::Matern) require(nu > 0 && nu <= 50, "nu", nu, "in (0, 50]");
  if (family == Family::PoweredExponential)
    require(nu > 0 && nu <= 2, "the power", nu, "in (0, 2], as it is positive definite no further");
  require(nugget >= 0, "nugget", nugget, "not negative");
  require(std::abs(angle) <= 360, "angle", angle, "in [-360, 360], in degrees");
  require(ratio >= 1e-6 && ratio <= 1, "ratio", ratio,
          "in [1e-6, 1]: the range across the major axis by that along it");
}

double Covariance::operator()(double h) const {
  double const x = h / range;
  if (!is_matern(family)) return sigma2 * detail::plain_terms(family, nu, x).value;
  if (detail::has_closed_form(order())) return sigma2 * detail::matern_closed_form(order(), x);
  thread_local std::optional<detail::BesselK> last;
  if (!last || last->order() != nu) last.emplace(nu);
  return sigma2 * last->matern(x);
}

Covariance Covariance::parse(std::string_view text) {
  Family const family = family_of(text);
  auto const names = number_names(family);
  std::vector<double> values;
  std::size_t start = name_of(family).size() + 1;
  while (start <= text.size()) {
    std::size_t const comma = std::min(text.find(',', start), text.size());
    STRATA_REQUIRE(ValueError, values.size() < names.size(), "covariance '", text,
                   "' has more than ", names.size(), " numbers");
    auto const field = text.substr(start, comma - start);
    double value = 0;
    char const* const wrong = strata::parse_number(field, value);
    STRATA_REQUIRE(ValueError, !wrong, "covariance '", text, "': ", names[values.size()], " '",
                   field, "' ", wrong);
    values.push_back(value);
    start = comma + 1;
  }
  STRATA_REQUIRE(ValueError, values.size() + 1 >= names.size(), "covariance '", text, "' has ",
                 values.size(), values.size() == 1 ? " number" : " numbers", ", needs ",
                 type_of(family));
  values.resize(names.size(), 0);
  Covariance covariance;
  covariance.family = family;
  covariance.sigma2 = values[0];
  covariance.range = values[1];
  if (has_shape(family)) covariance.nu = values[2];
  covariance.nugget = values.back();
  covariance.check();
  return covariance;
}

std::string to_string(Covariance const& c) {
  std::string text = std::string(name_of(c.family)) + ":";
  Parameters const values = parameters_of(c);
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (k == 2 && !has_shape(c.family)) continue;
    std::array<char, 32> digits{};
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), values[k]).ptr;
    if (text.back() != ':') text += ',';
    text.append(digits.data(), end);
  }
  return text;
}

Parameters parameters_of(Covariance const& c) { return {c.sigma2, c.range, c.nu, c.nugget}; }

Covariance covariance_of(Parameters const& p) { return {p[0], p[1], p[2], p[3]}; }

Covariance with_parameters(Covariance const& covariance, Parameters const& p) {
  Covariance result = covariance;
  result.sigma2 = p[0], result.range = p[1], result.nu = p[2], result.nugget = p[3];
  return result;
}

}  // namespace strata::geostat
