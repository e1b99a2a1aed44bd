// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/mle/Strata_MleTrend.hpp>

#include <core/Strata_Errors.hpp>
#include <core/io/files/Strata_ParseNumber.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace strata::apps {

namespace {

using Function = TrendTerms::Function;

bool is_first_coordinate(std::string_view name) { return name == "x" || name == "lon"; }
bool is_second_coordinate(std::string_view name) { return name == "y" || name == "lat"; }

std::vector<std::string> split_at(std::string const& text, char mark) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    auto const end = std::min(text.find(mark, begin), text.size());
    auto part = text.substr(begin, end - begin);
    while (part.starts_with(' ')) part.erase(0, 1);
    while (part.ends_with(' ')) part.pop_back();
    STRATA_REQUIRE(ValueError, !part.empty(), "--trend: '", text, "' has an empty term");
    parts.push_back(part);
    begin = end + 1;
  }
  return parts;
}

TrendTerms::Factor factor_of(std::string const& text) {
  for (auto const& [name, function] : {std::pair{"log(", Function::Log}, {"sqrt(", Function::Sqrt}})
    if (text.starts_with(name) && text.ends_with(')')) {
      auto const begin = std::string_view(name).size();
      auto const column = text.substr(begin, text.size() - begin - 1);
      STRATA_REQUIRE(ValueError, !column.empty(), "--trend: '", text, "' is of no column");
      return {column, function, 1};
    }
  auto const caret = text.find('^');
  if (caret == std::string::npos) return {text, Function::Power, 1};
  int power = 0;
  char const* const reason = parse_number(std::string_view(text).substr(caret + 1), power);
  STRATA_REQUIRE(ValueError, reason == nullptr && power >= 1 && power <= 9 && caret > 0,
                 "--trend: '", text, "' must be NAME^K with K from 1 to 9");
  return {text.substr(0, caret), Function::Power, power};
}

// "poly2": the powers of the coordinates up to that degree.
void add_polynomials(int degree, std::vector<TrendTerms::Term>& terms) {
  for (int d = 1; d <= degree; ++d)
    for (int of_y = 0; of_y <= d; ++of_y) {
      TrendTerms::Term term;
      for (auto const& [name, power] : {std::pair{"x", d - of_y}, {"y", of_y}}) {
        if (power == 0) continue;
        term.factors.push_back({name, Function::Power, power});
        term.name += (term.name.empty() ? "" : "*") + std::string(name) +
                     (power > 1 ? "^" + std::to_string(power) : "");
      }
      terms.push_back(term);
    }
}

double value_of(TrendTerms::Factor const& factor, double value, std::size_t row) {
  if (factor.function == Function::Power) return std::pow(value, factor.power);
  bool const is_log = factor.function == Function::Log;
  STRATA_REQUIRE(ValueError, is_log ? value > 0 : value >= 0, "--trend: ", factor.column, " is ",
                 value, " at observation ", row + 1, ", which has no ",
                 is_log ? "logarithm" : "square root");
  return is_log ? std::log(value) : std::sqrt(value);
}

std::vector<double> const& numbers_of(Stations const& stations, std::string const& column) {
  if (is_first_coordinate(column)) return stations.x;
  if (is_second_coordinate(column)) return stations.y;
  auto const found = std::ranges::find(stations.also, column, &Column::name);
  STRATA_REQUIRE(ValueError, found != stations.also.end(), "--trend: there is no column '", column,
                 "'");
  return found->values;
}

}  // namespace

TrendTerms TrendTerms::parse(std::string const& text) {
  TrendTerms result;
  for (auto const& part : split_at(text, ',')) {
    if (part == "0" || part == "1") {
      result.constant = result.constant && part == "1";
    } else if (part.size() == 5 && part.starts_with("poly") && part[4] >= '1' && part[4] <= '9') {
      add_polynomials(part[4] - '0', result.terms);
    } else {
      Term term{part, {}};
      for (auto const& factor : split_at(part, '*')) term.factors.push_back(factor_of(factor));
      result.terms.push_back(term);
    }
  }
  return result;
}

std::vector<std::string> TrendTerms::needed() const {
  std::vector<std::string> names;
  for (auto const& term : terms)
    for (auto const& factor : term.factors)
      if (!is_first_coordinate(factor.column) && !is_second_coordinate(factor.column) &&
          std::ranges::find(names, factor.column) == names.end())
        names.push_back(factor.column);
  return names;
}

std::vector<std::vector<double>> TrendTerms::columns(Stations const& stations) const {
  std::vector<std::vector<double>> result;
  if (terms.empty()) return result;
  if (constant) result.emplace_back(stations.x.size(), 1.0);
  for (auto const& term : terms) {
    std::vector<double> column(stations.x.size(), 1.0);
    for (auto const& factor : term.factors) {
      auto const& numbers = numbers_of(stations, factor.column);
      for (std::size_t i = 0; i < column.size(); ++i) column[i] *= value_of(factor, numbers[i], i);
    }
    result.push_back(column);
  }
  return result;
}

geostat::Trend TrendTerms::trend(std::vector<std::vector<double>> const& columns,
                                 geostat::Criterion criterion) const {
  if (terms.empty()) return {constant ? geostat::Mean::Constant : geostat::Mean::None, criterion};
  std::vector<std::string> names;
  if (constant) names.emplace_back("constant");
  for (auto const& term : terms) names.push_back(term.name);
  return geostat::Trend(columns, names, criterion);
}

}  // namespace strata::apps
