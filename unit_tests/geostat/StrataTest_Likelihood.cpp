// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_FailingAllocations.hpp"
#include "StrataTest_Field.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <geostat/Strata_Divergence.hpp>
#include <geostat/Strata_Likelihood.hpp>
#include <geostat/kriging/Strata_SyntheticField.hpp>
#include <ooc/schedule/Strata_TilePlan.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::geostat;
using strata::test::message_of;
using strata::test::Numbers;
using strata::test::SlowField;
using strata::test::some_values;

template <class Space>
class LikelihoodTest : public testing::Test {};
TYPED_TEST_SUITE(LikelihoodTest, strata::test::Spaces, strata::test::SpaceNames);

Locations on_globe(Locations at) {
  for (double& x : at.x) x = 20 * x - 10;
  for (double& y : at.y) y = 20 * y + 40;
  at.metric = Metric::GreatCircle;
  return at;
}

TYPED_TEST(LikelihoodTest, IsThatOfASlowReference) {
  TypeParam const exec;
  for (int const n : {1, 2, 63, 130})
    for (double const nu : {0.3, 0.5, 0.83, 1.5})
      for (bool const globe : {false, true}) {
        if (globe && nu > 0.5) continue;
        SCOPED_TRACE(std::to_string(n) + " " + std::to_string(nu) + (globe ? " globe" : ""));
        Locations const plane = synthetic_locations(n), at = globe ? on_globe(plane) : plane;
        MaternCovariance const c{
            .sigma2 = 2, .range = globe ? 300. : 0.1, .nu = nu, .nugget = 0.01};
        auto const y = some_values(n);
        Numbers const wide(y.begin(), y.end());
        SlowField const slow(c, at);
        for (Mean const mean : {Mean::None, Mean::Constant}) {
          if (mean == Mean::Constant && n == 1) continue;
          auto const result = log_likelihood(exec, c, at, y, mean);
          auto const expected =
              static_cast<double>(slow.log_likelihood(wide, mean == Mean::Constant));
          EXPECT_EQ(result.info, 0);
          EXPECT_EQ(result.n, n);
          EXPECT_TRUE(result.solve_converged);
          EXPECT_NEAR(result.log_likelihood, expected, 1e-11 * std::abs(expected));
          EXPECT_NEAR(result.log_det, static_cast<double>(slow.log_det()), 1e-11 * n);
          EXPECT_GT(result.log_det_error, 0);  // by rounding
          EXPECT_LT(result.log_det_error, 1e-12 * n);
          if (mean == Mean::None) {
            EXPECT_EQ(result.mean, 0);
            EXPECT_NEAR(result.quadratic_form, static_cast<double>(slow.form(wide, wide)),
                        1e-11 * result.quadratic_form);
          } else {
            EXPECT_NEAR(result.mean, 3, 1);
          }
        }
      }
}

TYPED_TEST(LikelihoodTest, ConstantMeanDoesNotSeeAShiftOfTheValues) {
  TypeParam const exec;
  Locations const at = synthetic_locations(80);
  auto y = some_values(80);
  auto const before = log_likelihood(exec, {}, at, y, Mean::Constant);
  for (double& value : y) value += 1000;
  auto const after = log_likelihood(exec, {}, at, y, Mean::Constant);
  EXPECT_NEAR(after.log_likelihood, before.log_likelihood, 1e-7);
  EXPECT_NEAR(after.mean, before.mean + 1000, 1e-9);
}

TYPED_TEST(LikelihoodTest, SaysWhichMinorIsNotPositive) {
  TypeParam const exec;
  // So smooth that rounding decides.
  auto const result =
      log_likelihood(exec, {.range = 100, .nu = 20}, synthetic_locations(100), some_values(100));
  EXPECT_GT(result.info, 1);
  EXPECT_LE(result.info, 100);
  EXPECT_TRUE(std::isnan(result.log_likelihood));
  CovarianceFactor<TypeParam> factor(exec, {.range = 100, .nu = 20}, synthetic_locations(100));
  EXPECT_EQ(factor.info().order(), result.info);
  EXPECT_EQ(message_of<ValueError>([&] { (void)factor.log_determinant(exec); }),
            "log_determinant: there is no factor; the minor of order " +
                std::to_string(result.info) + " is not positive");
}

TYPED_TEST(LikelihoodTest, RefusesWhatItCannotUse) {
  TypeParam const exec;
  Locations const at = synthetic_locations(4);
  EXPECT_EQ(message_of<ShapeError>([&] { (void)log_likelihood(exec, {}, at, some_values(3)); }),
            "log_likelihood: 3 values at 4 locations");
  EXPECT_EQ(message_of<ShapeError>(
                [&] { (void)log_likelihood(exec, {}, synthetic_locations(0), some_values(0)); }),
            "log_likelihood: 0 values at 0 locations");
  auto y = some_values(4);
  y[2] = NAN;
  EXPECT_EQ(message_of<ValueError>([&] { (void)log_likelihood(exec, {}, at, y); }),
            "log_likelihood: value 3 is nan, must be finite");
  Locations twins = at;
  twins.x[1] = twins.x[0], twins.y[1] = twins.y[0];
  EXPECT_THROW((void)log_likelihood(exec, {}, twins, some_values(4)), ValueError);
  EXPECT_EQ(log_likelihood(exec, {.nugget = 0.1}, twins, some_values(4)).info, 0);
  auto const needed = CovarianceFactor<TypeParam>::bytes_needed(100);
  EXPECT_GE(needed, 100u * 100 * 4);
  CovarianceFactorOptions small;
  small.max_bytes = needed / 2;
  small.storage = TileStorage::Host;
  auto const refusal = message_of<MemoryError>(
      [&] { CovarianceFactor<TypeParam>(exec, {}, synthetic_locations(100), small); });
  EXPECT_NE(refusal.find(std::to_string(needed)), std::string::npos) << refusal;
  EXPECT_NE(refusal.find(std::to_string(needed / 2)), std::string::npos) << refusal;
}

// 1/2 (trace(M^-1 S) - n) + 1/2 (log det M - log det S), column by column.
template <class Space>
double by_definition(Space const& exec, CovarianceFactor<Space> const& factor,
                     double log_det_half) {
  using Block = typename CovarianceFactor<Space>::Block;
  std::int64_t const n = factor.order();
  HostMatrix const host("strata::test::host", n, n);
  for (std::int64_t i = 0; i < n; ++i) host(i, i) = 1;
  Block const E("strata::test::E", n, n), Y("strata::test::Y", n, n);
  Kokkos::deep_copy(exec, E, host);
  factor.apply(exec, E, Y);
  factor.half_solve(exec, Op::NoTrans, Y);
  factor.half_solve(exec, Op::Trans, Y);
  Kokkos::deep_copy(exec, host, Y);
  exec.fence("strata::test::done");
  double sum = 0;  // of what is left of each diagonal entry without 1
  for (std::int64_t i = 0; i < n; ++i) sum += host(i, i) - 1;
  return sum / 2 + log_det_half;
}

// Weak correlation has tiles in all four precisions.
TYPED_TEST(LikelihoodTest, TilesInLowPrecisionChangeItByLessThanItSays) {
  TypeParam const exec;
  int const n = 1600;
  Locations const at = synthetic_locations(n);
  for (double const range : {0.02627, 0.078809}) {
    MaternCovariance const c{.range = range};
    auto const y = synthetic_field(exec, c, at, 1);
    auto const exact = log_likelihood(exec, c, at, y, Mean::None);
    CovarianceFactorOptions options({.accuracy = 1e-5});
    options.tile_size = 100;
    CovarianceFactor<TypeParam> factor(exec, c, at, options);
    auto const mixed = log_likelihood(exec, factor, y, Mean::None);
    ASSERT_EQ(mixed.info, 0);
    EXPECT_GT(mixed.factor.tiles[1] + mixed.factor.tiles[2] + mixed.factor.tiles[3], 100);
    EXPECT_TRUE(mixed.solve_converged);
    EXPECT_NEAR(mixed.quadratic_form, exact.quadratic_form, 1e-9 * exact.quadratic_form);
    EXPECT_GT(mixed.log_det_error, 0);
    EXPECT_NEAR(mixed.log_det, exact.log_det, mixed.log_det_error);
    // The divergence by unit vectors, by probes, and by its definition as far as that has digits.
    std::vector<double> parts;
    auto const kl = divergence(exec, factor, exact.log_det,
                               {.on_progress = [&](double part) { parts.push_back(part); }});
    EXPECT_TRUE(std::ranges::is_sorted(parts));
    ASSERT_EQ(static_cast<std::int64_t>(parts.size()), (factor.order() + 255) / 256);
    EXPECT_EQ(parts.back(), 1);
    EXPECT_GT(kl.full, 0);
    EXPECT_LT(kl.truncation_error, 1e-6 * kl.full);
    auto const probed = divergence(exec, factor, exact.log_det, {.exact_up_to = 0});
    EXPECT_GT(probed.standard_error, 0);
    EXPECT_NEAR(probed.full, kl.full, 5 * probed.standard_error);
    EXPECT_NEAR(by_definition(exec, factor, kl.log_det_half), kl.full, 1e-10);
    options.log_det = LogDet::Factor;
    auto const plain = log_likelihood(exec, c, at, y, Mean::None, options);
    EXPECT_TRUE(std::isnan(plain.log_det_error));
    EXPECT_NEAR(plain.log_det - exact.log_det, 2 * kl.log_det_half, 1e-9 * n);
  }
}

TYPED_TEST(LikelihoodTest, FactorsAgainInItsMemory) {
  TypeParam const exec;
  Locations const at = synthetic_locations(200);
  auto const y = some_values(200);
  CovarianceFactor<TypeParam> factor(exec, {.range = 0.3}, at);
  for (MaternCovariance const& c :
       {MaternCovariance{.range = 0.05, .nu = 0.7}, MaternCovariance{.sigma2 = 5, .nugget = 1}}) {
    factor.refactor(exec, c);
    EXPECT_EQ(log_likelihood(exec, factor, y).log_likelihood,
              log_likelihood(exec, c, at, y).log_likelihood);
  }
  EXPECT_THROW(factor.refactor(exec, {.sigma2 = -1}), ValueError);
}

// A device that holds a few tiles only: the same bits.
TYPED_TEST(LikelihoodTest, IsTheSameOnADeviceSmallerThanTheMatrix) {
  TypeParam const exec;
  Locations const at = synthetic_locations(600);
  auto const y = some_values(600);
  CovarianceFactorOptions options;
  options.tile_size = 50;
  auto const plenty = log_likelihood(exec, {}, at, y, Mean::None, options);
  constexpr int streams = 4;  // as many as a device has
  options.devices = make_devices(1, smallest_budget_bytes(600, 50, PrecisionMap(12), streams));
  auto const scarce = log_likelihood(exec, {}, at, y, Mean::None, options);
  EXPECT_EQ(scarce.log_likelihood, plenty.log_likelihood);
  EXPECT_GE(scarce.factor.bytes_in, plenty.factor.bytes_in);
}

// The values are L z: L^-1 y is standard normal, so that y' S^-1 y is chi-square with n degrees of
// freedom.
TYPED_TEST(LikelihoodTest, SyntheticFieldsHaveTheCovariance) {
  TypeParam const exec;
  int const n = 900;
  Locations const at = synthetic_locations(n);
  double sum = 0;
  for (int seed = 1; seed <= 5; ++seed) {
    MaternCovariance const c{.sigma2 = 3, .range = 0.1, .nu = 0.8, .nugget = 0.1};
    auto const y = synthetic_field(exec, c, at, seed);
    auto const result = log_likelihood(exec, c, at, y, Mean::None);
    EXPECT_NEAR(result.quadratic_form, n, 5 * std::sqrt(2. * n)) << seed;
    sum += result.quadratic_form;
  }
  EXPECT_NEAR(sum, 5 * n, 4 * std::sqrt(2. * 5 * n));
  EXPECT_EQ(synthetic_field(exec, {}, at, 3), synthetic_field(exec, {}, at, 3));
  EXPECT_NE(synthetic_field(exec, {}, at, 3), synthetic_field(exec, {}, at, 4));
  EXPECT_TRUE(synthetic_field(exec, {}, synthetic_locations(0)).empty());
  auto const refusal = message_of<ValueError>(
      [&] { (void)synthetic_field(exec, {.range = 100, .nu = 20}, synthetic_locations(100)); });
  EXPECT_NE(refusal.find("of matern:1,100,20,0 at these 100 locations is not positive definite"),
            std::string::npos)
      << refusal;
  strata::test::FailingAllocations const failing("strata::geostat::synthetic_field::L",
                                                 [] { return true; });
  auto const too_large =
      message_of<MemoryError>([&] { (void)synthetic_field(exec, {}, synthetic_locations(500)); });
  EXPECT_NE(too_large.find("of order 500 needs 2e+06 bytes in the memory of"), std::string::npos)
      << too_large;
}

}  // namespace
