// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/mle/Strata_MleData.hpp>
#include <apps/shared/Strata_Progress.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <comm/Strata_Together.hpp>
#include <core/io/Strata_Csv.hpp>
#include <geostat/Strata_Prediction.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

namespace strata::apps {

namespace {

// Coordinates as those of the observations are called, if they are there, and what the trend needs.
StationColumns new_columns(MleOptions const& options) {
  StationColumns columns{options.columns, options.terms().needed()};
  if (!columns.names.empty()) columns.names.resize(2);
  return columns;
}

}  // namespace

bool reports(MleOptions const& options) { return !options.comm || options.comm->rank() == 0; }

void predict(Kokkos::DefaultExecutionSpace const& exec, MleOptions const& options,
             Observations const& data, MleFactor& factor, Progress& progress, MleResult& result) {
  progress.phase("reading " + options.predict);
  auto const locations = together(factor.comm(), [&] {
    auto read =
        read_locations(options.predict, {.on_progress = progress.listener()}, new_columns(options));
    require(metric_of(read) == data.locations.metric, options.predict, " has ",
            read.geographic ? "lon,lat" : "x,y", ", ", options.locations, " has ",
            read.geographic ? "x,y" : "lon,lat");
    return read;
  });
  progress.phase(words("predicting at ", locations.x.size(), " locations"));
  auto const prediction = geostat::predict(
      exec, factor, data.values, {locations.x, locations.y, metric_of(locations)}, data.trend,
      {.trend_columns = options.terms().columns(locations), .on_progress = progress.listener()});
  // Of the field, and of an observation there, which has the nugget's error as well.
  std::vector<double> sd, new_variance, new_sd;
  for (double const variance : prediction.variance) {
    sd.push_back(std::sqrt(variance));
    new_variance.push_back(variance + result.theta.nugget);
    new_sd.push_back(std::sqrt(new_variance.back()));
  }
  std::vector<Column> const columns{{locations.geographic ? "lon" : "x", locations.x},
                                    {locations.geographic ? "lat" : "y", locations.y},
                                    {"mean", prediction.mean},
                                    {"variance", prediction.variance},
                                    {"sd", sd},
                                    {"observation_variance", new_variance},
                                    {"observation_sd", new_sd}};
  auto others = locations.others;
  for (auto& other : others)
    if (std::ranges::find(columns, other.name, &Column::name) != columns.end())
      other.name = "given " + other.name;
  together(factor.comm(), [&] {
    if (!reports(options)) return;
    progress.phase("writing " + options.output);
    write_columns(options.output, columns, progress.listener(), others);
  });
  auto const count = static_cast<double>(locations.x.size());
  auto const average = [count](std::vector<double> const& v) {
    return std::accumulate(v.begin(), v.end(), 0.0) / count;
  };
  result.prediction = {options.predict,          static_cast<std::int64_t>(locations.x.size()),
                       average(prediction.mean), average(prediction.variance),
                       average(new_variance),    prediction.backward_error,
                       prediction.converged};
}

}  // namespace strata::apps
