// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/mle/Strata_Mle.hpp>
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

using Value = Report::Value;

Value by_name(geostat::MaternCovariance const& c) {
  return {{"sigma2", c.sigma2}, {"range", c.range}, {"nu", c.nu}, {"nugget", c.nugget}};
}

Value by_name(geostat::Parameters const& p) { return by_name(geostat::covariance_of(p)); }

Value names_of(std::array<bool, 4> const& marks) {
  Value list = Value::array();
  for (std::size_t k = 0; k < marks.size(); ++k)
    if (marks[k]) list.push_back(geostat::parameter_names[k]);
  return list;
}

char const* status(MleResult const& result) {
  if (result.exit() != Exit::Solved) return status_name(result.exit());
  return result.task == "generate" ? "generated" : result.task == "fit" ? "fitted" : "evaluated";
}

void add_problem(Report& report, MleResult const& result) {
  bool const generates = result.task == "generate";
  bool const on_sphere = result.metric == geostat::Metric::GreatCircle;
  bool const is_zero = result.trend.columns() == 0, is_constant = result.trend.is_constant();
  auto const of_observations = [&](char const* words) { return generates ? "" : words; };
  report.only_json("schema", "strata.mle/1");
  report.section("Problem");
  report.only_json("status", status(result));
  report.only_json("task", result.task);
  report.only_json("info", result.likelihood ? result.likelihood->info : 0);
  report.add("problem/source", generates ? "synthetic field" : "observations", result.source);
  report.add("n", "locations", result.n);
  report.tell("ranks", "ranks", result.ranks,
              result.ranks > 1 ? words(result.ranks, "; bytes are those of rank 0") : "");
  report.tell("problem/output", "written to", result.output, generates ? result.output : "");
  report.tell("problem/metric", "distance", on_sphere ? "great_circle_km" : "euclidean",
              of_observations(on_sphere ? "great-circle, km" : "Euclidean"));
  report.tell("problem/ordering", "order in the matrix", result.ordering,
              of_observations(result.ordering.c_str()));
  report.tell("mean/model", "mean",
              is_zero       ? "none"
              : is_constant ? "constant"
                            : "trend",
              of_observations(is_zero       ? "none (zero)"
                              : is_constant ? "constant, estimated"
                                            : "a trend, estimated"));
  report.tell("likelihood", "likelihood", name_of(result.trend.criterion()),
              result.trend.criterion() == geostat::Criterion::REML ? "of contrasts (REML)" : "");
  auto const on_devices = static_cast<double>(result.bytes_on_devices);
  if (result.bytes_on_devices > 0)
    report.only_screen("memory needed", in_bytes(on_devices) + " of the devices");
  if (result.bytes_on_devices == 0 || result.bytes_needed > 0)
    report.add("memory/needed", "memory needed", result.bytes_needed, unit::bytes);
  else
    report.only_json("memory/needed", result.bytes_needed);
  report.only_json("memory/needed_on_devices", result.bytes_on_devices);
  auto const& copies = result.copies;
  report.only_json("problem/copies", {{"places", copies.places},
                                      {"observations", copies.observations},
                                      {"of_same_value", copies.of_same_value}});
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

// What a parameter on its bound is marked with.
std::string bound_of(geostat::Fit const& fit, std::size_t k) {
  if (!fit.at_bound[k]) return "";
  if (k != 3 || !std::isfinite(fit.nugget_below)) return "  (AT ITS BOUND)";
  return words("  (ITS BOUNDARY; below ", two_digits(fit.nugget_below), " at 95 %)");
}

// With what geostatistics calls it.
std::string label_of(std::size_t k) {
  constexpr char const* words[] = {" (partial sill)", "", " (smoothness)", ""};
  return std::string(geostat::parameter_names[k]) + words[k];
}

void add_theta(Report& report, MleResult const& result) {
  bool const on_sphere = result.metric == geostat::Metric::GreatCircle;
  if (!result.fit) report.only_json("fit", nullptr);
  bool const has_errors = result.standard_errors && result.standard_errors->reason.empty();
  report.section(!result.fit  ? "Matern covariance"
                 : has_errors ? "Matern covariance, fitted: estimate +- standard error"
                              : "Matern covariance, fitted",
                 "theta/");
  auto const theta = geostat::parameters_of(result.theta);
  for (std::size_t k = 0; k < theta.size(); ++k) {
    std::string const name(geostat::parameter_names[k]);
    bool const is_fixed = result.fit && result.asked->fixed[k];
    std::string const bound = result.fit ? bound_of(*result.fit, k) : "";
    std::string const unit = k == 1 && on_sphere ? "  km" : "";
    report.tell(name, label_of(k), theta[k],
                words(text("%.8g", theta[k]), error_of(result, k, unit),
                      is_fixed ? "  (fixed)" : "", bound));
    for (auto const& interval : result.profile_intervals)
      if (interval.parameter == k) tell_interval(report, interval);
  }
  report.only_screen("sill (sigma2 + nugget)",
                     text("%.8g", result.theta.sigma2 + result.theta.nugget));
}

void add_standard_errors(Report& report, MleResult const& result) {
  report.section("");
  if (!result.standard_errors) return report.only_json("standard_errors", nullptr);
  auto const& [reason, errors, backward_error, converged, seconds] = *result.standard_errors;
  report.section("Standard errors", "standard_errors/");
  report.tell("reason", "none", reason, reason);
  if (!reason.empty()) {
    report.nulls({"of", "of_logarithm", "reasons", "correlation", "ratio"});
    return;
  }
  Value reasons, correlation;
  std::vector<std::string> pairs;
  for (std::size_t k = 0; k < 4; ++k) {
    std::string const name(geostat::parameter_names[k]), why = errors.reasons[k];
    reasons[name] = why;
    correlation[name] = by_name(errors.correlation[k]);
    if (!why.empty() && why != "fixed")
      report.only_screen(
          name,
          "none: " + why + (why == "at its bound" ? "; of the others with it held there" : ""));
    for (std::size_t j = 0; j < k; ++j)
      if (std::isfinite(errors.correlation[k][j]))
        pairs.push_back(text("%s and %s %.2f", std::string(geostat::parameter_names[j]).c_str(),
                             name.c_str(), errors.correlation[k][j]));
  }
  double const ratio = result.theta.sigma2 * std::pow(result.theta.range, -2 * result.theta.nu);
  if (std::isfinite(errors.of_logarithm_of_ratio))
    report.only_screen(
        "sigma2/range^(2 nu)",
        words(text("%.8g", ratio), " +- ", two_digits(ratio * errors.of_logarithm_of_ratio), "  (",
              two_digits(errors.of_logarithm_of_ratio), " of its logarithm)"));
  report.only_json("ratio", {{"value", ratio}, {"of_logarithm", errors.of_logarithm_of_ratio}});
  report.only_json("of", by_name(errors.of));
  report.only_json("of_logarithm", by_name(errors.of_logarithm));
  report.only_json("reasons", reasons);
  report.tell("correlation", "correlations", correlation, joined(pairs));
  report.only_json("backward_error", backward_error);
  report.only_json("seconds", seconds);
}

void add_profile_intervals(Report& report, MleResult const& result) {
  report.section("");
  if (result.profile_intervals.empty()) return report.only_json("profile_intervals", nullptr);
  report.section("", "profile_intervals/");
  double seconds = 0;
  Value list = Value::array();
  for (auto const& interval : result.profile_intervals) {
    seconds += interval.seconds;
    list.push_back({{"parameter", geostat::parameter_names[interval.parameter]},
                    {"lower", interval.lower.value},
                    {"lower_end", name_of(interval.lower.what)},
                    {"upper", interval.upper.value},
                    {"upper_end", name_of(interval.upper.what)},
                    {"above_estimate", interval.above_estimate},
                    {"converged", interval.converged},
                    {"fits", interval.fits},
                    {"evaluations", interval.evaluations}});
  }
  report.only_json("level", result.profile_intervals.front().level);
  report.only_json("intervals", list);
  report.only_json("seconds", seconds);
}

void add_gradient(Report& report, MleResult const& result) {
  report.section("");
  if (!result.gradient) return report.only_json("gradient", nullptr);
  auto const& gradient = *result.gradient;
  report.section("Gradient of the log-likelihood", "gradient/");
  geostat::Parameters by_logarithm = geostat::parameters_of(result.theta);
  for (std::size_t k = 0; k < 4; ++k) {
    by_logarithm[k] *= gradient.by[k];
    report.only_screen("by " + std::string(geostat::parameter_names[k]),
                       text("%.10g  (%.3g by its logarithm)", gradient.by[k], by_logarithm[k]));
  }
  report.only_json("by", by_name(gradient.by));
  report.only_json("by_logarithm", by_name(by_logarithm));
  report.only_json("backward_error", gradient.backward_error);
  report.only_json("seconds", gradient.seconds);
}

void add_fit_asked(Report& report, geostat::FitOptions const& asked) {
  report.only_json("search", name_of(asked.search));
  report.only_json("tolerance", asked.tolerance);
  report.only_json("start", by_name(asked.start));
  report.only_json("lower", by_name(asked.lower));
  report.only_json("upper", by_name(asked.upper));
  report.only_json("fixed", names_of(asked.fixed));
}

void add_fit(Report& report, MleResult const& result) {
  auto const& fit = *result.fit;
  report.section("Fit", "fit/");
  report.only_json("converged", fit.converged);
  report.add("reason", fit.converged ? "converged" : "NOT CONVERGED", fit.reason);
  report.add_unless_zero("noise", "  known to", fit.noise, "%.1e of the log-likelihood");
  report.add("evaluations", "evaluations", fit.evaluations, unit::plain,
             text("%.4f s each", fit.evaluation_seconds));
  report.add_unless_zero("not_positive_definite", "  not positive definite",
                         fit.not_positive_definite);
  report.add_unless_zero("not_known", "  tiles too low to know", fit.not_known);
  if (fit.in_low_precision) {
    auto const& [count, theta, likelihood, best] = *fit.in_low_precision;
    double const noise = likelihood.error();
    report.tell("in_low_precision", "  with low-precision tiles",
                {{"evaluations", count},
                 {"theta", by_name(theta)},
                 {"log_likelihood", likelihood.log_likelihood},
                 {"noise", noise}},
                words(count, text(", to %.10g +- %.1e", likelihood.log_likelihood, noise)));
  } else {
    report.only_json("in_low_precision", nullptr);
  }
  report.add_unless_zero("evaluations_in_fp64", "  then in fp64", fit.evaluations_in_fp64);
  report.only_json("at_bound", names_of(fit.at_bound));
  report.only_json("nugget_below", fit.nugget_below);
  report.only_json("kept_share", fit.kept_share);
  report.only_json("evaluation_seconds", fit.evaluation_seconds);
  report.only_json("seconds", fit.seconds);
  report.only_json("history", result.log_likelihoods);
  add_fit_asked(report, *result.asked);
}

void add_likelihood(Report& report, MleResult const& result) {
  report.section("Likelihood");
  report.only_json("iterations", result.fit ? result.fit->evaluations : result.likelihood ? 1 : 0);
  if (!result.likelihood || result.likelihood->info != 0)
    report.nulls({"log_likelihood", "log_det", "log_det_error", "quadratic_form",
                  "quadratic_form_error", "mean/value", "backward_error"});
  if (!result.fit || result.likelihood->info != 0) report.nulls({"aic", "bic"});
  if (!result.likelihood) return;
  auto const& likelihood = *result.likelihood;
  if (likelihood.info != 0)
    return report.only_screen("NOT POSITIVE DEFINITE", words("the leading minor of order ",
                                                             likelihood.info, " is not positive"));
  double const error = likelihood.log_det_error;
  report.add("log_likelihood", "log-likelihood", likelihood.log_likelihood, "%.10g");
  if (result.fit) {
    auto const parameters = static_cast<double>(result.free_parameters());
    double const deviance = -2 * likelihood.log_likelihood;
    report.add("aic", "AIC", deviance + 2 * parameters, "%.8g");
    report.add("bic", "BIC", deviance + std::log(static_cast<double>(result.n)) * parameters,
               "%.8g");
  }
  report.tell("log_det", "log-determinant", likelihood.log_det,
              text("%.10g", likelihood.log_det) + (error > 0 ? text(" +- %.1e", error) : ""));
  report.only_json("log_det_error", error);
  if (!result.log_det_known())
    report.only_screen("NOT KNOWN",
                       "the tiles' rounding is too large beside the covariance matrix");
  report.tell("quadratic_form", "quadratic form", likelihood.quadratic_form,
              text("%.10g +- %.1e", likelihood.quadratic_form, likelihood.quadratic_form_error));
  report.only_json("quadratic_form_error", likelihood.quadratic_form_error);
  report.tell("mean/value", "mean", likelihood.mean,
              result.trend.is_constant() ? text("%.8g", likelihood.mean) : "");
  report.add(
      "backward_error", "backward error", likelihood.backward_error, unit::error,
      words("normwise, of the refined solve, ", counted(likelihood.solve_iterations, "iteration")));
}

void add_precisions(Report& report, MleResult const& result) {
  report.only_json("precisions/epsilon", result.rule.accuracy);
  report.only_json("precisions/allowed", allowed_precisions(result.rule));
  if (!result.likelihood) {
    report.nulls({"precisions/storage", "precisions/whole", "precisions/tile_size",
                  "precisions/tiles", "precisions/map", "precisions/rung"});
    report.only_json("precisions/attempts", Value::array());
    return report.only_json("memory/used", 0);
  }
  auto const& factor = result.likelihood->factor;
  bool const on_devices = factor.storage == ooc::TileStorage::Devices;
  report.tell("precisions/storage", "covariance matrix", name_of(factor.storage),
              factor.whole ? "whole, in the device's memory"
              : on_devices ? "in tiles, in the devices' memory"
                           : "");
  report.only_json("precisions/whole", factor.whole);
  report.add_unless_zero("precisions/no_room", "not on devices", factor.no_room);
  add_tiles(report, "precisions/",
            {factor.tiles, factor.tile_size, factor.rung, factor.attempts, result.map});
  report.add("memory/used", "bytes", factor.bytes, unit::bytes);
}

void add_divergence(Report& report, MleResult const& result) {
  if (!result.divergence) return report.only_json("kl", nullptr);
  auto const& kl = result.divergence->divergence;
  report.add("kl/paper", "KL divergence, paper's", kl.log_det_half, "%.6e",
             "from the log-determinant");
  report.tell("kl/full", "KL divergence, full", kl.full,
              text("%.6e +- %.1e", kl.full, kl.standard_error + kl.truncation_error));
  report.only_json("kl/standard_error", kl.standard_error);
  report.only_json("kl/truncation_error", kl.truncation_error);
  report.only_json("kl/log_det_factor", result.divergence->log_det_factor);
  report.only_json("kl/log_det_fp64", result.divergence->log_det_fp64);
}

void add_seconds(Report& report, MleResult const& result) {
  auto const factor =
      result.likelihood ? result.likelihood->factor : geostat::CovarianceFactorReport{};
  report.section("Seconds", "seconds/");
  report.add_unless_zero("read", "read", result.read_seconds, unit::seconds);
  report.add_unless_zero("fill", "covariance matrix", factor.fill_seconds, unit::seconds);
  report.add_unless_zero("factor", "factor", factor.factor_seconds, unit::seconds);
  report.add("total", "total", result.total_seconds, unit::seconds);
}

}  // namespace

Report report(MleResult const& result) {
  Report report;
  add_problem(report, result);
  add_theta(report, result);
  add_trend(report, result);
  add_standard_errors(report, result);
  add_profile_intervals(report, result);
  if (result.fit) add_fit(report, result);
  add_likelihood(report, result);
  add_precisions(report, result);
  add_divergence(report, result);
  add_prediction(report, result);
  add_gradient(report, result);
  add_seconds(report, result);
  report.section("");
  report.only_json("warnings", result.warnings);
  add_configuration(report);
  return report;
}

}  // namespace strata::apps
