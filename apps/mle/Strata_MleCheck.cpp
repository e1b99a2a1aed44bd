// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Which options of `strata mle` go together.
#include <apps/mle/Strata_Mle.hpp>
#include <apps/shared/Strata_Options.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <geostat/kriging/Strata_MapFiles.hpp>
#include <geostat/kriging/Strata_PredictionGrid.hpp>

#include <cmath>
#include <string>

namespace strata::apps {

namespace {

// What is predicted and where it goes.
void check_kriging(MleOptions const& options) {
  require(options.predict.empty() || options.grid.empty(),
          "give one of --predict and --predict-grid");
  require(!options.predicts() || !options.output.empty(),
          options.grid.empty() ? "--predict needs --output" : "--predict-grid needs --output");
  require(options.output.empty() || options.generate > 0 || options.predicts(),
          "--output goes with --predict or --generate");
  require(options.predicts() || (options.simulations == 0 && !options.no_variance),
          "--simulations and --no-variance are of --predict or --predict-grid");
  require(options.predicts() || !options.exact, "--exact is of --predict or --predict-grid");
  require(options.folds.empty() || !options.loo.empty(), "--loo-folds is of --loo");
  auto const needed = options.terms().needed();
  require(options.grid.empty() || needed.empty(),
          "--predict-grid has x and y alone, and --trend needs ",
          needed.empty() ? "" : needed.front(), "; give its cells to --predict");
  if (!options.grid.empty() && options.grid != "auto")
    (void)geostat::PredictionGrid::parse(options.grid);
}

// What neighbours alone do not serve.
void check_neighbours(MleOptions const& options) {
  if (options.neighbours == 0)
    return require(options.exact_beside == When::Auto, "--exact-beside is of --neighbours");
  require(options.neighbours <= 1000, "--neighbours: ", options.neighbours,
          " must be at most 1000; without it all are taken");
  require(options.generate == 0, "--neighbours is of observations, and --generate makes them");
  require(options.search == geostat::Search::Scoring,
          "--neighbours fits by scoring; --search is of the exact likelihood");
  require(!options.profile_intervals && !options.kl,
          "--profile-intervals and --kl are of the exact likelihood, without --neighbours");
  require(!precision_rule(options.tiles).may_mix(),
          "--epsilon is of the exact likelihood's tiles, without --neighbours");
  require(!options.comm || options.comm->size() == 1,
          "--neighbours runs on one rank, and there are ", options.comm ? options.comm->size() : 1);
}

// What kind of file, and its coordinate system.
void check_output(MleOptions const& options) {
  bool const is_map = !options.grid.empty() && map_kind(options.output) != MapKind::None;
  require(options.output.empty() || is_map || options.output.ends_with(".csv"),
          "--output: ", options.output, ": what is written is CSV; give a name that ends in .csv",
          options.grid.empty() ? "" : ", or .tif, .nc or .asc for grids");
  require(options.epsg == 0 || (is_map && map_kind(options.output) != MapKind::Ascii),
          "--crs is of --predict-grid with --output MAP.tif or MAP.nc");
  bool const may_be_geographic =
      geostat::MapReference{options.epsg, geostat::Metric::GreatCircle}.is_geographic();
  require(map_kind(options.output) != MapKind::Netcdf || may_be_geographic,
          "--crs EPSG:", options.epsg,
          " is a projected coordinate system, which NetCDF maps do not name: give MAP.tif, or "
          "leave it out");
}

// Coordinates beyond y, and a range for each.
void check_coordinates(MleOptions const& options) {
  require(options.columns.empty() || (options.columns.size() >= 3 &&
                                      options.columns.size() <= geostat::most_coordinates + 1),
          "--columns: ", options.columns.size(), " names, must be three, X,Y,VALUE, or more with ",
          "the coordinates between them, up to ", geostat::most_coordinates + 1);
  bool const has_further = !options.further().empty();
  require(options.grid.empty() || !has_further,
          "--predict-grid is of the plane, and --columns names ", options.columns.size() - 1,
          " coordinates: --predict takes a file of places");
  auto const& axes = options.anisotropy.axes;
  require(axes.empty() || options.generate > 0 || axes.size() == 1 + options.further().size(),
          "--anisotropy: ", axes.size(), " ratios, must be one for each of the ",
          1 + options.further().size(), " coordinates beyond x");
  require(options.fits() || !options.anisotropy.by_axes || !axes.empty(),
          "--anisotropy axes is for a fit, which --theta replaces; give axes=RATIO,...");
  require(options.generate == 0 || axes.size() < 2,
          "--generate is of the plane: --anisotropy axes=RATIO");
}

}  // namespace

void check(MleOptions const& options) {
  bool const generates = options.generate > 0;
  require(generates == options.locations.empty(), "give exactly one of --locations and --generate");
  require(!generates || (options.theta && !options.output.empty()),
          "--generate needs --theta and --output");
  bool const looks = !options.loo.empty() || !options.variogram.empty();
  require(!generates || (!options.evaluate && !options.predicts() && !looks),
          "--generate writes a field; give its file to --locations for the rest");
  require(!generates || !options.skip_missing,
          "--skip-missing is of observations that are read, and --generate makes them");
  require(options.copies == CopiesOf::Keep || options.error_variances.empty(),
          "--copies drop does not go with --error-variances: copies may differ in them");
  require(!generates || options.copies == CopiesOf::Keep,
          "--copies is of observations that are read, and --generate makes them");
  require(!options.trend || !options.mean, "--trend and --mean say the same: give --trend");
  require(!generates || (!options.trend && options.columns.empty() &&
                         options.criterion == geostat::Criterion::ML),
          "--trend, --columns and --likelihood are of observations that are read, and --generate "
          "makes them");
  check_coordinates(options);
  require(!options.evaluate || options.theta, "--evaluate needs --theta");
  require(!options.theta || generates || options.evaluate || options.predicts() || looks,
          "--theta goes with --evaluate or --predict; --start is where a fit begins");
  bool const fitting = options.start || options.lower || options.upper || !options.fix.empty();
  require(options.fits() || !fitting,
          "--start, --lower, --upper and --fix are for a fit, which --theta replaces");
  require(
      !generates || (!options.distance && options.error_variances.empty()),
      "--distance and --error-variances are of observations that are read, and --generate makes "
      "them");
  require(options.fits() || !options.anisotropy.is_fitted,
          "--anisotropy fit is for a fit, which --theta replaces; give ANGLE,RATIO");
  require(!options.gradient || !generates, "--gradient needs observations, not --generate");
  require(options.fits() || (options.standard_errors != When::On && !options.profile_intervals),
          "--standard-errors and --profile-intervals are of a fit, which --theta replaces");
  require(!options.level || options.profile_intervals, "--level is of --profile-intervals");
  require(!options.level || (*options.level > 0 && *options.level < 1),
          "--level: ", options.level.value_or(0), " must be between 0 and 1");
  require(!options.fits() || geostat::can_fit(options.search),
          "this build has no NLopt (Debian: libnlopt-dev), whose searches bobyqa and nelder-mead "
          "are; --search scoring needs none");
  check_kriging(options);
  check(options.tiles, options.comm.get());
  check_neighbours(options);
  require(!generates || !precision_rule(options.tiles).may_mix(),
          "--epsilon is of tiles below fp64, and --generate makes a field in fp64");
  require(std::isfinite(options.tolerance), "--tolerance: ", options.tolerance, " is not finite");
  check_output(options);
  check_writable({{"--output", options.output},
                  {"--json", options.json},
                  {"--loo", options.loo},
                  {"--variogram", options.variogram}});
}

}  // namespace strata::apps
