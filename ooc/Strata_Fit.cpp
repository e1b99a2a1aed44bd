// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <core/detail/Strata_Instantiate.hpp>
#include <limits>
#include <ooc/Strata_Fit.hpp>
#include <optional>

namespace strata::ooc {

namespace {

constexpr std::size_t nu_place = 2;

// The parameters that are searched, and the way between them and a covariance.
struct FreeParameters {
  Parameters start, lower, upper;
  std::vector<std::size_t> places;

  explicit FreeParameters(FitOptions const& options)
      : start(parameters_of(options.start)),
        lower(parameters_of(options.lower)),
        upper(parameters_of(options.upper)) {
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
      places.push_back(k);
    }
    STRATA_REQUIRE(ValueError,
                   start[nu_place] <= 50 && (options.fixed[nu_place] || upper[nu_place] <= 50),
                   "fit: nu may reach ", upper[nu_place], ", must be at most 50");
  }

  MaternCovariance covariance(std::span<double const> logarithms) const {
    Parameters parameters = start;
    for (std::size_t k = 0; k < places.size(); ++k) {
      auto const place = places[k];
      // exp(log(bound)) may leave the box by rounding.
      parameters[place] = std::clamp(std::exp(logarithms[k]), lower[place], upper[place]);
    }
    return covariance_of(parameters);
  }

  detail::BoundedSearch search(FitOptions const& options) const {
    detail::BoundedSearch search{.search = options.search,
                                 .tolerance = options.tolerance,
                                 .max_evaluations = options.max_evaluations};
    for (auto const place : places) {
      double const low = std::log(lower[place]), high = std::log(upper[place]);
      search.start.push_back(std::log(start[place]));
      search.lower.push_back(low);
      search.upper.push_back(high);
      search.step.push_back(std::min(0.5, (high - low) / 4));
    }
    return search;
  }
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void mark_bounds(FreeParameters const& free, double tolerance, Fit& result) {
  Parameters const theta = parameters_of(result.theta);
  for (auto const k : free.places)
    result.at_bound[k] = theta[k] <= free.lower[k] * (1 + 2 * tolerance) ||
                         theta[k] >= free.upper[k] / (1 + 2 * tolerance);
}

}  // namespace

Parameters parameters_of(MaternCovariance const& c) { return {c.sigma2, c.range, c.nu, c.nugget}; }

MaternCovariance covariance_of(Parameters const& p) { return {p[0], p[1], p[2], p[3]}; }

std::string_view name_of(Search search) {
  return search == Search::Bobyqa ? "bobyqa" : "nelder-mead";
}

Search search_from_name(std::string_view name) {
  for (auto const search : {Search::Bobyqa, Search::NelderMead})
    if (name == name_of(search)) return search;
  throw ValueError(strata::detail::message("search '", name, "' must be bobyqa or nelder-mead"));
}

FitOptions default_fit_options(Locations const& locations, std::span<double const> values) {
  check_locations(locations);
  STRATA_REQUIRE(ShapeError, static_cast<std::int64_t>(values.size()) == locations.size(),
                 "default_fit_options: ", values.size(), " values at ", locations.size(),
                 " locations");
  auto const n = static_cast<double>(values.size());
  double mean = 0, variance = 0;
  for (double const value : values) mean += value / n;
  for (double const value : values) variance += (value - mean) * (value - mean) / n;
  STRATA_REQUIRE(ValueError, values.size() > 1 && variance > 0,
                 "default_fit_options: a fit needs at least two values that differ; there are ",
                 values.size(), " of variance ", variance);
  auto const [left, right] = std::minmax_element(locations.x.begin(), locations.x.end());
  auto const [bottom, top] = std::minmax_element(locations.y.begin(), locations.y.end());
  bool const globe = locations.metric == Metric::GreatCircle;
  // On the sphere no place is further away than half of the equator.
  double const width = globe ? std::min(*right - *left, 180.0) : *right - *left;
  double const degree =
      globe ? strata::detail::earth_radius_km * strata::detail::radians_per_degree : 1;
  double const extent = degree * std::hypot(width, *top - *bottom);
  STRATA_REQUIRE(ValueError, extent > 0, "default_fit_options: all locations are one place");
  FitOptions options;
  options.start = {0.9 * variance, extent / 10, 0.5, 0.1 * variance};
  options.lower = {1e-6 * variance, 1e-4 * extent, 0.1, 1e-6 * variance};
  options.upper = {100 * variance, 10 * extent, globe ? 0.5 : 3.0, 100 * variance};
  if (globe) options.start.nu = 0.45;
  return options;
}

template <class Exec>
Fit fit(Exec const& exec, Locations const& locations, std::span<double const> values,
        FitOptions const& options) {
  Kokkos::Profiling::ScopedRegion const region("strata::ooc::fit");
  STRATA_REQUIRE(ValueError, options.tolerance > 0 && options.max_evaluations > 0,
                 "fit: the tolerance is ", options.tolerance, " and the evaluations are ",
                 options.max_evaluations, ", must be positive");
  auto const begin = std::chrono::steady_clock::now();
  FreeParameters const free(options);
  Fit result;
  result.likelihood.log_likelihood = std::numeric_limits<double>::quiet_NaN();
  std::optional<double> worst;
  std::optional<CovarianceFactor<Exec>> factor;
  auto const evaluate = [&](std::span<double const> logarithms) {
    MaternCovariance const theta = free.covariance(logarithms);
    if (factor)
      factor->refactor(exec, theta);
    else
      factor.emplace(exec, theta, locations, options.factor);
    Likelihood const now = log_likelihood(exec, *factor, values, options.mean);
    ++result.evaluations;
    bool const defined = now.info == 0 && std::isfinite(now.log_likelihood);
    bool const first = result.evaluations == result.not_positive_definite + 1;
    if (!defined) ++result.not_positive_definite;
    if (first || (defined && now.log_likelihood > result.likelihood.log_likelihood)) {
      result.theta = theta;
      result.likelihood = now;
    }
    if (defined) worst = std::min(worst.value_or(now.log_likelihood), now.log_likelihood);
    if (options.on_step)
      options.on_step({result.evaluations, theta, now, result.likelihood.log_likelihood});
    // Below all that was seen, but not so far that a quadratic model sees nothing else.
    return defined ? now.log_likelihood
                   : worst.value_or(-1e6) - std::max(1.0, std::abs(worst.value_or(0.0)));
  };
  if (free.places.empty()) {
    (void)evaluate({});
    result.converged = true;
    result.reason = "every parameter is fixed";
  } else {
    auto const outcome = detail::maximise(free.search(options), evaluate);
    result.converged = outcome.converged;
    result.reason = outcome.reason;
  }
  if (result.not_positive_definite == result.evaluations) {
    result.converged = false;
    result.reason = "the covariance matrix was nowhere positive definite";
  }
  mark_bounds(free, options.tolerance, result);
  result.seconds = seconds_since(begin);
  return result;
}

#define STRATA_INSTANTIATE(Exec) \
  template Fit fit<Exec>(Exec const&, Locations const&, std::span<double const>, FitOptions const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc
