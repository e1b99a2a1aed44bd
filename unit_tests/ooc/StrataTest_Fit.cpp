// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <ooc/Strata_Fit.hpp>
#include <ooc/Strata_SyntheticField.hpp>

#include <cmath>

#include "StrataTest_Field.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"

namespace {

using namespace strata;
using namespace strata::ooc;
using strata::test::message_of;
using strata::test::some_values;

template <class Space>
class FitTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_fit()) GTEST_SKIP() << "without NLopt";
  }
};
TYPED_TEST_SUITE(FitTest, strata::test::Spaces, strata::test::SpaceNames);

FitOptions around(MaternCovariance const& start) {
  FitOptions options;
  options.start = start;
  options.lower = {0.01, 0.005, 0.1, 1e-6};
  options.upper = {100, 5, 3, 10};
  options.mean = Mean::None;
  options.fixed = {false, false, false, start.nugget == 0};
  return options;
}

// The estimate's log-likelihood is above the truth's by about half the number of parameters (Wilks), and the
// microergodic parameter sigma2 / range^(2 nu), which one realisation determines well, is near the truth's.
TYPED_TEST(FitTest, FindsTheParametersOfASyntheticField) {
  TypeParam const exec;
  int const n = 500;
  Locations const at = synthetic_locations(n);
  MaternCovariance const truth{.sigma2 = 2, .range = 0.1, .nu = 0.5};
  auto const y = synthetic_field(exec, truth, at, 11);
  double const at_truth = log_likelihood(exec, truth, at, y).log_likelihood;
  for (Search const search : {Search::Bobyqa, Search::NelderMead}) {
    FitOptions options = around({1, 0.3, 0.5, 0});
    options.search = search;
    options.fixed[2] = true;
    options.tolerance = 1e-4;
    std::int64_t steps = 0;
    options.on_step = [&](FitStep const& step) { EXPECT_EQ(step.evaluation, ++steps); };
    auto const result = fit(exec, at, y, options);
    EXPECT_TRUE(result.converged) << result.reason;
    EXPECT_EQ(result.evaluations, steps);
    EXPECT_EQ(result.theta.nu, 0.5);
    EXPECT_EQ(result.theta.nugget, 0);
    EXPECT_GE(result.likelihood.log_likelihood, at_truth);
    EXPECT_LE(result.likelihood.log_likelihood, at_truth + 8);  // chi-square/2, 2 parameters: 3e-4
    // sigma2 / range, relative standard deviation about sqrt(2/n).
    EXPECT_NEAR(result.theta.sigma2 / result.theta.range, 20, 20 * 5 * std::sqrt(2. / n));
    EXPECT_EQ(result.at_bound, (std::array<bool, 4>{}));
  }
}

TYPED_TEST(FitTest, FindsTheSmoothnessToo) {
  TypeParam const exec;
  Locations const at = synthetic_locations(400);
  MaternCovariance const truth{.sigma2 = 1, .range = 0.1, .nu = 0.9};
  auto const y = synthetic_field(exec, truth, at, 2);
  auto const result = fit(exec, at, y, around({0.5, 0.2, 0.5, 0}));
  EXPECT_TRUE(result.converged) << result.reason;
  EXPECT_GE(result.likelihood.log_likelihood, log_likelihood(exec, truth, at, y).log_likelihood);
  EXPECT_NEAR(result.theta.nu, 0.9, 0.25);
}

TYPED_TEST(FitTest, SaysThatTheEvaluationsAreUsedUp) {
  TypeParam const exec;
  Locations const at = synthetic_locations(60);
  FitOptions options = around({1, 0.1, 0.5, 0.1});
  options.max_evaluations = 6;
  auto const result = fit(exec, at, some_values(60), options);
  EXPECT_FALSE(result.converged);
  EXPECT_EQ(result.reason, "the evaluations are used up");
  EXPECT_EQ(result.evaluations, 6);
  EXPECT_TRUE(std::isfinite(result.likelihood.log_likelihood));
}

TYPED_TEST(FitTest, GoesRoundParametersWithoutAFactor) {
  TypeParam const exec;
  Locations const at = synthetic_locations(150);
  auto const y = synthetic_field(exec, {.sigma2 = 1, .range = 0.2, .nu = 1.5}, at, 4);
  FitOptions options = around({1, 1, 2, 0});
  options.upper = {1e4, 1e3, 40, 1};
  // The start is the last smoothness with a factor: beyond it rounding decides.
  auto const has_factor = [&](double nu) {
    return log_likelihood(exec, {1, 1, nu, 0}, at, y).info == 0;
  };
  while (options.start.nu < 20 && has_factor(options.start.nu + 0.2)) options.start.nu += 0.2;
  ASSERT_LT(options.start.nu, 20);
  for (Search const search : {Search::Bobyqa, Search::NelderMead}) {
    options.search = search;
    auto const result = fit(exec, at, y, options);
    EXPECT_GT(result.not_positive_definite, 0);
    EXPECT_LT(result.not_positive_definite, result.evaluations);
    EXPECT_EQ(result.likelihood.info, 0);
    EXPECT_GT(result.likelihood.log_likelihood,
              log_likelihood(exec, options.start, at, y).log_likelihood);
  }
  options.start.nu = 30;
  options.fixed = {true, true, true, true};
  auto const nowhere = fit(exec, at, y, options);
  EXPECT_GT(nowhere.likelihood.info, 0);
  EXPECT_FALSE(nowhere.converged);
  EXPECT_EQ(nowhere.reason, "the covariance matrix was nowhere positive definite");
}

TYPED_TEST(FitTest, MarksBoundsThatHold) {
  TypeParam const exec;
  Locations const at = synthetic_locations(200);
  auto const y = synthetic_field(exec, {.sigma2 = 1, .range = 0.1, .nu = 0.5}, at, 6);
  FitOptions options = around({0.1, 0.1, 0.5, 0});
  options.fixed[2] = true;
  options.upper.sigma2 = 0.2;
  auto const result = fit(exec, at, y, options);
  EXPECT_EQ(result.at_bound, (std::array<bool, 4>{true, false, false, false}));
  EXPECT_NEAR(result.theta.sigma2, 0.2, 1e-5);
}

TYPED_TEST(FitTest, RefusesBoundsThatHoldNothing) {
  TypeParam const exec;
  Locations const at = synthetic_locations(10);
  auto const refusal = [&](FitOptions const& options) {
    return message_of<ValueError>([&] { (void)fit(exec, at, some_values(10), options); });
  };
  FitOptions options = around({1, 0.1, 0.5, 0.1});
  options.lower.range = 0.2;
  EXPECT_EQ(refusal(options),
            "fit: range starts at 0.1 with the bounds 0.2 and 5: they must be positive and hold it "
            "between them, or fix it");
  options = around({1, 0.1, 0.5, 0.1});
  options.upper.nu = 60;
  EXPECT_EQ(refusal(options), "fit: nu may reach 60, must be at most 50");
  options.upper.nu = INFINITY;
  EXPECT_EQ(refusal(options), "fit: the bounds of nu are 0.1 and inf, must be finite");
  options = around({1, 0.1, 0.5, 0.1});
  options.tolerance = 0;
  EXPECT_EQ(refusal(options),
            "fit: the tolerance is 0 and the evaluations are 500, must be positive");
}

// What a callback throws arrives, through the optimiser's C code.
TYPED_TEST(FitTest, PassesOnWhatACallbackThrows) {
  TypeParam const exec;
  FitOptions options = around({1, 0.1, 0.5, 0.1});
  options.on_step = [](FitStep const& step) {
    if (step.evaluation == 3) throw ValueError("enough");
  };
  EXPECT_EQ(message_of<ValueError>(
                [&] { (void)fit(exec, synthetic_locations(10), some_values(10), options); }),
            "enough");
}

TEST(FitOptions, DefaultsHoldTheStart) {
  for (Metric const metric : {Metric::Euclidean, Metric::GreatCircle}) {
    Locations at = synthetic_locations(50);
    at.metric = metric;
    auto const options = default_fit_options(at, some_values(50));
    auto const start = parameters_of(options.start), lower = parameters_of(options.lower),
               upper = parameters_of(options.upper);
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_LT(lower[k], start[k]) << parameter_names[k];
      EXPECT_LT(start[k], upper[k]) << parameter_names[k];
    }
    EXPECT_EQ(options.upper.nu, metric == Metric::GreatCircle ? 0.5 : 3);
  }
  EXPECT_EQ(message_of<ValueError>([] {
              (void)default_fit_options(synthetic_locations(3), std::vector<double>{2, 2, 2});
            }),
            "default_fit_options: a fit needs at least two values that differ; there are 3 of "
            "variance 0");
  EXPECT_EQ(message_of<ValueError>([] {
              (void)default_fit_options(Locations{{1, 1}, {2, 2}}, std::vector<double>{2, 3});
            }),
            "default_fit_options: all locations are one place");
}

TEST(FitOptions, SearchesHaveNames) {
  for (auto const search : {Search::Bobyqa, Search::NelderMead})
    EXPECT_EQ(search_from_name(name_of(search)), search);
  EXPECT_EQ(message_of<ValueError>([] { (void)search_from_name("newton"); }),
            "search 'newton' must be bobyqa or nelder-mead");
}

}  // namespace
