// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/mle/Strata_MleData.hpp>
#include <apps/shared/Strata_Progress.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <comm/Strata_Together.hpp>
#include <core/io/Strata_Csv.hpp>
#include <geostat/kriging/Strata_MapFiles.hpp>
#include <geostat/kriging/Strata_Prediction.hpp>
#include <geostat/kriging/Strata_PredictionGrid.hpp>
#include <geostat/kriging/Strata_Simulation.hpp>
#include <geostat/vecchia/Strata_VecchiaPrediction.hpp>
#include <geostat/vecchia/Strata_VecchiaSimulation.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace strata::apps {

namespace {

using Exec = Kokkos::DefaultExecutionSpace;

// Where to predict: a file's locations, or the cells of a grid.
struct Places {
  Stations stations;
  std::optional<geostat::PredictionGrid> grid;
};

// Coordinates by the observations' names for them, if they are there, and what the trend needs.
StationColumns new_columns(MleOptions const& options) {
  auto also = options.further();
  for (auto const& name : options.terms().needed())
    if (std::ranges::find(also, name) == also.end()) also.push_back(name);
  auto columns = plane_columns(options.columns, also);
  if (!columns.names.empty()) columns.names.resize(2);
  return columns;
}

Places read_places(MleOptions const& options, Observations const& data, Progress& progress) {
  auto const metric = data.locations.metric;
  if (options.grid.empty()) {
    progress.phase("reading " + options.predict);
    auto read =
        read_locations(options.predict, {.on_progress = progress.listener()}, new_columns(options));
    bool const is_same = metric_of(read, options) == metric;
    auto const axes = [](bool on_sphere) { return on_sphere ? "lon,lat" : "x,y"; };
    require(is_same, options.predict, " has ", axes(read.geographic), ", ", options.locations,
            " has ", axes(!read.geographic), "; the first line of ", options.predict,
            " must name columns ", axes(!read.geographic));
    return {read, std::nullopt};
  }
  auto const grid = options.grid == "auto" ? geostat::PredictionGrid::around(data.locations)
                                           : geostat::PredictionGrid::parse(options.grid);
  auto const cells = grid.locations(metric);
  return {{.geographic = geostat::is_on_sphere(metric), .x = cells.x, .y = cells.y, .value = {}},
          grid};
}

double average(std::vector<double> const& values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<double> roots(std::vector<double> const& values) {
  std::vector<double> result;
  for (double const value : values) result.push_back(std::sqrt(value));
  return result;
}

// Of the field, and of an observation there, which has the nugget's error as well, if it is one.
std::vector<Column> columns_of(geostat::Prediction const& prediction,
                               std::vector<double> const& new_variance,
                               geostat::Simulation const& simulation) {
  std::vector<Column> columns{{"mean", prediction.mean}};
  if (!prediction.variance.empty()) {
    columns.push_back({"variance", prediction.variance});
    columns.push_back({"sd", roots(prediction.variance)});
    columns.push_back({"observation_variance", new_variance});
    columns.push_back({"observation_sd", roots(new_variance)});
  }
  for (std::size_t k = 0; k < simulation.fields.extent(1); ++k) {
    std::vector<double> field(simulation.fields.extent(0));
    for (std::size_t i = 0; i < field.size(); ++i) field[i] = simulation.fields(i, k);
    columns.push_back({"sim" + std::to_string(k + 1), std::move(field)});
  }
  return columns;
}

// Mean, sd and the simulations.
std::vector<geostat::MapLayer> layers_of(std::vector<Column> const& columns) {
  std::vector<geostat::MapLayer> layers;
  for (auto const& column : columns)
    if (column.name == "mean" || column.name == "sd" || column.name.starts_with("sim"))
      layers.push_back({column.name, column.values});
  return layers;
}

// One map of all layers, or an ESRI ASCII grid for each. Returns the files.
std::vector<std::string> write_maps(MleOptions const& options, geostat::PredictionGrid const& grid,
                                    geostat::Metric metric, std::vector<Column> const& columns,
                                    bool writes) {
  auto const layers = layers_of(columns);
  geostat::MapReference const where{options.epsg, metric};
  MapKind const kind = map_kind(options.output);
  if (writes && kind == MapKind::GeoTiff)
    geostat::write_geotiff(options.output, grid, where, layers);
  if (writes && kind == MapKind::Netcdf) geostat::write_netcdf(options.output, grid, where, layers);
  if (kind != MapKind::Ascii) return {options.output};
  std::vector<std::string> files;
  auto const stem = options.output.substr(0, options.output.size() - std::string(".asc").size());
  for (auto const& layer : layers) {
    files.push_back(stem + "." + layer.name + ".asc");
    if (writes) geostat::write_ascii_grid(files.back(), grid, layer.values);
  }
  return files;
}

void write_table(MleOptions const& options, Stations const& places, std::vector<Column> columns,
                 Progress& progress) {
  auto const further = options.further();
  for (std::size_t k = 0; k < further.size(); ++k)
    columns.insert(columns.begin() + static_cast<std::ptrdiff_t>(k),
                   {further[k], places.also[k].values});
  columns.insert(columns.begin(), {{places.geographic ? "lon" : "x", places.x},
                                   {places.geographic ? "lat" : "y", places.y}});
  auto others = places.others;
  for (std::size_t k = 0; k < further.size(); ++k)  // these are written
    std::erase_if(others, [&](TextColumn const& one) { return one.name == places.also[k].name; });
  for (auto& other : others)
    if (std::ranges::find(columns, other.name, &Column::name) != columns.end())
      other.name = "given " + other.name;
  write_columns(options.output, columns, progress.listener(), others);
}

// What `krige` says of the places and the trend's columns there: a prediction, and fields.
template <class Krige>
void predict_by(Krige const& krige, MleOptions const& options, Observations const& data,
                Progress& progress, MleResult& result) {
  auto* const comm = options.comm.get();
  auto const [places, grid] = together(comm, [&] { return read_places(options, data, progress); });
  progress.phase(words("predicting at ", places.x.size(), " locations"));
  geostat::Locations const at = grid ? geostat::Locations{places.x, places.y, data.locations.metric}
                                     : locations_of(places, options);
  auto const [prediction, simulation] = krige(at, options.terms().columns(places));
  std::vector<double> new_variance = prediction.variance;
  double const of_errors = options.exact ? 0 : result.theta.nugget;
  for (double& variance : new_variance) variance += of_errors;
  auto const columns = columns_of(prediction, new_variance, simulation);
  std::vector<std::string> files;
  together(comm, [&] {
    progress.phase("writing " + options.output);
    if (grid && map_kind(options.output) != MapKind::None)
      files = write_maps(options, *grid, at.metric, columns, reports(options));
    else if (reports(options))
      write_table(options, places, columns, progress);
  });
  result.prediction = {options.predict,
                       static_cast<std::int64_t>(places.x.size()),
                       average(prediction.mean),
                       average(prediction.variance),
                       average(new_variance),
                       prediction.backward_error,
                       prediction.converged,
                       grid ? grid->to_text() : "",
                       files,
                       options.simulations,
                       simulation.ridge};
}

using Columns = std::vector<std::vector<double>>;

}  // namespace

MapKind map_kind(std::string const& path) {
  return path.ends_with(".asc")                              ? MapKind::Ascii
         : path.ends_with(".tif") || path.ends_with(".tiff") ? MapKind::GeoTiff
         : path.ends_with(".nc")                             ? MapKind::Netcdf
                                                             : MapKind::None;
}

std::int64_t local_neighbours(MleOptions const& options) {
  return std::min<std::int64_t>(2 * options.neighbours, 1000);
}

bool reports(MleOptions const& options) { return !options.comm || options.comm->rank() == 0; }

void predict(Exec const& exec, MleOptions const& options, Observations const& data,
             MleFactor& factor, Progress& progress, MleResult& result) {
  auto const krige = [&](geostat::Locations const& at, Columns const& trend_columns) {
    auto const prediction = geostat::predict(exec, factor, data.values, at, data.trend,
                                             {.trend_columns = trend_columns,
                                              .nugget = options.nugget(),
                                              .variances = !options.no_variance,
                                              .on_progress = progress.listener()});
    geostat::Simulation simulation;
    if (options.simulations > 0) {
      progress.phase(words("simulations at ", at.size(), " locations"));
      simulation = geostat::simulate(exec, factor, data.values, at, data.trend,
                                     {.count = options.simulations,
                                      .seed = options.seed,
                                      .trend_columns = trend_columns,
                                      .nugget = options.nugget(),
                                      .max_bytes = memory_limit(options.max_memory).bytes});
    }
    return std::pair(prediction, simulation);
  };
  predict_by(krige, options, data, progress, result);
}

void predict(Exec const& exec, MleOptions const& options, Observations const& data,
             MleNeighbours const& model, Progress& progress, MleResult& result) {
  auto const krige = [&](geostat::Locations const& at, Columns const& trend_columns) {
    auto prediction = geostat::predict(exec, model, result.theta, at,
                                       {.neighbours = local_neighbours(options),
                                        .trend_columns = trend_columns,
                                        .nugget = options.nugget(),
                                        .variances = !options.no_variance});
    geostat::Simulation simulation;
    if (options.simulations > 0) {
      progress.phase(words("simulations at ", at.size(), " locations"));
      simulation = geostat::simulate(exec, model, result.theta, at,
                                     {.neighbours = local_neighbours(options),
                                      .count = options.simulations,
                                      .seed = options.seed,
                                      .trend_columns = trend_columns,
                                      .nugget = options.nugget()});
    }
    return std::pair(prediction, simulation);
  };
  predict_by(krige, options, data, progress, result);
}

}  // namespace strata::apps
