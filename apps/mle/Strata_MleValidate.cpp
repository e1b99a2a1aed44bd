// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/mle/Strata_MleData.hpp>
#include <apps/shared/Strata_Progress.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <comm/Strata_Together.hpp>
#include <core/io/Strata_Csv.hpp>
#include <core/io/files/Strata_ParseNumber.hpp>
#include <geostat/vecchia/Strata_VecchiaValidation.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace strata::apps {

namespace {

using Exec = Kokkos::DefaultExecutionSpace;

// "K", "K,random" or "K,blocks"; none: each alone.
std::vector<std::int64_t> folds_of(MleOptions const& options, geostat::Locations const& locations) {
  if (options.folds.empty()) return {};
  auto const comma = std::min(options.folds.find(','), options.folds.size());
  std::string const how = comma < options.folds.size() ? options.folds.substr(comma + 1) : "random";
  std::int64_t count = 0;
  bool const is_number =
      parse_number(std::string_view(options.folds).substr(0, comma), count) == nullptr;
  require(is_number && (how == "random" || how == "blocks"), "--loo-folds: '", options.folds,
          "' must be K, K,random or K,blocks");
  require(count >= 2 && count <= locations.size(), "--loo-folds: ", count, " parts of ",
          locations.size(), " observations, must be at least 2 and no more than these");
  return how == "blocks" ? geostat::block_folds(locations, count)
                         : geostat::random_folds(locations.size(), count, options.seed);
}

// Rows of a table in the order of the file.
struct LooTable {
  std::vector<double> x, y;
  std::vector<Column> further;
  std::vector<double> observed, predicted, sd, residual, z, fold;
};

LooTable table_of(Observations const& data, std::vector<std::int64_t> const& folds,
                  geostat::CrossValidation const& of) {
  std::vector<std::size_t> row(data.values.size());
  std::iota(row.begin(), row.end(), 0);
  std::ranges::sort(row, {}, [&](std::size_t i) { return data.locations.numbers[i]; });
  LooTable table;
  for (std::size_t k = 0; k < data.further.size(); ++k) {
    table.further.push_back({data.further[k], {}});
    for (auto const i : row) table.further[k].values.push_back(data.locations.further[k][i]);
  }
  for (auto const i : row) {
    table.x.push_back(data.locations.x[i]);
    table.y.push_back(data.locations.y[i]);
    table.observed.push_back(data.values[i]);
    table.predicted.push_back(data.values[i] - of.residual[i]);
    table.sd.push_back(std::sqrt(of.variance[i]));
    table.residual.push_back(of.residual[i]);
    table.z.push_back(of.residual[i] / table.sd.back());
    table.fold.push_back(folds.empty() ? static_cast<double>(table.x.size())
                                       : static_cast<double>(folds[i] + 1));
  }
  return table;
}

std::vector<Outlier> outliers_of(LooTable const& table) {
  constexpr std::size_t most = 5;
  std::vector<Outlier> all;
  for (std::size_t i = 0; i < table.z.size(); ++i)
    if (!std::isnan(table.z[i]))
      all.push_back(
          {static_cast<std::int64_t>(i) + 1, table.observed[i], table.predicted[i], table.z[i]});
  std::ranges::stable_sort(all, std::greater<>(), [](Outlier const& o) { return std::abs(o.z); });
  if (all.size() > most) all.resize(most);
  return all;
}

void write_loo(std::string const& path, bool geographic, LooTable const& table) {
  std::vector<Column> columns{{geographic ? "lon" : "x", table.x},
                              {geographic ? "lat" : "y", table.y},
                              {"observed", table.observed},
                              {"predicted", table.predicted},
                              {"sd", table.sd},
                              {"residual", table.residual},
                              {"z", table.z},
                              {"fold", table.fold}};
  columns.insert(columns.begin() + 2, table.further.begin(), table.further.end());
  write_columns(path, columns);
}

void write_variogram(MleOptions const& options, MleResult const& result) {
  std::vector<Column> columns{{"distance", {}}, {"semivariance", {}}, {"pairs", {}}, {"model", {}}};
  for (auto const& one : result.variogram) {
    columns[0].values.push_back(one.distance);
    columns[1].values.push_back(one.semivariance);
    columns[2].values.push_back(static_cast<double>(one.pairs));
    columns[3].values.push_back(geostat::semivariance(result.theta, one.distance));
  }
  write_columns(options.variogram, columns);
}

}  // namespace

void tell_variogram(MleOptions const& options, Observations const& data, MleResult& result) {
  if (options.variogram.empty()) return;
  result.variogram =
      geostat::empirical_variogram(data.locations, data.trend.residuals(data.values));
  together(options.comm.get(), [&] {
    if (reports(options)) write_variogram(options, result);
  });
}

namespace {

// Residuals by `leave_out` for the folds that were asked for. Collective.
template <class LeaveOut>
void validate_by(LeaveOut const& leave_out, MleOptions const& options, Observations const& data,
                 Progress& progress, MleResult& result) {
  auto* const comm = options.comm.get();
  tell_variogram(options, data, result);
  if (options.loo.empty()) return;
  progress.phase("leaving observations out");
  auto const folds = together(comm, [&] { return folds_of(options, data.locations); });
  geostat::CrossValidation const of = leave_out(folds);
  if (of.info != 0) return;
  auto const table = table_of(data, folds, of);
  together(comm, [&] {
    if (reports(options))
      write_loo(options.loo, geostat::is_on_sphere(data.locations.metric), table);
  });
  result.validation = {of, options.folds, outliers_of(table)};
}

}  // namespace

void validate(Exec const& exec, MleOptions const& options, Observations const& data,
              MleFactor& factor, Progress& progress, MleResult& result) {
  auto const leave_out = [&](std::vector<std::int64_t> const& folds) {
    return geostat::cross_validate(exec, factor, data.values, data.trend, folds,
                                   progress.listener());
  };
  validate_by(leave_out, options, data, progress, result);
}

void validate(Exec const& exec, MleOptions const& options, Observations const& data,
              MleNeighbours const& model, Progress& progress, MleResult& result) {
  auto const leave_out = [&](std::vector<std::int64_t> const& folds) {
    return geostat::cross_validate(exec, model, result.theta, data.values,
                                   {.neighbours = local_neighbours(options),
                                    .folds = folds,
                                    .approximation = {.neighbours = options.neighbours},
                                    .on_progress = progress.listener()});
  };
  validate_by(leave_out, options, data, progress, result);
}

}  // namespace strata::apps
