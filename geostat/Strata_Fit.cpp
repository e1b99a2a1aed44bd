// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/Strata_Fit.hpp>

#include <comm/Strata_Together.hpp>
#include <core/Strata_Stopwatch.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <optional>

namespace strata::geostat {

namespace {

constexpr std::size_t nu_index = 2;

// The parameters that are searched, and the way between them and a covariance.
struct FreeParameters {
  Parameters start, lower, upper;
  std::vector<std::size_t> indices;

  explicit FreeParameters(FitOptions const& options)
      : start(parameters_of(options.start)),
        lower(parameters_of(options.lower)),
        upper(parameters_of(options.upper)) {
    STRATA_REQUIRE(ValueError, options.tolerance > 0 && options.max_evaluations > 0,
                   "fit: the tolerance is ", options.tolerance, " and the evaluations are ",
                   options.max_evaluations, ", must be positive");
    STRATA_REQUIRE(ValueError, options.first_step > 0 && std::isfinite(options.first_step),
                   "fit: the first step is ", options.first_step, ", must be positive and finite");
    options.start.check();
    for (std::size_t k = 0; k < start.size(); ++k) {
      if (options.fixed[k]) continue;
      STRATA_REQUIRE(ValueError, std::isfinite(lower[k]) && std::isfinite(upper[k]),
                     "fit: the bounds of ", parameter_names[k], " are ", lower[k], " and ",
                     upper[k], ", must be finite");
      STRATA_REQUIRE(
          ValueError,
          lower[k] > 0 && lower[k] <= start[k] && start[k] <= upper[k] && lower[k] < upper[k],
          "fit: ", parameter_names[k], " starts at ", start[k], " with the bounds ", lower[k],
          " and ", upper[k], ": they must be positive and hold it between them, or fix it");
      indices.push_back(k);
    }
    STRATA_REQUIRE(ValueError,
                   start[nu_index] <= 50 && (options.fixed[nu_index] || upper[nu_index] <= 50),
                   "fit: nu may reach ", upper[nu_index], ", must be at most 50");
  }

  MaternCovariance covariance(std::span<double const> logarithms) const {
    Parameters parameters = start;
    for (std::size_t k = 0; k < indices.size(); ++k) {
      auto const index = indices[k];
      // exp(log(bound)) may leave the box by rounding.
      parameters[index] = std::clamp(std::exp(logarithms[k]), lower[index], upper[index]);
    }
    return covariance_of(parameters);
  }

  detail::BoundedSearch search(FitOptions const& options, MaternCovariance const& from,
                               double first_step) const {
    detail::BoundedSearch search;
    search.search = options.search;
    search.tolerance = options.tolerance;
    Parameters const begin = parameters_of(from);
    for (auto const index : indices) {
      double const low = std::log(lower[index]), high = std::log(upper[index]);
      search.start.push_back(std::clamp(std::log(begin[index]), low, high));
      search.lower.push_back(low);
      search.upper.push_back(high);
      search.step.push_back(std::min(first_step, (high - low) / 4));
    }
    return search;
  }
};

void mark_bounds(FreeParameters const& free, double tolerance, Fit& result) {
  Parameters const theta = parameters_of(result.theta);
  for (auto const k : free.indices)
    result.at_bound[k] = theta[k] <= free.lower[k] * (1 + 2 * tolerance) ||
                         theta[k] >= free.upper[k] / (1 + 2 * tolerance);
}

double mean_square(std::span<double const> values, double about) {
  auto const n = static_cast<double>(values.size());
  double sum = 0;
  for (double const value : values) sum += (value - about) * (value - about) / n;
  return sum;
}

}  // namespace

FitOptions default_fit_options(Locations const& locations, std::span<double const> values,
                               Mean mean) {
  check_locations(locations);
  STRATA_REQUIRE(ShapeError, static_cast<std::int64_t>(values.size()) == locations.size(),
                 "default_fit_options: ", values.size(), " values at ", locations.size(),
                 " locations");
  STRATA_REQUIRE(ValueError,
                 std::ranges::adjacent_find(values, std::not_equal_to<>()) != values.end(),
                 "default_fit_options: a fit needs at least two values that differ; all of these ",
                 values.size(), " are the same");
  detail::check_values(locations.size(), values);
  double centre = 0;
  for (double const value : values) centre += value / static_cast<double>(values.size());
  double const variance = mean_square(values, centre);
  double const field = mean == Mean::None ? mean_square(values, 0) : variance;
  STRATA_REQUIRE(ValueError, std::isnormal(1e-6 * variance) && std::isfinite(100 * field),
                 "default_fit_options: the values have the variance ", variance,
                 " and the mean square ", mean_square(values, 0),
                 ", of which fp64 can't hold 1e-6 and 100 times; take another unit");
  auto const [left, right] = std::minmax_element(locations.x.begin(), locations.x.end());
  auto const [bottom, top] = std::minmax_element(locations.y.begin(), locations.y.end());
  bool const globe = locations.metric == Metric::GreatCircle;
  // On the sphere no location is further away than half of the equator.
  double const width = globe ? std::min(*right - *left, 180.0) : *right - *left;
  double const degree = globe ? detail::earth_radius_km * detail::radians_per_degree : 1;
  double const extent = degree * std::hypot(width, *top - *bottom);
  STRATA_REQUIRE(ValueError, extent > 0, "default_fit_options: all locations coincide");
  FitOptions options;
  options.mean = mean;
  options.start = {0.9 * field, extent / 10, 0.5, 0.1 * variance};
  options.lower = {1e-6 * variance, 1e-4 * extent, 0.1, 1e-6 * variance};
  options.upper = {100 * field, 10 * extent, globe ? 0.5 : 3.0, 100 * field};
  if (globe) options.start.nu = 0.45;
  return options;
}

namespace {

// What the log-likelihood may be off by; where that is not known, no noise is seen in it.
double noise_of(Likelihood const& likelihood) {
  return std::isnan(likelihood.error()) ? 0 : likelihood.error();
}

bool has_low_tiles(CovarianceFactorReport const& report) {
  return report.tiles[1] + report.tiles[2] + report.tiles[3] > 0;
}

// The log-likelihood as a search sees it, and the best that it saw.
template <class Exec>
class Objective {
 public:
  Objective(Exec const& exec, ooc::DeviceTeam<Exec> const& team, Locations const& locations,
            std::span<double const> values, FitOptions const& options, FreeParameters const& free,
            Fit& result)
      : exec_(exec),
        team_(team),
        locations_(locations),
        values_(values),
        options_(options),
        free_(free),
        result_(result) {
    begin(options.factor);
  }

  // Forget what was seen, and evaluate with these tiles from now on.
  void begin(CovarianceFactorOptions const& factor) {
    now_.reset();
    best_.reset();
    factor_options_ = factor;
    keeps_best_ = has_room_for_two(factor);
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
  // Whether as many evaluations as a quadratic model has points differ by no more than their noise, and
  // twice as many brought no more.
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

  double operator()(std::span<double const> logarithms) {
    Stopwatch const watch;
    MaternCovariance const theta = free_.covariance(logarithms);
    Likelihood const now = evaluate(theta);
    see(theta, now);
    seconds_.push_back(watch.seconds());
    together(comm(), [&] {
      if (options_.on_step)
        options_.on_step({result_.evaluations, theta, now, result_.likelihood.log_likelihood});
    });
    // Below all that was seen, but not so far that a quadratic model sees nothing else.
    return is_defined(now) ? now.log_likelihood
                           : worst_.value_or(-1e6) - std::max(1.0, std::abs(worst_.value_or(0.0)));
  }

  // The largest of many estimates owes some of its height to the error that their probes share: what is stated of
  // it comes from probes that the search has not seen.
  void state_the_best() {
    if (has_low_tiles(result_.likelihood.factor) && is_defined(result_.likelihood))
      result_.likelihood = log_likelihood(exec_, factor_at_best(), values_, options_.mean);
  }
  // Made anew, it has not climbed yet where the likelihood's solve did.
  CovarianceFactor<Exec> take_factor() {
    auto& factor = factor_at_best();
    if (factor.report().rung != result_.likelihood.factor.rung)
      result_.likelihood = log_likelihood(exec_, factor, values_, options_.mean);
    return std::move(factor);
  }
  double median_seconds() {
    auto const middle = seconds_.begin() + static_cast<std::ptrdiff_t>(seconds_.size() / 2);
    std::nth_element(seconds_.begin(), middle, seconds_.end());
    return *middle;
  }

 private:
  static inline dense::LogDeterminantOptions const probes_of_the_search{.seed = 2};
  struct Recent {
    double value, noise, best;
  };

  std::size_t model_points() const { return 2 * free_.indices.size() + 1; }
  std::size_t remembered() const { return 2 * model_points() + 1; }

  static bool is_defined(Likelihood const& now) {
    return now.info == 0 && std::isfinite(now.log_likelihood) && !std::isinf(now.error());
  }

  Communicator const* comm() const { return factor_options_.comm.get(); }

  // Of what is allowed, each with its room for tiles of others, and with the tiles of as many workers beside them; on all
  // ranks or on none.
  bool has_room_for_two(CovarianceFactorOptions const& factor) const {
    auto const bytes = together(
        comm(), [&] { return CovarianceFactor<Exec>::bytes_needed(locations_.size(), factor); });
    bool const lacks = bytes > factor.max_bytes / 4;
    return comm() ? comm()->max(lacks ? 1 : 0) == 0 : !lacks;
  }

  // Wider tiles, of this evaluation or of a rung that its solve climbs to, may need the memory of the best's factor.
  Likelihood evaluate(MaternCovariance const& theta) {
    auto const once = [&] {
      factor(theta);
      return log_likelihood(exec_, *now_, values_, options_.mean, probes_of_the_search);
    };
    try {
      return once();
    } catch (MemoryError const& error) {
      if (!best_ || !all_have(comm(), error)) throw;
      best_.reset();
      keeps_best_ = false;
      return once();
    }
  }

  void factor(MaternCovariance const& theta) {
    if (now_)
      now_->refactor(exec_, theta);
    else
      make_factor(theta);
  }

  // Where there is no memory for a second one beside it, the best's is taken.
  void make_factor(MaternCovariance const& theta) {
    try {
      require_room_beside_the_best();
      now_.emplace(exec_, team_, theta, locations_, factor_options_);
      together(comm(), [&] {
        STRATA_REQUIRE(MemoryError,
                       !best_ || (now_->is_whole() == best_->is_whole() &&
                                  now_->report().storage == best_->report().storage),
                       "fit: no room for a second factor where the first is");
      });
    } catch (MemoryError const& error) {
      if (!best_ || !all_have(comm(), error)) throw;
      now_.reset();
      keeps_best_ = false;
      std::swap(now_, best_);
      now_->refactor(exec_, theta);
    }
  }

  // Two on a device keep within its budget together, with the pool that works on either.
  void require_room_beside_the_best() const {
    if (!best_ || best_->report().storage == ooc::TileStorage::Host) return;
    together(comm(), [&] {
      auto const& devices = team_.devices();
      for (std::size_t d = 0; d < devices.size(); ++d) {
        bool const whole = best_->is_whole();
        std::size_t const budget = devices[d].budget_bytes,
                          bytes = whole ? best_->report().bytes
                                        : best_->factor().matrix().bytes_on(devices[d].id),
                          pool = whole ? 0 : best_->factor().report().devices[d].budget_bytes;
        STRATA_REQUIRE(MemoryError, budget == 0 || 2 * bytes + pool <= budget,
                       "fit: two factors of ", bytes, " bytes, the budget of device ",
                       devices[d].id, " is ", budget);
      }
    });
  }

  CovarianceFactor<Exec>& factor_at_best() {
    if (keeps_best_ && best_) return *best_;
    if (!now_ || parameters_of(now_->covariance()) != parameters_of(result_.theta))
      factor(result_.theta);
    return *now_;
  }

  void see(MaternCovariance const& theta, Likelihood const& now) {
    ++result_.evaluations;
    ++evaluations_;
    low_tiles_ = low_tiles_ || has_low_tiles(now.factor);
    bool const defined = is_defined(now);
    bool const first = evaluations_ == 1 || (defined && undefined_ == evaluations_ - 1);
    if (!defined) {
      ++undefined_;
      ++(now.info != 0 ? result_.not_positive_definite : result_.not_known);
    }
    if (first || (defined && now.log_likelihood > result_.likelihood.log_likelihood)) {
      result_.theta = theta;
      result_.likelihood = now;
      if (keeps_best_) std::swap(now_, best_);
    }
    if (!defined) return recent_.clear();
    recent_.push_back({now.log_likelihood, noise_of(now), result_.likelihood.log_likelihood});
    if (recent_.size() > remembered()) recent_.pop_front();
    worst_ = std::min(worst_.value_or(now.log_likelihood), now.log_likelihood);
  }

  Exec const& exec_;
  ooc::DeviceTeam<Exec> team_;
  Locations const& locations_;
  std::span<double const> values_;
  FitOptions const& options_;
  FreeParameters const& free_;
  Fit& result_;
  CovarianceFactorOptions factor_options_;
  std::optional<CovarianceFactor<Exec>> now_, best_;
  bool keeps_best_ = false;
  std::vector<double> seconds_;  // of each evaluation
  std::optional<double> worst_;
  std::deque<Recent> recent_;
  std::int64_t evaluations_ = 0, undefined_ = 0;
  bool low_tiles_ = false;
};

constexpr double noise_to_accept = 1e-3;  // of a log-likelihood

// Why a search with tiles below fp64 can't have ended at its tolerance.
std::string in_low_precision(double noise) {
  return std::isnan(noise) ? "; the error of the factor's own log-determinant is not known"
                           : strata::detail::message("; the log-likelihood is known to ", noise);
}

// Noise may end a search on its way: begin anew at the best, until that brings no more than the noise.
template <class Exec>
detail::SearchOutcome search_again(Objective<Exec>& objective, FreeParameters const& free,
                                   FitOptions const& options, MaternCovariance from, double step,
                                   Fit const& result) {
  for (double before = -HUGE_VAL;;) {
    objective.begin_search();
    auto how = free.search(options, from, step);
    how.max_evaluations = options.max_evaluations - result.evaluations;
    how.enough = [&objective] { return objective.sees_no_more(); };
    auto const outcome = detail::maximise(how, std::ref(objective));
    double const now = result.likelihood.log_likelihood;
    if (!outcome.was_enough || now - before <= objective.recent_noise() ||
        result.evaluations == options.max_evaluations)
      return outcome;
    before = now;
    from = result.theta;
  }
}

template <class Exec>
void say_if_nowhere_defined(Objective<Exec> const& objective, Fit& result) {
  if (objective.nowhere_defined()) {
    result.converged = false;
    result.reason = result.not_known > 0
                        ? "the log-determinant was nowhere known with tiles in such low precision"
                        : "the covariance matrix was nowhere positive definite";
  }
}

template <class Exec>
void search(Objective<Exec>& objective, FreeParameters const& free, FitOptions const& options,
            MaternCovariance const& from, double step, Fit& result) {
  if (free.indices.empty()) {
    (void)objective({});
    objective.state_the_best();
    result.converged = true;
    result.reason = "every parameter is fixed";
  } else {
    auto const outcome = search_again(objective, free, options, from, step, result);
    objective.state_the_best();
    result.converged = outcome.converged;
    result.reason = outcome.reason;
    if (outcome.was_enough)
      result.reason = strata::detail::message(
          "the log-likelihood changed by no more than its error, ", objective.recent_noise());
    else if (objective.had_low_tiles())
      result.reason += in_low_precision(result.likelihood.error());
  }
  say_if_nowhere_defined(objective, result);
}

// Go on in fp64 from the best that was found with tiles below it.
template <class Exec>
void finish_in_fp64(Objective<Exec>& objective, FreeParameters const& free,
                    FitOptions const& options, Fit& result) {
  FitStep const low{result.evaluations, result.theta, result.likelihood,
                    result.likelihood.log_likelihood};
  std::string const reason = result.reason;
  double const error = low.likelihood.error();
  bool const is_lost = objective.nowhere_defined();  // low tiles say nothing of where to go on
  bool const is_close = std::isfinite(error) && objective.recent_noise() <= noise_to_accept;
  auto factor = options.factor;
  factor.rule = ooc::PrecisionRule{};
  try {
    objective.begin(factor);
    if (is_close || result.evaluations == options.max_evaluations) {
      (void)objective(free.search(options, low.theta, options.first_step).start);
      result.reason = reason + ", and was then evaluated in fp64";
      say_if_nowhere_defined(objective, result);
    } else {
      search(objective, free, options, low.theta,
             is_lost ? options.first_step : options.first_step / 10, result);
    }
    result.in_low_precision = low;
  } catch (MemoryError const& memory) {
    if (objective.evaluations() > 0 || !all_have(options.factor.comm.get(), memory)) throw;
    objective.begin(options.factor);
    result.theta = low.theta;
    result.likelihood = low.likelihood;
    result.reason = reason + "; not evaluated in fp64: " + memory.what();
  }
  result.evaluations_in_fp64 = objective.evaluations();
}

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
  auto const free = together(options.factor.comm.get(), [&] { return FreeParameters(options); });
  FactoredFit<Exec> result;
  Objective<Exec> objective(exec, team, locations, values, options, free, result);
  search(objective, free, options, options.start, options.first_step, result);
  if (options.finish_in_fp64 && objective.had_low_tiles() &&
      (result.converged || objective.nowhere_defined()))
    finish_in_fp64(objective, free, options, result);
  result.factor = objective.take_factor();
  result.noise = result.likelihood.error();
  result.evaluation_seconds = objective.median_seconds();
  mark_bounds(free, options.tolerance, result);
  result.seconds = watch.seconds();
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
