// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_MLE_REPORT_HPP
#define STRATA_APPS_MLE_REPORT_HPP

#include <apps/mle/Strata_Mle.hpp>
#include <apps/shared/Strata_Exit.hpp>
#include <geostat/Strata_Divergence.hpp>
#include <geostat/Strata_Fit.hpp>
#include <geostat/Strata_Likelihood.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace strata::apps {

class Report;

/// The predictions in short; the numbers are in the file.
struct PredictionSummary {
  std::string places;               ///< the file with the places
  std::int64_t count = 0;           ///< of them
  double mean = 0, variance = 0;    ///< averages over the places; of the field without noise
  double observation_variance = 0;  ///< average, of a new observation: with the nugget
  double backward_error = 0;
  bool converged = true;
};

/// The factor in low precision against one in fp64.
struct DivergenceSummary {
  geostat::Divergence divergence;
  double log_det_fp64 = 0;
  double log_det_factor = 0;  ///< of the factor, without a correction
};

/// All that the report tells, on screen and in JSON.
struct MleResult {
  std::string task;    ///< "generate", "evaluate", "predict" or "fit"
  std::string source;  ///< the file, or the seed
  geostat::Metric metric = geostat::Metric::Euclidean;
  std::string ordering;
  geostat::Mean mean = geostat::Mean::None;
  std::int64_t n = 0;
  geostat::MaternCovariance theta;                ///< given or fitted
  std::optional<geostat::Likelihood> likelihood;  ///< there; none for "generate"
  std::optional<geostat::FitOptions> asked;       ///< of a fit
  std::optional<geostat::Fit> fit;
  std::optional<PredictionSummary> prediction;
  std::optional<DivergenceSummary> divergence;
  ooc::PrecisionRule rule;
  std::string output;
  std::vector<std::string> warnings;  ///< what the user should know of the data and the model
  std::size_t bytes_needed = 0;
  double read_seconds = 0, total_seconds = 0;

  /// False where tiles in low precision leave nothing to say of it.
  bool log_det_known() const;
  Exit exit() const;
};

/// As schema/mle.schema.json describes it.
Report report(MleResult const& result);

}  // namespace strata::apps

#endif
