// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Vecchia's approximation where places are observed twice, with known errors.
#include "StrataTest_SlowTrend.hpp"
#include "StrataTest_Spaces.hpp"
#include <geostat/kriging/Strata_Prediction.hpp>
#include <geostat/kriging/Strata_SyntheticField.hpp>
#include <geostat/vecchia/Strata_Vecchia.hpp>
#include <geostat/vecchia/Strata_VecchiaPrediction.hpp>

#include <gtest/gtest.h>

#include <cstddef>

namespace {

using namespace strata;
using namespace strata::geostat;
using strata::test::some_values;

template <class Space>
class VecchiaCopiesTest : public testing::Test {};
TYPED_TEST_SUITE(VecchiaCopiesTest, strata::test::Spaces, strata::test::SpaceNames);

Locations twice_at_a_place() {
  Locations at = synthetic_locations(20, 4);
  at.error_variances.assign(20, 0.0);
  for (std::size_t i = 0; i < 20; ++i)
    at.error_variances[i] = 0.05 + 0.3 * static_cast<double>(i % 5);
  at.x[7] = at.x[2], at.y[7] = at.y[2];
  return at;
}

TYPED_TEST(VecchiaCopiesTest, CopiesWithKnownErrorsNeedNoNugget) {
  TypeParam const exec;
  Locations at = twice_at_a_place();
  auto const y = some_values(20);
  Covariance const c{1, 0.1, 0.5, 0};
  auto const blocks = vecchia_blocks(exec, at, {.neighbours = 19}).blocks;
  Vecchia<TypeParam> const model(exec, at, y, Mean::Constant, blocks);
  EXPECT_NEAR(model.log_likelihood(exec, c).log_likelihood,
              log_likelihood(exec, c, at, y).log_likelihood, 1e-9);
  at.error_variances[7] = 0;  // the other observation there has an error
  Vecchia<TypeParam> const one(exec, at, y, Mean::Constant, blocks);
  EXPECT_NEAR(one.log_likelihood(exec, c).log_likelihood,
              log_likelihood(exec, c, at, y).log_likelihood, 1e-9);
  at.error_variances[2] = 0;
  Vecchia<TypeParam> const other(exec, at, y, Mean::Constant, blocks);
  EXPECT_THROW((void)other.log_likelihood(exec, c), ValueError);
}

// Two observations of a place, both with known errors. Without a nugget none can be a variation.
TYPED_TEST(VecchiaCopiesTest, CopiesArePredictedFromWhereNoNuggetVaries) {
  TypeParam const exec;
  Locations at = twice_at_a_place();
  auto const y = some_values(20);
  Vecchia<TypeParam> const model(exec, at, y, Mean::Constant,
                                 vecchia_blocks(exec, at, {.neighbours = 19}).blocks);
  Covariance c{1, 0.1, 0.5, 0};
  CovarianceFactor<TypeParam> factor(exec, c, at);
  PredictionOptions whole;
  auto const as_error = predict(exec, model, c, at, {}),
             of_all = predict(exec, factor, y, at, Mean::Constant, whole);
  whole.nugget = NuggetIs::Variation;
  EXPECT_EQ(predict(exec, model, c, at, {.nugget = NuggetIs::Variation}).mean, as_error.mean);
  EXPECT_EQ(predict(exec, factor, y, at, Mean::Constant, whole).mean, of_all.mean);
  c.nugget = 0.1;
  EXPECT_THROW((void)predict(exec, model, c, at, {.nugget = NuggetIs::Variation}), ValueError);
}

}  // namespace
