// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_SlowTrend.hpp"
#include "StrataTest_Spaces.hpp"
#include <geostat/kriging/Strata_CrossValidation.hpp>
#include <geostat/kriging/Strata_Prediction.hpp>
#include <geostat/kriging/Strata_SyntheticField.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace {

using namespace strata;
using namespace strata::geostat;
using strata::test::message_of;
using strata::test::some_columns;
using strata::test::some_values;

template <class Space>
class CrossValidationTest : public testing::Test {};
TYPED_TEST_SUITE(CrossValidationTest, strata::test::Spaces, strata::test::SpaceNames);

struct Part {
  Locations at;
  std::vector<double> y;
  std::vector<std::vector<double>> F;
};

// The observations of a fold, or the others.
Part part_of(Locations const& at, std::vector<double> const& y,
             std::vector<std::vector<double>> const& F, std::vector<std::int64_t> const& folds,
             std::int64_t fold, bool inside) {
  Part part;
  part.F.resize(F.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    if ((folds[i] == fold) != inside) continue;
    part.at.x.push_back(at.x[i]), part.at.y.push_back(at.y[i]), part.y.push_back(y[i]);
    for (std::size_t j = 0; j < F.size(); ++j) part.F[j].push_back(F[j][i]);
  }
  return part;
}

// Against kriging from the others by a factor of their own.
TYPED_TEST(CrossValidationTest, IsKrigingFromTheOthers) {
  TypeParam const exec;
  std::int64_t const n = 60;
  Locations const at = synthetic_locations(n);
  auto const F = some_columns(at);
  auto const y = some_values(n);
  MaternCovariance const c{.sigma2 = 2, .range = 0.2, .nu = 0.83, .nugget = 0.3};
  std::vector<std::int64_t> alone;
  for (std::int64_t i = 0; i < n; ++i) alone.push_back(i);
  CovarianceFactorOptions tiles, low({.accuracy = 1e-5});
  tiles.tile_size = low.tile_size = 16;
  for (auto const& how : {tiles, low})
    for (auto const& folds : {alone, random_folds(n, 7), block_folds(at, 4)})
      for (bool const has_trend : {false, true}) {
        Trend const trend = has_trend ? Trend(F) : Trend(Mean::Constant);
        CovarianceFactor<TypeParam> factor(exec, c, at, how);
        auto const found = cross_validate(exec, factor, y, trend,
                                          folds == alone ? std::span<std::int64_t const>() : folds);
        EXPECT_TRUE(found.converged);
        EXPECT_EQ(found.without, 0);
        for (std::int64_t fold = 0; fold < 3; ++fold) {
          auto const others = part_of(at, y, F, folds, fold, false),
                     out = part_of(at, y, F, folds, fold, true);
          CovarianceFactor<TypeParam> of_others(exec, c, others.at);
          auto const kriged = predict(exec, of_others, others.y, out.at,
                                      has_trend ? Trend(others.F) : Trend(Mean::Constant),
                                      {.trend_columns = out.F});
          std::size_t k = 0;
          for (std::size_t i = 0; i < y.size(); ++i) {
            if (folds[i] != fold) continue;
            EXPECT_NEAR(found.residual[i], y[i] - kriged.mean[k], 1e-8);
            EXPECT_NEAR(found.variance[i], kriged.variance[k] + c.nugget, 1e-8);
            ++k;
          }
        }
      }
}

TYPED_TEST(CrossValidationTest, SaysWhereTheOthersDoNotTellTheTrend) {
  TypeParam const exec;
  Locations const at = synthetic_locations(30);
  std::vector<std::vector<double>> F(2, std::vector<double>(30, 1));
  for (std::size_t i = 0; i < 30; ++i) F[1][i] = i == 4 ? 1 : 0;
  CovarianceFactor<TypeParam> factor(exec, {.range = 0.2, .nugget = 0.1}, at);
  auto const alone = cross_validate(exec, factor, some_values(30), Trend(F));
  EXPECT_EQ(alone.without, 1);
  EXPECT_TRUE(std::isnan(alone.residual[4]) && std::isnan(alone.variance[4]));
  EXPECT_TRUE(std::isfinite(alone.rmse));
  std::vector<std::int64_t> folds(30, 0);
  for (std::size_t i = 0; i < 10; ++i) folds[i] = 1;
  EXPECT_EQ(cross_validate(exec, factor, some_values(30), Trend(F), folds).without, 10);
}

TYPED_TEST(CrossValidationTest, VariancesAreThoseOfTheResiduals) {
  TypeParam const exec;
  std::int64_t const n = 900;
  Locations const at = synthetic_locations(n);
  MaternCovariance const c{.sigma2 = 2, .range = 0.1, .nu = 0.5, .nugget = 0.4};
  CovarianceFactor<TypeParam> factor(exec, c, at);
  auto const found = cross_validate(exec, factor, synthetic_field(exec, c, at, 9));
  // Neighbours' residuals are correlated: about five standard deviations of independent ones.
  EXPECT_NEAR(found.mean_square_z, 1, 5 * std::sqrt(2. / n));
  for (std::size_t k = 0; k < 3; ++k)
    EXPECT_NEAR(found.coverage[k], coverage_levels[k],
                5 * std::sqrt(coverage_levels[k] * (1 - coverage_levels[k]) / n));
  double squares = 0;
  for (double const e : found.residual) squares += e * e / static_cast<double>(n);
  EXPECT_NEAR(found.rmse, std::sqrt(squares), 1e-12);
}

TEST(Folds, AreOfOneSize) {
  Locations const at = synthetic_locations(50);
  for (auto const& folds : {random_folds(50, 7, 3), block_folds(at, 7)})
    for (std::int64_t fold = 0; fold < 7; ++fold) {
      auto const size = std::ranges::count(folds, fold);
      EXPECT_TRUE(size == 7 || size == 8) << size;
    }
  EXPECT_NE(random_folds(50, 7, 1), random_folds(50, 7, 2));
  EXPECT_EQ(message_of<ValueError>([] { (void)random_folds(5, 6); }),
            "folds: 6 of 5 observations, must be at least 2 and no more than these");
}

}  // namespace
