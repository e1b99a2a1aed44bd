// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/fit/Strata_Fit.hpp>

#include <comm/Strata_Together.hpp>
#include <core/Strata_Errors.hpp>
#include <core/Strata_Stopwatch.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <geostat/fit/detail/Strata_FitObjective.hpp>
#include <geostat/fit/detail/Strata_FitVariables.hpp>
#include <geostat/fit/detail/Strata_Scoring.hpp>
#include <geostat/fit/detail/Strata_ScoringFit.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace strata::geostat {

namespace {

constexpr double noise_to_accept = 1e-3;  // of a log-likelihood

// Why a search with tiles below fp64 can't have ended at its tolerance.
std::string in_low_precision(double noise) {
  return std::isnan(noise) ? "; the error of the factor's own log-determinant is not known"
                           : strata::detail::message("; the log-likelihood is known to ", noise);
}

// A fit on its way.
template <class Exec>
class Searching {
 public:
  Searching(Exec const& exec, ooc::DeviceTeam<Exec> const& team, Locations const& locations,
            std::span<double const> values, FitOptions const& options,
            detail::FitVariables variables, Fit& result)
      : options_(options),
        result_(result),
        scoring_(options, std::move(variables), locations.size(), result),
        objective_(exec, team, locations, values, options, scoring_.variables(), result) {}

  CovarianceFactor<Exec> run() {
    search(variables().at(options_.start), options_.first_step);
    if (options_.finish_in_fp64 && objective_.had_low_tiles() &&
        (result_.converged || objective_.nowhere_defined() ||
         result_.evaluations < options_.max_evaluations))
      finish_in_fp64();
    settle();
    result_.noise = result_.likelihood.error();
    result_.evaluation_seconds = objective_.median_seconds();
    constexpr double rounding = 1e-12;
    scoring_.name_boundaries(objective_.best(),
                             by_derivatives() ? rounding : 2 * options_.tolerance);
    return objective_.take_factor();
  }

 private:
  bool by_derivatives() const { return options_.search == Search::Scoring; }
  detail::FitVariables const& variables() const { return scoring_.variables(); }
  detail::Scored value(std::span<double const> x) { return objective_.at(x); }

  void search(std::vector<double> const& from, double step) {
    if (scoring_.begin([this](auto const x) { return value(x); })) {
      by_derivatives() ? search_by_derivatives(from, step) : search_again(from, step);
      if (objective_.had_low_tiles())
        result_.reason += in_low_precision(result_.likelihood.error());
    }
    if (!objective_.nowhere_defined()) return;
    result_.converged = false;
    result_.reason = result_.not_known > 0
                         ? "the log-determinant was nowhere known with tiles in such low precision"
                         : "the covariance matrix was nowhere positive definite";
  }

  void search_by_derivatives(std::vector<double> const& from, double step) {
    detail::ScoredLikelihood const likelihood{[this](auto const x) { return value(x); },
                                              [this] { return objective_.model(); },
                                              [this] { return objective_.sill_is_held(); }};
    scoring_.search(likelihood, from, step, options_.tolerance);
  }

  // Noise may end a search on its way: begin anew at the best, until that brings no more than the
  // noise.
  void search_again(std::vector<double> from, double step) {
    for (double before = -HUGE_VAL;;) {
      objective_.begin_search();
      detail::BoundedSearch how;
      how.search = options_.search;
      how.tolerance = options_.tolerance;
      how.start = from;
      how.lower = variables().lower();
      how.upper = variables().upper();
      how.step = variables().steps(step);
      how.max_evaluations = options_.max_evaluations - result_.evaluations;
      how.enough = [this] { return objective_.sees_no_more(); };
      auto const outcome = detail::maximise(how, std::ref(objective_));
      result_.converged = outcome.converged;
      result_.reason =
          outcome.was_enough
              ? strata::detail::message("the log-likelihood changed by no more than its error, ",
                                        objective_.recent_noise())
              : outcome.reason;
      double const now = result_.likelihood.log_likelihood;
      if (!outcome.was_enough || now - before <= objective_.recent_noise() ||
          result_.evaluations == options_.max_evaluations)
        return;
      before = now;
      from = objective_.best();
    }
  }

  // Go on in fp64 from the best that was found with tiles below it.
  void finish_in_fp64() {
    bool const is_lost = objective_.nowhere_defined();  // low tiles say nothing of where to go on
    double const recent_noise = objective_.recent_noise();
    if (!is_lost) objective_.state_the_best();
    FitStep const low{result_.evaluations, result_.theta, result_.likelihood,
                      result_.likelihood.log_likelihood};
    std::string const reason = result_.reason;
    bool const is_close = result_.converged && std::isfinite(low.likelihood.error()) &&
                          recent_noise <= noise_to_accept;
    auto const from = variables().at(is_lost ? options_.start : low.theta);
    auto factor = options_.factor;
    factor.rule = ooc::PrecisionRule{};
    try {
      objective_.begin(factor);
      if (is_close || result_.evaluations == options_.max_evaluations) {
        (void)objective_.at(from);
        result_.reason = reason + ", and was then evaluated in fp64";
        if (objective_.nowhere_defined()) result_.converged = false;
      } else {
        search(from, is_lost ? options_.first_step : options_.first_step / 10);
      }
      result_.in_low_precision = low;
    } catch (MemoryError const& memory) {
      if (objective_.evaluations() > 0 || !all_have(options_.factor.comm.get(), memory)) throw;
      objective_.begin(options_.factor);
      result_.theta = low.theta;
      result_.likelihood = low.likelihood;
      result_.reason = reason + "; not evaluated in fp64: " + memory.what();
    }
    result_.evaluations_in_fp64 = objective_.evaluations();
  }

  // S itself is rounded in another way than C that the search factored: where that leaves no
  // factor, more nugget does.
  void settle() {
    objective_.state_the_best();
    auto const nugget = variables().nugget();
    if (!by_derivatives() || !nugget || objective_.nowhere_defined()) return;
    auto x = variables().at(result_.theta);
    for (int k = 0; k < 60 && result_.likelihood.info != 0 && x[*nugget] < 1e-6; ++k) {
      x[*nugget] = scoring_.raise_nugget(x);
      (void)objective_.at(x);
      objective_.state_the_best();
    }
  }

  FitOptions const& options_;
  Fit& result_;
  detail::ScoringFit scoring_;
  detail::FitObjective<Exec> objective_;
};

}  // namespace

template <class Exec>
FactoredFit<Exec> fit(Exec const& exec, Locations const& locations, std::span<double const> values,
                      FitOptions const& options) {
  return fit(exec, ooc::DeviceTeam<Exec>(options.factor.devices), locations, values, options);
}

template <class Exec>
FactoredFit<Exec> fit(Exec const& exec, ooc::DeviceTeam<Exec> const& team,
                      Locations const& locations, std::span<double const> values,
                      FitOptions const& options) {
  Region const region(exec, "strata::geostat::fit");
  Stopwatch const watch;
  auto const variables = together(options.factor.comm.get(), [&] {
    // With known error variances S is no multiple of a C that the nugget's share tells.
    detail::FitVariables const variables(options, locations.error_variances.empty());
    STRATA_REQUIRE(ValueError, !options.directions || locations.metric == Metric::Euclidean,
                   "fit: directions are of the plane, not of the sphere");
    bool const may_vanish = !options.fixed[3] && options.lower.nugget == 0;
    if (may_vanish) check_distinct(locations);
    return variables;
  });
  FactoredFit<Exec> result;
  result.factor = Searching(exec, team, locations, values, options, variables, result).run();
  result.seconds = watch.seconds();
  return result;
}

std::array<std::string, 4> why_no_error(Fit const& found, std::array<bool, 4> const& fixed) {
  constexpr double nothing = 1e-9;  // beside the nugget, or the field
  std::array<std::string, 4> result;
  auto const& theta = found.theta;
  bool const is_noise = found.at_bound[0] && theta.field() <= nothing * theta.nugget;
  // All of the field is the second structure's.
  bool const is_absent = found.at_bound[0] && theta.sigma2 <= 2 * nothing * theta.field();
  for (std::size_t k = 0; k < 4; ++k) {
    bool const is_of_shape = k == 1 || k == 2;
    result[k] = fixed[k]                   ? "fixed"
                : is_noise && is_of_shape  ? "there is no spatial correlation"
                : is_absent && is_of_shape ? "this structure is not there"
                : found.at_bound[k]        ? "at its bound"
                                           : "";
  }
  return result;
}

AlsoEstimated also_estimated(Fit const& found, FitOptions const& options) {
  AlsoEstimated result;
  result.directions = options.directions;
  result.mean_range_stays = {!options.fixed[1] && found.at_bound[1],
                             !options.fixed_second[1] && found.second_at_bound[1]};
  result.axis_stays = found.axis_at_bound;
  if (!found.theta.second) return result;
  bool const is_there = found.theta.second->sigma2 > 0;
  for (std::size_t k = 0; k < 3; ++k)
    result.second[k] = is_there && !options.fixed_second[k] && !found.second_at_bound[k] &&
                       (k != 2 || has_shape(found.theta.second->family));
  return result;
}

#define STRATA_INSTANTIATE(Exec)                                                               \
  template FactoredFit<Exec> fit<Exec>(Exec const&, Locations const&, std::span<double const>, \
                                       FitOptions const&);                                     \
  template FactoredFit<Exec> fit<Exec>(Exec const&, ooc::DeviceTeam<Exec> const&,              \
                                       Locations const&, std::span<double const>,              \
                                       FitOptions const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
