// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/document/Strata_Document.hpp>
#include <apps/mle/Strata_Mle.hpp>
#include <apps/mle/Strata_MleDocument.hpp>
#include <apps/mle/Strata_MleKrigingReport.hpp>
#include <apps/shared/Strata_Report.hpp>
#include <apps/shared/Strata_Tiles.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

namespace strata::apps {

namespace {

void show_problem(Report& report, MleResult const& result) {
  bool const generates = result.task == "generate";
  bool const on_sphere = geostat::is_on_sphere(result.metric);
  bool const is_zero = result.trend.columns() == 0, is_constant = result.trend.is_constant();
  auto const of_observations = [&](char const* words) { return generates ? "" : words; };
  report.section("Problem");
  report.show(generates ? "synthetic field" : "observations", result.source);
  report.show("locations", result.n);
  report.only_screen("ranks", result.ranks > 1 ? words(result.ranks, "; bytes are rank 0's") : "");
  report.only_screen("written to", generates ? result.output : "");
  report.only_screen("distance", of_observations(!on_sphere ? "Euclidean"
                                                 : result.metric == geostat::Metric::Chordal
                                                     ? "chordal, km"
                                                     : "great-circle, km"));
  report.only_screen("known error variances", result.error_variances);
  report.only_screen("order in the matrix", of_observations(result.ordering.c_str()));
  report.only_screen("mean", of_observations(is_zero       ? "none (zero)"
                                             : is_constant ? "constant, estimated"
                                                           : "a trend, estimated"));
  report.only_screen("likelihood", result.trend.criterion() == geostat::Criterion::REML
                                       ? "of contrasts (REML)"
                                       : "");
  auto const on_devices = static_cast<double>(result.bytes_on_devices);
  if (result.bytes_on_devices > 0)
    report.only_screen("memory needed", in_bytes(on_devices) + " of the devices");
  if (result.bytes_on_devices == 0 || result.bytes_needed > 0)
    report.show("memory needed", result.bytes_needed, unit::bytes);
}

// What stands behind a parameter.
std::string error_of(MleResult const& result, std::size_t k, std::string const& unit) {
  if (!result.standard_errors || !result.standard_errors->reason.empty()) return unit;
  auto const& errors = result.standard_errors->errors;
  if (!errors.reasons[k].empty()) return unit;
  return words(" +- ", two_digits(errors.of[k]), unit, "  (", two_digits(errors.of_logarithm[k]),
               " of its logarithm)");
}

void tell_interval(Report& report, geostat::ProfileInterval const& interval) {
  auto const end = [](geostat::ProfileEnd const& e) {
    return text("%.6g", e.value) + (e.what == geostat::EndOf::Bound       ? " (ITS BOUND)"
                                    : e.what == geostat::EndOf::Undefined ? " (NOT KNOWN BEYOND)"
                                                                          : "");
  };
  report.only_screen(text("  %g %% interval", 100 * interval.level),
                     words(end(interval.lower), " to ", end(interval.upper)));
}

void tell_intervals(Report& report, MleResult const& result, std::size_t number) {
  for (auto const& interval : result.profile_intervals)
    if (interval.parameter == number) tell_interval(report, interval);
}

std::string bound_of(geostat::Fit const& fit, std::size_t k) {
  if (!fit.at_bound[k]) return "";
  if (k != 3 || !std::isfinite(fit.nugget_below)) return "  (AT ITS BOUND)";
  return words("  (ITS BOUNDARY; below ", two_digits(fit.nugget_below), " at 95 %)");
}

std::string label_of(geostat::Family family, std::size_t k) {
  bool const is_power = family == geostat::Family::PoweredExponential;
  char const* const words[] = {" (partial sill)", "", is_power ? " (power)" : " (smoothness)", ""};
  return std::string(geostat::parameter_names[k]) + words[k];
}

geostat::StandardErrors const* errors_there(MleResult const& result) {
  return result.standard_errors && result.standard_errors->reason.empty()
             ? &result.standard_errors->errors
             : nullptr;
}

std::string plus_minus(double error) { return std::isnan(error) ? "" : " +- " + two_digits(error); }

void show_second(Report& report, MleResult const& result) {
  if (!result.theta.second) return;
  auto const& second = *result.theta.second;
  char const* const names[] = {"sigma2 of the ", "range of the ", "nu of the "};
  double const values[] = {second.sigma2, second.range, second.nu};
  auto const* const errors = errors_there(result);
  bool const on_sphere = geostat::is_on_sphere(result.metric);
  for (std::size_t k = 0; k < (geostat::has_shape(second.family) ? 3u : 2u); ++k) {
    bool const is_fixed = result.fit && result.asked->fixed_second[k];
    report.only_screen(
        names[k] + std::string("second"),
        text("%.8g", values[k]) + plus_minus(errors ? errors->of_second[k] : std::nan("")) +
            (k == 1 && on_sphere ? "  km" : "") + (is_fixed ? "  (fixed)" : "") +
            (result.fit && result.fit->second_at_bound[k] ? "  (AT ITS BOUND)" : ""));
    tell_intervals(report, result, 4 + k);
  }
}

void show_directions(Report& report, MleResult const& result) {
  auto const& theta = result.theta;
  bool const is_fitted = result.asked && result.asked->directions;
  if (!theta.has_directions() && !is_fitted) return;
  char const* const given = result.fit && !is_fitted ? "  (fixed)" : "";
  double const none = std::nan("");
  auto const* const errors = errors_there(result);
  report.only_screen("angle (longest range)", text("%.6g", theta.angle) +
                                                  plus_minus(errors ? errors->of_angle : none) +
                                                  "  degrees clockwise from y" + given);
  report.only_screen(
      "ratio", text("%.8g", theta.ratio) + plus_minus(errors ? errors->of_ratio : none) + given);
  report.only_screen("range across", text("%.8g", theta.range * theta.ratio));
}

// The range of each coordinate beyond x.
void show_axes(Report& report, MleResult const& result) {
  auto const& theta = result.theta;
  bool const is_fitted = result.asked && result.asked->directions;
  auto const* const errors = errors_there(result);
  for (std::size_t k = 0; k < theta.axes.size(); ++k) {
    bool const has_error = errors && k < errors->of_axes.size(),
               at_bound = result.fit && k < result.fit->axis_at_bound.size() &&
                          result.fit->axis_at_bound[k];
    report.only_screen("range of " + (k == 0 ? std::string("y") : result.further[k - 1]),
                       text("%.8g", theta.range * theta.axes[k]) +
                           plus_minus(has_error ? errors->of_axes[k] : std::nan("")) +
                           (result.fit && !is_fitted ? "  (fixed by that of x)" : "") +
                           (at_bound ? "  (AT ITS BOUND)" : ""));
  }
}

void show_theta(Report& report, MleResult const& result) {
  bool const on_sphere = geostat::is_on_sphere(result.metric);
  bool const has_errors = result.standard_errors && result.standard_errors->reason.empty();
  report.section(title_of(result.theta) + " covariance" +
                 (!result.fit  ? ""
                  : has_errors ? ", fitted: estimate +- standard error"
                               : ", fitted"));
  auto const theta = geostat::parameters_of(result.theta);
  for (std::size_t k = 0; k < theta.size(); ++k) {
    if (k == 2 && !geostat::has_shape(result.theta.family)) continue;
    bool const is_fixed = result.fit && result.asked->fixed[k];
    std::string const bound = result.fit ? bound_of(*result.fit, k) : "";
    std::string const unit = k == 1 && on_sphere ? "  km" : "";
    report.only_screen(
        k == 1 && result.theta.has_axes() ? "range of x" : label_of(result.theta.family, k),
        words(text("%.8g", theta[k]), error_of(result, k, unit), is_fixed ? "  (fixed)" : "",
              bound));
    tell_intervals(report, result, k);
  }
  show_second(report, result);
  result.theta.has_axes() ? show_axes(report, result) : show_directions(report, result);
  report.only_screen(result.theta.second ? "sill (all variances)" : "sill (sigma2 + nugget)",
                     text("%.8g", result.theta.field() + result.theta.nugget));
}

// Why directions that were fitted, or a second structure's parameters, have no error.
void tell_further_reasons(Report& report, MleResult const& result) {
  auto const why = further_reasons(result);
  auto const tell = [&](std::string const& name, std::string const& reason) {
    if (!reason.empty() && reason != "fixed") report.only_screen(name, "none: " + reason);
  };
  tell(why.ratio.empty() ? "angle" : "angle and ratio", why.angle);
  for (std::size_t k = 0; k < why.second.size(); ++k)
    tell(std::string(geostat::parameter_names[k]) + " of the second", why.second[k]);
  if (result.vecchia && result.trend.criterion() == geostat::Criterion::REML)
    report.only_screen("by neighbours", "of ML, which differ from REML's by a part of k / n");
}

void show_standard_errors(Report& report, MleResult const& result) {
  if (!result.standard_errors) return;
  auto const& errors = result.standard_errors->errors;
  report.section("Standard errors");
  report.only_screen("none", result.standard_errors->reason);
  if (!result.standard_errors->reason.empty()) return;
  std::vector<std::string> pairs;
  for (std::size_t k = 0; k < 4; ++k) {
    std::string const name(geostat::parameter_names[k]), why = errors.reasons[k];
    if (!why.empty() && why != "fixed")
      report.only_screen(
          name,
          "none: " + why + (why == "at its bound" ? "; of the others with it held there" : ""));
    for (std::size_t j = 0; j < k; ++j)
      if (std::isfinite(errors.correlation[k][j]))
        pairs.push_back(text("%s and %s %.2f", std::string(geostat::parameter_names[j]).c_str(),
                             name.c_str(), errors.correlation[k][j]));
  }
  auto const ratio = ErrorsOfResult{&*result.standard_errors, &result.theta}.ratio();
  if (ratio && std::isfinite(ratio->of_logarithm))
    report.only_screen(
        "sigma2/range^(2 nu)",
        words(text("%.8g", ratio->value), " +- ", two_digits(ratio->value * ratio->of_logarithm),
              "  (", two_digits(ratio->of_logarithm), " of its logarithm)"));
  tell_further_reasons(report, result);
  report.only_screen("correlations", joined(pairs));
}

void show_gradient(Report& report, MleResult const& result) {
  if (!result.gradient) return;
  report.section("Gradient of the log-likelihood");
  auto const& by = result.gradient->by;
  auto const by_logarithm =
      geostat::parameters_of(GradientOfResult{&*result.gradient, &result.theta}.by_logarithm());
  for (std::size_t k = 0; k < 4; ++k)
    if (!std::isnan(by[k]))
      report.only_screen("by " + std::string(geostat::parameter_names[k]),
                         text("%.10g  (%.3g by its logarithm)", by[k], by_logarithm[k]));
  if (std::isnan(result.gradient->by_ratio)) return;
  report.only_screen("by angle", text("%.10g  a degree", result.gradient->by_angle));
  report.only_screen("by ratio", text("%.10g", result.gradient->by_ratio));
}

void show_fit(Report& report, MleResult const& result) {
  auto const& fit = *result.fit;
  report.section("Fit");
  report.show(fit.converged ? "converged" : "NOT CONVERGED", fit.reason);
  report.show_unless_zero("  known to", fit.noise, "%.1e of the log-likelihood");
  report.show("evaluations", fit.evaluations, unit::plain,
              text("%.4f s each", fit.evaluation_seconds));
  report.show_unless_zero("  not positive definite", fit.not_positive_definite);
  report.show_unless_zero("  tiles too low to know", fit.not_known);
  if (fit.in_low_precision) {
    auto const& [count, theta, likelihood, best] = *fit.in_low_precision;
    double const noise = likelihood.error();
    report.only_screen("  with low-precision tiles",
                       words(count, text(", to %.10g +- %.1e", likelihood.log_likelihood, noise)));
  }
  report.show_unless_zero("  then in fp64", fit.evaluations_in_fp64);
}

void show_likelihood(Report& report, MleResult const& result) {
  report.section("Likelihood");
  if (!result.likelihood) return;
  auto const& likelihood = *result.likelihood;
  if (likelihood.info != 0)
    return report.only_screen("NOT POSITIVE DEFINITE", what_is_not_positive(result));
  double const error = likelihood.log_det_error;
  report.show("log-likelihood", likelihood.log_likelihood, "%.10g");
  report.show("AIC", or_null(detail::aic_of(result)), "%.8g");
  report.show("BIC", or_null(detail::bic_of(result)), "%.8g");
  report.only_screen("log-determinant", text("%.10g", likelihood.log_det) +
                                            (error > 0 ? text(" +- %.1e", error) : ""));
  if (!result.log_det_known())
    report.only_screen("NOT KNOWN",
                       "the tiles' rounding is too large beside the covariance matrix");
  report.only_screen("quadratic form", text("%.10g +- %.1e", likelihood.quadratic_form,
                                            likelihood.quadratic_form_error));
  report.only_screen("mean", result.trend.is_constant() ? text("%.8g", likelihood.mean) : "");
  if (result.vecchia) return;
  report.show(
      "backward error", likelihood.backward_error, unit::error,
      words("normwise, of the refined solve, ", counted(likelihood.solve_iterations, "iteration")));
}

void show_vecchia(Report& report, MleResult const& result) {
  if (!result.vecchia) return;
  auto const& [of, exact] = *result.vecchia;
  report.section("Vecchia's approximation");
  report.only_screen("neighbours",
                     words(of.neighbours, text(", in groups %.1f", of.conditioned_on)));
  report.only_screen("covariance matrices",
                     words(of.blocks, " small ones, the largest of order ", of.largest));
  if (exact) {
    double const there = exact->likelihood.log_likelihood;
    report.only_screen("exact log-likelihood",
                       text("%.10g here, %.2g from the approximate one", there,
                            there - result.likelihood->log_likelihood));
    std::vector<std::string> steps;
    for (std::size_t k = 0; k < 4; ++k)
      if (std::isfinite(exact->distance[k]))
        steps.push_back(
            text("%s %+.2g", std::string(geostat::parameter_names[k]).c_str(), exact->distance[k]));
    report.only_screen("its maximum is at", !steps.empty()
                                                ? joined(steps) + " standard errors, nearly"
                                            : !result.fit ? ""
                                                          : words("not told: ", exact->reason));
  }
  report.only_screen("order, lists, groups", text("%.3g, %.3g, %.3g s", of.order_seconds,
                                                  of.neighbour_seconds, of.block_seconds));
}

void show_precisions(Report& report, MleResult const& result) {
  if (!result.likelihood || result.vecchia) return;
  auto const& factor = result.likelihood->factor;
  bool const on_devices = factor.storage == ooc::TileStorage::Devices;
  report.only_screen("covariance matrix", factor.whole ? "whole, in the device's memory"
                                          : on_devices ? "in tiles, in the devices' memory"
                                                       : "");
  report.show_unless_zero("moduli of products", factor.moduli);
  report.show_unless_zero("not on devices", factor.no_room);
  show_tiles(report, {factor.tiles, factor.tile_size, factor.rung, factor.attempts, result.map});
  report.show("bytes", factor.bytes, unit::bytes);
}

void show_divergence(Report& report, MleResult const& result) {
  if (!result.divergence) return;
  auto const& kl = result.divergence->divergence;
  report.show("KL divergence, paper's", kl.log_det_half, "%.6e", "from the log-determinant");
  report.only_screen("KL divergence, full",
                     text("%.6e +- %.1e", kl.full, kl.standard_error + kl.truncation_error));
}

void show_seconds(Report& report, MleResult const& result) {
  auto const factor =
      result.likelihood ? result.likelihood->factor : geostat::CovarianceFactorReport{};
  report.section("Seconds");
  report.show_unless_zero("read", result.read_seconds, unit::seconds);
  report.show_unless_zero("covariance matrix", factor.fill_seconds, unit::seconds);
  report.show_unless_zero("factor", factor.factor_seconds, unit::seconds);
  report.show("total", result.total_seconds, unit::seconds);
}

}  // namespace

namespace detail {

std::string status_of(MleResult const& result) {
  if (result.exit() != Exit::Solved) return status_name(result.exit());
  return result.task == "generate" ? "generated" : result.task == "fit" ? "fitted" : "evaluated";
}

std::optional<double> aic_of(MleResult const& result) {
  auto const known = known_likelihood(result);
  if (!result.fit || !known) return std::nullopt;
  return -2 * known->log_likelihood + 2 * static_cast<double>(result.free_parameters());
}

std::optional<double> bic_of(MleResult const& result) {
  auto const known = known_likelihood(result);
  if (!result.fit || !known) return std::nullopt;
  return -2 * known->log_likelihood +
         std::log(static_cast<double>(result.n)) * static_cast<double>(result.free_parameters());
}

}  // namespace detail

FurtherReasons further_reasons(MleResult const& result) {
  FurtherReasons why;
  if (!result.fit || !result.standard_errors) return why;
  auto const& errors = result.standard_errors->errors;
  auto const& second = result.fit->theta.second;
  bool const has_angle = result.asked->directions && !result.theta.has_axes();
  if (has_angle && std::isnan(errors.of_ratio))
    why.angle = why.ratio = "the data tell nothing of them";
  else if (has_angle && std::isnan(errors.of_angle))
    why.angle = "the ratio may be 1, where there is no direction";
  for (std::size_t k = 0; second && k < (geostat::has_shape(second->family) ? 3u : 2u); ++k)
    if (!std::isfinite(errors.of_second[k]))
      why.second[k] = result.asked->fixed_second[k]    ? "fixed"
                      : !(second->sigma2 > 0)          ? "this structure is not there"
                      : result.fit->second_at_bound[k] ? "at its bound"
                                                       : "the data tell nothing of it";
  return why;
}

std::optional<KnownRatio> ErrorsOfResult::ratio() const {
  if (!geostat::is_matern(theta->family) || theta->second) return std::nullopt;
  return known(KnownRatio{theta->sigma2 * std::pow(theta->range, -2 * theta->order()),
                          of->errors.of_logarithm_of_ratio});
}

geostat::MaternCovariance GradientOfResult::by_logarithm() const {
  auto by = geostat::parameters_of(*theta);
  for (std::size_t k = 0; k < by.size(); ++k) by[k] *= of->by[k];
  return geostat::covariance_of(by);
}

Report report(MleResult const& result) {
  Report report;
  report.document("", json_of(result));
  show_problem(report, result);
  show_theta(report, result);
  show_trend(report, result);
  show_standard_errors(report, result);
  if (result.fit) show_fit(report, result);
  show_likelihood(report, result);
  show_vecchia(report, result);
  show_precisions(report, result);
  show_divergence(report, result);
  show_validation(report, result);
  show_prediction(report, result);
  show_gradient(report, result);
  show_seconds(report, result);
  add_configuration(report);
  return report;
}

}  // namespace strata::apps
