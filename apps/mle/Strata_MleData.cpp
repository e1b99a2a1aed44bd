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

namespace {

// Rows of a column, in this order.
std::vector<double> chosen(std::vector<double> const& column,
                           std::vector<std::int64_t> const& rows) {
  std::vector<double> result;
  for (auto const row : rows) result.push_back(column[static_cast<std::size_t>(row)]);
  return result;
}

// The columns that are read beside the coordinates and the value.
std::vector<std::string> also_read(MleOptions const& options) {
  auto names = options.terms().needed();
  auto const& errors = options.error_variances;
  if (!errors.empty() && std::ranges::find(names, errors) == names.end()) names.push_back(errors);
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
Stations without_copies(Stations const& stations, geostat::Metric metric, MleResult& result) {
  auto const rows = geostat::without_copies({stations.x, stations.y, metric}, stations.value);
  Stations kept = stations;
  kept.x = chosen(stations.x, rows);
  kept.y = chosen(stations.y, rows);
  kept.value = chosen(stations.value, rows);
  for (auto& column : kept.also) column.values = chosen(column.values, rows);
  result.warnings.push_back(words(stations.x.size() - rows.size(),
                                  " observations were left out, whose place and value the file "
                                  "has before"));
  result.copies = geostat::find_copies({kept.x, kept.y, metric}, kept.value);
  return kept;
}

}  // namespace

Observations read_observations(MleOptions const& options, Progress& progress, MleResult& result) {
  auto const terms = options.terms();
  auto stations =
      read_stations(options.locations, {.on_progress = progress.listener()},
                    options.skip_missing ? MissingNumbers::Skipped : MissingNumbers::Refused,
                    {options.columns, also_read(options)});
  if (stations.skipped > 0)
    result.warnings.push_back(
        words(options.locations, ": ", stations.skipped, " lines without a number were left out"));
  result.ignored = stations.ignored;
  auto const metric = metric_of(stations, options);
  result.copies = geostat::find_copies({stations.x, stations.y, metric}, stations.value);
  if (options.copies == CopiesOf::Drop && result.copies.of_same_value > 0)
    stations = without_copies(stations, metric, result);
  geostat::Locations locations{stations.x, stations.y, metric};
  locations.error_variances = errors_of(stations, options);
  result.error_variances = options.error_variances;
  auto const order = geostat::order_of(options.ordering, locations);
  auto columns = terms.columns(stations);
  for (auto& column : columns) column = chosen(column, order);
  return {locations.permuted(order), chosen(stations.value, order),
          terms.trend(columns, options.criterion)};
}

}  // namespace strata::apps
