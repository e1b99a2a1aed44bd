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

// Of what the file has before.
void drop_copies(geostat::Locations& locations, std::vector<double>& values, MleResult& result) {
  geostat::Locations kept{{}, {}, locations.metric};
  std::vector<double> their_values;
  for (auto const i : geostat::without_copies(locations, values)) {
    auto const k = static_cast<std::size_t>(i);
    kept.x.push_back(locations.x[k]);
    kept.y.push_back(locations.y[k]);
    their_values.push_back(values[k]);
  }
  result.warnings.push_back(words(values.size() - their_values.size(),
                                  " observations were left out, whose place and value the file "
                                  "has before"));
  locations = std::move(kept);
  values = std::move(their_values);
  result.copies = geostat::find_copies(locations, values);
}

}  // namespace

Observations read_observations(MleOptions const& options, Progress& progress, MleResult& result) {
  auto const stations =
      read_stations(options.locations, {.on_progress = progress.listener()},
                    options.skip_missing ? MissingNumbers::Skipped : MissingNumbers::Refused);
  if (stations.skipped > 0)
    result.warnings.push_back(
        words(options.locations, ": ", stations.skipped, " lines without a number were left out"));
  geostat::Locations locations{stations.x, stations.y, metric_of(stations)};
  std::vector<double> values = stations.value;
  result.copies = geostat::find_copies(locations, values);
  if (options.copies == CopiesOf::Drop && result.copies.of_same_value > 0)
    drop_copies(locations, values, result);
  auto const order = geostat::order_of(options.ordering, locations);
  Observations observations{locations.permuted(order), {}};
  for (auto const k : order) observations.values.push_back(values[static_cast<std::size_t>(k)]);
  return observations;
}

}  // namespace strata::apps
