// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "geostat/StrataTest_Field.hpp"
#include <geostat/fit/Strata_Fit.hpp>
#include <geostat/kriging/Strata_SyntheticField.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::geostat;
using strata::test::message_of;
using strata::test::some_values;
using strata::test::throws_with;

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
  options.trend = Mean::None;
  options.fixed = {false, false, false, start.nugget == 0};
  return options;
}

// The estimate's log-likelihood is above the truth's by about half the number of parameters
// (Wilks). The microergodic parameter sigma2 / range^(2 nu), which one realisation determines well,
// is near the truth's.
TYPED_TEST(FitTest, FindsTheParametersOfASyntheticField) {
  TypeParam const exec;
  int const n = 500;
  Locations const at = synthetic_locations(n);
  MaternCovariance const truth{.sigma2 = 2, .range = 0.1, .nu = 0.5};
  auto const y = synthetic_field(exec, truth, at, 11);
  double const at_truth = log_likelihood(exec, truth, at, y, Mean::None).log_likelihood;
  for (Search const search : enum_values<Search>) {
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
  EXPECT_GE(result.likelihood.log_likelihood,
            log_likelihood(exec, truth, at, y, Mean::None).log_likelihood);
  EXPECT_NEAR(result.theta.nu, 0.9, 0.25);
}

FitOptions with_low_tiles(FitOptions options) {
  options.factor.rule.accuracy = 1e-2;
  options.factor.tile_size = 32;
  return options;
}

// Ten fields, whose maxima by tiles in low precision are those of fp64. The statements with low
// tiles lie on no side of the truth: with the probes that chose the parameters they were too large
// by half of the error on average.
TYPED_TEST(FitTest, FindsTheMaximumOfFp64WithLowTiles) {
  TypeParam const exec;
  Locations const at = synthetic_locations(256);
  double bias = 0;  // in errors
  for (int seed = 1; seed <= 10; ++seed) {
    double const range = seed % 2 ? 0.1 : 0.25;
    auto const y = synthetic_field(exec, {1, range, 1.5, 0.01}, at, seed);
    FitOptions options = around({0.5, 0.2, 1.5, 0.02});
    options.fixed[2] = true;
    auto const exact = fit(exec, at, y, options);
    EXPECT_FALSE(exact.in_low_precision);
    EXPECT_EQ(exact.evaluations_in_fp64, 0);
    auto const mixed = fit(exec, at, y, with_low_tiles(options));
    EXPECT_TRUE(mixed.converged) << mixed.reason;
    EXPECT_NEAR(mixed.likelihood.log_likelihood, exact.likelihood.log_likelihood, 0.01) << seed;
    EXPECT_EQ(mixed.likelihood.log_likelihood, log_likelihood(exec, mixed.theta, at, y, Mean::None,
                                                              [] {
                                                                CovarianceFactorOptions fp64;
                                                                fp64.tile_size = 32;
                                                                return fp64;
                                                              }())
                                                   .log_likelihood);
    ASSERT_TRUE(mixed.in_low_precision) << seed;
    EXPECT_GT(mixed.evaluations_in_fp64, 0);
    EXPECT_LT(mixed.noise, 1e-6);
    auto const& low = *mixed.in_low_precision;
    double const there = log_likelihood(exec, low.theta, at, y, Mean::None).log_likelihood;
    EXPECT_LE(std::abs(low.likelihood.log_likelihood - there), low.likelihood.error());
    bias += (low.likelihood.log_likelihood - there) / (low.likelihood.error()) / 10;
    std::printf("%d: fp64 %.6f in %ld; mixed %.6f in %ld + %ld; low %.4f +- %.2g (%.4f)\n", seed,
                exact.likelihood.log_likelihood, exact.evaluations, mixed.likelihood.log_likelihood,
                low.evaluation, mixed.evaluations_in_fp64, low.likelihood.log_likelihood,
                low.likelihood.error(), there);
  }
  EXPECT_LT(std::abs(bias), 1. / 3);
}

TYPED_TEST(FitTest, ClaimsNoMoreThanLowTilesTell) {
  TypeParam const exec;
  Locations const at = synthetic_locations(256);
  auto const y = synthetic_field(exec, {1, 0.2, 1.5, 0.01}, at, 3);
  FitOptions options = with_low_tiles(around({0.5, 0.2, 1.5, 0.02}));
  options.fixed[2] = true;
  options.finish_in_fp64 = false;
  auto const result = fit(exec, at, y, options);
  EXPECT_TRUE(result.converged);
  EXPECT_EQ(result.noise, result.likelihood.error());
  EXPECT_EQ(
      result.reason.rfind("no step would change the log-likelihood by more than its error, ", 0),
      0u)
      << result.reason;
  EXPECT_FALSE(result.in_low_precision);
  // Without the memory for fp64 it says so, and keeps what it has. A GPU's memory would hold it.
  options.finish_in_fp64 = true;
  options.factor.storage = ooc::TileStorage::Host;
  options.factor.max_bytes = CovarianceFactor<TypeParam>::bytes_needed(256, 32) - 1;
  auto const without = fit(exec, at, y, options);
  EXPECT_EQ(without.likelihood.log_likelihood, result.likelihood.log_likelihood);
  EXPECT_EQ(without.noise, result.noise);
  EXPECT_EQ(without.evaluations_in_fp64, 0);
  auto const begin = result.reason + "; not evaluated in fp64: ";
  EXPECT_EQ(without.reason.substr(0, begin.size()), begin);
  EXPECT_NE(without.reason.find(std::to_string(options.factor.max_bytes)), std::string::npos)
      << without.reason;
}

TYPED_TEST(FitTest, EvaluatesInFp64WhereLowTilesTellEnough) {
  TypeParam const exec;
  Locations const at = synthetic_locations(128);
  auto const y = synthetic_field(exec, {1, 0.1, 0.5, 0.1}, at, 3);
  FitOptions options = with_low_tiles(around({0.5, 0.2, 0.5, 0.02}));
  options.factor.rule.accuracy = 1e-6;
  options.fixed[2] = true;
  auto const result = fit(exec, at, y, options);
  ASSERT_TRUE(result.in_low_precision);
  EXPECT_EQ(result.evaluations_in_fp64, 1);
  EXPECT_EQ(result.evaluations, result.in_low_precision->evaluation + 1);
  EXPECT_NEAR(result.theta.range, result.in_low_precision->theta.range, 1e-14);
  std::string const end = ", and was then evaluated in fp64";
  EXPECT_EQ(result.reason.rfind(end), result.reason.size() - end.size()) << result.reason;
  options.factor = {};
  EXPECT_NEAR(result.likelihood.log_likelihood, fit(exec, at, y, options).likelihood.log_likelihood,
              0.01);
}

// The paper's log-determinant has no error bar, so that there is no noise to stop at.
TYPED_TEST(FitTest, SaysThatTheFactorsOwnLogDeterminantIsNotKnown) {
  TypeParam const exec;
  Locations const at = synthetic_locations(128);
  auto const y = synthetic_field(exec, {1, 0.1, 0.5, 0.01}, at, 3);
  FitOptions options = with_low_tiles(around({0.5, 0.2, 0.5, 0.02}));
  options.fixed[2] = true;
  options.finish_in_fp64 = false;
  options.factor.log_det = LogDet::Factor;
  auto const result = fit(exec, at, y, options);
  EXPECT_TRUE(std::isnan(result.noise));
  EXPECT_NE(result.reason.find("; the error of the factor's own log-determinant is not known"),
            std::string::npos)
      << result.reason;
  options.finish_in_fp64 = true;
  EXPECT_LT(fit(exec, at, y, options).noise, 1e-6);
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
    return log_likelihood(exec, {1, 1, nu, 0}, at, y, Mean::None).info == 0;
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
              log_likelihood(exec, options.start, at, y, Mean::None).log_likelihood);
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
  options = around({1, 0.1, 0.5, 0.1});
  options.first_step = NAN;
  EXPECT_EQ(refusal(options), "fit: the first step is nan, must be positive and finite");
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

// A tenth of what neighbours are apart, or, where few places are all far apart, a hundredth of the
// extent.
TEST(FitOptions, ARangeMayBeAsSmallAsPlacesTell) {
  auto const corners =
      default_fit_options({{0, 1, 0, 1}, {0, 0, 1, 1}, Metric::Euclidean}, some_values(4));
  EXPECT_DOUBLE_EQ(corners.lower.range, corners.upper.range / 1000);
  auto const many = default_fit_options(synthetic_locations(400), some_values(400));
  EXPECT_LT(many.lower.range, 0.5 * many.upper.range / 1000);
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
  // No two places are further apart than half of the equator, though longitudes span more.
  for (double const width : {120.0, 180.0, 340.0}) {
    Locations at{{}, {}, Metric::GreatCircle};
    for (int i = 0; i <= 100; ++i) {
      at.x.push_back(-width / 2 + width / 100 * i);
      at.y.push_back(0.3 * (i % 10));
    }
    double const degrees = std::hypot(std::min(180.0, 0.96 * width), 2.7),  // of 95 % of them
        extent = geostat::detail::earth_radius_km * geostat::detail::radians_per_degree * degrees;
    auto const options = default_fit_options(at, some_values(101));
    EXPECT_NEAR(options.start.range / (extent / 10), 1, 1e-12) << width;
    EXPECT_NEAR(options.upper.range / (extent * 10), 1, 1e-12) << width;
  }
  // 1/3 three times has a mean that is rounded, so that a variance about it would not be 0.
  for (double const value : {2.0, 1.0 / 3, 0.0})
    EXPECT_EQ(
        message_of<ValueError>([&] {
          (void)default_fit_options(synthetic_locations(3), std::vector<double>(3, value));
        }),
        "default_fit_options: a fit needs at least two values that differ; all of these 3 are "
        "the same");
  for (double const scale : {1e160, 1e-160})
    EXPECT_TRUE(throws_with<ValueError>("take another unit", [&] {
      (void)default_fit_options(synthetic_locations(2), std::vector<double>{scale, -scale});
    }));
  EXPECT_TRUE(throws_with<ValueError>("value 2 is nan", [&] {
    (void)default_fit_options(synthetic_locations(2), std::vector<double>{1, NAN});
  }));
  EXPECT_EQ(message_of<ValueError>([] {
              (void)default_fit_options(Locations{{1, 1}, {2, 2}}, std::vector<double>{2, 3});
            }),
            "default_fit_options: all locations coincide");
}

// One place whose x and y are exchanged made the right range unreachable.
TEST(FitOptions, DefaultsDoNotMoveWithOnePlace) {
  Locations at = synthetic_locations(100);
  for (std::size_t i = 0; i < 100; ++i)
    at.x[i] = 4e5 + 1e3 * at.x[i], at.y[i] = 5e6 + 1e3 * at.y[i];
  auto const values = some_values(100);
  auto const right = default_fit_options(at, values);
  std::swap(at.x[7], at.y[7]);
  auto const other = default_fit_options(at, values);
  EXPECT_NEAR(other.lower.range / right.lower.range, 1, 0.2);
  EXPECT_NEAR(other.upper.range / right.upper.range, 1, 0.2);
  EXPECT_NEAR(other.start.range / right.start.range, 1, 0.2);
  EXPECT_LT(right.lower.range, 10);
}

// Without a mean, values about 300 are a field of that size, whatever they differ by.
TEST(FitOptions, DefaultsAreThoseOfTheMean) {
  std::vector<double> values = some_values(50);
  for (double& value : values) value += 300;
  auto const at = synthetic_locations(50);
  auto const about_mean = default_fit_options(at, values),
             about_zero = default_fit_options(at, values, Mean::None);
  EXPECT_TRUE(about_mean.trend.is_constant());
  EXPECT_EQ(about_zero.trend.columns(), 0);
  EXPECT_LT(about_mean.upper.sigma2, 300 * 300);
  EXPECT_NEAR(about_zero.start.sigma2, 0.9 * 300 * 300, 3000);
  EXPECT_GT(about_zero.upper.sigma2, 300 * 300);
  EXPECT_EQ(about_zero.lower.nugget, about_mean.lower.nugget);  // of noise that is small beside it
}

TEST(FitOptions, SearchesHaveNames) {
  for (Search const search : enum_values<Search>)
    EXPECT_EQ(from_name<Search>(name_of(search)), search);
  EXPECT_EQ(message_of<ValueError>([] { (void)from_name<Search>("newton"); }),
            "no search 'newton'; there are scoring, bobyqa, nelder-mead");
}

// While it lives, the factorisations that begin are counted.
class Factorisations {
 public:
  Factorisations() : saved_(Kokkos::Tools::Experimental::get_callbacks()) {
    count_ = 0;
    Kokkos::Tools::Experimental::set_push_region_callback(
        [](char const* name) { count_ += std::string_view(name) == "strata::ooc::cholesky"; });
  }
  ~Factorisations() { Kokkos::Tools::Experimental::set_callbacks(saved_); }
  Factorisations(Factorisations const&) = delete;
  Factorisations& operator=(Factorisations const&) = delete;
  std::int64_t count() const { return count_; }

 private:
  inline static std::int64_t count_ = 0;
  Kokkos::Tools::Experimental::EventSet saved_;
};

// Each evaluation factors once, by the same threads, and the estimate once more.
TYPED_TEST(FitTest, ReturnsTheFactorAtTheEstimate) {
  TypeParam const exec;
  std::int64_t const n = 100;
  Locations const at = synthetic_locations(n);
  auto const y = synthetic_field(exec, MaternCovariance{2, 0.1, 0.5}, at, 3);
  for (Search const search : {Search::Scoring, Search::Bobyqa}) {
    FitOptions options = around({1, 0.3, 0.5, 0});
    options.fixed[2] = true;
    options.search = search;
    options.max_evaluations = 12;
    options.factor.tile_size = 32;
    std::set<std::int64_t> threads;
    options.on_step = [&](FitStep const&) {
      threads.insert(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
    };
    DeviceTeam<TypeParam> const team(make_devices(1));
    Factorisations const factorisations;
    auto result = fit(exec, team, at, y, options);
    EXPECT_EQ(factorisations.count(), result.evaluations + 1);
    EXPECT_EQ(threads.size(), 1U);
    EXPECT_GT(team.threads(), 0);
    EXPECT_GT(result.evaluation_seconds, 0);
    ASSERT_TRUE(result.factor);
    CovarianceFactor<TypeParam> factor = std::move(*result.factor);
    EXPECT_EQ(parameters_of(factor.covariance()), parameters_of(result.theta));
    auto const again = log_likelihood(exec, factor, y, options.trend);
    EXPECT_EQ(again.log_likelihood, result.likelihood.log_likelihood);
    EXPECT_EQ(again.quadratic_form, result.likelihood.quadratic_form);
    factor.refactor(exec, {1, 0.2, 0.5, 0});
    EXPECT_TRUE(factor.info().ok());
  }
}

}  // namespace
