// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/mle/Strata_MleData.hpp>

#include <apps/shared/Strata_Progress.hpp>
#include <apps/shared/Strata_Text.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace strata::apps {

geostat::Metric metric_of(Stations const& stations, MleOptions const& options) {
  require(stations.geographic || !options.distance || !geostat::is_on_sphere(*options.distance),
          "--distance ", options.distance ? name_of(*options.distance) : "",
          " is of longitude and latitude, in columns that begin with lon and lat");
  return options.distance.value_or(stations.geographic ? geostat::Metric::GreatCircle
                                                       : geostat::Metric::Euclidean);
}

geostat::Locations locations_of(Stations const& stations, MleOptions const& options) {
  geostat::Locations result{stations.x, stations.y, metric_of(stations, options)};
  for (std::size_t k = 0; k < options.further().size(); ++k)
    result.further.push_back(stations.also[k].values);
  return result;
}

StationColumns plane_columns(std::vector<std::string> names, std::vector<std::string> also) {
  if (names.size() > 3) names.erase(names.begin() + 2, names.end() - 1);
  return {std::move(names), std::move(also)};
}

namespace {

// Rows of a column, in this order.
std::vector<double> chosen(std::vector<double> const& column,
                           std::vector<std::int64_t> const& rows) {
  std::vector<double> result;
  for (auto const row : rows) result.push_back(column[static_cast<std::size_t>(row)]);
  return result;
}

// The columns that are read beside x, y and the value: coordinates come first.
std::vector<std::string> also_read(MleOptions const& options) {
  auto names = options.further();
  auto const add = [&names](std::string const& name) {
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (auto const& name : options.terms().needed()) add(name);
  add(options.error_variances);
  return names;
}

std::vector<double> errors_of(Stations const& stations, MleOptions const& options) {
  if (options.error_variances.empty()) return {};
  auto const found = std::ranges::find(stations.also, options.error_variances, &Column::name);
  require(found != stations.also.end(), "--error-variances: there is no column '",
          options.error_variances, "'");
  return found->values;
}

// Without what the file has before.
Stations without_copies(Stations const& stations, MleOptions const& options, MleResult& result) {
  auto const rows = geostat::without_copies(locations_of(stations, options), stations.value);
  Stations kept = stations;
  kept.x = chosen(stations.x, rows);
  kept.y = chosen(stations.y, rows);
  kept.value = chosen(stations.value, rows);
  for (auto& column : kept.also) column.values = chosen(column.values, rows);
  result.warnings.push_back(words(stations.x.size() - rows.size(),
                                  " observations were left out, whose place and value the file "
                                  "has before"));
  result.copies = geostat::find_copies(locations_of(kept, options), kept.value);
  return kept;
}

}  // namespace

Observations read_observations(MleOptions const& options, Progress& progress, MleResult& result) {
  auto const terms = options.terms();
  auto stations =
      read_stations(options.locations, {.on_progress = progress.listener()},
                    options.skip_missing ? MissingNumbers::Skipped : MissingNumbers::Refused,
                    plane_columns(options.columns, also_read(options)));
  if (stations.skipped > 0)
    result.warnings.push_back(
        words(options.locations, ": ", stations.skipped, " lines without a number were left out"));
  result.ignored = stations.ignored;
  result.further = options.further();
  auto const metric = metric_of(stations, options);
  require(!geostat::is_on_sphere(metric) || options.further().empty(),
          "--columns: coordinates beyond longitude and latitude have no distance on the sphere");
  result.copies = geostat::find_copies(locations_of(stations, options), stations.value);
  if (options.copies == CopiesOf::Drop && result.copies.of_same_value > 0)
    stations = without_copies(stations, options, result);
  auto locations = locations_of(stations, options);
  locations.error_variances = errors_of(stations, options);
  result.error_variances = options.error_variances;
  auto const order = geostat::order_of(options.ordering, locations);
  auto columns = terms.columns(stations);
  for (auto& column : columns) column = chosen(column, order);
  return {locations.permuted(order), chosen(stations.value, order),
          terms.trend(columns, options.criterion), options.further()};
}

}  // namespace strata::apps
