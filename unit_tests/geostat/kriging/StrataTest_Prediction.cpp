// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "geostat/StrataTest_Field.hpp"
#include <geostat/kriging/Strata_Prediction.hpp>
#include <geostat/kriging/Strata_SyntheticField.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::geostat;
using strata::test::message_of;
using strata::test::Numbers;
using strata::test::SlowField;
using strata::test::some_values;

template <class Space>
class PredictionTest : public testing::Test {};
TYPED_TEST_SUITE(PredictionTest, strata::test::Spaces, strata::test::SpaceNames);

Numbers covariances(MaternCovariance const& c, Locations const& at, double x, double y) {
  Numbers result;
  for (std::int64_t i = 0; i < at.size(); ++i)
    result.push_back(c(std::hypot(at.x[i] - x, at.y[i] - y)));
  return result;
}

TYPED_TEST(PredictionTest, IsThatOfASlowReference) {
  TypeParam const exec;
  Locations const at = synthetic_locations(90);
  Locations const fresh{{0.5, 0.111, 2, 0.7}, {0.5, 0.93, 2, 0.2}};
  MaternCovariance const c{.sigma2 = 2, .range = 0.2, .nu = 0.83, .nugget = 0.3};
  auto const y = some_values(90);
  Numbers const wide(y.begin(), y.end()), ones(90, 1);
  SlowField const slow(c, at);
  for (Mean const mean : {Mean::None, Mean::Constant}) {
    CovarianceFactor<TypeParam> factor(exec, c, at);
    auto const result = predict(exec, factor, y, fresh, mean);
    EXPECT_TRUE(result.converged);
    long double const m =
        mean == Mean::Constant ? slow.form(ones, wide) / slow.form(ones, ones) : 0.0L;
    Numbers r = wide;
    for (auto& value : r) value -= m;
    for (std::size_t k = 0; k < 4; ++k) {
      auto const k0 = covariances(c, at, fresh.x[k], fresh.y[k]);
      long double variance = c.sigma2 - slow.form(k0, k0);
      if (mean == Mean::Constant)
        variance += std::pow(1 - slow.form(ones, k0), 2) / slow.form(ones, ones);
      EXPECT_NEAR(result.mean[k], static_cast<double>(m + slow.form(k0, r)), 1e-11) << k;
      EXPECT_NEAR(result.variance[k], static_cast<double>(variance), 1e-11) << k;
    }
  }
}

TYPED_TEST(PredictionTest, GivesTheObservationsBackWithoutANugget) {
  TypeParam const exec;
  Locations const at = synthetic_locations(400);
  for (double const nu : {0.5, 0.9})
    for (Mean const mean : {Mean::None, Mean::Constant}) {
      MaternCovariance const c{.sigma2 = 2, .range = 0.1, .nu = nu};
      CovarianceFactor<TypeParam> factor(exec, c, at);
      auto const y = some_values(400);
      auto const result = predict(exec, factor, y, at, mean);
      ASSERT_EQ(result.mean.size(), 400u);
      for (std::size_t k = 0; k < 400; ++k) {
        ASSERT_NEAR(result.mean[k], y[k], 1e-9) << k;
        ASSERT_NEAR(result.variance[k], 0, 1e-9) << k;
        ASSERT_GE(result.variance[k], 0) << k;
      }
    }
}

// Standardised errors of predictions at locations left out have mean 0 and variance 1.
TYPED_TEST(PredictionTest, VariancesAreThoseOfTheErrors) {
  TypeParam const exec;
  int const n = 1200;
  Locations const all = synthetic_locations(n);
  MaternCovariance const c{.sigma2 = 2, .range = 0.15, .nu = 0.5, .nugget = 0};
  auto const field = synthetic_field(exec, c, all, 5);
  Locations seen, hidden;
  std::vector<double> y, truth;
  for (int i = 0; i < n; ++i) {
    auto& part = i % 4 == 0 ? hidden : seen;
    part.x.push_back(all.x[i]), part.y.push_back(all.y[i]);
    (i % 4 == 0 ? truth : y).push_back(field[i]);
  }
  CovarianceFactor<TypeParam> factor(exec, c, seen);
  auto const result = predict(exec, factor, y, hidden, Mean::None);
  double squares = 0;
  for (std::size_t k = 0; k < truth.size(); ++k) {
    EXPECT_LT(result.variance[k], c.sigma2);
    squares += std::pow(truth[k] - result.mean[k], 2) / result.variance[k];
  }
  auto const m = static_cast<double>(truth.size());
  EXPECT_NEAR(squares / m, 1, 5 * std::sqrt(2 / m));
}

TYPED_TEST(PredictionTest, TakesNoneAndRefusesOtherMetrics) {
  TypeParam const exec;
  CovarianceFactor<TypeParam> factor(exec, {}, synthetic_locations(5));
  EXPECT_TRUE(predict(exec, factor, some_values(5), Locations{}).mean.empty());
  EXPECT_THROW(
      (void)predict(exec, factor, some_values(5), Locations{{1}, {1}, Metric::GreatCircle}),
      ValueError);
  EXPECT_EQ(message_of<ValueError>([&] {
              (void)predict(exec, factor, some_values(5), Locations{{1, INFINITY}, {1, 1}});
            }),
            "location 2 is (inf, 1), must be finite");
  EXPECT_THROW((void)predict(exec, factor, some_values(4), Locations{{1}, {1}}), ShapeError);
}

TYPED_TEST(PredictionTest, TellsWhatPartIsDone) {
  TypeParam const exec;
  CovarianceFactor<TypeParam> factor(exec, {.nu = 0.5, .nugget = 0.1}, synthetic_locations(20));
  std::vector<double> parts;
  auto const result =
      predict(exec, factor, some_values(20), synthetic_locations(5000, 7), Mean::None,
              {.on_progress = [&](double part) { parts.push_back(part); }});
  EXPECT_TRUE(result.converged);
  EXPECT_EQ(parts, (std::vector<double>{4096.0 / 5000, 1}));
}

// Covariances with a new place that are subnormal, whose own spacing is more than what a solve goes
// for: it says so.
TYPED_TEST(PredictionTest, SaysWhereASolveDidNotConverge) {
  TypeParam const exec;
  Locations at, near, far;
  for (int i = 0; i < 64; ++i) {
    at.x.push_back(1e6 * i);
    at.y.push_back(0);
  }
  near.x = {1e3}, near.y = {0};
  for (int i = 0; i < 20; ++i) {  // 735 to 744 ranges behind the last
    far.x.push_back(63e6 + (735 + 0.45 * i) * 1e6 / 742);
    far.y.push_back(0);
  }
  CovarianceFactorOptions options({.accuracy = 1e-2});
  options.tile_size = 16;
  CovarianceFactor<TypeParam> factor(exec, {1, 1e6 / 742, 0.5, 0.1}, at, options);
  ASSERT_TRUE(factor.info().ok() && factor.map().is_mixed());
  auto const y = some_values(64);
  EXPECT_TRUE(predict(exec, factor, y, near, Mean::None).converged);
  auto const found = predict(exec, factor, y, far, Mean::None);
  EXPECT_FALSE(found.converged);
  EXPECT_GT(found.backward_error, 1e-14);
}

}  // namespace
