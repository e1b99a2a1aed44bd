// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_MLE_HPP
#define STRATA_APPS_MLE_HPP

#include <apps/shared/Strata_Exit.hpp>
#include <apps/shared/Strata_TileOptions.hpp>
#include <geostat/Strata_Fit.hpp>
#include <geostat/Strata_Locations.hpp>
#include <geostat/Strata_Matern.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace strata::apps {

/// What the user asked `strata mle` for. Of locations and generate exactly one is set.
struct MleOptions {
  std::string locations;      ///< path of a station file
  std::int64_t generate = 0;  ///< locations of a synthetic field
  std::uint64_t seed = 1;
  geostat::Ordering ordering = geostat::Ordering::Hilbert;
  geostat::Mean mean = geostat::Mean::Constant;

  std::optional<geostat::MaternCovariance> theta;  ///< none: fit
  bool evaluate = false;
  bool kl = false;
  std::optional<geostat::MaternCovariance> start, lower, upper;
  std::vector<std::string> fix;  ///< "nu" or "nu=0.5"
  geostat::Search search = geostat::Search::Bobyqa;
  double tolerance = 1e-5;
  std::int64_t max_evaluations = 500;
  bool finish_in_fp64 = true;

  TileOptions tiles;
  geostat::LogDet log_det = geostat::LogDet::Corrected;
  std::size_t max_memory = 0;  ///< bytes of the host; 0: what is available

  std::string predict;       ///< path of a file of places
  std::string output, json;  ///< paths, empty: not wanted

  bool fits() const { return generate == 0 && !theta; }
};

/// Add the options of `strata mle` to its sub-command; parsing writes to `options`.
void add_mle_options(CLI::App& command, MleOptions& options);

/// Refuse options that don't go together and results that could not be written.
///
/// Throws   UsageError.
void check(MleOptions const& options);

/// How the factorisation is asked for, but for the memory.
geostat::CovarianceFactorOptions factor_options(MleOptions const& options);

/// The fit that is asked for: the library's defaults with --start, --lower, --upper and --fix.
///
/// Throws   UsageError for a name in --fix that is no parameter's; what `default_fit_options` throws.
geostat::FitOptions fit_options(MleOptions const& options, geostat::Locations const& locations,
                                std::vector<double> const& values);

/// `strata mle`: read observations and fit, evaluate or predict, or make a synthetic field; write the files asked
/// for, print the report.
///
/// Throws   UsageError for input that can't be used; Error for everything else that fails.
Exit mle(MleOptions const& options);

}  // namespace strata::apps

#endif
