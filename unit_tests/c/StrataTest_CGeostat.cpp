// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// strata_geostat.h beside the library that it calls.
#include "StrataTest_CGeostat.hpp"

#include <geostat/kriging/Strata_CrossValidation.hpp>
#include <geostat/kriging/Strata_Prediction.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace strata::test::c_geostat {
namespace {

void expect_coefficients(Handle const& model, Likelihood const& there) {
  std::size_t const k = there.coefficients.size(), ld = k + 1;
  std::vector<double> b(k), covariance(ld * k, -1);
  ASSERT_EQ(strata_geostat_coefficients(model.get(), b.data(), covariance.data(),
                                        static_cast<std::int64_t>(ld)),
            STRATA_SUCCESS)
      << strata_message();
  EXPECT_EQ(b, there.coefficients);
  for (std::size_t j = 0; j < k; ++j) {
    for (std::size_t i = 0; i < k; ++i)
      EXPECT_EQ(covariance[i + j * ld], there.coefficient_covariance[i + j * k]);
    EXPECT_EQ(covariance[k + j * ld], -1);
  }
}

TEST(CGeostat, LikelihoodIsTheLibrarysToTheLastBit) {
  for (char const* family : {"matern", "exponential", "gaussian", "spherical", "powered"})
    for (bool const with_trend : {false, true})
      for (bool const reml : {false, true}) {
        SCOPED_TRACE(std::string(family) + (with_trend ? ", trend" : "") + (reml ? ", reml" : ""));
        Observed const observed(90, with_trend, reml);
        auto const model = model_at(observed, covariance(family, 1.5, 0.2, 0.8, 0.3));
        ASSERT_NE(model, nullptr);
        Covariance const theta{1.5, 0.2, 0.8, 0.3, from_name<Family>(family)};
        auto const there =
            log_likelihood(Exec(), theta, observed.places, observed.values, observed.trend);
        auto const report = report_of(model);
        EXPECT_EQ(report.n, 90);
        EXPECT_EQ(report.log_likelihood, there.log_likelihood);
        EXPECT_EQ(report.log_det, there.log_det);
        EXPECT_EQ(report.quadratic_form, there.quadratic_form);
        EXPECT_EQ(report.log_det_trend, there.log_det_trend);
        EXPECT_EQ(report.noise, there.error());
        EXPECT_EQ(report.parameters, 0);
        EXPECT_EQ(report.coefficients, with_trend ? 2 : 1);
        expect_coefficients(model, there);
      }
}

TEST(CGeostat, SumsAndDirectionsAreTheLibrarys) {
  Observed const observed(60);
  auto given = covariance("exponential+powered", 1, 0.3, 0, 0.1);
  given.angle = 30;
  given.ratio = 0.5;
  given.sigma2_2 = 0.7;
  given.range_2 = 0.1;
  given.nu_2 = 1.2;
  Covariance theta{1, 0.3, 0.5, 0.1, Family::Exponential, 30, 0.5};
  theta.second = {0.7, 0.1, 1.2, Family::PoweredExponential};
  auto const there =
      log_likelihood(Exec(), theta, observed.places, observed.values, observed.trend);
  auto const model = model_at(observed, given);
  EXPECT_EQ(report_of(model).log_likelihood, there.log_likelihood);
  auto const back = covariance_of(model);
  EXPECT_STREQ(back.family, "exponential+powered");
  EXPECT_EQ(back.angle, 30);
  EXPECT_EQ(back.ratio, 0.5);
  EXPECT_EQ(back.range_2, 0.1);
  EXPECT_EQ(back.nu_2, 1.2);
}

void expect_errors(Handle const& model, FactoredFit<Exec>& fitted, FitOptions const& how) {
  strata_covariance errors{};
  errors.struct_size = sizeof errors;
  ASSERT_EQ(strata_geostat_standard_errors(model.get(), &errors), STRATA_SUCCESS)
      << strata_message();
  EXPECT_STREQ(strata_message(), "nu: fixed");
  auto const information = fisher_information(
      Exec(), *fitted.factor, {.wanted = {true, true, false, true}, .trend = how.trend});
  auto const there = standard_errors(information, fitted.theta, {true, true, false, true},
                                     also_estimated(fitted, how));
  EXPECT_EQ(errors.sigma2, there.of[0]);
  EXPECT_EQ(errors.range, there.of[1]);
  EXPECT_EQ(errors.nugget, there.of[3]);
  EXPECT_GT(errors.sigma2, 0);
  for (double const none : {errors.nu, errors.angle, errors.ratio, errors.sigma2_2})
    EXPECT_TRUE(std::isnan(none));
}

TEST(CGeostat, FitIsTheLibrarysToTheLastBit) {
  for (bool const reml : {false, true}) {
    Observed const observed(150, true, reml);
    strata_fit_options options{};
    options.struct_size = sizeof options;
    options.fixed = "nu=0.5";
    strata_geostat* made = nullptr;
    ASSERT_EQ(strata_geostat_fit(&observed.given, &options, &made), STRATA_SUCCESS)
        << strata_message();
    Handle const model(made);
    auto how = default_fit_options(observed.places, observed.values, observed.trend);
    how.trend = observed.trend;
    how.start.nu = 0.5;
    how.fixed[2] = true;
    auto fitted = fit(Exec(), observed.places, observed.values, how);
    auto const found = covariance_of(model);
    EXPECT_STREQ(found.family, "matern");
    EXPECT_EQ(found.sigma2, fitted.theta.sigma2);
    EXPECT_EQ(found.range, fitted.theta.range);
    EXPECT_EQ(found.nu, 0.5);
    EXPECT_EQ(found.nugget, fitted.theta.nugget);
    auto const report = report_of(model);
    EXPECT_EQ(report.log_likelihood, fitted.likelihood.log_likelihood);
    EXPECT_EQ(report.evaluations, fitted.evaluations);
    EXPECT_EQ(report.parameters, 3);
    EXPECT_EQ(report.converged, 1);
    EXPECT_STREQ(report.reason, fitted.reason.c_str());
    expect_coefficients(model, fitted.likelihood);
    expect_errors(model, fitted, how);
  }
}

TEST(CGeostat, PredictionsAreTheLibrarysToTheLastBit) {
  Observed const observed(80);
  auto const model = model_at(observed, covariance("matern", 2, 0.1, 1.1, 0.2));
  auto const there = synthetic_locations(17, 11);
  constexpr std::int64_t m = 17, ld = 20;
  std::vector<double> columns(2 * ld, std::nan("")), mean(m), variance(m), means_alone(m);
  std::fill_n(columns.begin(), m, 1);
  std::copy(there.x.begin(), there.x.end(), columns.begin() + ld);
  CovarianceFactor<Exec> factor(Exec(), {2, 0.1, 1.1, 0.2}, observed.places);
  for (int const exact : {0, 1}) {
    ASSERT_EQ(strata_geostat_predict(model.get(), m, there.x.data(), there.y.data(), columns.data(),
                                     ld, exact, mean.data(), variance.data()),
              STRATA_SUCCESS)
        << strata_message();
    PredictionOptions const options{.trend_columns = {std::vector<double>(m, 1), there.x},
                                    .nugget = exact != 0 ? NuggetIs::Variation : NuggetIs::Error};
    auto const expected = predict(Exec(), factor, observed.values, there, observed.trend, options);
    EXPECT_EQ(mean, expected.mean);
    EXPECT_EQ(variance, expected.variance);
  }
  ASSERT_EQ(strata_geostat_predict(model.get(), m, there.x.data(), there.y.data(), columns.data(),
                                   ld, 1, means_alone.data(), nullptr),
            STRATA_SUCCESS);
  for (std::size_t i = 0; i < mean.size(); ++i) EXPECT_NEAR(means_alone[i], mean[i], 1e-12);
}

TEST(CGeostat, CrossValidationIsTheLibrarysToTheLastBit) {
  Observed const observed(50);
  auto const model = model_at(observed, covariance("spherical", 2, 0.4, 0, 0.2));
  CovarianceFactor<Exec> factor(Exec(), {2, 0.4, 0.5, 0.2, Family::Spherical}, observed.places);
  std::vector<std::int64_t> const folds = random_folds(50, 5);
  for (bool const in_folds : {false, true}) {
    std::vector<double> residual(50), variance(50);
    ASSERT_EQ(strata_geostat_cross_validate(model.get(), in_folds ? folds.data() : nullptr,
                                            residual.data(), variance.data()),
              STRATA_SUCCESS)
        << strata_message();
    auto const expected = cross_validate(
        Exec(), factor, observed.values, observed.trend,
        in_folds ? std::span<std::int64_t const>(folds) : std::span<std::int64_t const>());
    EXPECT_EQ(residual, expected.residual);
    EXPECT_EQ(variance, expected.variance);
  }
}

}  // namespace
}  // namespace strata::test::c_geostat
