// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/mle/Strata_Mle.hpp>

#include <apps/mle/Strata_MleData.hpp>
#include <apps/mle/Strata_MleSearch.hpp>
#include <apps/shared/Strata_Ending.hpp>
#include <apps/shared/Strata_Exit.hpp>
#include <apps/shared/Strata_Progress.hpp>
#include <apps/shared/Strata_Ranks.hpp>
#include <apps/shared/Strata_Report.hpp>
#include <apps/shared/Strata_RunFacts.hpp>
#include <comm/Strata_Together.hpp>
#include <core/Strata_Stopwatch.hpp>
#include <core/io/Strata_Csv.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <geostat/kriging/Strata_MapFiles.hpp>
#include <geostat/kriging/Strata_SyntheticField.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace strata::apps {

namespace {

using Exec = Kokkos::DefaultExecutionSpace;
using Factor = geostat::CovarianceFactor<Exec>;

// Before anything is allocated.
void require_memory(MleOptions const& options, MleResult& result, double bytes) {
  auto const& tiles = options.tiles;
  require_device_memory(
      tiles, result.n,
      tiles.tile > 0 ? tiles.tile
                     : ooc::TileMatrix<Exec>::automatic_tile_size(result.n, tiles.device_memory));
  require_memory(
      memory_limit(options.max_memory), bytes,
      words("a covariance matrix of order ", result.n, " and its factor",
            options.standard_errors == When::On ? ", and standard errors, need" : " need"));
  result.bytes_needed = static_cast<std::size_t>(bytes);
}

// Nothing where a signal ended the search: the result has the best that was found.
std::optional<Factor> search(Exec const& exec, MleOptions const& options, Observations const& data,
                             geostat::CovarianceFactorOptions const& factor, Progress& progress,
                             MleResult& result) {
  Search now(options, data, factor, progress, result);
  now.is_first = watch_factors(now.options.factor, result.n, ", evaluation 1", progress);
  auto fitted = now.run([&](geostat::FitOptions const& how) {
    return geostat::fit(exec, data.locations, data.values, how);
  });
  return fitted ? std::move(fitted->factor) : std::nullopt;
}

void diverge(Exec const& exec, MleOptions const& options, Observations const& data, Factor& factor,
             Progress& progress, MleResult& result) {
  DivergenceSummary summary;
  {
    geostat::CovarianceFactorOptions fp64;
    fp64.tile_size = options.tiles.tile;
    fp64.storage = options.tiles.storage;
    fp64.comm = options.comm;
    fp64.grid = options.tiles.grid;
    fp64.transport = options.tiles.transport;
    fp64.devices = factor.team().devices();
    (void)watch_factors(fp64, result.n, " in fp64, for the divergence", progress);
    Factor const exact(exec, factor.team(), result.theta, data.locations, fp64);
    if (!exact.info().ok()) return;  // the report has no divergence
    summary.log_det_fp64 = exact.factor_log_determinant();
  }
  progress.phase("the trace of the divergence");
  summary.log_det_factor = factor.factor_log_determinant();
  summary.divergence =
      geostat::divergence(exec, factor, summary.log_det_fp64, {.on_progress = progress.listener()});
  result.divergence = summary;
}

Factor evaluate(Exec const& exec, Observations const& data, geostat::CovarianceFactorOptions how,
                Progress& progress, MleResult& result) {
  auto const watched = watch_factors(how, result.n, words(", n = ", result.n), progress);
  Factor factor(exec, result.theta, data.locations, how);
  *watched = false;
  progress.phase("the log-likelihood");
  result.likelihood = geostat::log_likelihood(exec, factor, data.values, data.trend,
                                              {.on_progress = progress.listener()});
  return factor;
}

// Of each rank.
std::size_t bytes_of_errors(MleOptions const& options, std::int64_t n,
                            std::array<bool, 4> estimated) {
  bool const has_second = options.families.second.has_value();
  estimated[1] = estimated[1] || options.anisotropy.is_fitted;
  return geostat::fisher_bytes_needed(
      n, estimated, options.comm ? options.comm->size() : 1,
      has_second || !options.error_variances.empty(),
      (options.anisotropy.is_fitted ? 2 : 0) + (has_second ? 3 : 0));
}

// Why the standard errors of a fit are not computed, the same on all ranks; empty: they are.
std::string why_no_errors(MleOptions const& options, Factor const& factor, std::size_t max_bytes,
                          std::array<bool, 4> const& estimated) {
  if (options.standard_errors == When::Off) return "--standard-errors off";
  if (options.standard_errors == When::On) return {};
  constexpr std::int64_t most = 4096;
  if (factor.order() > most)
    return words("more than ", most, " observations; --standard-errors on computes them");
  double lacks = bytes_of_errors(options, factor.order(), estimated) > max_bytes ? 1 : 0;
  if (factor.comm()) lacks = factor.comm()->max(lacks);
  return lacks > 0 ? "the memory allowed does not suffice" : "";
}

StandardErrorsSummary standard_errors(Exec const& exec, MleOptions const& options, Factor& factor,
                                      std::size_t max_bytes, Progress& progress,
                                      MleResult const& result) {
  StandardErrorsSummary summary;
  auto const reasons = geostat::why_no_error(*result.fit, result.asked->fixed);
  std::array<bool, 4> estimated{};  // of a parameter at its bound the information says nothing
  for (std::size_t k = 0; k < 4; ++k) estimated[k] = reasons[k].empty();
  summary.reason = result.fit->converged ? why_no_errors(options, factor, max_bytes, estimated)
                                         : "the fit did not converge";
  if (!summary.reason.empty()) return summary;
  auto const also = geostat::also_estimated(*result.fit, *result.asked);
  progress.phase(words("standard errors, ", in_bytes(static_cast<double>(bytes_of_errors(
                                                options, factor.order(), estimated)))));
  auto const information = geostat::fisher_information(exec, factor,
                                                       {.wanted = estimated,
                                                        .directions = also.directions,
                                                        .max_bytes = max_bytes,
                                                        .on_progress = progress.listener(),
                                                        .trend = result.trend});
  summary.errors = geostat::standard_errors(information, result.theta, estimated, also);
  for (std::size_t k = 0; k < 4; ++k)
    if (!reasons[k].empty()) summary.errors.reasons[k] = reasons[k];
  summary.backward_error = information.backward_error;
  summary.converged = information.solve_converged;
  summary.seconds = information.seconds;
  return summary;
}

// Of the parameter of this number; NaN: there is none.
double error_of_logarithm(MleResult const& result, std::size_t number) {
  if (!result.standard_errors || !result.standard_errors->reason.empty()) return std::nan("");
  auto const& errors = result.standard_errors->errors;
  return number < 4 ? errors.of_logarithm[number] : errors.of_logarithm_of_second[number - 4];
}

std::vector<geostat::ProfileInterval> profile_intervals(Exec const& exec, MleOptions const& options,
                                                        Observations const& data,
                                                        Factor const& factor, std::size_t max_bytes,
                                                        Progress& progress, MleResult& result) {
  std::vector<geostat::ProfileInterval> intervals;
  geostat::FitOptions fit = *result.asked;
  fit.factor.max_bytes = max_bytes;
  std::vector<std::size_t> asked;
  for (std::size_t k = 0; k < geostat::all_parameter_names.size(); ++k)
    if (!geostat::is_fixed(fit, k)) asked.push_back(k);
  auto const goes_without = [&](std::size_t k, Error const& error) {  // the fit is reported
    result.warnings.push_back(
        words("no interval of ", geostat::all_parameter_names[k], ": ", error.what()));
  };
  double seconds = 0;  // of the intervals before this one
  for (std::size_t const k : asked) {
    Stopwatch watch;
    double here = 0;
    geostat::ProfileOptions how{.level = options.level.value_or(0.95)};
    if (double const step = error_of_logarithm(result, k); step > 0)
      how.first_step = std::clamp(step, 0.01, 1.0);
    fit.on_step = [&, k](geostat::FitStep const& step) {
      progress.phase(words("interval of ", geostat::all_parameter_names[k], ", at ",
                           text("%.4g: %.2f", geostat::parameter_of(step.theta, k),
                                step.likelihood.log_likelihood)));
      here += watch.lap();
      auto const done = static_cast<double>(intervals.size());
      if (done > 0)  // the others take as long as those before
        progress.left(seconds / done * (static_cast<double>(asked.size()) - done) - here);
    };
    try {
      intervals.push_back(geostat::profile_interval(exec, factor.team(), data.locations,
                                                    data.values, fit, result.theta, k, how));
    } catch (ValueError const& error) {
      goes_without(k, error);
    } catch (MemoryError const& error) {  // the fits on the way are in fp64, beside the factor
      if (!all_have(options.comm.get(), error)) throw;
      goes_without(k, error);
    }
    seconds += here + watch.lap();
  }
  return intervals;
}

// How far the parameters of a fit can be trusted.
void judge(Exec const& exec, MleOptions const& options, Observations const& data, Factor& factor,
           Progress& progress, MleResult& result) {
  bool const on_host =
      strata::runs_on_host<Exec> || factor.report().storage == ooc::TileStorage::Host;
  std::size_t const limit = result.asked->factor.max_bytes,
                    taken = on_host ? factor.report().bytes : 0,
                    left = limit > taken ? limit - taken : 0;
  result.standard_errors = standard_errors(exec, options, factor, left, progress, result);
  if (options.profile_intervals && result.fit->converged)
    result.profile_intervals =
        profile_intervals(exec, options, data, factor, left, progress, result);
}

// What needs a factor at the parameters given or fitted.
void at_theta(Exec const& exec, MleOptions const& options, Observations const& data, Factor& factor,
              Progress& progress, MleResult& result) {
  if (!factor.info().ok()) return;
  if (options.gradient) {
    progress.phase("the gradient");
    result.gradient = geostat::log_likelihood_gradient(
        exec, factor, data.values, data.trend, {true, true, true, true}, progress.listener());
  }
  if (options.kl) diverge(exec, options, data, factor, progress, result);
  validate(exec, options, data, factor, progress, result);
  if (options.predicts()) predict(exec, options, data, factor, progress, result);
}

bool is_on_host(MleOptions const& options) {
  return strata::runs_on_host<Exec> || options.tiles.storage == ooc::TileStorage::Host;
}

// Of tiles, on one of the ranks; those that GPUs are to hold are counted once they do not.
double bytes_of_tiles(MleOptions const& options, std::int64_t n, MleResult& result) {
  std::int64_t const asked = options.tiles.tile,
                     tile = asked > 0 ? asked : ooc::TileMatrix<Exec>::automatic_tile_size(n);
  auto const all = static_cast<double>(Factor::bytes_needed(n, asked));
  auto const [own, room] = tile_bytes_of_rank(all, n, tile, options.tiles, options.comm.get());
  double const bytes = (options.kl ? 2 : 1) * own;
  if (is_on_host(options)) return bytes + room;
  result.bytes_on_devices = static_cast<std::size_t>(bytes);
  return room;
}

// By the factor that a fit has, in tiles, so that ranks make it together.
void generate(Exec const& exec, MleOptions const& options, Progress& progress, MleResult& result) {
  result.n = options.generate;
  auto const n = static_cast<double>(result.n);
  together(options.comm.get(), [&] {
    if (is_on_host(options))
      require_memory(options, result, 4 * n * n / result.ranks);  // no tile is counted
    require_memory(options, result, bytes_of_tiles(options, result.n, result));
  });
  auto how = factor_options(options);
  how.max_bytes = memory_limit(options.max_memory).bytes;
  if (how.tile_size == 0)
    how.tile_size =
        ooc::TileMatrix<Exec>::automatic_tile_size(result.n, options.tiles.device_memory);
  (void)watch_factors(how, result.n, words(", n = ", result.n), progress);
  geostat::Locations const locations = geostat::synthetic_locations(result.n, options.seed);
  Factor const factor(exec, result.theta, locations, how);
  progress.phase(words("the field, n = ", result.n));
  auto const values = geostat::synthetic_field(factor, options.seed);
  together(options.comm.get(), [&] {
    if (reports(options)) write_stations(options.output, {false, locations.x, locations.y, values});
  });
}

// Of standard errors that were asked for: a fit is too long to be refused them behind it.
double bytes_of_asked_errors(MleOptions const& options, Observations const& data) {
  if (options.standard_errors != When::On) return 0;
  auto estimated = fit_options(options, data).fixed;
  for (bool& one : estimated) one = !one;
  return static_cast<double>(bytes_of_errors(options, data.locations.size(), estimated));
}

void estimate(Exec const& exec, MleOptions const& options, Progress& progress, MleResult& result) {
  Stopwatch watch;
  progress.phase("reading " + options.locations);
  auto const data = together(options.comm.get(), [&] {
    auto read = read_observations(options, progress, result);
    geostat::MapReference{options.epsg, read.locations.metric}.check();  // before the fit
    return read;
  });
  result.n = data.locations.size();
  result.metric = data.locations.metric;
  result.trend = data.trend;
  result.asked_for_mean = options.mean.has_value();
  result.read_seconds = watch.lap();
  if (options.neighbours > 0) {
    estimate_by_neighbours(exec, options, data, progress, result);
    return warn(options, result, data.locations);
  }
  together(options.comm.get(), [&] {
    require_memory(
        options, result,
        bytes_of_tiles(options, result.n, result) + bytes_of_asked_errors(options, data));
  });
  auto how = factor_options(options);
  how.max_bytes = memory_limit(options.max_memory).bytes;
  if (options.kl && how.tile_size == 0)  // the divergence is for tiles
    how.tile_size =
        ooc::TileMatrix<Exec>::automatic_tile_size(result.n, options.tiles.device_memory);
  auto factor = options.fits() ? search(exec, options, data, how, progress, result)
                               : evaluate(exec, data, how, progress, result);
  if (!factor) return;
  result.map = factor->map().to_text();
  if (result.fit) judge(exec, options, data, *factor, progress, result);
  if (options.kl && result.fit && result.fit->evaluations_in_fp64 > 0) {
    auto const team = factor->team();  // the divergence is for the tiles that were asked for
    factor.emplace(exec, team, result.theta, data.locations, how);
  }
  at_theta(exec, options, data, *factor, progress, result);
  warn(options, result, data.locations);
}

// What ranks do together.
Exit run(Communicator const& comm, MleOptions const& options) {
  as_usage_of_ranks([&] { comm.agree([&] { check(options); }); });
  Stopwatch total;
  Progress progress(reports(options));
  Exec const exec;
  MleResult result;
  result.task = options.generate > 0 ? "generate"
                : options.fits()     ? "fit"
                : options.evaluate   ? "evaluate"
                                     : "predict";
  result.source = options.generate > 0 ? words("seed ", options.seed) : options.locations;
  result.ordering = name_of(options.ordering);
  result.rule = precision_rule(options.tiles);
  result.output = options.output;
  if (options.theta) result.theta = *options.theta;
  result.ranks = comm.size();
  as_usage_of_ranks([&] {
    options.generate > 0 ? generate(exec, options, progress, result)
                         : estimate(exec, options, progress, result);
  });
  result.total_seconds = total.lap();
  publish(comm, progress, options.json, [&] { return report(result); });
  if (reports(options)) explain(result);
  return result.exit();
}

}  // namespace

Exit mle(MleOptions options) {
  Communicator const comm = all_ranks();
  if (comm.size() > 1) options.comm = std::make_shared<Communicator const>(comm);
  return on_ranks(comm, [&] { return run(comm, options); });
}

}  // namespace strata::apps
