// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Field.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <geostat/fit/Strata_Fit.hpp>
#include <geostat/kriging/Strata_SyntheticField.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

// Fits whose best parameters lie on a boundary.

namespace {

using namespace strata;
using namespace strata::geostat;
using strata::test::some_values;
using strata::test::throws_with;

template <class Space>
class FitBoundaries : public testing::Test {};
TYPED_TEST_SUITE(FitBoundaries, strata::test::Spaces, strata::test::SpaceNames);

// Where the best nugget is 0 the search ends there and says how large it may be; log(nugget) went
// on for ever.
TYPED_TEST(FitBoundaries, ReachesANuggetOfZero) {
  TypeParam const exec;
  for (int seed = 1; seed <= 6; ++seed) {
    Locations const at = synthetic_locations(120, seed);
    auto const y = synthetic_field(exec, {.sigma2 = 1, .range = 0.1, .nu = 1}, at, seed);
    auto const found = fit(exec, at, y, default_fit_options(at, y));
    EXPECT_TRUE(found.converged) << found.reason;
    EXPECT_LT(found.evaluations, 40);
    if (found.theta.nugget > 0) continue;
    EXPECT_TRUE(found.at_bound[3]);
    EXPECT_GT(found.nugget_below, 0);
    EXPECT_LT(found.nugget_below, found.theta.sigma2);
    // What the quadratic says is near what the likelihood is there, the others held.
    auto there = found.theta;
    there.nugget = found.nugget_below;
    double const fallen =
        found.likelihood.log_likelihood - log_likelihood(exec, there, at, y).log_likelihood;
    EXPECT_GT(fallen, 0.5) << seed;
  }
}

TYPED_TEST(FitBoundaries, EndsForWhiteNoise) {
  TypeParam const exec;
  for (int seed = 1; seed <= 6; ++seed) {
    Locations const at = synthetic_locations(60, seed);
    auto const y = synthetic_field(exec, {1e-12, 0.1, 0.5, 1}, at, seed);
    auto const found = fit(exec, at, y, default_fit_options(at, y));
    EXPECT_TRUE(found.converged) << found.reason;
    EXPECT_LT(found.evaluations, 100);
    if (found.theta.sigma2 < 1e-10) {
      EXPECT_TRUE(found.at_bound[0]) << seed;
    }
  }
}

// Fields of which rounding leaves no factor without a nugget: the least that has one is named.
TYPED_TEST(FitBoundaries, KeepsTheNuggetThatLeavesAFactor) {
  TypeParam const exec;
  Locations const at = synthetic_locations(150);
  std::vector<double> y;
  for (std::size_t i = 0; i < at.x.size(); ++i)
    y.push_back(std::sin(2 * at.x[i]) + std::cos(3 * at.y[i]));
  auto options = default_fit_options(at, y);
  options.upper.nu = 10;
  auto const found = fit(exec, at, y, options);
  EXPECT_EQ(found.likelihood.info, 0);
  EXPECT_GT(found.not_positive_definite, 0);
  if (found.kept_share > 0) {
    EXPECT_NEAR(found.theta.nugget / (found.theta.sigma2 + found.theta.nugget), found.kept_share,
                1e-3 * found.kept_share);
    EXPECT_TRUE(found.at_bound[3]);
  }
}

// A bound of sigma2 or nugget holds the sill, which is no box in the nugget's share.
TYPED_TEST(FitBoundaries, FindsTheMaximumOnBoundsOfTheVariances) {
  TypeParam const exec;
  Locations const at = synthetic_locations(80);
  auto const y = synthetic_field(exec, {1, 0.1, 0.5, 0.1}, at, 5);
  for (MaternCovariance const& lower :
       {MaternCovariance{0.01, 0.002, 0.1, 1e-4}, {2, 0.002, 0.1, 0}})
    for (MaternCovariance const& upper : {MaternCovariance{100, 5, 3, 10}, {3, 5, 3, 0.02}}) {
      FitOptions options;
      options.start = {2.5, 0.1, 0.5, 0.01};
      options.lower = lower, options.upper = upper;
      options.fixed[2] = true;
      options.trend = Mean::Constant;
      auto const found = fit(exec, at, y, options);
      EXPECT_TRUE(found.converged) << found.reason;
      if (!can_fit(Search::Bobyqa)) continue;
      options.search = Search::Bobyqa;
      auto const slow = fit(exec, at, y, options);
      EXPECT_GT(found.likelihood.log_likelihood, slow.likelihood.log_likelihood - 1e-6);
      EXPECT_LE(found.theta.nugget, upper.nugget);
      EXPECT_GE(found.theta.nugget, lower.nugget);
      EXPECT_GE(found.theta.sigma2, lower.sigma2);
    }
}

// Without a mean a large constant fits any smooth field, whose matrix is at the end of fp64. There
// the likelihood may be off by thousands, which a search took for a reason to go there.
TYPED_TEST(FitBoundaries, EndsForALargeConstantWithoutAMean) {
  TypeParam const exec;
  Locations const at{
      {1.0585676464882119, 1.0092975585534956, 1.0224412334627493, 1.048389367608564,
       1.0153248036083098, 1.0848691697361639, 1.029870379286299, 1.1389553657610192,
       1.0850265525946252, 1.0597041859993828, 1.1104066256131664, 1.002202813041017,
       1.0529002893666048, 1.0955887349717555, 1.1094937902936322, 1.0571571563339641,
       1.0565816010702804, 1.1218750019975918, 1.0286042133856206},
      {1.1251275152256284, 1.039654503413531, 1.0084957874055664, 1.0465769333689106,
       1.1048895779824481, 1.0139640677588133, 1.009059407847664, 1.1001286611347714,
       1.0990713183037184, 1.1273773713653932, 1.0399832348278308, 1.146829683000975,
       1.076658520671985, 1.0479872548494678, 1.0947553863399582, 1.0534052277218757,
       1.0160622395575991, 1.1071080519733092, 1.1242218783396358}};
  std::vector<double> const y = {
      1371237.8107048292, 1371082.7327441114, 1371094.4424791094, 1371267.433765899,
      1371280.863967993,  1371520.0664076642, 1371350.5167049044, 1371255.9876860105,
      1371372.4215909792, 1371551.1606755832, 1371290.086953888,  1371291.9418415204,
      1371207.1907862625, 1371342.9056552055, 1371367.9787812254, 1371421.0404570347,
      1371609.0777820318, 1371242.1391775082, 1371254.3267646232};
  auto const found = fit(exec, at, y, default_fit_options(at, y, Mean::None));
  EXPECT_TRUE(found.converged) << found.reason;
  EXPECT_GT(found.likelihood.log_likelihood, -141.78);
  EXPECT_LT(found.evaluations, 40);
  EXPECT_TRUE(found.at_bound[1] && found.at_bound[2]);
}

// Pairs that are near give a correlation at one distance: range, nu and nugget follow each other
// along a valley that is bent and nearly flat.
TYPED_TEST(FitBoundaries, EndsForNoiseWithNearPairs) {
  TypeParam const exec;
  for (int seed = 1; seed <= 12; ++seed) {
    auto const spread = synthetic_locations(54, seed);
    Locations at{spread.x, spread.y};
    auto y = synthetic_field(exec, {1e-12, 0.1, 0.5, 1}, at, seed);
    for (std::size_t i = 0; i < 3; ++i) {
      at.x.push_back(at.x[i] + 1e-7), at.y.push_back(at.y[i]);
      y.push_back(y[i] + 0.01 * (static_cast<double>(i) - 1.5));
    }
    auto const found = fit(exec, at, y, default_fit_options(at, y));
    EXPECT_TRUE(found.converged) << seed << ": " << found.reason;
    EXPECT_LT(found.evaluations, 400) << seed;
  }
}

TYPED_TEST(FitBoundaries, RefusesANuggetOfZeroWherePlacesRepeat) {
  TypeParam const exec;
  Locations const at{{0, 1, 0, 2}, {0, 1, 0, 3}};
  auto const y = some_values(4);
  auto options = default_fit_options(at, y);
  EXPECT_GT(options.lower.nugget, 0);
  EXPECT_TRUE(fit(exec, at, y, options).likelihood.info == 0);
  options.lower.nugget = 0;
  EXPECT_TRUE(throws_with<ValueError>("locations 1 and 3 (counted from 1) are both at (0, 0)",
                                      [&] { (void)fit(exec, at, y, options); }));
}

}  // namespace
