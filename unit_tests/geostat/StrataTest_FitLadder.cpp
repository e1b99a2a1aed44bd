// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include <geostat/fit/Strata_Fit.hpp>
#include <geostat/kriging/Strata_SyntheticField.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

// Fits whose low tiles say nothing, or are too coarse for a solve.

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::geostat;

template <class Space>
class FitLadder : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_fit()) GTEST_SKIP() << "without NLopt";
  }
};
TYPED_TEST_SUITE(FitLadder, strata::test::Spaces, strata::test::SpaceNames);

// The variance alone is free.
FitOptions of_the_variance(MaternCovariance const& start, double accuracy) {
  FitOptions options;
  options.start = start;
  options.lower = {1e-3, start.range, start.nu, 0};
  options.upper = {1e3, start.range, start.nu, 0};
  options.fixed = {false, true, true, true};
  options.trend = Mean::None;
  options.factor.rule.accuracy = accuracy;
  options.factor.tile_size = 16;
  return options;
}

// Pairs of points, far from each other, whose two points are in different tiles and so near that
// fp8 takes their covariance, 1 - d with d < 1/32, for 1. The factor has 1 + nugget beside 1 and is
// definite far above rounding. In a direction for each pair it is smaller than the matrix by d /
// nugget, up to 1e4. There 30 steps of Lanczos bound no log-determinant. The values are 0 at most
// pairs, so that a solve with this factor converges in a few steps. fp64 begins where the search
// did, with its steps.
TYPED_TEST(FitLadder, BeginsAtTheStartInFp64WhereLowTilesTellNothing) {
  TypeParam const exec;
  constexpr std::size_t pairs = 48;
  std::vector<double> x(2 * pairs), y(2 * pairs);
  for (std::size_t p = 0; p < pairs; ++p) {
    x[p] = 100. * static_cast<double>(p);
    x[p + pairs] = x[p] + 0.005 + 0.02 * static_cast<double>(p) / pairs;
    y[p] = p < 8 ? 1 : 0;
    y[p + pairs] = -y[p];
  }
  Locations const at{x, std::vector<double>(x.size(), 0.0)};
  auto options = of_the_variance({1, 1, 0.5, 4e-6}, 0.5);
  options.lower = {1, 1, 0.5, 1e-6};
  options.upper = {1, 1, 0.5, 1.6e-5};
  options.fixed = {true, true, true, false};
  auto const exact = [&] {
    auto fp64 = options;
    fp64.factor.rule = PrecisionRule{};
    return fit(exec, at, y, fp64);
  }();
  std::vector<FitStep> steps;
  options.on_step = [&](FitStep const& step) { steps.push_back(step); };
  for (std::int64_t const most : {200, 3}) {
    steps.clear();
    options.max_evaluations = most;
    auto const result = fit(exec, at, y, options);
    ASSERT_TRUE(result.in_low_precision);
    auto const low = static_cast<std::size_t>(result.in_low_precision->evaluation);
    EXPECT_EQ(result.not_known, static_cast<std::int64_t>(low));
    EXPECT_EQ(result.not_positive_definite, 0);
    EXPECT_EQ(result.in_low_precision->theta.nugget, steps[0].theta.nugget);
    EXPECT_EQ(steps[0].likelihood.factor.rung, Rung::AsAsked);
    ASSERT_GT(steps.size(), low);
    EXPECT_NE(steps[low - 1].theta.nugget, steps[0].theta.nugget);
    EXPECT_NEAR(steps[low].theta.nugget / options.start.nugget, 1, 1e-12);
    if (most < 10) continue;
    EXPECT_TRUE(result.converged) << result.reason;
    EXPECT_NEAR(result.likelihood.log_likelihood, exact.likelihood.log_likelihood, 1e-3);
  }
}

// The likelihood's solve climbs at some variances; the factor that is made again at the end does,
// too.
TYPED_TEST(FitLadder, ReturnsTheFactorOfTheRungThatTheLikelihoodClimbedTo) {
  TypeParam const exec;
  Locations const at = synthetic_locations(250);
  auto const y = synthetic_field(exec, MaternCovariance{1, 0.2, 0.5, 0}, at, 3);
  int climbed = 0;
  for (double const sigma2 : {0.96, 1.0, 1.1, 1.3, 1.7, 2.5, 3.0}) {
    auto options = of_the_variance({sigma2, 0.2, 0.5, 0}, 0.5);
    options.fixed[0] = true;
    options.finish_in_fp64 = false;
    auto const result = fit(exec, at, y, options);
    ASSERT_TRUE(result.factor);
    auto const& factor = result.factor->report();
    EXPECT_EQ(factor.rung, result.likelihood.factor.rung);
    EXPECT_EQ(factor.tiles, result.likelihood.factor.tiles);
    if (factor.rung == Rung::AsAsked) continue;
    ++climbed;
    EXPECT_EQ(factor.attempts.front().outcome, Outcome::NotConverged);
  }
  EXPECT_GT(climbed, 0);
}

}  // namespace
