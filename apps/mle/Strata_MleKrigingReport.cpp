// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/mle/Strata_MleKrigingReport.hpp>

#include <apps/shared/Strata_Report.hpp>

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <string>

namespace strata::apps {

using Value = Report::Value;

std::string two_digits(double value) {
  return text("%.6g", std::strtod(text("%.1e", value).c_str(), nullptr));
}

void add_trend(Report& report, MleResult const& result) {
  report.section("");
  bool const is_known = result.likelihood && result.likelihood->info == 0;
  if (!is_known || result.trend.columns() == 0) return report.only_json("trend", nullptr);
  auto const& likelihood = *result.likelihood;
  auto const k = static_cast<std::size_t>(result.trend.columns());
  report.section("Trend: coefficient +- standard error at this covariance", "trend/");
  Value terms = Value::array(), covariance = Value::array();
  for (std::size_t j = 0; j < k; ++j) {
    double const b = likelihood.coefficients[j],
                 error = std::sqrt(likelihood.coefficient_covariance[j + j * k]);
    terms.push_back(
        {{"name", result.trend.names()[j]}, {"coefficient", b}, {"standard_error", error}});
    Value row = Value::array();
    for (std::size_t i = 0; i < k; ++i) row.push_back(likelihood.coefficient_covariance[i + j * k]);
    covariance.push_back(row);
    if (!result.trend.is_constant())
      report.only_screen(result.trend.names()[j], words(text("%.8g", b), " +- ", two_digits(error),
                                                        text("  (t = %.2f)", b / error)));
  }
  report.only_json("terms", terms);
  report.only_json("covariance", covariance);
  report.only_json("log_det", likelihood.log_det_trend);
  bool const is_reml = result.trend.criterion() == geostat::Criterion::REML;
  report.only_json(
      "log_likelihood_nlme",
      is_reml ? Value(likelihood.log_likelihood - result.trend.log_det_of_columns(result.n) / 2)
              : Value(nullptr));
}

void add_validation(Report& report, MleResult const& result) {
  report.section("");
  Value classes = Value::array();
  for (auto const& one : result.variogram)
    classes.push_back({{"distance", one.distance},
                       {"semivariance", one.semivariance},
                       {"pairs", one.pairs},
                       {"model", geostat::semivariance(result.theta, one.distance)}});
  report.only_json("variogram", classes);
  if (!result.validation) return report.only_json("validation", nullptr);
  auto const& [of, folds, outliers] = *result.validation;
  report.section(folds.empty() ? "Each observation predicted from the others"
                               : "Observations predicted from other parts",
                 "validation/");
  report.tell("folds", "parts", folds, folds);
  report.add("rmse", "root mean square error", of.rmse);
  report.add("mean_error", "mean error", of.mean_error);
  report.add("mean_square_z", "mean square of z", of.mean_square_z, "%.4g",
             "1 where variances are right");
  Value coverage = Value::array();
  std::vector<std::string> parts;
  for (std::size_t k = 0; k < of.coverage.size(); ++k) {
    coverage.push_back({{"level", geostat::coverage_levels[k]}, {"part", of.coverage[k]}});
    parts.push_back(
        text("%.1f %% in %g %%", 100 * of.coverage[k], 100 * geostat::coverage_levels[k]));
  }
  report.tell("coverage", "in intervals", coverage, joined(parts));
  report.add_unless_zero("without", "without a prediction", of.without);
  Value list = Value::array();
  std::vector<std::string> names;
  for (auto const& [number, observed, predicted, z] : outliers) {
    list.push_back(
        {{"observation", number}, {"observed", observed}, {"predicted", predicted}, {"z", z}});
    names.push_back(text("%lld (z = %.2f)", static_cast<long long>(number), z));
  }
  report.tell("outliers", "largest |z|", list, joined(names));
  report.only_json("seconds", of.seconds);
}

void add_prediction(Report& report, MleResult const& result) {
  report.section("");
  if (!result.prediction) return report.only_json("prediction", nullptr);
  auto const& prediction = *result.prediction;
  char const* const kriging = result.trend.columns() == 0  ? "simple kriging"
                              : result.trend.is_constant() ? "ordinary kriging"
                                                           : "universal kriging";
  report.section("Prediction", "prediction/");
  report.tell("count", "locations", prediction.count,
              prediction.grid.empty() ? words(prediction.count, " of ", prediction.locations)
                                      : words(prediction.count, " cells of ", prediction.grid));
  report.only_json("places", prediction.locations);
  bool const has_variance = std::isfinite(prediction.variance);
  report.tell("average_mean", "average", prediction.mean,
              has_variance ? words(prediction.mean, ", kriging standard error ",
                                   std::sqrt(prediction.variance), " of the field, ",
                                   std::sqrt(prediction.observation_variance), " of an observation")
                           : words(prediction.mean));
  report.only_json("average_variance", prediction.variance);
  report.only_json("average_observation_variance", prediction.observation_variance);
  report.tell("variance_of", "variance, sd", words("field, ", kriging),
              has_variance ? words("of the field without noise, by ", kriging) : "");
  if (has_variance)
    report.only_screen("observation_*",
                       words("of a new observation there: with the nugget, ", result.theta.nugget));
  report.add("backward_error", "backward error", prediction.backward_error, unit::error);
  report.add_unless_zero("simulations", "simulations", prediction.simulations);
  report.add_unless_zero("ridge", "  with a ridge", prediction.ridge, "%.0e of sigma2");
  report.only_json("grid", prediction.grid);
  report.only_json("files", prediction.files);
  report.tell("output", "written to", result.output,
              prediction.files.empty() ? result.output : joined(prediction.files));
}

}  // namespace strata::apps
