// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <geostat/Strata_FisherInformation.hpp>
#include <geostat/Strata_LikelihoodGradient.hpp>
#include <geostat/fit/Strata_Fit.hpp>
#include <geostat/fit/Strata_ProfileInterval.hpp>
#include <geostat/fit/detail/Strata_FitVariables.hpp>
#include <geostat/kriging/Strata_SyntheticField.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace strata;
using namespace strata::geostat;
using strata::test::message_of;

template <class Space>
class CovarianceFit : public testing::Test {};
TYPED_TEST_SUITE(CovarianceFit, strata::test::Spaces, strata::test::SpaceNames);

struct Field {
  Locations at;
  std::vector<double> values;
  double log_likelihood;  // at the truth
};

template <class Exec>
Field field_of(Exec const& exec, Covariance const& truth, Locations const& at, std::uint64_t seed) {
  Field field{at, synthetic_field(exec, truth, at, seed), 0};
  field.log_likelihood = log_likelihood(exec, truth, at, field.values).log_likelihood;
  return field;
}

// The largest derivative by a logarithm, or an angle of a radian, of what was free.
template <class Exec>
double slope_of(Exec const& exec, FactoredFit<Exec>& found, Field const& field,
                FitOptions const& options) {
  auto const by = log_likelihood_gradient(exec, *found.factor, field.values);
  auto const theta = parameters_of(found.theta);
  double largest = 0;
  for (std::size_t k = 0; k < 4; ++k)
    if (!options.fixed[k] && !found.at_bound[k])
      largest = std::fmax(largest, std::abs(by.by[k] * theta[k]));
  if (!options.directions) return largest;
  return std::fmax(
      largest, std::fmax(std::abs(by.by_ratio * found.theta.ratio), std::abs(by.by_angle * 57.3)));
}

TYPED_TEST(CovarianceFit, EndsAtAMaximumOfEachFamily) {
  TypeParam const exec;
  for (Family const family : enum_values<Family>) {
    double const range = family == Family::Spherical ? 0.4 : 0.15;
    Covariance const truth{2, range, family == Family::PoweredExponential ? 1.2 : 0.7, 0.2, family};
    auto const field = field_of(exec, truth, synthetic_locations(250), 5);
    auto const options = default_fit_options(field.at, field.values, Mean::Constant, family);
    EXPECT_EQ(options.fixed[2], !has_shape(family));
    auto found = fit(exec, field.at, field.values, options);
    EXPECT_TRUE(found.converged) << name_of(family) << " " << found.reason;
    EXPECT_EQ(found.theta.family, family);
    EXPECT_GT(found.likelihood.log_likelihood, field.log_likelihood) << name_of(family);
    EXPECT_LT(found.evaluations, 60) << name_of(family);
    // The spherical likelihood has kinks where a pair's distance is the range.
    if (family != Family::Spherical) {
      EXPECT_LT(slope_of(exec, found, field, options), 0.01) << name_of(family);
    }
    if (!has_shape(family)) {
      EXPECT_NEAR(std::log(found.theta.range / range), 0, 1) << to_string(found.theta);
    }
  }
}

TYPED_TEST(CovarianceFit, FindsDirectionsFromAStartWithout) {
  TypeParam const exec;
  Covariance truth{1.5, 0.3, 0.5, 0.1};
  truth.angle = 30, truth.ratio = 0.35;
  auto const field = field_of(exec, truth, synthetic_locations(350), 3);
  auto options = default_fit_options(field.at, field.values);
  auto const without = fit(exec, field.at, field.values, options);
  options.directions = true;
  auto found = fit(exec, field.at, field.values, options);
  EXPECT_TRUE(found.converged) << found.reason;
  EXPECT_GT(found.likelihood.log_likelihood, field.log_likelihood);
  EXPECT_GT(found.likelihood.log_likelihood, without.likelihood.log_likelihood + 10);
  EXPECT_NEAR(found.theta.angle, 30, 12);
  EXPECT_NEAR(found.theta.ratio, 0.35, 0.2);
  EXPECT_LT(slope_of(exec, found, field, options), 0.01);
  EXPECT_LT(found.evaluations, 60);
}

// A short and a long range.
Covariance short_and_long() {
  Covariance truth{1, 0.05, 0.5, 0.05, Family::Exponential};
  truth.second = {1, 0.5, 0.5, Family::Exponential};
  return truth;
}

TYPED_TEST(CovarianceFit, FindsTwoStructures) {
  TypeParam const exec;
  auto const field = field_of(exec, short_and_long(), synthetic_locations(500), 3);
  Family const family = Family::Exponential;
  auto options = default_fit_options(field.at, field.values, Mean::Constant, family, family);
  EXPECT_TRUE(options.fixed_second[2]);
  auto found = fit(exec, field.at, field.values, options);
  EXPECT_TRUE(found.converged) << found.reason;
  ASSERT_TRUE(found.theta.second);
  EXPECT_GT(found.likelihood.log_likelihood, field.log_likelihood);
  auto const one = fit(exec, field.at, field.values,
                       default_fit_options(field.at, field.values, Mean::Constant, family));
  EXPECT_GT(found.likelihood.log_likelihood, one.likelihood.log_likelihood + 0.5);
  EXPECT_LT(slope_of(exec, found, field, options), 0.01);
  auto const by = log_likelihood_gradient(exec, *found.factor, field.values);
  EXPECT_LT(std::abs(by.by_second[0] * found.theta.second->sigma2), 0.01);
  EXPECT_LT(std::abs(by.by_second[1] * found.theta.second->range), 0.01);
  EXPECT_LT(found.theta.range, found.theta.second->range);
  auto const errors = standard_errors(fisher_information(exec, *found.factor), found.theta,
                                      {true, true, false, true}, also_estimated(found, options));
  for (double const error : {errors.of[0], errors.of[1], errors.of_logarithm_of_second[0],
                             errors.of_logarithm_of_second[1]})
    EXPECT_TRUE(error > 0 && error < 5) << error;
  EXPECT_TRUE(std::isnan(errors.of_second[2]));
}

// With known errors each variance is searched, and REML and directions go with it.
TYPED_TEST(CovarianceFit, TwoStructuresGoWithErrorsRemlAndDirections) {
  TypeParam const exec;
  auto truth = short_and_long();
  truth.angle = 30, truth.ratio = 0.5;
  auto at = synthetic_locations(250);
  at.error_variances.assign(250, 0.02);
  auto const field = field_of(exec, truth, at, 4);
  auto options = default_fit_options(at, field.values, Trend(Mean::Constant, Criterion::REML),
                                     Family::Exponential, Family::Spherical);
  options.directions = true;
  auto const found = fit(exec, at, field.values, options);
  EXPECT_TRUE(found.converged) << found.reason;
  // No parameter has a better value nearby.
  auto const value = [&](Covariance const& c) {
    return log_likelihood(exec, c, at, field.values, options.trend).log_likelihood;
  };
  double const best = value(found.theta);
  EXPECT_NEAR(best, found.likelihood.log_likelihood, 1e-9 * std::abs(best));
  for (double const scale : {0.97, 1.03}) {
    Covariance other = found.theta;
    other.second->range *= scale;
    EXPECT_LT(value(other), best + 1e-6);
    other = found.theta, other.second->sigma2 *= scale;
    EXPECT_LT(value(other), best + 1e-6);
    other = found.theta, other.sigma2 *= scale;
    EXPECT_LT(value(other), best + 1e-6);
    other = found.theta, other.range *= scale;
    EXPECT_LT(value(other), best + 1e-6);
  }
}

// Where one structure is enough a share of 0, or another's range, is found without harm.
TYPED_TEST(CovarianceFit, ASecondStructureThatIsNotThereDoesNoHarm) {
  TypeParam const exec;
  auto const field = field_of(exec, {1, 0.2, 0.5, 0.1}, synthetic_locations(200), 6);
  Family const family = Family::Exponential;
  auto const one = fit(exec, field.at, field.values,
                       default_fit_options(field.at, field.values, Mean::Constant, family));
  auto const two = fit(exec, field.at, field.values,
                       default_fit_options(field.at, field.values, Mean::Constant, family, family));
  EXPECT_TRUE(two.converged) << two.reason;
  EXPECT_GE(two.likelihood.log_likelihood, one.likelihood.log_likelihood - 1e-6);
}

FitOptions options_of_two(Field const& field) {
  return default_fit_options(field.at, field.values, Mean::Constant, Family::Exponential,
                             Family::Exponential);
}

// Bounds that were given hold for each variance, not for the field.
TYPED_TEST(CovarianceFit, TheSecondVarianceKeepsItsBounds) {
  TypeParam const exec;
  auto const field = field_of(exec, short_and_long(), synthetic_locations(200), 3);
  auto options = options_of_two(field);
  options.upper.second->sigma2 = options.start.second->sigma2 = 0.1;
  auto found = fit(exec, field.at, field.values, options);
  EXPECT_TRUE(found.converged) << found.reason;
  EXPECT_LE(found.theta.second->sigma2, 0.1);
  EXPECT_FALSE(found.at_bound[0]);
  options = options_of_two(field);
  options.lower.second->sigma2 = options.start.second->sigma2 = 5;
  found = fit(exec, field.at, field.values, options);
  EXPECT_GE(found.theta.second->sigma2, 5);
  EXPECT_TRUE(found.second_at_bound[0]);
}

TYPED_TEST(CovarianceFit, KeepsWhatIsFixedOfASecondStructure) {
  TypeParam const exec;
  auto const field = field_of(exec, short_and_long(), synthetic_locations(200), 3);
  for (auto const fixed : {"sigma2_2=0.7", "range_2=0.3", "sigma2=0.4"}) {
    auto options = options_of_two(field);
    fix_parameter(options, fixed, "--fix");
    auto const found = fit(exec, field.at, field.values, options);
    EXPECT_TRUE(found.converged) << fixed << " " << found.reason;
    std::size_t fixed_ones = 0;
    for (std::size_t k = 0; k < all_parameter_names.size(); ++k) {
      if (!is_fixed(options, k)) continue;
      ++fixed_ones;
      EXPECT_EQ(parameter_of(found.theta, k), parameter_of(options.start, k)) << fixed;
    }
    EXPECT_EQ(fixed_ones, 3) << fixed;  // nu of neither is one
    EXPECT_TRUE(also_estimated(found, options).second[0] != is_fixed(options, 4)) << fixed;
  }
}

// At the end of the share all of the field is the second structure's.
TEST(FitVariables, TheEndOfTheShareIsTheFirstStructures) {
  Kokkos::DefaultHostExecutionSpace const exec;
  auto const options = options_of_two(field_of(exec, short_and_long(), synthetic_locations(60), 3));
  geostat::detail::FitVariables const variables(options);
  ASSERT_TRUE(variables.has_sill());
  auto x = variables.at(options.start);
  auto const share = static_cast<std::size_t>(std::ranges::find(variables.upper(), 1 - 1e-9) -
                                              variables.upper().begin());
  ASSERT_LT(share, x.size());
  auto const end_at = [&](double value) {
    x[share] = value;
    Fit fit;
    fit.theta = variables.theta(variables.shape(x), 1.5);
    fit.at_bound = variables.at_bound(x, fit.theta, 1e-12);
    fit.second_at_bound = variables.second_at_bound(x, 1e-12);
    return fit;
  };
  auto const all = end_at(variables.upper()[share]);
  EXPECT_EQ(all.at_bound, (std::array<bool, 4>{true, false, false, false}));
  EXPECT_EQ(all.second_at_bound, (std::array<bool, 3>{}));
  EXPECT_EQ(why_no_error(all, options.fixed)[1], "this structure is not there");
  auto const none = end_at(0);
  EXPECT_EQ(none.at_bound, (std::array<bool, 4>{}));
  EXPECT_EQ(none.second_at_bound, (std::array<bool, 3>{true, false, false}));
  // A first variance below its bound is none, where the bounds are the field's.
  auto wide = options;
  wide.lower.sigma2 = wide.start.sigma2;
  geostat::detail::FitVariables const of_wide(wide);
  x[share] = 0.9;
  auto const theta = of_wide.theta(of_wide.shape(x), 2 * wide.start.sigma2);
  EXPECT_LT(theta.sigma2, wide.lower.sigma2);
  EXPECT_EQ(of_wide.at_bound(x, theta, 1e-12), (std::array<bool, 4>{}));
}

// There is correlation, if only the second structure has it.
TEST(Fit, NoiseIsWhereNeitherStructureIs) {
  Fit fit;
  fit.theta = {1e-10, 1, 0.5, 1, Family::Exponential};
  fit.theta.second = {1, 2, 0.5, Family::Exponential};
  fit.at_bound[0] = true;
  EXPECT_EQ(why_no_error(fit, {})[1], "this structure is not there");
  fit.theta.second->sigma2 = 0;
  EXPECT_EQ(why_no_error(fit, {})[1], "there is no spatial correlation");
}

// The major range stays, and the directions are the best beside it; as they are found with it free.
TYPED_TEST(CovarianceFit, AFixedRangeStaysBesideFittedDirections) {
  TypeParam const exec;
  Covariance truth{1.5, 0.3, 0.5, 0.1, Family::Exponential};
  truth.angle = 30, truth.ratio = 0.35;
  auto const field = field_of(exec, truth, synthetic_locations(250), 3);
  auto options = default_fit_options(field.at, field.values, Mean::Constant, truth.family);
  options.directions = true;
  auto const whole = fit(exec, field.at, field.values, options);
  options.fixed[1] = true;
  options.start.range = whole.theta.range;
  auto const found = fit(exec, field.at, field.values, options);
  EXPECT_TRUE(found.converged) << found.reason;
  EXPECT_DOUBLE_EQ(found.theta.range, whole.theta.range);
  EXPECT_NEAR(found.theta.ratio, whole.theta.ratio, 0.02);
  EXPECT_NEAR(found.likelihood.log_likelihood, whole.likelihood.log_likelihood, 1e-3);
  // The profile of the range has its maximum there, and falls by 1.92 at both ends.
  options.fixed[1] = false;
  ooc::DeviceTeam<TypeParam> const team(options.factor.devices);
  auto const interval =
      profile_interval(exec, team, field.at, field.values, options, whole.theta, 1);
  EXPECT_LT(interval.lower.value, whole.theta.range);
  EXPECT_GT(interval.upper.value, whole.theta.range);
  EXPECT_LT(interval.above_estimate, 0.01);
}

// Two observations at a place, of which one has no error.
TYPED_TEST(CovarianceFit, ObservationsWithErrorsShareAPlaceWithoutANugget) {
  TypeParam const exec;
  auto at = synthetic_locations(60);
  at.x[1] = at.x[0], at.y[1] = at.y[0];
  at.error_variances.assign(60, 0.0);
  for (std::size_t i = 1; i < 60; i += 2) at.error_variances[i] = 0.3;
  auto const field = field_of(exec, {1, 0.3, 0.5, 0.0}, at, 2);
  auto const options = default_fit_options(field.at, field.values);
  EXPECT_EQ(options.lower.nugget, 0);
  EXPECT_TRUE(fit(exec, field.at, field.values, options).converged);
  at.error_variances[1] = 0;
  EXPECT_FALSE(are_distinct(at));
  EXPECT_GT(default_fit_options(at, field.values).lower.nugget, 0);
}

TYPED_TEST(CovarianceFit, EndsWhereThereAreNoDirections) {
  TypeParam const exec;
  auto const field = field_of(exec, {1.5, 0.2, 0.5, 0.1}, synthetic_locations(250), 8);
  auto options = default_fit_options(field.at, field.values);
  options.fixed[2] = true;
  options.directions = true;
  auto found = fit(exec, field.at, field.values, options);
  EXPECT_TRUE(found.converged) << found.reason;
  EXPECT_GT(found.theta.ratio, 0.5);
  EXPECT_LT(slope_of(exec, found, field, options), 0.01);
}

TYPED_TEST(CovarianceFit, KeepsDirectionsThatAreGiven) {
  TypeParam const exec;
  Covariance truth{1.5, 0.3, 0.5, 0.1, Family::Spherical};
  truth.angle = 100, truth.ratio = 0.5;
  auto const field = field_of(exec, truth, synthetic_locations(200), 3);
  auto options = default_fit_options(field.at, field.values, Mean::Constant, truth.family);
  options.start.angle = 100, options.start.ratio = 0.5;
  auto const found = fit(exec, field.at, field.values, options);
  EXPECT_EQ(found.theta.angle, 100);
  EXPECT_EQ(found.theta.ratio, 0.5);
  EXPECT_GT(found.likelihood.log_likelihood, field.log_likelihood - 0.1);
}

TYPED_TEST(CovarianceFit, EndsAtAMaximumWithKnownErrors) {
  TypeParam const exec;
  Locations at = synthetic_locations(250);
  for (std::int64_t i = 0; i < at.size(); ++i)
    at.error_variances.push_back(i % 3 == 0 ? 1.5 : 0.05);
  auto const field = field_of(exec, {2, 0.15, 0.5, 0.1}, at, 5);
  auto options = default_fit_options(field.at, field.values);
  options.fixed[2] = true;
  auto found = fit(exec, field.at, field.values, options);
  EXPECT_TRUE(found.converged) << found.reason;
  EXPECT_GT(found.likelihood.log_likelihood, field.log_likelihood);
  EXPECT_LT(slope_of(exec, found, field, options), 0.01);
  auto const reasons = why_no_error(found, options.fixed);
  std::array<bool, 4> estimated{};
  for (std::size_t k = 0; k < 4; ++k) estimated[k] = reasons[k].empty();
  FisherOptions wanted;
  wanted.wanted = estimated;
  auto const errors =
      standard_errors(fisher_information(exec, *found.factor, wanted), found.theta, estimated);
  EXPECT_GT(errors.of[0], 0.1);
  EXPECT_LT(errors.of[0], 2);
  // The errors are worth more than one nugget for all.
  Locations plain = at;
  plain.error_variances.clear();
  auto const same = fit(exec, plain, field.values, options);
  EXPECT_GT(found.likelihood.log_likelihood, same.likelihood.log_likelihood + 5);
}

TYPED_TEST(CovarianceFit, ProfilesWithinTheFamily) {
  TypeParam const exec;
  auto const field =
      field_of(exec, {2, 0.4, 0.5, 0.2, Family::Spherical}, synthetic_locations(120), 5);
  auto options = default_fit_options(field.at, field.values, Mean::Constant, Family::Spherical);
  auto const found = fit(exec, field.at, field.values, options);
  ooc::DeviceTeam<TypeParam> const team(options.factor.devices);
  auto const interval =
      profile_interval(exec, team, field.at, field.values, options, found.theta, 0);
  EXPECT_EQ(interval.best.family, Family::Spherical);
  EXPECT_LT(interval.lower.value, found.theta.sigma2);
  EXPECT_GT(interval.upper.value, found.theta.sigma2);
}

TYPED_TEST(CovarianceFit, RefusesWhatTheFamilyDoesNotHave) {
  TypeParam const exec;
  auto const at = synthetic_locations(20);
  std::vector<double> y(20);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = std::sin(static_cast<double>(7 * i));
  auto options = default_fit_options(at, y, Mean::Constant, Family::PoweredExponential);
  options.upper.nu = 2.5;
  EXPECT_EQ(message_of<ValueError>([&] { (void)fit(exec, at, y, options); }),
            "fit: nu may reach 2.5, must be at most 2");
  Locations globe = at;
  globe.metric = Metric::Chordal;
  options = default_fit_options(globe, y);
  EXPECT_EQ(options.upper.nu, 3);
  options.directions = true;
  EXPECT_EQ(message_of<ValueError>([&] { (void)fit(exec, globe, y, options); }),
            "fit: directions are of the plane, not of the sphere");
}

}  // namespace
