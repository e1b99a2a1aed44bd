// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <c/geostat/detail/Strata_GeostatInput.hpp>

#include <c/runtime/Strata_Runtime.hpp>
#include <core/Strata_EnumNames.hpp>
#include <core/io/files/Strata_ParseNumber.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

namespace strata::c::detail {

using namespace geostat;

std::vector<double> numbers(char const* name, double const* data, std::int64_t n) {
  STRATA_REQUIRE(ValueError, n == 0 || data != nullptr, name, " is a null pointer");
  for (std::int64_t i = 0; i < n; ++i)
    STRATA_REQUIRE(c::NotFinite, std::isfinite(data[i]), name, ": number ", i + 1, " of ", n,
                   " is ", data[i]);
  return n == 0 ? std::vector<double>() : std::vector<double>(data, data + n);
}

std::vector<std::vector<double>> columns_of(double const* data, std::int64_t n, std::int64_t k,
                                            std::int64_t ld, char const* const* names) {
  STRATA_REQUIRE(ValueError, k >= 0, "trend_columns is ", k, ", must be >= 0");
  STRATA_REQUIRE(ValueError, k == 0 || ld >= std::max<std::int64_t>(n, 1),
                 "the leading dimension of the trend is ", ld, ", must be at least max(1, ", n,
                 ")");
  STRATA_REQUIRE(ValueError, k == 0 || n == 0 || data != nullptr, "trend is a null pointer");
  std::vector<std::vector<double>> columns;
  for (std::int64_t j = 0; j < k; ++j) {
    STRATA_REQUIRE(ValueError, names == nullptr || names[j] != nullptr, "names: name ", j + 1,
                   " is a null pointer");
    std::string const name = names != nullptr
                                 ? std::string("column '") + names[j] + "' of the trend"
                                 : strata::detail::message("column ", j + 1, " of the trend");
    columns.push_back(numbers(name.c_str(), data == nullptr ? nullptr : data + j * ld, n));
  }
  return columns;
}

Locations locations_of(std::int64_t n, double const* x, double const* y, Metric metric) {
  STRATA_REQUIRE(ValueError, n >= 0, "the number of places is ", n, ", must be >= 0");
  Locations places;
  places.x = numbers("x", x, n);
  places.y = numbers("y", y, n);
  places.metric = metric;
  return places;
}

Observed observed_of(strata_observations const* given) {
  auto const o = taken(given, "observations");
  auto const metric = o.metric == nullptr ? Metric::Euclidean : from_name<Metric>(o.metric);
  Observed result;
  result.locations = locations_of(o.n, o.x, o.y, metric);
  result.values = numbers("values", o.values, o.n);
  if (o.error_variances != nullptr)
    result.locations.error_variances = numbers("error_variances", o.error_variances, o.n);
  auto const criterion = o.reml != 0 ? Criterion::REML : Criterion::ML;
  std::int64_t const ld = o.ld_trend == 0 ? std::max<std::int64_t>(o.n, 1) : o.ld_trend;
  auto const columns = columns_of(o.trend, o.n, o.trend_columns, ld, o.names);
  std::vector<std::string> names;
  for (std::size_t j = 0; o.names != nullptr && j < columns.size(); ++j)
    names.emplace_back(o.names[j]);
  if (columns.empty())
    result.trend = Trend(o.zero_mean != 0 ? Mean::None : Mean::Constant, criterion);
  else
    result.trend = Trend(columns, names, criterion);
  return result;
}

Covariance covariance_of(strata_covariance const* given, char const* name) {
  auto const c = taken(given, name);
  STRATA_REQUIRE(ValueError, std::memchr(c.family, '\0', sizeof c.family) != nullptr, name,
                 ": the family's name does not end");
  auto const families = families_of(*c.family == '\0' ? "matern" : c.family);
  Covariance result{
      c.sigma2, c.range, c.nu, c.nugget, families.first, c.angle, c.ratio == 0 ? 1 : c.ratio};
  if (!has_shape(families.first)) result.nu = 0.5;
  if (families.second)
    result.second = {c.sigma2_2, c.range_2, has_shape(*families.second) ? c.nu_2 : 0.5,
                     *families.second};
  return result;
}

strata_covariance given_of(Covariance const& from) {
  strata_covariance to{};
  std::string name(name_of(from.family));
  if (from.second) name += "+" + std::string(name_of(from.second->family));
  name.copy(to.family, sizeof to.family - 1);
  to.sigma2 = from.sigma2;
  to.range = from.range;
  to.nu = from.nu;
  to.nugget = from.nugget;
  to.angle = from.angle;
  to.ratio = from.ratio;
  if (!from.second) return to;
  to.sigma2_2 = from.second->sigma2;
  to.range_2 = from.second->range;
  to.nu_2 = from.second->nu;
  return to;
}

namespace {

void fix_all(FitOptions& fit, std::string_view list) {
  while (!list.empty()) {
    auto const comma = std::min(list.find(','), list.size());
    fix_parameter(fit, list.substr(0, comma), "fixed");
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
}

bool are_alike(Covariance const& a, Covariance const& b) {
  return a.family == b.family && a.second.has_value() == b.second.has_value() &&
         (!a.second || a.second->family == b.second->family);
}

}  // namespace

FitOptions fit_options_of(strata_fit_options const* given, Observed const& observed) {
  strata_fit_options const o =
      given == nullptr ? strata_fit_options{} : taken(given, "the fit's options");
  std::optional<Covariance> start;
  if (o.start != nullptr) start = covariance_of(o.start, "start");
  Families families = families_of(o.family == nullptr ? "matern" : o.family);
  if (start) {
    STRATA_REQUIRE(ValueError,
                   o.family == nullptr ||
                       (families.first == start->family &&
                        families.second ==
                            (start->second ? std::optional(start->second->family) : std::nullopt)),
                   "the family is ", o.family, ", and the start's is ", given_of(*start).family);
    families = {start->family, start->second ? std::optional(start->second->family) : std::nullopt};
  }
  auto fit = default_fit_options(observed.locations, observed.values, observed.trend,
                                 families.first, families.second);
  auto const bound = [&](Covariance& to, strata_covariance const* from, char const* name) {
    if (from == nullptr) return;
    auto const found = covariance_of(from, name);
    STRATA_REQUIRE(ValueError, are_alike(found, fit.start), "the family of ", name, " is ",
                   given_of(found).family, ", that of the fit ", given_of(fit.start).family);
    to = found;
  };
  bound(fit.lower, o.lower, "lower");
  bound(fit.upper, o.upper, "upper");
  if (start) fit.start = *start;
  if (o.fixed != nullptr) fix_all(fit, o.fixed);
  STRATA_REQUIRE(ValueError,
                 o.tolerance >= 0 && std::isfinite(o.tolerance) && o.max_evaluations >= 0,
                 "the tolerance is ", o.tolerance, " and max_evaluations ", o.max_evaluations,
                 ", must not be negative");
  if (o.tolerance > 0) fit.tolerance = o.tolerance;
  if (o.max_evaluations > 0) fit.max_evaluations = o.max_evaluations;
  fit.directions = o.directions != 0;
  return fit;
}

}  // namespace strata::c::detail
