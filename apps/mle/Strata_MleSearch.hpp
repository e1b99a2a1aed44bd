// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_MLE_SEARCH_HPP
#define STRATA_APPS_MLE_SEARCH_HPP

#include <apps/mle/Strata_Mle.hpp>
#include <geostat/Strata_Fit.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>

namespace strata::apps {

class Progress;

/// Let the factors that are made with `how` tell how far they are, in two phases, and end the run where a signal asks for it,
/// until what is returned is set to false: a factor that is kept keeps these functions.
std::shared_ptr<std::atomic<bool>> watch_factors(geostat::CovarianceFactorOptions& how,
                                                 std::int64_t n, std::string const& of,
                                                 Progress& progress);

/// A fit as far as it came, for one that a signal ends.
struct Search {
  geostat::FitOptions options;
  std::optional<geostat::FitStep> best;  ///< none: no evaluation had a likelihood
  std::int64_t evaluations = 0, not_positive_definite = 0;
  double seconds = 0;

  /// Take an evaluation in.
  void see(geostat::FitStep const& step);
  /// Give the best to the result of a search that `why` ended.
  void end(std::string const& why, MleResult& result) const;
};

/// Whether an error that all ranks have came of a signal that any of them got. Collective; nullptr: one rank.
bool is_end_of_all(Communicator const* comm, std::exception const& error);

}  // namespace strata::apps

#endif
