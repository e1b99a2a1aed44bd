// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <geostat/fit/Strata_ProfileInterval.hpp>
#include <geostat/kriging/Strata_SyntheticField.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace {

using namespace strata;
using namespace strata::geostat;
using strata::test::message_of;

template <class Space>
class ProfileIntervalTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_fit()) GTEST_SKIP() << "without NLopt";
  }
};
TYPED_TEST_SUITE(ProfileIntervalTest, strata::test::Spaces, strata::test::SpaceNames);

FitOptions options_at(MaternCovariance const& start) {
  FitOptions options;
  options.start = start;
  options.lower = {0.01, 0.002, 0.1, 1e-4};
  options.upper = {100, 5, 3, 10};
  options.fixed = {false, false, true, false};
  return options;
}

template <class Space>
struct Problem {
  Space exec;
  ooc::DeviceTeam<Space> team{ooc::make_devices(1)};
  Locations at = synthetic_locations(80);
  MaternCovariance truth{.sigma2 = 1, .range = 0.1, .nu = 0.5, .nugget = 0.1};
  std::vector<double> y = synthetic_field(exec, truth, at, 5);
  FitOptions options = options_at(truth);

  MaternCovariance estimate() const { return fit(exec, team, at, y, options).theta; }
  ProfileInterval interval(MaternCovariance const& theta, std::size_t k,
                           ProfileOptions const& how = {}) const {
    return profile_interval(exec, team, at, y, options, theta, k, how);
  }
};

// On a grid of 0.01 in the logarithms: the interval is where the largest log-likelihood over the
// other one is within 1.92.
TYPED_TEST(ProfileIntervalTest, IsThatOfAGrid) {
  Problem<TypeParam> problem;
  problem.options.fixed = {false, false, true, true};
  auto const theta = problem.estimate();
  double const top =
      log_likelihood(problem.exec, theta, problem.at, problem.y, Mean::Constant).log_likelihood;
  auto const interval = problem.interval(theta, 1);
  EXPECT_EQ(interval.lower.what, EndOf::Level);
  EXPECT_EQ(interval.upper.what, EndOf::Level);
  EXPECT_TRUE(interval.converged);
  EXPECT_NEAR(interval.log_likelihood, top, 1e-4);
  EXPECT_LT(interval.lower.value, theta.range);
  EXPECT_GT(interval.upper.value, theta.range);
  auto const fall = [&](double range) {
    double best = -HUGE_VAL;
    for (int k = -200; k <= 200; ++k) {
      MaternCovariance const one{theta.sigma2 * range / theta.range * std::exp(0.02 * k), range,
                                 theta.nu, theta.nugget};
      best = std::max(
          best,
          log_likelihood(problem.exec, one, problem.at, problem.y, Mean::Constant).log_likelihood);
    }
    return top - best;
  };
  // Half of chi-square's 95 % quantile with one degree of freedom. The grid of sigma2 misses the
  // top by 1e-2 at most.
  EXPECT_NEAR(fall(interval.lower.value), 3.841458820694124 / 2, 0.02);
  EXPECT_NEAR(fall(interval.upper.value), 3.841458820694124 / 2, 0.02);
}

// The second structure's range and variance: fits with one of them held are 1.92 lower at the ends.
TYPED_TEST(ProfileIntervalTest, IsThatOfFitsWithASecondStructuresParameterHeld) {
  Problem<TypeParam> problem;
  MaternCovariance truth{1, 0.04, 0.5, 0.02, Family::Exponential};
  truth.second = {4, 0.15, 0.5, Family::Exponential};
  problem.at = synthetic_locations(300);
  problem.y = synthetic_field(problem.exec, truth, problem.at, 5);
  problem.options =
      default_fit_options(problem.at, problem.y, Mean::Constant, truth.family, Family::Exponential);
  fix_parameter(problem.options, "nugget=0.02", "fix");
  fix_parameter(problem.options, "range=0.04", "fix");
  auto const best = fit(problem.exec, problem.at, problem.y, problem.options);
  for (std::size_t const k : {4, 5}) {
    auto const interval = problem.interval(best.theta, k);
    EXPECT_EQ(interval.parameter, k);
    EXPECT_LT(interval.lower.value, parameter_of(best.theta, k));
    EXPECT_GT(interval.upper.value, parameter_of(best.theta, k));
    for (auto const& end : {interval.lower, interval.upper}) {
      if (end.what == EndOf::Bound) continue;
      auto held = problem.options;
      held.fixed_second[k - 4] = true;
      held.start = with_parameter(best.theta, k, end.value);
      auto const there = fit(problem.exec, problem.at, problem.y, held);
      EXPECT_NEAR(best.likelihood.log_likelihood - there.likelihood.log_likelihood, 1.9207, 0.02)
          << all_parameter_names[k] << " at " << end.value;
    }
    EXPECT_TRUE(interval.lower.what == EndOf::Level || interval.upper.what == EndOf::Level)
        << all_parameter_names[k] << ": " << interval.lower.value << " to " << interval.upper.value;
  }
}

// As a fit makes it of a mean range at its bound, by rounding beyond that.
MaternCovariance just_above(MaternCovariance theta, double mean) {
  for (theta.ratio = 0.9;; theta.ratio *= 0.99) {
    theta.range = mean * std::exp(-std::log(theta.ratio) / 2);
    if (std::sqrt(theta.ratio) * theta.range > mean) break;
  }
  if (theta.second) theta.second->range = theta.range;
  return theta;
}

TYPED_TEST(ProfileIntervalTest, TakesAMeanRangeThatRoundingHasAboveItsBound) {
  Problem<TypeParam> problem;
  problem.options.directions = true;
  problem.options.upper.range = 0.05;
  auto theta = just_above(problem.truth, 0.05);
  for (std::size_t const k : {0, 1, 3}) EXPECT_GT(problem.interval(theta, k).fits, 1) << k;
  theta.second = {0.5, 0.05, 0.5, Family::Exponential};
  theta = just_above(theta, 0.05);
  problem.options.start = theta;
  problem.options.lower.second = {0, 0.002, 0.5, Family::Exponential};
  problem.options.upper.second = {100, 0.05, 0.5, Family::Exponential};
  problem.options.fixed = {true, true, true, true};
  for (std::size_t const k : {4, 5}) EXPECT_GT(problem.interval(theta, k).fits, 1) << k;
}

// The bounds of sigma2 are the field's.
TYPED_TEST(ProfileIntervalTest, IsOfAFirstStructureBelowTheFieldsBound) {
  Problem<TypeParam> problem;
  MaternCovariance truth{0.3, 0.03, 0.5, 0, Family::Exponential};
  truth.second = {1.2, 0.3, 0.5, Family::Exponential};
  problem.at = synthetic_locations(150);
  problem.y = synthetic_field(problem.exec, truth, problem.at, 5);
  problem.options = options_at(truth);
  problem.options.start.sigma2 = 0.6;
  problem.options.fixed = {false, true, true, true};
  problem.options.fixed_second = {false, false, true};
  problem.options.lower.sigma2 = 0.5;
  problem.options.lower.second = {0, 0.05, 0.5, Family::Exponential};
  problem.options.upper.second = {100, 5, 0.5, Family::Exponential};
  auto const best = fit(problem.exec, problem.team, problem.at, problem.y, problem.options);
  ASSERT_LT(best.theta.sigma2, 0.5);
  ASSERT_GT(best.theta.field(), 0.5);
  for (std::size_t const k : {0, 4, 5}) {
    auto const interval = problem.interval(best.theta, k);
    EXPECT_NEAR(interval.log_likelihood, best.likelihood.log_likelihood, 1e-3) << k;
    EXPECT_LT(interval.lower.value, 0.99 * parameter_of(best.theta, k)) << k;
    EXPECT_GT(interval.upper.value, 1.01 * parameter_of(best.theta, k)) << k;
  }
}

TYPED_TEST(ProfileIntervalTest, HoldsTheEstimateAndGrowsWithItsLevel) {
  Problem<TypeParam> const problem;
  auto const theta = problem.estimate();
  Parameters const values = parameters_of(theta);
  for (std::size_t const k : {0, 1, 3}) {
    auto const narrow = problem.interval(theta, k, {.level = 0.5, .tolerance = 1e-2}),
               wide = problem.interval(theta, k, {.level = 0.9, .tolerance = 1e-2});
    EXPECT_EQ(narrow.parameter, k);
    EXPECT_EQ(narrow.level, 0.5);
    if (k == 3) {  // that there is a nugget these few observations don't say
      EXPECT_EQ(narrow.lower.what, EndOf::Bound);
      EXPECT_EQ(wide.lower.value, narrow.lower.value);
    } else {
      EXPECT_LT(wide.lower.value, narrow.lower.value) << k;
    }
    EXPECT_LE(narrow.lower.value, values[k]) << k;
    EXPECT_LT(values[k], narrow.upper.value) << k;
    EXPECT_LT(narrow.upper.value, wide.upper.value) << k;
    EXPECT_LT(narrow.above_estimate, 1e-3) << k;
    EXPECT_GT(narrow.evaluations, narrow.fits);
  }
}

TYPED_TEST(ProfileIntervalTest, SaysWhereABoundEndsIt) {
  Problem<TypeParam> problem;
  auto const theta = problem.estimate();
  problem.options.lower.range = 0.99 * theta.range;
  problem.options.upper.range = 1.01 * theta.range;
  auto const interval = problem.interval(theta, 1);
  EXPECT_EQ(interval.lower.what, EndOf::Bound);
  EXPECT_EQ(interval.upper.what, EndOf::Bound);
  EXPECT_EQ(interval.lower.value, problem.options.lower.range);
  EXPECT_EQ(interval.upper.value, problem.options.upper.range);
  // An estimate at its bound has one side alone.
  problem.options.upper.range = theta.range;
  EXPECT_EQ(problem.interval(theta, 1).upper.value, theta.range);
}

// Of a smooth function the likelihood rises with the range, until rounding leaves nothing of it,
// and then no factor.
template <class Space>
Problem<Space> smooth_problem() {
  Problem<Space> problem;
  for (std::size_t i = 0; i < problem.y.size(); ++i)
    problem.y[i] = problem.at.x[i] * problem.at.x[i] + problem.at.y[i];
  problem.options.start = {1000, 0.3, 6, 0};
  problem.options.upper = {1e30, 1e6, 3, 10};
  problem.options.fixed = {false, false, true, true};
  return problem;
}

TYPED_TEST(ProfileIntervalTest, SaysBeyondWhatNothingIsKnown) {
  auto problem = smooth_problem<TypeParam>();
  problem.options.fixed[1] = true;  // no maximum: the largest at this range
  auto const theta = problem.estimate();
  problem.options.fixed[1] = false;
  auto const interval = problem.interval(theta, 1);
  EXPECT_EQ(interval.lower.what, EndOf::Level);
  EXPECT_EQ(interval.upper.what, EndOf::Undefined);
  EXPECT_GT(interval.upper.value, theta.range);
  EXPECT_GT(interval.above_estimate, 1);
  auto const at_range = [&](double range) {
    problem.options.start = {theta.sigma2, range, 6, 0};
    problem.options.fixed = {false, true, true, true};
    return fit(problem.exec, problem.team, problem.at, problem.y, problem.options).likelihood;
  };
  // The same on either side: a fit of its own ends beside the interval's.
  double const most = 1.920729 / 10;  // of chi-square's 95 %, halved
  EXPECT_LE(at_range(0.9 * interval.upper.value).error(), most);
  auto const beyond = at_range(1.1 * interval.upper.value);
  EXPECT_TRUE(beyond.info > 0 || beyond.error() > most) << beyond.error();
}

TYPED_TEST(ProfileIntervalTest, SaysThatTheEstimateIsNotKnown) {
  auto problem = smooth_problem<TypeParam>();
  auto theta = problem.options.start;
  double error = 0;
  for (; error <= 1; theta.range *= 1.1) {
    problem.options.start = theta;
    problem.options.fixed[1] = true;
    auto const found = fit(problem.exec, problem.team, problem.at, problem.y, problem.options);
    ASSERT_EQ(found.likelihood.info, 0) << theta.range;
    theta = found.theta;
    error = found.likelihood.error();
  }
  theta.range /= 1.1;
  problem.options.fixed[1] = false;
  auto const interval = problem.interval(theta, 1);
  EXPECT_EQ(interval.lower.what, EndOf::Undefined);
  EXPECT_EQ(interval.lower.value, theta.range);
  EXPECT_EQ(interval.upper.what, EndOf::Undefined);
  EXPECT_EQ(interval.upper.value, theta.range);
  EXPECT_TRUE(std::isnan(interval.log_likelihood));
  EXPECT_EQ(interval.fits, 1);
}

TYPED_TEST(ProfileIntervalTest, FindsWhatWasNoMaximum) {
  Problem<TypeParam> problem;
  auto theta = problem.estimate();
  theta.range *= 2;
  auto const interval = problem.interval(theta, 1);
  EXPECT_GT(interval.above_estimate, 0.01);
  EXPECT_LT(interval.best.range, theta.range);
}

// The ends with low tiles are those of fp64.
TYPED_TEST(ProfileIntervalTest, DoesWithoutLowTiles) {
  Problem<TypeParam> problem;
  problem.options.fixed = {true, false, true, true};
  auto const theta = problem.estimate();
  auto const exact = problem.interval(theta, 1);
  problem.options.factor.rule.accuracy = 1e-2;
  problem.options.factor.tile_size = 16;
  auto const low = problem.interval(theta, 1);
  EXPECT_NEAR(low.lower.value, exact.lower.value, 1e-9);
  EXPECT_NEAR(low.upper.value, exact.upper.value, 1e-9);
}

TYPED_TEST(ProfileIntervalTest, RefusesWhatHasNone) {
  Problem<TypeParam> problem;
  auto const refusal = [&](MaternCovariance const& theta, std::size_t k, ProfileOptions how = {}) {
    return message_of<ValueError>([&] { (void)problem.interval(theta, k, how); });
  };
  auto const& theta = problem.truth;
  EXPECT_EQ(refusal(theta, 4),
            "profile_interval: there is no parameter 4; 0 to 3 are sigma2, range, nu and nugget");
  EXPECT_EQ(refusal(theta, 2), "profile_interval: nu is fixed");
  EXPECT_EQ(refusal(theta, 1, {.level = 1}), "profile_interval: the level is 1, must be in (0, 1)");
  EXPECT_EQ(refusal(theta, 1, {.tolerance = 0}),
            "profile_interval: the tolerance is 0 and the first step 0, must be in (0, 1), and not "
            "negative and finite");
  EXPECT_EQ(refusal({1, 9, 0.5, 0.1}, 1),
            "profile_interval: range is estimated as 9 with the bounds 0.002 and 5");
  problem.options.upper = {100, 500, 30, 10};
  problem.options.fixed = {false, false, true, true};
  EXPECT_EQ(refusal({1, 100, 20, 0}, 1),
            "profile_interval: at the estimate, matern:1,100,20,0, the covariance matrix is not "
            "positive definite");
}

TEST(FixParameter, RefusesWhatIsNone) {
  auto const why = [](char const* item, bool has_second) {
    FitOptions options;
    if (has_second) options.start.second = {1, 2, 0.5, Family::Spherical};
    return message_of<ValueError>([&] { fix_parameter(options, item, "--fix"); });
  };
  EXPECT_EQ(why("range_2", false), "--fix: 'range_2': there is one structure alone");
  EXPECT_EQ(why("nu_2=1", true), "--fix: 'nu_2=1': the family spherical has no nu");
  EXPECT_EQ(why("range_2=x", true), "--fix: 'range_2=x': 'x' is not a number");
  EXPECT_EQ(why("sill", true),
            "--fix: 'sill' must be sigma2, range, nu or nugget, or sigma2_2, range_2 or nu_2 of a "
            "second structure, with or without =VALUE");
}

}  // namespace
