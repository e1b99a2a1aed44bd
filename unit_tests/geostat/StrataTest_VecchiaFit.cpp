// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_SlowTrend.hpp"
#include "StrataTest_Spaces.hpp"
#include <geostat/Strata_FisherInformation.hpp>
#include <geostat/kriging/Strata_Prediction.hpp>
#include <geostat/kriging/Strata_SyntheticField.hpp>
#include <geostat/vecchia/Strata_VecchiaFit.hpp>
#include <geostat/vecchia/Strata_VecchiaPrediction.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace strata;
using namespace strata::geostat;
using strata::test::some_columns;
using strata::test::some_values;

constexpr double ulp_of_one = std::numeric_limits<double>::epsilon();

template <class Space>
class VecchiaFitTest : public testing::Test {};
TYPED_TEST_SUITE(VecchiaFitTest, strata::test::Spaces, strata::test::SpaceNames);

// The columns of `some_columns` with values that follow them, and a field on top.
template <class Exec>
std::vector<double> field_with_trend(Exec const& exec, Locations const& at,
                                     MaternCovariance const& c, std::uint64_t seed) {
  auto y = synthetic_field(exec, c, at, seed);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += 3 + 2 * at.x[i] - at.y[i];
  return y;
}

TYPED_TEST(VecchiaFitTest, AgreesWithTheExactFit) {
  TypeParam const exec;
  auto const at = synthetic_locations(600, 11);
  MaternCovariance const truth{1, 0.1, 0.8, 0.1};
  auto const y = field_with_trend(exec, at, truth, 5);
  for (auto const criterion : {Criterion::ML, Criterion::REML}) {
    Trend const trend(some_columns(at), {}, criterion);
    auto const options = default_fit_options(at, y, trend);
    auto const exact = fit(exec, at, y, options);
    auto const found = fit_by_neighbours(exec, at, y, options);
    ASSERT_TRUE(exact.converged && found.converged) << exact.reason << found.reason;
    auto const errors = standard_errors(found.information, found.theta, {true, true, true, true});
    auto const a = parameters_of(found.theta), b = parameters_of(exact.theta);
    for (std::size_t k = 0; k < 4; ++k) {
      ASSERT_TRUE(errors.reasons[k].empty());
      // The two estimates come of the same values: much nearer than to the truth.
      EXPECT_LT(std::abs(std::log(a[k] / b[k])), 0.3 * errors.of_logarithm[k]) << k;
      EXPECT_LT(std::abs(std::log(a[k] / parameters_of(truth)[k])), 3.5 * errors.of_logarithm[k])
          << k;
    }
    // What the approximation cost: the exact likelihood there is no more than the largest.
    ASSERT_TRUE(found.exact.has_value());
    double const there = found.exact->likelihood.log_likelihood;
    EXPECT_NEAR(there, log_likelihood(exec, found.theta, at, y, trend).log_likelihood,
                1000 * ulp_of_one * std::abs(there));
    EXPECT_LE(there, exact.likelihood.log_likelihood + 1e-6);
    EXPECT_GT(there, exact.likelihood.log_likelihood - 0.5);
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_LT(std::abs(found.exact->distance[k]), 0.5);
      EXPECT_NEAR(found.exact->distance[k], std::log(b[k] / a[k]) / errors.of_logarithm[k], 0.1)
          << "one step of scoring leads to the exact maximum, nearly: " << k;
    }
  }
}

TYPED_TEST(VecchiaFitTest, WithAllNeighboursIsTheExactFit) {
  TypeParam const exec;
  auto const at = synthetic_locations(120, 11);
  auto const y = synthetic_field(exec, {1, 0.15, 0.5, 0.2}, at, 3);
  auto options = default_fit_options(at, y);
  options.fixed[2] = true;
  options.tolerance = 1e-7;
  auto const exact = fit(exec, at, y, options);
  VecchiaFitOptions how;
  how.approximation.neighbours = 200;
  auto const found = fit_by_neighbours(exec, at, y, options, how);
  ASSERT_TRUE(found.converged) << found.reason;
  EXPECT_NEAR(found.likelihood.log_likelihood, exact.likelihood.log_likelihood, 1e-9);
  for (std::size_t k = 0; k < 4; ++k)
    EXPECT_NEAR(parameters_of(found.theta)[k], parameters_of(exact.theta)[k],
                1e-4 * parameters_of(exact.theta)[k]);
  EXPECT_EQ(found.theta.nu, 0.5);
  EXPECT_EQ(found.approximation.neighbours, 200);
}

TYPED_TEST(VecchiaFitTest, EndsWhereTheBestNuggetIsZero) {
  TypeParam const exec;
  auto const at = synthetic_locations(700, 2);
  auto const y = synthetic_field(exec, {2, 0.1, 0.5, 0}, at, 4);
  auto const found = fit_by_neighbours(exec, at, y, default_fit_options(at, y));
  EXPECT_TRUE(found.converged) << found.reason;
  EXPECT_LT(found.theta.nugget, 0.02);
  if (found.theta.nugget == 0) {
    EXPECT_TRUE(found.at_bound[3]);
    EXPECT_GT(found.nugget_below, 0);
  }
}

TYPED_TEST(VecchiaFitTest, HearsEachStepAndEndsWithTheEvaluations) {
  TypeParam const exec;
  auto const at = synthetic_locations(600, 2);
  auto const y = synthetic_field(exec, {2, 0.1, 0.5, 0.3}, at, 4);
  auto options = default_fit_options(at, y);
  std::int64_t heard = 0;
  options.on_step = [&](FitStep const& step) { EXPECT_EQ(step.evaluation, ++heard); };
  auto const whole = fit_by_neighbours(exec, at, y, options);
  EXPECT_EQ(heard, whole.evaluations);
  heard = 0;
  options.max_evaluations = 3;
  auto const cut = fit_by_neighbours(exec, at, y, options);
  EXPECT_FALSE(cut.converged);
  EXPECT_LE(cut.evaluations, 4);  // one with all neighbours, whatever is left
  EXPECT_TRUE(std::isfinite(cut.likelihood.log_likelihood));
}

TYPED_TEST(VecchiaFitTest, SaysWhereNothingIsPositiveDefinite) {
  TypeParam const exec;
  auto at = synthetic_locations(40, 2);
  auto const y = some_values(40);
  auto options = default_fit_options(at, y);
  options.start = {1, 1e9, 2.5, 0};
  options.lower.range = 1e8, options.upper.range = 1e10;
  options.fixed = {false, false, true, true};
  auto const found = fit_by_neighbours(exec, at, y, options);
  EXPECT_FALSE(found.converged);
  EXPECT_GT(found.likelihood.info, 0);
  EXPECT_NE(found.reason.find("nowhere positive definite"), std::string::npos) << found.reason;
  EXPECT_FALSE(found.exact.has_value());
  EXPECT_EQ(found.not_positive_definite, found.evaluations);
}

TYPED_TEST(VecchiaFitTest, RefusesOtherSearchesAndCopiesWithoutANugget) {
  TypeParam const exec;
  auto at = synthetic_locations(30, 2);
  auto const y = some_values(30);
  auto options = default_fit_options(at, y);
  options.search = Search::Bobyqa;
  EXPECT_NE(test::message_of<ValueError>([&] {
              (void)fit_by_neighbours(exec, at, y, options);
            }).find("bobyqa"),
            std::string::npos);
  options.search = Search::Scoring;
  at.x[3] = at.x[9], at.y[3] = at.y[9];
  EXPECT_THROW((void)fit_by_neighbours(exec, at, y, options), ValueError);
}

TYPED_TEST(VecchiaFitTest, PredictionsWithAllNeighboursAreKriging) {
  TypeParam const exec;
  auto const at = synthetic_locations(90, 2), of = synthetic_locations(25, 8);
  MaternCovariance const c{1.3, 0.2, 0.8, 0.1};
  auto const y = field_with_trend(exec, at, c, 3);
  CovarianceFactor<TypeParam> factor(exec, c, at);
  for (int columns = 0; columns < 3; ++columns)
    for (bool const grouped : {false, true}) {
      Trend const trend = columns == 0   ? Trend(Mean::None)
                          : columns == 1 ? Trend(Mean::Constant)
                                         : Trend(some_columns(at));
      std::vector<std::vector<double>> there;
      if (columns == 2) there = some_columns(of);
      auto const exact = predict(exec, factor, y, of, trend, {.trend_columns = there});
      Vecchia<TypeParam> const model(exec, at, y, trend,
                                     vecchia_blocks(exec, at, {89, grouped}).blocks);
      auto const found = predict(exec, model, c, of, {.neighbours = 90, .trend_columns = there});
      ASSERT_EQ(found.mean.size(), 25u);
      for (std::size_t i = 0; i < 25; ++i) {
        EXPECT_NEAR(found.mean[i], exact.mean[i], 1e5 * ulp_of_one * 10) << columns << " " << i;
        EXPECT_NEAR(found.variance[i], exact.variance[i], 1e5 * ulp_of_one) << columns << " " << i;
      }
    }
}

TYPED_TEST(VecchiaFitTest, LocalPredictionsAreNearTheExactOnes) {
  TypeParam const exec;
  auto const at = synthetic_locations(800, 2), of = synthetic_locations(60, 8);
  MaternCovariance const c{1.3, 0.1, 1.2, 0.05};
  auto const y = synthetic_field(exec, c, at, 3);
  CovarianceFactor<TypeParam> factor(exec, c, at);
  auto const exact = predict(exec, factor, y, of);
  Vecchia<TypeParam> const model(exec, at, y, Mean::Constant, vecchia_blocks(exec, at).blocks);
  auto const found = predict(exec, model, c, of);
  for (std::size_t i = 0; i < 60; ++i) {
    EXPECT_NEAR(found.mean[i], exact.mean[i], 0.05 * std::sqrt(exact.variance[i]));
    EXPECT_NEAR(found.variance[i] / exact.variance[i], 1, 0.01);
  }
}

TYPED_TEST(VecchiaFitTest, PredictionAtAnObservationIsItWithoutANugget) {
  TypeParam const exec;
  auto const at = synthetic_locations(100, 2);
  MaternCovariance const c{1.3, 0.1, 0.5, 0};
  auto const y = synthetic_field(exec, c, at, 3);
  Vecchia<TypeParam> const model(exec, at, y, Mean::Constant, vecchia_blocks(exec, at).blocks);
  auto const found = predict(exec, model, c, {{at.x[5]}, {at.y[5]}}, {.neighbours = 20});
  EXPECT_NEAR(found.mean[0], y[5], 1e5 * ulp_of_one);
  EXPECT_NEAR(found.variance[0], 0, 1e5 * ulp_of_one);
  EXPECT_TRUE(predict(exec, model, c, Locations{}).mean.empty());
  EXPECT_THROW((void)predict(exec, model, c, at, {.neighbours = 0}), ValueError);
  EXPECT_THROW((void)predict(exec, model, c, {{1}, {2}, Metric::GreatCircle}), ValueError);
}

}  // namespace
