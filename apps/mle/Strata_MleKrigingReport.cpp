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

void add_prediction(Report& report, MleResult const& result) {
  if (!result.prediction) return report.only_json("prediction", nullptr);
  auto const& prediction = *result.prediction;
  char const* const kriging = result.trend.columns() == 0  ? "simple kriging"
                              : result.trend.is_constant() ? "ordinary kriging"
                                                           : "universal kriging";
  report.section("Prediction", "prediction/");
  report.tell("count", "locations", prediction.count,
              words(prediction.count, " of ", prediction.locations));
  report.only_json("places", prediction.locations);
  report.tell(
      "average_mean", "average", prediction.mean,
      words(prediction.mean, ", kriging standard error ", std::sqrt(prediction.variance),
            " of the field, ", std::sqrt(prediction.observation_variance), " of an observation"));
  report.only_json("average_variance", prediction.variance);
  report.only_json("average_observation_variance", prediction.observation_variance);
  report.tell("variance_of", "variance, sd", words("field, ", kriging),
              words("of the field without noise, by ", kriging));
  report.only_screen("observation_*",
                     words("of a new observation there: with the nugget, ", result.theta.nugget));
  report.add("backward_error", "backward error", prediction.backward_error, unit::error);
  report.add("output", "written to", result.output);
}

}  // namespace strata::apps
