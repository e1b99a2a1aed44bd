// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/mle/Strata_Mle.hpp>
#include <apps/shared/Strata_Terminal.hpp>
#include <apps/shared/Strata_Text.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>

namespace strata::apps {

namespace {

std::string numbers_of_second(geostat::SecondStructure const& second) {
  return family_title(second.family) +
         text(" sigma2 %.4g, range %.4g", second.sigma2, second.range) +
         (geostat::has_shape(second.family) ? text(", nu %.4g", second.nu) : "");
}

}  // namespace

std::string title_of(geostat::Covariance const& theta) {
  return family_title(theta.family) +
         (theta.second ? " + " + family_title(theta.second->family) : "");
}

std::string numbers(geostat::MaternCovariance const& theta) {
  std::string const shape = geostat::has_shape(theta.family) ? text(", nu %.4g", theta.nu) : "",
                    axes = theta.has_directions()
                               ? text(", angle %.4g, ratio %.4g", theta.angle, theta.ratio)
                               : "";
  std::string others;
  for (double const axis : theta.axes) others += text(", %.4g", theta.range * axis);
  return text("sigma2 %.4g, range %.4g", theta.sigma2, theta.range) + others + shape +
         text(", nugget %.4g", theta.nugget) + axes +
         (theta.second ? " + " + numbers_of_second(*theta.second) : "");
}

std::string family_title(geostat::Family family) {
  if (family == geostat::Family::Matern) return "Matern";
  if (family == geostat::Family::Gaussian) return "Gaussian";
  return family == geostat::Family::PoweredExponential ? "powered exponential"
                                                       : std::string(name_of(family));
}

namespace {

// Coordinates under x,y that may be degrees: inside the globe's, and further from 0 than they are
// apart, or round most of it.
bool look_like_degrees(geostat::Locations const& locations) {
  if (geostat::is_on_sphere(locations.metric) || locations.size() < 10) return false;
  auto const [left, right] = std::ranges::minmax(locations.x);
  auto const [bottom, top] = std::ranges::minmax(locations.y);
  if (left < -180 || right > 360 || bottom < -90 || top > 90) return false;
  auto const is_off = [](double low, double high) {
    return std::abs(low + high) > 1.5 * (high - low);
  };
  return is_off(left, right) || is_off(bottom, top) || (right - left > 180 && top - bottom > 90);
}

void warn_of_the_range(MleResult& result, geostat::Locations const& locations) {
  double const apart = geostat::diagonal_of_box(locations);
  auto const& second = result.theta.second;
  double const first_range = result.asked->fixed[1] ? 0 : result.theta.range,
               second_range = second && !result.asked->fixed_second[1] ? second->range : 0,
               range = std::max(first_range, second_range);
  if (range <= apart) return;
  result.warnings.push_back(
      text("the range, %.4g, is larger than the extent of the observations, %.4g: they may have a "
           "trend, "
           "which this model takes for correlation; --trend x,y estimates it beside",
           range, apart));
}

void warn_of_copies(MleResult& result) {
  auto const& copies = result.copies;
  if (copies.places == 0 || !result.error_variances.empty()) return;
  auto const where =
      words(" (locations ", copies.first + 1, " and ", copies.second + 1, ", counted from 1)");
  std::string const places =
      copies.places == 1 ? "1 place is" : words(copies.places, " places are");
  if (copies.of_same_value == 0)
    result.warnings.push_back(
        words(places, " in the data more than once", where,
              ", with different values: these differences count as the nugget's"));
  if (copies.of_same_value == 0 || result.asked->fixed[3]) return;
  result.warnings.push_back(words(
      places, " in the data more than once, ", copies.of_same_value, " times with the same value",
      where, ": the likelihood grows as the nugget goes to 0, so that its lower bound, ",
      text("%.3g", result.asked->lower.nugget),
      ", decides the fit; leave copies out (--copies drop), or fix the nugget (--fix)"));
}

// A parameter at a bound that the data gave.
void warn_of_bound(MleResult& result, std::string const& name, double value, double lower,
                   double upper) {
  bool const is_lower = value - lower < upper - value;
  if (!(is_lower ? result.has_default_lower : result.has_default_upper)) return;
  result.warnings.push_back(
      text("%s is at its %s bound, %.4g, which is the default for these data; %s sets others",
           name.c_str(), is_lower ? "lower" : "upper", value, is_lower ? "--lower" : "--upper"));
}

// A share of 0 is no bound of the data's, and range and nu mean nothing there.
void warn_of_bounds_of_second(MleResult& result) {
  auto const& second = result.theta.second;
  if (!second || second->sigma2 == 0) return;
  auto const &lower = *result.asked->lower.second, &upper = *result.asked->upper.second;
  auto const& at_bound = result.fit->second_at_bound;
  double const mean = result.asked->directions ? std::sqrt(result.theta.ratio) : 1;
  if (at_bound[0])
    warn_of_bound(result, "sigma2 of the second structure", second->sigma2, lower.sigma2,
                  upper.sigma2);
  if (at_bound[1])
    warn_of_bound(result, "range of the second structure", mean * second->range, lower.range,
                  upper.range);
  if (at_bound[2])
    warn_of_bound(result, "nu of the second structure", second->nu, lower.nu, upper.nu);
}

// A nugget of 0 is no bound of the data's, and there is no less.
void warn_of_bounds(MleResult& result) {
  auto const theta = geostat::parameters_of(result.theta),
             lower = geostat::parameters_of(result.asked->lower),
             upper = geostat::parameters_of(result.asked->upper);
  auto const reasons = geostat::why_no_error(*result.fit, result.asked->fixed);
  if (reasons[1].starts_with("there is no") || reasons[2].starts_with("there is no")) {
    result.warnings.emplace_back(
        "there is no spatial correlation: the best sigma2 is 0, and range and nu mean nothing");
    return;
  }
  if (result.fit->kept_share > 0)
    result.warnings.push_back(
        text("the nugget was kept at %.2g of the sill: with less the covariance matrix has no "
             "factor in fp64",
             result.fit->kept_share));
  for (std::size_t k = 0; k < 4; ++k) {
    if (!result.fit->at_bound[k] || (k == 3 && std::isfinite(result.fit->nugget_below))) continue;
    // All is the second structure's: a share, and no bound that was given.
    if (k == 0 && result.theta.sigma2 < 1e-8 * result.theta.field()) continue;
    warn_of_bound(result, std::string(geostat::parameter_names[k]), theta[k], lower[k], upper[k]);
  }
  auto const ranges = result.theta.ranges();
  for (std::size_t k = 0; k < result.fit->axis_at_bound.size(); ++k)
    if (result.fit->axis_at_bound[k])
      warn_of_bound(result, "range of " + (k == 0 ? std::string("y") : result.further[k - 1]),
                    ranges[k + 1], lower[1], upper[1]);
  warn_of_bounds_of_second(result);
}

void warn_of_intervals(MleResult& result) {
  for (auto const& interval : result.profile_intervals) {
    auto const name = geostat::all_parameter_names[interval.parameter];
    if (!interval.converged)
      result.warnings.push_back(
          words("a fit on the way to the interval of ", name, " did not converge"));
    if (interval.above_estimate > 0.05)
      result.warnings.push_back(
          text("on the way to the interval of %s the log-likelihood was %.3g above the fit's, at ",
               std::string(name).c_str(), interval.above_estimate) +
          numbers(interval.best) + ": the fit is no maximum; --start there");
  }
}

}  // namespace

void explain(MleResult const& result) {
  for (auto const& warning : result.warnings) std::cerr << warning_line(warning);
  bool const is_smooth = result.theta.family == geostat::Family::Gaussian;
  if (result.exit() == Exit::NotPositiveDefinite)
    std::cerr << error_line(words("not positive definite at ", numbers(result.theta), ": ",
                                  what_is_not_positive(result),
                                  is_smooth ? "; Gaussian covariances of near locations are "
                                              "singular to rounding: give a nugget"
                                            : ""));
  if (result.exit() == Exit::Ended) std::cerr << error_line(result.fit->reason);
  if (result.exit() != Exit::NotConverged) return;
  std::string why;
  if (result.fit && !result.fit->converged)
    why = result.fit->reason + "; the last best is " + numbers(result.theta);
  else if (!result.log_det_known())
    why =
        "nothing can be said of the log-determinant, since the tiles' rounding is not small beside "
        "the covariance matrix; take a smaller --epsilon";
  else
    why = words("a solve's normwise backward error is ",
                std::max({result.likelihood->backward_error,
                          result.prediction ? result.prediction->backward_error : 0,
                          result.gradient ? result.gradient->backward_error : 0,
                          result.standard_errors ? result.standard_errors->backward_error : 0}));
  std::cerr << error_line("not converged: " + why);
}

std::string what_is_not_positive(MleResult const& result) {
  if (result.vecchia) return "an observation has no positive variance given its neighbours";
  return words("the leading minor of order ", result.likelihood->info, " is not positive");
}

bool MleResult::log_det_known() const {
  return !likelihood || likelihood->info != 0 ||
         (std::isfinite(likelihood->log_det) && !std::isinf(likelihood->log_det_error));
}

std::int64_t MleResult::free_parameters() const {
  return std::ranges::count(asked->fixed, false) + trend.columns() +
         (!asked->directions ? 0
          : theta.has_axes() ? std::ssize(theta.axes)
                             : 2) +
         (theta.second ? std::ranges::count(asked->fixed_second, false) : 0);
}

Exit MleResult::exit() const {
  if (is_ended) return Exit::Ended;
  if (likelihood && likelihood->info != 0) return Exit::NotPositiveDefinite;
  bool const converged =
      (!fit || fit->converged) && (!likelihood || likelihood->solve_converged) && log_det_known() &&
      (!prediction || prediction->converged) && (!gradient || gradient->solve_converged) &&
      (!validation || validation->of.converged) && (!standard_errors || standard_errors->converged);
  return converged ? Exit::Solved : Exit::NotConverged;
}

void warn(MleOptions const& options, MleResult& result, geostat::Locations const& locations) {
  if (!options.distance && look_like_degrees(locations))
    result.warnings.emplace_back(
        "x and y look like degrees of longitude and latitude, but distances are Euclidean; "
        "columns named lon,lat have great-circle distances in km");
  auto const& theta = result.theta;
  double const smoothest = theta.family == geostat::Family::PoweredExponential ? 1 : 0.5;
  if (result.metric == geostat::Metric::GreatCircle && geostat::has_shape(theta.family) &&
      theta.nu > smoothest)
    result.warnings.push_back(
        text("nu = %.4g on the sphere: with great-circle distances %s covariances are positive "
             "definite at all locations for nu <= %.1f only; --distance chordal has no such limit",
             theta.nu, family_title(theta.family).c_str(), smoothest));
  constexpr double enough = 0.1;  // of a log-likelihood, to compare it
  if (result.likelihood && result.likelihood->quadratic_form_error / 2 > enough)
    result.warnings.push_back(text(
        "the covariance matrix is nearly singular: rounding leaves the log-likelihood known to "
        "+- %.1e; a nugget, or a smaller nu or range, would mend that",
        result.likelihood->quadratic_form_error / 2));
  if (!result.ignored.empty())
    result.warnings.push_back(words("not used: ", joined(result.ignored),
                                    " (--columns and --trend name the columns that are)"));
  if (result.asked_for_mean)
    result.warnings.emplace_back(result.trend.columns() > 0
                                     ? "--mean constant is --trend 1, which replaces it"
                                     : "--mean none is --trend 0, which replaces it");
  if (!result.fit) return;
  auto const free = result.free_parameters();
  if (result.n < 10 * free)
    result.warnings.push_back(
        words(free,
              result.trend.columns() == 0   ? " parameters are"
              : result.trend.columns() == 1 ? " parameters, the mean's among them, are"
                                            : " parameters, the trend's among them, are",
              " fitted to ", result.n, " observations: the data say little of them"));
  warn_of_copies(result);
  warn_of_bounds(result);
  warn_of_the_range(result, locations);
  warn_of_intervals(result);
}

}  // namespace strata::apps
