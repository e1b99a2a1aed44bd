// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/model/Strata_Covariance.hpp>

#include <core/Strata_Errors.hpp>
#include <core/io/files/Strata_ParseNumber.hpp>
#include <geostat/model/detail/Strata_Correlation.hpp>

#include <algorithm>
#include <array>
#include <cctype>
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

std::string type_of(Family family, bool with_nugget) {
  std::string type;
  auto const fields = number_names(family);
  for (std::size_t k = 0; k + 1 < fields.size(); ++k)
    type += (k == 0 ? "" : ",") + std::string(fields[k]);
  return type + (with_nugget ? "[,NUGGET]" : "");
}

Family family_of(std::string_view text) {
  for (Family const family : enum_values<Family>)
    if (text.starts_with(std::string(name_of(family)) + ":")) return family;
  throw ValueError(strata::detail::message("covariance '", text,
                                           "' must be matern:", type_of(Family::Matern, true)));
}

// sigma2, range and nu of a family, which are checked alike in both structures.
void check_structure(Family family, double sigma2, double range, double nu, bool is_second) {
  auto const require = [&](bool valid, char const* name, double value, char const* where) {
    STRATA_REQUIRE(ValueError, valid && std::isfinite(value), title_of(family),
                   " covariance: ", name, is_second ? " of the second structure is " : " is ",
                   value, ", must be finite and ", where);
  };
  require(is_second ? sigma2 >= 0 : sigma2 > 0, "sigma2", sigma2,
          is_second ? "not negative" : "positive");
  require(range > 0, "range", range, "positive");
  STRATA_REQUIRE(ValueError, range >= 1e-150, title_of(family), " covariance: range is ", range,
                 ", must be at least 1e-150; take another unit");  // as distances are squared
  if (family == Family::Matern) require(nu > 0 && nu <= 50, "nu", nu, "in (0, 50]");
  if (family == Family::PoweredExponential)
    require(nu > 0 && nu <= 2, "the power", nu, "in (0, 2], as it is positive definite no further");
}

// sigma2 rho(x); what depends on nu is worked out when it is another than in the last call.
double value_of(Family family, double sigma2, double order, double x,
                std::optional<detail::BesselK>& last) {
  if (!is_matern(family)) return sigma2 * detail::plain_terms(family, order, x).value;
  if (detail::has_closed_form(order)) return sigma2 * detail::matern_closed_form(order, x);
  if (!last || last->order() != order) last.emplace(order);
  return sigma2 * last->matern(x);
}

// The numbers of one structure, and a nugget.
std::vector<double> numbers_of(std::string_view text, Family family, bool with_nugget) {
  auto names = number_names(family);
  if (!with_nugget) names.pop_back();
  std::size_t const needed = with_nugget ? names.size() - 1 : names.size();
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
  STRATA_REQUIRE(ValueError, values.size() >= needed, "covariance '", text, "' has ", values.size(),
                 values.size() == 1 ? " number" : " numbers", ", needs ",
                 type_of(family, with_nugget));
  return values;
}

// Where a second structure begins: at a plus that is no number's.
std::size_t second_of(std::string_view text) {
  for (std::size_t at = text.find('+'); at != std::string_view::npos; at = text.find('+', at + 1))
    if (at + 1 < text.size() && std::isalpha(static_cast<unsigned char>(text[at + 1]))) return at;
  return text.size();
}

void append(std::string& text, double value) {
  std::array<char, 32> digits{};
  auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  if (text.back() != ':') text += ',';
  text.append(digits.data(), end);
}

}  // namespace

Families families_of(std::string_view text) {
  std::size_t const plus = text.find('+');
  Families result{from_name<Family>(text.substr(0, plus)), {}};
  if (plus != std::string_view::npos) result.second = from_name<Family>(text.substr(plus + 1));
  return result;
}

void Covariance::check() const {
  check_structure(family, sigma2, range, nu, false);
  if (second) check_structure(second->family, second->sigma2, second->range, second->nu, true);
  auto const require = [this](bool valid, char const* name, double value, char const* where) {
    STRATA_REQUIRE(ValueError, valid && std::isfinite(value), title_of(family),
                   " covariance: ", name, " is ", value, ", must be finite and ", where);
  };
  require(nugget >= 0, "nugget", nugget, "not negative");
  require(std::abs(angle) <= 360, "angle", angle, "in [-360, 360], in degrees");
  require(ratio >= 1e-6 && ratio <= 1, "ratio", ratio,
          "in [1e-6, 1]: the range across the major axis by that along it");
  STRATA_REQUIRE(ValueError, axes.empty() || !has_directions(), title_of(family),
                 " covariance: a range for each coordinate goes with no ratio, and this is ",
                 ratio);
  for (double const axis : axes)
    require(axis >= 1e-12 && axis <= 1e12, "the range of a coordinate by that of x", axis,
            "in [1e-12, 1e12]");
}

std::vector<double> Covariance::ranges() const {
  std::vector<double> result = {range};
  for (double const axis : axes) result.push_back(range * axis);
  return result;
}

double Covariance::operator()(double h) const {
  thread_local std::optional<detail::BesselK> last, last_second;
  double const first = value_of(family, sigma2, order(), h / range, last);
  if (!second) return first;
  return first +
         value_of(second->family, second->sigma2, second->order(), h / second->range, last_second);
}

Covariance Covariance::parse(std::string_view whole) {
  std::size_t const plus = second_of(whole);
  auto const text = whole.substr(0, plus);
  Covariance covariance;
  covariance.family = family_of(text);
  auto const values = numbers_of(text, covariance.family, true);
  bool const shaped = has_shape(covariance.family);
  covariance.sigma2 = values[0];
  covariance.range = values[1];
  if (shaped) covariance.nu = values[2];
  covariance.nugget = values.size() > (shaped ? 3u : 2u) ? values.back() : 0;
  if (plus < whole.size()) {
    auto const rest = whole.substr(plus + 1);
    SecondStructure& second = covariance.second.emplace();
    second.family = family_of(rest);
    auto const numbers = numbers_of(rest, second.family, false);
    second.sigma2 = numbers[0], second.range = numbers[1];
    if (has_shape(second.family)) second.nu = numbers[2];
  }
  covariance.check();
  return covariance;
}

std::string to_string(Covariance const& c) {
  std::string text = std::string(name_of(c.family)) + ":";
  append(text, c.sigma2);
  append(text, c.range);
  if (has_shape(c.family)) append(text, c.nu);
  append(text, c.nugget);
  if (!c.second) return text;
  text += "+" + std::string(name_of(c.second->family)) + ":";
  append(text, c.second->sigma2);
  append(text, c.second->range);
  if (has_shape(c.second->family)) append(text, c.second->nu);
  return text;
}

Parameters parameters_of(Covariance const& c) { return {c.sigma2, c.range, c.nu, c.nugget}; }

Covariance covariance_of(Parameters const& p) { return {p[0], p[1], p[2], p[3]}; }

Covariance with_parameters(Covariance const& covariance, Parameters const& p) {
  Covariance result = covariance;
  result.sigma2 = p[0], result.range = p[1], result.nu = p[2], result.nugget = p[3];
  return result;
}

namespace {

double& number_of(Covariance& c, std::size_t number) {
  double* const first[] = {&c.sigma2, &c.range, &c.nu, &c.nugget};
  if (number < 4) return *first[number];
  double* const second[] = {&c.second->sigma2, &c.second->range, &c.second->nu};
  return *second[number - 4];
}

}  // namespace

double parameter_of(Covariance const& covariance, std::size_t number) {
  Covariance copy = covariance;
  return number_of(copy, number);
}

Covariance with_parameter(Covariance const& covariance, std::size_t number, double value) {
  Covariance result = covariance;
  number_of(result, number) = value;
  return result;
}

}  // namespace strata::geostat
