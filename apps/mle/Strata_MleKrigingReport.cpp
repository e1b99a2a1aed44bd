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
#include <vector>

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

std::vector<VariogramOfResult> variogram_of(MleResult const& result) {
  std::vector<VariogramOfResult> classes;
  for (auto const& one : result.variogram)
    classes.push_back({one, geostat::semivariance(result.theta, one.distance)});
  return classes;
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

void show_validation(Report& report, MleResult const& result) {
  if (!result.validation) return;
  auto const& [of, folds, outliers] = *result.validation;
  report.section(folds.empty() ? "Each observation predicted from the others"
                               : "Observations predicted from other parts");
  report.only_screen("parts", folds);
  report.show("root mean square error", of.rmse);
  report.show("mean error", of.mean_error);
  report.show("mean square of z", of.mean_square_z, "%.4g", "1 where variances are right");
  std::vector<std::string> parts, names;
  for (std::size_t k = 0; k < of.coverage.size(); ++k)
    parts.push_back(
        text("%.1f %% in %g %%", 100 * of.coverage[k], 100 * geostat::coverage_levels[k]));
  report.only_screen("in intervals", joined(parts));
  report.show_unless_zero("without a prediction", of.without);
  for (auto const& [number, observed, predicted, z] : outliers)
    names.push_back(text("%lld (z = %.2f)", static_cast<long long>(number), z));
  report.only_screen("largest |z|", joined(names));
}

void show_prediction(Report& report, MleResult const& result) {
  if (!result.prediction) return;
  auto const& prediction = *result.prediction;
  auto const kriging = kriging_of(result);
  bool const has_variance = std::isfinite(prediction.variance);
  report.section("Prediction");
  report.only_screen("locations", prediction.grid.empty()
                                      ? words(prediction.count, " of ", prediction.locations)
                                      : words(prediction.count, " cells of ", prediction.grid));
  report.only_screen("average",
                     has_variance
                         ? words(prediction.mean, ", kriging standard error ",
                                 std::sqrt(prediction.variance), " of the field, ",
                                 std::sqrt(prediction.observation_variance), " of an observation")
                         : words(prediction.mean));
  report.only_screen("variance, sd",
                     has_variance ? words("of the field without noise, by ", kriging) : "");
  if (has_variance)
    report.only_screen("observation_*",
                       words("of a new observation there: with the nugget, ", result.theta.nugget));
  report.show("backward error", prediction.backward_error, unit::error);
  report.show_unless_zero("simulations", prediction.simulations);
  report.show_unless_zero("  with a ridge", prediction.ridge, "%.0e of sigma2");
  report.only_screen("written to",
                     prediction.files.empty() ? result.output : joined(prediction.files));
}

}  // namespace strata::apps
