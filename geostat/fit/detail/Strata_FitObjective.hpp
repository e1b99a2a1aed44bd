// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_FIT_OBJECTIVE_HPP
#define STRATA_FIT_OBJECTIVE_HPP

#include <comm/Strata_Together.hpp>
#include <core/Strata_Stopwatch.hpp>
#include <geostat/Strata_LikelihoodGradient.hpp>
#include <geostat/fit/Strata_Fit.hpp>
#include <geostat/fit/detail/Strata_FitVariables.hpp>
#include <geostat/fit/detail/Strata_Scoring.hpp>
#include <geostat/fit/detail/Strata_ScoringFit.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace strata::geostat::detail {

/// Whether tiles are below fp64.
inline bool has_low_tiles(CovarianceFactorReport const& report) {
  return report.tiles[1] + report.tiles[2] + report.tiles[3] > 0;
}

/// The log-likelihood as a search sees it, and the best that it saw, which it writes to a Fit.
template <class Exec>
class FitObjective {
 public:
  FitObjective(Exec const& exec, ooc::DeviceTeam<Exec> const& team, Locations const& locations,
               std::span<double const> values, FitOptions const& options,
               FitVariables const& variables, Fit& result)
      : exec_(exec),
        team_(team),
        locations_(locations),
        values_(values),
        options_(options),
        variables_(variables),
        result_(result) {
    begin(options.factor);
  }

  // Forget what was seen, and evaluate with these tiles from now on.
  void begin(CovarianceFactorOptions const& factor) {
    factor_.reset();
    factor_options_ = factor;
    factor_options_.keep_matrix = false;  // no residual asks for it again
    evaluations_ = undefined_ = 0;
    recent_.clear();
    worst_.reset();
    low_tiles_ = false;
    result_.likelihood = {};
    result_.likelihood.log_likelihood = std::numeric_limits<double>::quiet_NaN();
  }
  // A new search begins, of what was seen the best stays.
  void begin_search() { recent_.clear(); }
  std::int64_t evaluations() const { return evaluations_; }
  bool nowhere_defined() const { return undefined_ == evaluations_; }
  bool had_low_tiles() const { return low_tiles_; }
  std::vector<double> const& best() const { return best_; }
  // Whether a bound of sigma2 or nugget holds the sill at the best.
  bool sill_is_held() const { return best_is_held_; }

  // Whether as many evaluations as a quadratic model has points differ by no more than their noise,
  // and twice as many brought no more.
  bool sees_no_more() const {
    if (recent_.size() < remembered()) return false;
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (std::size_t k = remembered() - model_points(); k < recent_.size(); ++k) {
      low = std::min(low, recent_[k].value);
      high = std::max(high, recent_[k].value);
    }
    return std::max(high - low, recent_.back().best - recent_.front().best) <= recent_noise();
  }
  // The largest of the last evaluations: the best may happen to have less.
  double recent_noise() const {
    double noise = 0;
    for (std::size_t k = recent_.size(); k > 0 && recent_.size() - k < model_points(); --k)
      noise = std::max(noise, recent_[k - 1].noise);
    return noise;
  }

  /// The log-likelihood at some variables, and what it may be off by; where that is not known, no
  /// noise is seen in it.
  Scored at(std::span<double const> x) {
    Stopwatch const watch;
    auto const now = evaluate(x);
    double const error = now.error();
    Scored const scored{is_defined(now), now.log_likelihood, std::isnan(error) ? 0 : error};
    see(x, now, scored);
    seconds_.push_back(watch.seconds());
    together(comm(), [&] {
      if (options_.on_step)
        options_.on_step({result_.evaluations, theta_, now, result_.likelihood.log_likelihood});
    });
    return scored;
  }
  /// The same for a search without derivatives, which wants a number everywhere: below all that was
  /// seen, but not so far that a quadratic model sees nothing else.
  double operator()(std::span<double const> x) {
    Scored const now = at(x);
    return now.defined ? now.value
                       : worst_.value_or(-1e6) - std::max(1.0, std::abs(worst_.value_or(0.0)));
  }
  /// The log-likelihood about the point that was evaluated last, which counts as the best from now
  /// on.
  Quadratic model() {
    Stopwatch const watch;
    result_.theta = theta_;
    result_.likelihood = now_;
    best_ = x_;
    best_is_held_ = variables_.sill_is_held(shape_, sill_);
    auto const derived = derivatives(exec_, *factor_, weights_, options_.trend.criterion(), sill_,
                                     variables_.wanted(), true);
    seconds_.back() += watch.seconds();
    return variables_.model(shape_, sill_, weights_.quadratic_form, degrees(), derived);
  }

  /// The factor at the best, and the likelihood there with refined solves and probes that the
  /// search has not seen. The largest of many estimates owes some of its height to the error that
  /// their probes share.
  void state_the_best() {
    factor_options_.keep_matrix = true;
    if (factor_) factor_->keep_matrix(true);
    factor(result_.theta);
    result_.likelihood = log_likelihood(exec_, *factor_, values_, options_.trend);
    factor_options_.keep_matrix = false;
    factor_->keep_matrix(false);
  }
  CovarianceFactor<Exec> take_factor() { return std::move(*factor_); }
  double median_seconds() { return median(seconds_); }

 private:
  static inline dense::LogDeterminantOptions const probes_of_the_search{.seed = 2};
  struct Recent {
    double value, noise, best;
  };

  std::size_t model_points() const { return 2 * variables_.size() + 1; }
  std::size_t remembered() const { return 2 * model_points() + 1; }

  static bool is_defined(Likelihood const& now) {
    return now.info == 0 && std::isfinite(now.log_likelihood) && !std::isinf(now.error());
  }

  // What the best sill divides the quadratic form by.
  std::int64_t degrees() const { return options_.trend.degrees(locations_.size()); }

  Communicator const* comm() const { return factor_options_.comm.get(); }

  void factor(MaternCovariance const& covariance) {
    if (factor_)
      factor_->refactor(exec_, covariance);
    else
      factor_.emplace(exec_, team_, covariance, locations_, factor_options_);
  }

  // The factor of C serves S = s C. Then log det S = log det C + n log s, log det F' S^-1 F is less
  // by k log s, and the form is C's divided by s.
  Likelihood evaluate(std::span<double const> x) {
    shape_ = variables_.shape(x);
    sill_ = 1;
    factor(shape_);
    weights_ = {};
    if (factor_->info().ok())
      weights_ = weights(exec_, *factor_, values_, options_.trend, Solves::Direct);
    Likelihood result =
        log_likelihood(exec_, *factor_, weights_, options_.trend, probes_of_the_search);
    if (result.info == 0 && variables_.has_sill()) {
      sill_ = variables_.sill(shape_, weights_.quadratic_form, degrees());
      double const scaled = static_cast<double>(locations_.size()) * std::log(sill_);
      result.log_det += scaled;
      result.log_det_error += 0x1p-52 * std::abs(scaled);
      result.quadratic_form /= sill_;
      result.quadratic_form_error /= sill_;
      if (options_.trend.criterion() == Criterion::REML)
        result.log_det_trend -= static_cast<double>(options_.trend.columns()) * std::log(sill_);
      for (double& c : result.coefficient_covariance) c *= sill_;
      result.log_likelihood = log_likelihood_of(result, options_.trend);
    }
    theta_ = variables_.theta(shape_, sill_);
    return result;
  }

  void see(std::span<double const> x, Likelihood const& now, Scored const& scored) {
    ++result_.evaluations;
    ++evaluations_;
    now_ = now;
    x_.assign(x.begin(), x.end());
    low_tiles_ = low_tiles_ || has_low_tiles(now.factor);
    bool const first = evaluations_ == 1 || (scored.defined && undefined_ == evaluations_ - 1);
    if (!scored.defined) {
      ++undefined_;
      ++(now.info != 0 ? result_.not_positive_definite : result_.not_known);
    }
    if (first || (scored.defined && scored.value > result_.likelihood.log_likelihood)) {
      result_.theta = theta_;
      result_.likelihood = now;
      best_ = x_;
    }
    if (!scored.defined) return recent_.clear();
    recent_.push_back({scored.value, scored.noise, result_.likelihood.log_likelihood});
    if (recent_.size() > remembered()) recent_.pop_front();
    worst_ = std::min(worst_.value_or(scored.value), scored.value);
  }

  Exec const& exec_;
  ooc::DeviceTeam<Exec> team_;
  Locations const& locations_;
  std::span<double const> values_;
  FitOptions const& options_;
  FitVariables const& variables_;
  Fit& result_;
  CovarianceFactorOptions factor_options_;
  std::optional<CovarianceFactor<Exec>> factor_;
  // Of the last evaluation: S = sill_ C of shape_.
  MaternCovariance shape_, theta_;
  double sill_ = 1;
  Weights<Exec> weights_;
  Likelihood now_;
  std::vector<double> x_, best_;
  bool best_is_held_ = false;
  std::vector<double> seconds_;  // of each evaluation
  std::optional<double> worst_;
  std::deque<Recent> recent_;
  std::int64_t evaluations_ = 0, undefined_ = 0;
  bool low_tiles_ = false;
};

}  // namespace strata::geostat::detail

#endif
