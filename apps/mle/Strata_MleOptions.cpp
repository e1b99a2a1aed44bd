// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/mle/Strata_Mle.hpp>
#include <apps/shared/Strata_Options.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <core/io/files/Strata_ParseNumber.hpp>
#include <geostat/kriging/Strata_MapFiles.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strata::apps {

namespace {

constexpr char const* theta_type = "SIGMA2,RANGE[,NU][,NUGGET][+SIGMA2,RANGE[,NU]]";

// Paper B's three correlations, or numbers.
geostat::MaternCovariance parse_numbers(geostat::Families const& families,
                                        std::string const& text) {
  auto const family = families.first;
  if (geostat::is_matern(family) && !families.second) {
    if (text == "weak") return {1, 0.02627, 0.5, 0, family};
    if (text == "medium") return {1, 0.078809, 0.5, 0, family};
    if (text == "strong") return {1, 0.210158, 0.5, 0, family};
  }
  std::string const first = std::string(name_of(family)) + ":";
  if (!families.second) return geostat::MaternCovariance::parse(first + text);
  // A plus behind an e is an exponent's.
  std::size_t plus = text.find('+', 1);
  while (plus != std::string::npos && (text[plus - 1] == 'e' || text[plus - 1] == 'E'))
    plus = text.find('+', plus + 1);
  STRATA_REQUIRE(ValueError, plus != std::string::npos, "'", text, "' must be two structures, ",
                 theta_type);
  return geostat::MaternCovariance::parse(first + text.substr(0, plus) + "+" +
                                          std::string(name_of(*families.second)) + ":" +
                                          text.substr(plus + 1));
}

// By --family and --anisotropy, which CLI11 hears before, as they are added before.
auto theta_parser(MleOptions const& options) {
  return [&options](std::string const& text) {
    auto theta = parse_numbers(options.families, text);
    theta.angle = options.anisotropy.angle;
    theta.ratio = options.anisotropy.ratio;
    theta.axes = options.anisotropy.axes;
    theta.check();
    return theta;
  };
}

bool parse_finish(std::string const& text) {
  if (text == "fp64") return true;
  if (text == "tiles") return false;
  throw ValueError("finish '" + text + "' must be fp64 or tiles");
}

void add_data_options(CLI::App& command, MleOptions& options) {
  OptionGroup group(command, "The data (one of --locations, --generate)");
  auto* const locations = group.add("--locations,--data", options.locations, "STATIONS.csv",
                                    "observations: columns x,y,value or lon,lat,value, in any "
                                    "order; easting,northing and longitude,latitude too, or those "
                                    "of --columns; commas, semicolons or tabs between them");
  group
      .add("--columns", options.columns, "X,Y[,Z,...],VALUE",
           "which columns are meant, by name or as #1; great circles where the first two are "
           "called lon... and lat...; coordinates beyond Y, such as a depth, count in distances, "
           "up to 8 in all")
      ->delimiter(',');
  group
      .count("--generate", options.generate, "N",
             "a synthetic field at N locations of the unit square, with --theta, to --output")
      ->excludes(locations);
  group.add("--seed", options.seed, "S", "random seed of the synthetic field [1]");
  group.named("--ordering", options.ordering, "order of the locations in the matrix [hilbert]");
  group.flag("--skip-missing", options.skip_missing,
             "leave out lines of the observations in which a number is empty, NA or NaN");
  group.named("--copies", options.copies,
              "observations whose place and value the file has before: keep them, which sends the "
              "nugget of a fit to its lower bound, or drop them [keep]");
  group.parsed("--trend", options.trend, "0|1|TERM,...", TrendTerms::parse,
               "the mean: 0, a constant (1), or a constant and terms of the file's columns, whose "
               "coefficients are estimated: NAME, NAME^K, log(NAME), sqrt(NAME), products with *, "
               "poly2 for all of x and y up to degree 2; 0 among them leaves the constant out [1]");
  group.parsed("--mean", options.mean, alternatives<geostat::Mean>(), from_name<geostat::Mean>,
               "none is --trend 0 and constant --trend 1, which replaces it");
  group.named(
      "--likelihood", options.criterion,
      "what is maximised or evaluated: ml, or reml, the likelihood of contrasts which the trend "
      "does not touch [ml]");
}

void add_covariance_options(CLI::App& command, MleOptions& options) {
  OptionGroup group(command, "The covariance");
  group.parsed(
      "--family", options.families, alternatives<geostat::Family>() + "|FAMILY+FAMILY",
      geostat::families_of,
      "of x = distance / range: matern 2^(1-nu)/Gamma(nu) x^nu K_nu(x), exponential e^-x, "
      "gaussian e^-x^2, spherical 1 - 3/2 x + 1/2 x^3 for x < 1, powered e^-x^nu with nu up "
      "to 2; matern and powered alone have NU; exponential+spherical and the like: the sum of two, "
      "each with a sigma2 and a range, and with one nugget [matern]");
  group.parsed(
      "--anisotropy", options.anisotropy, "ANGLE,RATIO|fit|axes[=RATIO,...]", Anisotropy::parse,
      "the angle of the axis with the longest range, in degrees clockwise from y, and the "
      "range across it by that along it, in (0, 1]; fit: both are estimated; axes: a range for "
      "each coordinate is, or the ranges of y and those beyond it by that of x are given, which "
      "is RANGE [no directions]");
  group.parsed("--distance", options.distance, alternatives<geostat::Metric>(),
               from_name<geostat::Metric>,
               "in the plane, or in km on the sphere or straight through it, of columns lon,lat "
               "[great-circle for these, else euclidean]");
  group.add("--error-variances", options.error_variances, "COLUMN",
            "variances of the observations' errors that are known, beside the nugget");
}

void add_task_options(CLI::App& command, MleOptions& options) {
  OptionGroup group(command, "At given parameters");
  group.parsed("--theta", options.theta, std::string(theta_type) + "|weak|medium|strong",
               theta_parser(options),
               "the covariance, instead of a fit; range in the unit of x,y, or km for lon,lat; "
               "weak, medium and strong are paper B's");
  group.flag("--evaluate", options.evaluate, "the log-likelihood at --theta, without fitting");
  group.add("--predict", options.predict, "NEW.csv",
            "kriging at the locations of this file (x,y or lon,lat), to --output; after a fit too: "
            "mean, variance and sd of the field without the nugget's noise, and of a new "
            "observation, with it");
  group.add("--predict-grid", options.grid, "X0:X1:DX,Y0:Y1:DY|auto",
            "kriging at the centres of a grid's cells: to --output MAP.csv, MAP.tif (GeoTIFF), "
            "MAP.nc (NetCDF), or MAP.asc, of which MAP.mean.asc and MAP.sd.asc become ESRI ASCII "
            "grids");
  group.parsed("--crs", options.epsg, "EPSG:N", geostat::MapReference::parse,
               "the coordinate system that MAP.tif and MAP.nc name [EPSG:4326 for lon,lat]");
  group.count("--simulations", options.simulations, "M",
              "fields drawn there that agree with the observations: columns or grids sim1 to simM");
  group.flag("--no-variance", options.no_variance,
             "means alone, which takes a fraction of the time");
  group.flag(
      "--exact", options.exact,
      "the nugget is a variation of the field below all distances, not an error: predictions "
      "at observations are these, but for known errors");
  group.add("--loo", options.loo, "LOO.csv",
            "predict each observation from the others, by the factor that is there: residuals and "
            "z-scores");
  group.add(
      "--loo-folds", options.folds, "K[,random|blocks]",
      "leave out K parts, one after the other: at random, or regions [each observation alone]");
  group.add("--variogram", options.variogram, "VARIOGRAM.csv",
            "the empirical variogram of what the trend leaves, beside the covariance's");
  group.flag("--gradient", options.gradient,
             "also the exact gradient of the log-likelihood there; after a fit too");
  group.flag("--kl", options.kl,
             "also the divergence of the factor from one in fp64, the paper's and the full one");
}

void add_fit_options(CLI::App& command, MleOptions& options) {
  OptionGroup group(command, "The fit (without --theta)");
  group.parsed("--start", options.start, theta_type, theta_parser(options),
               "where it begins; without a nugget that stays 0 [from the data]");
  group.parsed("--lower", options.lower, theta_type, theta_parser(options),
               "least values; 0 is one for the nugget [from the data; see docs/geostatistics.md]");
  group.parsed("--upper", options.upper, theta_type, theta_parser(options),
               "largest values [from the data]");
  group
      .add("--fix", options.fix, "NAME[=VALUE]",
           "parameters that stay, at their start or as in nu=0.5,nugget=0; sigma2_2, range_2 and "
           "nu_2 are the second structure's")
      ->delimiter(',');
  group.named("--search", options.search,
              "scoring goes by the exact gradient, bobyqa and nelder-mead without one [scoring]");
  group
      .add("--tolerance", options.tolerance, "T",
           "relative change of each parameter to stop at; a fit ends earlier where its steps gain "
           "less than the log-likelihood's error [1e-5]")
      ->check(CLI::PositiveNumber.description(""));
  group.parsed("--finish", options.finish_in_fp64, "fp64|tiles", parse_finish,
               "where tiles are below fp64 and their noise ends the search: fp64, to go on in it "
               "from there, or tiles, to stop [fp64]");
  group.count("--max-evaluations", options.max_evaluations, "K",
              "evaluations of the log-likelihood, at most [500]");
}

void add_neighbour_options(CLI::App& command, MleOptions& options) {
  OptionGroup group(command, "Many observations: Vecchia's approximation");
  group.count("--neighbours", options.neighbours, "M",
              "each observation is conditioned on M others alone, up to 1000: a likelihood for "
              "many observations that is nearly the exact one, for example 30");
  group.named("--exact-beside", options.exact_beside,
              "the exact log-likelihood at the same parameters: what the approximation cost; auto: "
              "up to 4096 observations [auto]");
}

void add_error_options(CLI::App& command, MleOptions& options) {
  OptionGroup group(command, "How far the fitted parameters can be trusted");
  group.named(
      "--standard-errors", options.standard_errors,
      "standard errors by the Fisher information. They cost as much as 10 to 30 evaluations, and "
      "2 n^2 bytes for each of range and nu that is not fixed, which MPI's ranks share. auto: up "
      "to 4096 observations, where there is the memory [auto]");
  group.flag(
      "--profile-intervals", options.profile_intervals,
      "intervals of parameters that are not fixed, by fits with one parameter held; these take "
      "about ten times as long as the fit");
  group.add("--level", options.level, "L", "level of these intervals, between 0 and 1 [0.95]");
}

void add_method_options(CLI::App& command, MleOptions& options) {
  OptionGroup group(command, "The factorisation"), results(command, "Results");
  add_tile_options(group, options.tiles);
  group.named(
      "--storage", options.tiles.storage,
      "where the covariance matrix lies: in host memory, or spread over the devices' memory; "
      "automatic: GPUs hold it if they have room [automatic]");
  group.named("--log-determinant-from", options.log_det,
              "with tiles below fp64: corrected by an estimate, or the factor's [corrected]");
  group.bytes("--max-memory", options.max_memory, "refuse to use more, as 8GB [what is available]");
  results.add("--output", options.output, "OUT.csv", "predictions, or the synthetic field");
  results.add("--json", options.json, "FILE",
              "the report, for machines; - is the standard output, without the table");
}

// The default start, where the bounds that were given leave it out: the nearest that they hold.
geostat::MaternCovariance within(geostat::MaternCovariance const& start,
                                 geostat::MaternCovariance const& lower,
                                 geostat::MaternCovariance const& upper) {
  auto parameters = geostat::parameters_of(start);
  auto const low = geostat::parameters_of(lower), high = geostat::parameters_of(upper);
  for (std::size_t k = 0; k < parameters.size(); ++k)
    parameters[k] = std::min(std::max(parameters[k], low[k]), high[k]);
  auto result = geostat::with_parameters(start, parameters);
  if (!result.second) return result;
  // No std::clamp: bounds that were given may be the wrong way round, which the fit refuses.
  auto const nearest = [](double& value, double least, double most) {
    value = std::min(std::max(value, least), most);
  };
  auto const &least = *lower.second, &most = *upper.second;
  nearest(result.second->sigma2, least.sigma2, most.sigma2);
  nearest(result.second->range, least.range, most.range);
  nearest(result.second->nu, least.nu, most.nu);
  return result;
}

}  // namespace

void add_mle_options(CLI::App& command, MleOptions& options) {
  add_data_options(command, options);
  add_covariance_options(command, options);
  add_task_options(command, options);
  add_fit_options(command, options);
  add_error_options(command, options);
  add_neighbour_options(command, options);
  add_method_options(command, options);
}

namespace {

// "axes" or "axes=0.5,2".
Anisotropy parse_axes(std::string const& text) {
  Anisotropy result;
  result.by_axes = true;
  result.is_fitted = text == "axes";
  constexpr std::size_t behind = 5;
  bool is_list = result.is_fitted || (text.size() > behind && text[behind - 1] == '=');
  for (std::size_t start = behind; is_list && start <= text.size() && !result.is_fitted;) {
    auto const comma = std::min(text.find(',', start), text.size());
    is_list = parse_number(std::string_view(text).substr(start, comma - start),
                           result.axes.emplace_back()) == nullptr;
    start = comma + 1;
  }
  STRATA_REQUIRE(ValueError, is_list, "'", text, "' must be axes or axes=RATIO,...");
  return result;
}

}  // namespace

Anisotropy Anisotropy::parse(std::string const& text) {
  Anisotropy result;
  if (text == "fit") {
    result.is_fitted = true;
    return result;
  }
  if (text.starts_with("axes")) return parse_axes(text);
  auto const comma = std::min(text.find(','), text.size());
  bool const is_pair =
      comma < text.size() &&
      parse_number(std::string_view(text).substr(0, comma), result.angle) == nullptr &&
      parse_number(std::string_view(text).substr(comma + 1), result.ratio) == nullptr;
  STRATA_REQUIRE(ValueError, is_pair, "'", text,
                 "' must be ANGLE,RATIO or fit, axes or axes=RATIO,...");
  return result;
}

std::vector<std::string> MleOptions::further() const {
  if (columns.size() < 4) return {};
  return {columns.begin() + 2, columns.end() - 1};
}

geostat::CovarianceFactorOptions factor_options(MleOptions const& options) {
  geostat::CovarianceFactorOptions factor;
  factor.rule = precision_rule(options.tiles);
  factor.tile_size = options.tiles.tile;
  factor.log_det = options.log_det;
  factor.storage = options.tiles.storage;
  factor.devices = tile_devices(options.tiles, options.comm.get());
  factor.comm = options.comm;
  factor.grid = options.tiles.grid;
  factor.transport = options.tiles.transport;
  return factor;
}

geostat::FitOptions fit_options(MleOptions const& options, Observations const& data) {
  geostat::FitOptions fit = geostat::default_fit_options(
      data.locations, data.values, data.trend, options.families.first, options.families.second);
  fit.directions = options.anisotropy.is_fitted;
  fit.start.angle = options.anisotropy.angle;
  fit.start.ratio = options.anisotropy.ratio;
  fit.start.axes = options.anisotropy.axes;
  if (options.start) {
    fit.start = *options.start;
    fit.fixed[3] = fit.start.nugget == 0;
  }
  if (options.anisotropy.by_axes && options.anisotropy.is_fitted)
    fit.start.axes.assign(data.locations.coordinates() - 1, 1);
  if (options.lower) fit.lower = *options.lower;
  if (options.upper) fit.upper = *options.upper;
  if (!options.start) fit.start = within(fit.start, fit.lower, fit.upper);
  try {
    for (auto const& text : options.fix) geostat::fix_parameter(fit, text, "--fix");
  } catch (ValueError const& error) {
    throw UsageError(error.what());
  }
  fit.search = options.search;
  fit.tolerance = options.tolerance;
  fit.max_evaluations = options.max_evaluations;
  fit.finish_in_fp64 = options.finish_in_fp64;
  return fit;
}

}  // namespace strata::apps
