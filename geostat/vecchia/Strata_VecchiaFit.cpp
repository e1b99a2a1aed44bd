// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/vecchia/Strata_VecchiaFit.hpp>

#include <core/Strata_Errors.hpp>
#include <core/Strata_Stopwatch.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <geostat/fit/detail/Strata_FitVariables.hpp>
#include <geostat/fit/detail/Strata_Scoring.hpp>
#include <geostat/fit/detail/Strata_ScoringFit.hpp>
#include <geostat/neighbours/Strata_MaximinOrder.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace strata::geostat {

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// A search on its way, by one approximation after another.
template <class Exec>
class NeighbourSearch {
 public:
  NeighbourSearch(Exec const& exec, std::int64_t n, FitOptions const& options,
                  detail::FitVariables variables, Fit& result)
      : exec_(exec),
        options_(options),
        result_(result),
        scoring_(options, std::move(variables), n, result),
        degrees_(options.trend.degrees(n)) {
    result_.theta = options.start;
  }

  /// From the best until now to the best of this approximation, to this tolerance.
  void run(Vecchia<Exec> const& approximation, double tolerance) {
    constexpr double rounding = 1e-12;
    approximation_ = &approximation;
    result_.likelihood = {};
    result_.likelihood.log_likelihood = not_a_number;
    evaluations_ = undefined_ = 0;
    detail::ScoredLikelihood const likelihood{[this](auto const x) { return value(x); },
                                              [this] { return model(); },
                                              [this] { return is_held_; }};
    if (scoring_.begin(likelihood.value))
      scoring_.search(likelihood, scoring_.variables().at(result_.theta), options_.first_step,
                      tolerance);
    result_.noise = result_.likelihood.error();
    if (undefined_ == evaluations_) {
      result_.converged = false;
      result_.reason = "the neighbours' covariance matrices were nowhere positive definite";
    }
    scoring_.name_boundaries(scoring_.end(), rounding);
  }

  double median_seconds() { return detail::median(seconds_); }

 private:
  detail::Scored value(std::span<double const> x) {
    Stopwatch const watch;
    shape_ = scoring_.variables().shape(x);
    auto const sums = approximation_->sums(exec_, shape_, false, false);
    sill_ = 1;
    if (sums.info == 0 && scoring_.variables().has_sill())
      sill_ = scoring_.variables().sill(shape_, approximation_->profile(sums, 1).form_of_shape,
                                        degrees_);
    now_ = approximation_->profile(sums, sill_).likelihood;
    theta_ = scoring_.variables().theta(shape_, sill_);
    now_.seconds = watch.seconds();
    ++result_.evaluations;
    ++evaluations_;
    bool const is_defined = now_.info == 0 && std::isfinite(now_.log_likelihood);
    if (!is_defined) ++undefined_, ++result_.not_positive_definite;
    bool const first = evaluations_ == 1 || (is_defined && undefined_ == evaluations_ - 1);
    if (first || (is_defined && now_.log_likelihood > result_.likelihood.log_likelihood)) take();
    seconds_.push_back(watch.seconds());
    if (options_.on_step)
      options_.on_step({result_.evaluations, theta_, now_, result_.likelihood.log_likelihood});
    return {is_defined, now_.log_likelihood, is_defined ? now_.error() : 0};
  }

  void take() {
    result_.theta = theta_;
    result_.likelihood = now_;
    is_held_ = scoring_.variables().sill_is_held(shape_, sill_);
  }

  // About the point that was evaluated last, which counts as the best from now on.
  detail::Quadratic model() {
    Stopwatch const watch;
    take();
    auto const wanted = scoring_.variables().wanted();
    auto const sums = approximation_->sums(exec_, shape_, true, wanted[2], options_.directions);
    auto const profile = approximation_->profile(sums, sill_);
    seconds_.back() += watch.seconds();
    return scoring_.variables().model(shape_, sill_, profile.form_of_shape, degrees_,
                                      approximation_->derivatives(sums, profile, shape_, wanted));
  }

  Exec const& exec_;
  FitOptions const& options_;
  Fit& result_;
  detail::ScoringFit scoring_;
  std::int64_t degrees_;
  Vecchia<Exec> const* approximation_ = nullptr;
  // Of the last evaluation: S = sill_ C of shape_.
  MaternCovariance shape_, theta_;
  double sill_ = 1;
  Likelihood now_;
  bool is_held_ = false;
  std::int64_t evaluations_ = 0, undefined_ = 0;  // with this approximation
  std::vector<double> seconds_;
};

std::array<bool, 4> estimated_of(Fit const& fit, std::array<bool, 4> const& fixed) {
  std::array<bool, 4> result{};
  auto const reasons = why_no_error(fit, fixed);
  for (std::size_t k = 0; k < 4; ++k) result[k] = reasons[k].empty();
  result[2] = result[2] && has_shape(fit.theta.family);
  return result;
}

// I^-1 g of the parameters that are estimated, in units of their standard errors; by logarithms,
// where the information is well scaled.
Parameters newton_step(FisherInformation const& information, Parameters const& g,
                       MaternCovariance const& at, std::array<bool, 4> const& estimated) {
  std::vector<std::size_t> free;
  for (std::size_t k = 0; k < 4; ++k)
    if (estimated[k]) free.push_back(k);
  auto const theta = parameters_of(at);
  std::size_t const m = free.size();
  std::vector<double> I(m * m), step(m);
  for (std::size_t a = 0; a < m; ++a) {
    step[a] = theta[free[a]] * g[free[a]];
    for (std::size_t b = 0; b < m; ++b)
      I[a + b * m] = theta[free[a]] * information.of[free[a]][free[b]] * theta[free[b]];
  }
  auto const L = detail::lower_factor(I, m);
  detail::substitute(L, step);
  detail::substitute_transposed(L, step);
  auto const errors = standard_errors(information, at, estimated);
  Parameters result = {not_a_number, not_a_number, not_a_number, not_a_number};
  for (std::size_t a = 0; a < m; ++a) result[free[a]] = step[a] / errors.of_logarithm[free[a]];
  return result;
}

}  // namespace

template <class Exec>
ExactBeside exact_beside(Exec const& exec, Locations const& locations,
                         std::span<double const> values, Trend const& trend,
                         MaternCovariance const& theta, FisherInformation const& information,
                         std::array<bool, 4> const& estimated,
                         CovarianceFactorOptions const& options, AlsoEstimated const& also) {
  Stopwatch const watch;
  ExactBeside result;
  result.distance = {not_a_number, not_a_number, not_a_number, not_a_number};
  CovarianceFactor<Exec> factor(exec, theta, locations, options);
  result.likelihood = log_likelihood(exec, factor, values, trend);
  bool const has_second = std::ranges::count(also.second, true) > 0;
  result.reason = also.directions ? "directions were estimated, too"
                  : has_second    ? "a second structure was estimated, too"
                  : std::ranges::count(estimated, true) == 0 ? "nothing was estimated"
                  : !factor.info().ok() ? "the covariance matrix is not positive definite"
                                        : "";
  if (result.reason.empty())
    result.distance =
        newton_step(information, log_likelihood_gradient(exec, factor, values, trend, estimated).by,
                    theta, estimated);
  result.seconds = watch.seconds();
  return result;
}

template <class Exec>
FittedVecchia<Exec> fit_by_neighbours(Exec const& exec, Locations const& locations,
                                      std::span<double const> values, FitOptions const& options,
                                      VecchiaFitOptions const& how) {
  Region const region(exec, "strata::geostat::fit_by_neighbours");
  Stopwatch const watch;
  STRATA_REQUIRE(ValueError, options.search == Search::Scoring, "fit_by_neighbours: the search is ",
                 name_of(options.search), ", must be scoring");
  STRATA_REQUIRE(ValueError, !options.directions || locations.metric == Metric::Euclidean,
                 "fit_by_neighbours: directions are of the plane, not of the sphere");
  // With known error variances S is no multiple of a C that the nugget's share tells.
  detail::FitVariables const variables(options, locations.error_variances.empty());
  bool const may_vanish = !options.fixed[3] && options.lower.nugget == 0;
  if (may_vanish) check_distinct(locations);
  detail::check_values(locations.size(), values);
  FittedVecchia<Exec> result;
  NeighbourSearch<Exec> search(exec, locations.size(), options, variables, result);
  Stopwatch set_up;
  // Neighbours are the nearest by the start's directions, and by those that a first search found.
  Locations without_directions = detail::Directions(options.start)(locations);
  auto order = maximin_order(exec, without_directions);
  double order_seconds = set_up.lap();
  constexpr std::int64_t few = 500;
  if (how.first_neighbours > 0 && how.approximation.neighbours > 2 * how.first_neighbours &&
      locations.size() > few) {
    constexpr double rough = 1e-3;  // the end is another anyway
    VecchiaOptions coarse = how.approximation;
    coarse.neighbours = how.first_neighbours;
    search.run(Vecchia<Exec>(exec, locations, values, options.trend,
                             vecchia_blocks(exec, without_directions, order, coarse).blocks),
               std::max(options.tolerance, rough));
    if (options.directions) {
      set_up.lap();
      without_directions = detail::Directions(result.theta)(locations);
      order = maximin_order(exec, without_directions);
      order_seconds += set_up.lap();
    }
  }
  auto const blocks = vecchia_blocks(exec, without_directions, order, how.approximation);
  result.approximation = blocks.report;
  result.approximation.order_seconds = order_seconds;
  result.model.emplace(exec, locations, values, options.trend, blocks.blocks);
  search.run(*result.model, options.tolerance);
  result.evaluation_seconds = search.median_seconds();
  bool const is_there = result.likelihood.info == 0 && std::isfinite(result.noise);
  auto const estimated = estimated_of(result, options.fixed);
  if (is_there)
    result.information =
        result.model->information(exec, result.theta, estimated, options.directions);
  result.seconds = watch.seconds();
  if (is_there && locations.size() <= how.exact_up_to)
    result.exact =
        exact_beside(exec, locations, values, options.trend, result.theta, result.information,
                     estimated, options.factor, also_estimated(result, options));
  return result;
}

#define STRATA_INSTANTIATE(Exec)                                                                   \
  template ExactBeside exact_beside<Exec>(Exec const&, Locations const&, std::span<double const>,  \
                                          Trend const&, MaternCovariance const&,                   \
                                          FisherInformation const&, std::array<bool, 4> const&,    \
                                          CovarianceFactorOptions const&, AlsoEstimated const&);   \
  template FittedVecchia<Exec> fit_by_neighbours<Exec>(Exec const&, Locations const&,              \
                                                       std::span<double const>, FitOptions const&, \
                                                       VecchiaFitOptions const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
