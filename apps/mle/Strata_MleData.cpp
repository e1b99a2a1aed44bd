// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/mle/Strata_MleData.hpp>

#include <apps/shared/Strata_Progress.hpp>
#include <apps/shared/Strata_Text.hpp>

#include <cstddef>
#include <utility>

namespace strata::apps {

geostat::Metric metric_of(Stations const& stations) {
  return stations.geographic ? geostat::Metric::GreatCircle : geostat::Metric::Euclidean;
}

namespace {

// Rows of a column, in this order.
std::vector<double> chosen(std::vector<double> const& column,
                           std::vector<std::int64_t> const& rows) {
  std::vector<double> result;
  for (auto const row : rows) result.push_back(column[static_cast<std::size_t>(row)]);
  return result;
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
                    {options.columns, terms.needed()});
  if (stations.skipped > 0)
    result.warnings.push_back(
        words(options.locations, ": ", stations.skipped, " lines without a number were left out"));
  result.ignored = stations.ignored;
  auto const metric = metric_of(stations);
  result.copies = geostat::find_copies({stations.x, stations.y, metric}, stations.value);
  if (options.copies == CopiesOf::Drop && result.copies.of_same_value > 0)
    stations = without_copies(stations, metric, result);
  geostat::Locations const locations{stations.x, stations.y, metric};
  auto const order = geostat::order_of(options.ordering, locations);
  auto columns = terms.columns(stations);
  for (auto& column : columns) column = chosen(column, order);
  return {locations.permuted(order), chosen(stations.value, order),
          terms.trend(columns, options.criterion)};
}

}  // namespace strata::apps
