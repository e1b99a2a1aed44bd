// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_MLE_HPP
#define STRATA_APPS_MLE_HPP

#include <apps/mle/Strata_MleTrend.hpp>
#include <apps/shared/Strata_Exit.hpp>
#include <apps/shared/Strata_Tiles.hpp>
#include <comm/Strata_Communicator.hpp>
#include <geostat/Strata_Divergence.hpp>
#include <geostat/Strata_FisherInformation.hpp>
#include <geostat/Strata_Likelihood.hpp>
#include <geostat/Strata_LikelihoodGradient.hpp>
#include <geostat/fit/Strata_Fit.hpp>
#include <geostat/fit/Strata_ProfileInterval.hpp>
#include <geostat/kriging/Strata_CrossValidation.hpp>
#include <geostat/kriging/Strata_Variogram.hpp>
#include <geostat/vecchia/Strata_VecchiaFit.hpp>

#include <Kokkos_Core.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace strata::apps {

class Progress;
class Report;

/// Whether a fit is followed by the standard errors of its parameters.
enum class When : std::uint8_t {
  Auto,  ///< up to 4096 observations, where they are cheap beside the fit, and there is the memory
  On,
  Off
};
constexpr auto names_of(When) {
  return enum_names<When>("answer", {{When::Auto, "auto"}, {When::On, "on"}, {When::Off, "off"}});
}
using strata::name_of;

/// What becomes of observations whose place and value the file has before.
enum class CopiesOf : std::uint8_t { Keep, Drop };
constexpr auto names_of(CopiesOf) {
  return enum_names<CopiesOf>("choice", {{CopiesOf::Keep, "keep"}, {CopiesOf::Drop, "drop"}});
}

/// The axes of a covariance whose directions differ.
struct Anisotropy {
  double angle = 0, ratio = 1;
  bool is_fitted = false;
  bool by_axes = false;      ///< a range for each coordinate
  std::vector<double> axes;  ///< given ones, by the range of x

  /// "ANGLE,RATIO", "fit", "axes" or "axes=RATIO,...".
  ///
  /// Throws   ValueError that quotes the text.
  static Anisotropy parse(std::string const& text);
};

/// What the user asked `strata mle` for. Of locations and generate exactly one is set.
struct MleOptions {
  std::string locations;      ///< path of a station file
  std::int64_t generate = 0;  ///< locations of a synthetic field
  std::uint64_t seed = 1;
  geostat::Ordering ordering = geostat::Ordering::Hilbert;
  /// columns of x, y, further coordinates and the value; empty: by the rule
  std::vector<std::string> columns;
  std::optional<geostat::Mean> mean;  ///< what --trend 0 and 1 replace
  std::optional<TrendTerms> trend;    ///< none: as mean says, else a constant
  geostat::Criterion criterion = geostat::Criterion::ML;

  geostat::Families families;
  std::int32_t epsg = 0;  ///< coordinate system of a map, by EPSG's number; 0: not given
  Anisotropy anisotropy;
  std::optional<geostat::Metric> distance;  ///< none: by the columns' names
  std::string error_variances;              ///< name of their column; empty: none are known

  std::optional<geostat::MaternCovariance> theta;  ///< none: fit
  bool evaluate = false;
  bool skip_missing = false;
  CopiesOf copies = CopiesOf::Keep;
  bool kl = false;
  std::optional<geostat::MaternCovariance> start, lower, upper;
  std::vector<std::string> fix;  ///< "nu" or "nu=0.5"
  geostat::Search search = geostat::Search::Scoring;
  double tolerance = 1e-5;
  std::int64_t max_evaluations = 500;
  bool finish_in_fp64 = true;
  bool gradient = false;
  When standard_errors = When::Auto;
  bool profile_intervals = false;
  std::optional<double> level;  ///< level of the intervals; none: 0.95
  std::int64_t neighbours = 0;  ///< neighbours of Vecchia's approximation; 0: the exact likelihood
  When exact_beside = When::Auto;

  TileOptions tiles;
  geostat::LogDet log_det = geostat::LogDet::Corrected;
  std::size_t max_memory = 0;  ///< bytes of the host; 0: what is available

  std::string predict;  ///< path of a file of locations
  /// Axes of new places instead, as `PredictionGrid::parse` takes them, or "auto".
  std::string grid;
  std::int64_t simulations = 0;  ///< conditional ones at these locations
  bool no_variance = false;      ///< means alone
  bool exact = false;            ///< the nugget is a variation of the field
  std::string loo;               ///< path: the observations predicted from the others
  std::string folds;             ///< "K" or "K,random|blocks" left out together; empty: one by one
  std::string variogram;         ///< path: the empirical one
  std::string output, json;      ///< paths, empty: not wanted

  std::shared_ptr<Communicator const> comm;  ///< the ranks that share the matrix; none: one

  bool predicts() const { return !predict.empty() || !grid.empty(); }
  geostat::NuggetIs nugget() const {
    return exact ? geostat::NuggetIs::Variation : geostat::NuggetIs::Error;
  }
  bool fits() const { return generate == 0 && !theta; }
  /// Columns of the coordinates beyond y.
  std::vector<std::string> further() const;
  /// Those of --trend, or of --mean.
  TrendTerms terms() const {
    return trend.value_or(
        TrendTerms{mean.value_or(geostat::Mean::Constant) != geostat::Mean::None, {}});
  }
};

/// Add the options of `strata mle` to its sub-command; parsing writes to `options`.
void add_mle_options(CLI::App& command, MleOptions& options);

/// Refuse options that don't go together and results that could not be written.
///
/// Throws   UsageError.
void check(MleOptions const& options);

/// How the factorisation is asked for, but for the memory. Collective.
geostat::CovarianceFactorOptions factor_options(MleOptions const& options);

/// Observations in the order of the matrix's rows.
struct Observations {
  geostat::Locations locations;
  std::vector<double> values;
  geostat::Trend trend;
  std::vector<std::string> further = {};  ///< names of the coordinates beyond y
};

/// The fit that is asked for: the library's defaults with --start, --lower, --upper and --fix.
///
/// Throws   UsageError for a name in --fix that is no parameter's; what `default_fit_options`
///          throws.
geostat::FitOptions fit_options(MleOptions const& options, Observations const& data);

/// `strata mle`: read observations and fit, evaluate or predict, or make a synthetic field; write
/// the files asked for, print the report. All ranks work, rank 0 writes and prints.
///
/// Throws   UsageError for input that can't be used; Error for everything else that fails.
Exit mle(MleOptions options);

/// The predictions in short; the numbers are in the file.
struct PredictionSummary {
  std::string locations;            ///< the file with the locations
  std::int64_t count = 0;           ///< number of locations
  double mean = 0, variance = 0;    ///< averages over the locations; of the field without noise
  double observation_variance = 0;  ///< average, of a new observation: with the nugget
  double backward_error = 0;
  bool converged = true;
  std::string grid;                ///< axes of a map, as `PredictionGrid::to_text`
  std::vector<std::string> files;  ///< grids of a map
  std::int64_t simulations = 0;    ///< fields that were drawn there
  double ridge = 0;                ///< ridge of the simulations, in parts of sigma2
};

/// An observation that the others predict badly.
struct Outlier {
  std::int64_t number;  ///< place in the file, from 1, among those that were read
  double observed, predicted, z;
};

/// What the observations say of each other.
struct ValidationSummary {
  geostat::CrossValidation of;
  std::string folds;              ///< folds that were asked for; empty: one by one
  std::vector<Outlier> outliers;  ///< the five largest |z|
};

/// Vecchia's approximation, and the exact likelihood beside it.
struct VecchiaSummary {
  geostat::VecchiaReport of;
  std::optional<geostat::ExactBeside> exact;  ///< likelihood where it was evaluated
};

/// The factor in low precision against one in fp64.
struct DivergenceSummary {
  geostat::Divergence divergence;
  double log_det_fp64 = 0;
  double log_det_factor = 0;  ///< log-determinant of the factor, without a correction
};

/// The parameters' standard errors, or why there are none.
struct StandardErrorsSummary {
  std::string reason;  ///< empty: there are
  geostat::StandardErrors errors;
  double backward_error = 0;
  bool converged = true;
  double seconds = 0;
};

/// All that the report tells, on screen and in JSON.
struct MleResult {
  std::string task;    ///< "generate", "evaluate", "predict" or "fit"
  std::string source;  ///< the file, or the seed
  geostat::Metric metric = geostat::Metric::Euclidean;
  std::string ordering;
  geostat::Trend trend = geostat::Mean::None;
  std::vector<std::string> ignored;  ///< columns of the observations that were not read
  std::vector<std::string> further;  ///< names of the coordinates beyond y
  std::string error_variances;       ///< name of the column with known ones; empty: none
  bool asked_for_mean = false;       ///< the mean was asked for by the option that --trend replaces
  std::int64_t n = 0;
  int ranks = 1;
  geostat::MaternCovariance theta;                ///< given or fitted
  std::optional<geostat::Likelihood> likelihood;  ///< there; none for "generate"
  std::optional<geostat::FitOptions> asked;       ///< options of a fit
  std::optional<geostat::Fit> fit;
  std::optional<VecchiaSummary> vecchia;  ///< what a likelihood by neighbours is made of
  std::optional<geostat::LikelihoodGradient> gradient;
  std::optional<StandardErrorsSummary> standard_errors;  ///< standard errors of a fit
  /// intervals of its parameters, in their order
  std::vector<geostat::ProfileInterval> profile_intervals;
  std::optional<PredictionSummary> prediction;
  std::optional<ValidationSummary> validation;
  std::vector<geostat::VariogramClass> variogram;
  std::optional<DivergenceSummary> divergence;
  ooc::PrecisionRule rule;
  /// map of the tiles' precisions, as `PrecisionMap::to_text`
  std::string map;
  std::vector<double> log_likelihoods;  ///< log-likelihood of each evaluation of a fit
  std::string output;
  std::vector<std::string> warnings;  ///< what the user should know of the data and the model
  geostat::Copies copies;             ///< among the observations
  bool has_default_lower = true;      ///< the fit has the bounds that come from the data
  bool has_default_upper = true;
  std::size_t bytes_needed = 0;      ///< bytes of the host's memory that are needed
  std::size_t bytes_on_devices = 0;  ///< where these hold the matrix
  double read_seconds = 0, total_seconds = 0;
  bool is_ended = false;  ///< a signal ended the fit: what is there is the best until then

  /// False where tiles in low precision make the log-determinant unknown.
  bool log_det_known() const;
  /// Parameters that were estimated, the trend's coefficients among them.
  std::int64_t free_parameters() const;
  Exit exit() const;
};

/// "sigma2 1, range 0.1, nu 0.5, nugget 0", as far as the family has them.
std::string numbers(geostat::MaternCovariance const& theta);

/// "Matern", "spherical" and the like.
std::string family_title(geostat::Family family);
/// The same of a covariance, "Matern + exponential" of two structures.
std::string title_of(geostat::Covariance const& theta);

/// What a likelihood lacks that has an `info`.
std::string what_is_not_positive(MleResult const& result);

/// Add to `warnings` what observations at `locations` and the parameters let suspect.
void warn(MleOptions const& options, MleResult& result, geostat::Locations const& locations);

/// The warnings, and why there is no result that was asked for, on standard error.
void explain(MleResult const& result);

/// As schema/mle.schema.json describes it.
Report report(MleResult const& result);

/// Let the factors that are made with `how` tell how far they are, in two phases, and end the run
/// where a signal asks for it. A factor that is kept keeps these functions. They stop once the
/// returned flag is false.
std::shared_ptr<std::atomic<bool>> watch_factors(geostat::CovarianceFactorOptions& how,
                                                 std::int64_t n, std::string const& of,
                                                 Progress& progress);

/// What factors the covariance matrices of `strata mle`.
using MleFactor = geostat::CovarianceFactor<Kokkos::DefaultExecutionSpace>;

/// What a map is written as, by the ending of its name.
enum class MapKind : std::uint8_t { None, Ascii, GeoTiff, Netcdf };
/// How a path is written.
MapKind map_kind(std::string const& path);

/// Whether this rank writes and prints.
bool reports(MleOptions const& options);

/// The empirical variogram, to --variogram.
void tell_variogram(MleOptions const& options, Observations const& data, MleResult& result);

/// Leave one out or folds, to --loo, and the empirical variogram, to --variogram. Collective.
void validate(Kokkos::DefaultExecutionSpace const& exec, MleOptions const& options,
              Observations const& data, MleFactor& factor, Progress& progress, MleResult& result);

/// Kriging at the locations of --predict or --predict-grid, to --output, with --simulations.
/// Collective.
void predict(Kokkos::DefaultExecutionSpace const& exec, MleOptions const& options,
             Observations const& data, MleFactor& factor, Progress& progress, MleResult& result);

/// What an approximation by neighbours has in place of a factor.
using MleNeighbours = geostat::Vecchia<Kokkos::DefaultExecutionSpace>;

/// Observations that each new place, or one left out, is predicted from.
std::int64_t local_neighbours(MleOptions const& options);

/// The same two from neighbours alone.
void validate(Kokkos::DefaultExecutionSpace const& exec, MleOptions const& options,
              Observations const& data, MleNeighbours const& model, Progress& progress,
              MleResult& result);
void predict(Kokkos::DefaultExecutionSpace const& exec, MleOptions const& options,
             Observations const& data, MleNeighbours const& model, Progress& progress,
             MleResult& result);

/// Fit, evaluate or predict by Vecchia's approximation, which --neighbours asks for.
void estimate_by_neighbours(Kokkos::DefaultExecutionSpace const& exec, MleOptions const& options,
                            Observations const& data, Progress& progress, MleResult& result);

}  // namespace strata::apps

#endif
