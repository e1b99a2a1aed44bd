// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/mle/Strata_MleKrigingReport.hpp>

#include <apps/mle/Strata_MleDocument.hpp>
#include <apps/shared/Strata_Report.hpp>

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>

namespace strata::apps {

std::string two_digits(double value) {
  return text("%.6g", std::strtod(text("%.1e", value).c_str(), nullptr));
}

std::optional<TrendOfResult> trend_of(MleResult const& result) {
  bool const is_known = result.likelihood && result.likelihood->info == 0;
  if (!is_known || result.trend.columns() == 0) return std::nullopt;
  auto const& likelihood = *result.likelihood;
  auto const k = static_cast<std::size_t>(result.trend.columns());
  TrendOfResult trend;
  for (std::size_t j = 0; j < k; ++j) {
    double const variance = likelihood.coefficient_covariance[j + j * k];
    trend.terms.push_back(
        {result.trend.names()[j], likelihood.coefficients[j], std::sqrt(variance)});
    auto const row = likelihood.coefficient_covariance.begin() + static_cast<std::ptrdiff_t>(j * k);
    trend.covariance.emplace_back(row, row + static_cast<std::ptrdiff_t>(k));
  }
  trend.log_det = likelihood.log_det_trend;
  if (result.trend.criterion() == geostat::Criterion::REML)
    trend.log_likelihood_nlme =
        likelihood.log_likelihood - result.trend.log_det_of_columns(result.n) / 2;
  return trend;
}

std::string kriging_of(MleResult const& result) {
  return result.trend.columns() == 0  ? "simple kriging"
         : result.trend.is_constant() ? "ordinary kriging"
                                      : "universal kriging";
}

void show_trend(Report& report, MleResult const& result) {
  auto const trend = trend_of(result);
  if (!trend || result.trend.is_constant()) return;
  report.section("Trend: coefficient +- standard error at this covariance");
  for (auto const& [name, b, error] : trend->terms)
    report.only_screen(
        name, words(text("%.8g", b), " +- ", two_digits(error), text("  (t = %.2f)", b / error)));
}

void show_prediction(Report& report, MleResult const& result) {
  if (!result.prediction) return;
  auto const& prediction = *result.prediction;
  auto const kriging = kriging_of(result);
  report.section("Prediction");
  report.only_screen("locations", words(prediction.count, " of ", prediction.locations));
  report.only_screen(
      "average",
      words(prediction.mean, ", kriging standard error ", std::sqrt(prediction.variance),
            " of the field, ", std::sqrt(prediction.observation_variance), " of an observation"));
  report.only_screen("variance, sd", words("of the field without noise, by ", kriging));
  report.only_screen("observation_*",
                     words("of a new observation there: with the nugget, ", result.theta.nugget));
  report.show("backward error", prediction.backward_error, unit::error);
  report.show("written to", result.output);
}

}  // namespace strata::apps
