// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// A range for each coordinate, of two and of more.
#include "StrataTest_AxesReference.hpp"
#include "StrataTest_CovarianceReference.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <core/problems/Strata_Random.hpp>
#include <geostat/Strata_FisherInformation.hpp>
#include <geostat/Strata_LikelihoodGradient.hpp>
#include <geostat/fit/Strata_Fit.hpp>
#include <geostat/fit/Strata_ProfileInterval.hpp>
#include <geostat/fit/detail/Strata_FitVariables.hpp>
#include <geostat/kriging/Strata_Prediction.hpp>
#include <geostat/kriging/Strata_SyntheticField.hpp>
#include <geostat/kriging/Strata_Variogram.hpp>
#include <geostat/neighbours/Strata_MaximinOrder.hpp>
#include <geostat/vecchia/Strata_VecchiaFit.hpp>
#include <geostat/vecchia/Strata_VecchiaPrediction.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace strata;
using namespace strata::geostat;
using strata::test::AxesReference;
using strata::test::message_of;
using strata::test::reference_values;
constexpr double unit_roundoff = 0x1p-52;

template <class Space>
class AxesTest : public testing::Test {};
TYPED_TEST_SUITE(AxesTest, strata::test::Spaces, strata::test::SpaceNames);

Covariance covariance_with_axes(AxesReference const& r) {
  Covariance c{r.theta[0], r.theta[1], r.theta[2], r.theta[3], r.family};
  c.axes = r.axes, c.second = r.second;
  return c;
}

Locations with_further(AxesReference const& r, std::vector<double> const& x,
                       std::vector<double> const& y,
                       std::vector<std::vector<double>> const& further) {
  Locations at{x, y};
  at.further.assign(further.begin(),
                    further.begin() + static_cast<std::ptrdiff_t>(r.axes.size()) - 1);
  return at;
}

Locations observed_along(AxesReference const& r) {
  Locations at = with_further(r, test::reference_x, test::reference_y, test::reference_further);
  if (r.with_errors) at.error_variances = test::reference_errors;
  return at;
}

std::string name_of_case(AxesReference const& r) {
  return to_string(covariance_with_axes(r)) + " of " + std::to_string(r.axes.size() + 1) +
         " coordinates" + (r.with_errors ? " with errors" : "");
}

// In the order of a reference's gradient.
std::vector<double> in_order(AxesReference const& r, LikelihoodGradient const& g) {
  std::vector<double> all(g.by.begin(), g.by.end());
  all.insert(all.end(), g.by_axes.begin(), g.by_axes.end());
  if (r.second) all.insert(all.end(), g.by_second.begin(), g.by_second.end());
  return all;
}

// The derivative that stands at this place of a reference, and what its logarithm's is times.
std::pair<std::size_t, double> place_of(AxesReference const& r, std::size_t k) {
  using By = strata::geostat::detail::By;
  if (k < 4) return {k, 1};
  std::size_t const axes = r.axes.size();
  return k < 4 + axes ? std::pair{By::axis + k - 4, 1 / r.axes[k - 4]}
                      : std::pair{By::sigma2_2 + k - 4 - axes, 1.0};
}

void expect_information(AxesReference const& r, FisherInformation const& found) {
  auto const& I = found.of_all;
  std::size_t at = 0;
  for (std::size_t j = 0; at < r.information.size(); ++j)
    for (std::size_t k = 0; k <= j; ++k) {
      double const expected = r.information[at++];
      auto const [a, by_a] = place_of(r, j);
      auto const [b, by_b] = place_of(r, k);
      EXPECT_EQ(std::isnan(I[a][b]), std::isnan(expected)) << j << k << " " << name_of_case(r);
      if (std::isnan(expected)) continue;
      EXPECT_NEAR(I[a][b] * by_a * by_b, expected,
                  1000 * unit_roundoff * std::sqrt(I[a][a] * I[b][b]) * by_a * by_b)
          << j << k << " " << name_of_case(r);
    }
}

void expect_gradient(AxesReference const& r, LikelihoodGradient const& found) {
  auto const by = in_order(r, found);
  ASSERT_EQ(by.size(), r.gradient.size()) << name_of_case(r);
  for (std::size_t k = 0; k < by.size(); ++k) {
    EXPECT_EQ(std::isnan(by[k]), std::isnan(r.gradient[k])) << k << " " << name_of_case(r);
    if (!std::isnan(by[k])) {
      EXPECT_NEAR(by[k], r.gradient[k], 1000 * unit_roundoff * (1 + std::abs(r.gradient[k])))
          << k << " " << name_of_case(r);
    }
  }
}

TYPED_TEST(AxesTest, HaveTheLikelihoodAndTheDerivativesOf60Digits) {
  TypeParam const exec;
  for (auto const& r : test::axes_references) {
    CovarianceFactor<TypeParam> factor(exec, covariance_with_axes(r), observed_along(r));
    auto const found = log_likelihood(exec, factor, reference_values);
    EXPECT_NEAR(found.log_likelihood, r.log_likelihood, 1e-13 * std::abs(r.log_likelihood) + 1e-13)
        << name_of_case(r);
    expect_gradient(r, log_likelihood_gradient(exec, factor, reference_values));
    FisherOptions options;
    options.directions = true;
    expect_information(r, fisher_information(exec, factor, options));
  }
}

TYPED_TEST(AxesTest, PredictAs60Digits) {
  TypeParam const exec;
  for (auto const& r : test::axes_references) {
    auto const at =
        with_further(r, test::reference_new_x, test::reference_new_y, test::reference_new_further);
    CovarianceFactor<TypeParam> factor(exec, covariance_with_axes(r), observed_along(r));
    auto const exact = predict(exec, factor, reference_values, at);
    Vecchia<TypeParam> const model(
        exec, observed_along(r), reference_values, Mean::Constant,
        vecchia_blocks(exec, observed_along(r), covariance_with_axes(r), {.neighbours = 11})
            .blocks);
    auto const near = predict(exec, model, covariance_with_axes(r), at, {.neighbours = 12});
    for (std::size_t k = 0; k < 2; ++k)
      for (auto const& found : {exact, near}) {
        EXPECT_NEAR(found.mean[k], r.kriging[2 * k], 600 * unit_roundoff) << name_of_case(r);
        EXPECT_NEAR(found.variance[k], r.kriging[2 * k + 1], 600 * unit_roundoff)
            << name_of_case(r);
      }
  }
}

TYPED_TEST(AxesTest, AreExactByAllNeighbours) {
  TypeParam const exec;
  for (auto const& r : test::axes_references) {
    Covariance const c = covariance_with_axes(r);
    auto const at = observed_along(r);
    for (bool const grouped : {false, true}) {
      Vecchia<TypeParam> const model(
          exec, at, reference_values, Mean::Constant,
          vecchia_blocks(exec, at, c, {.neighbours = 11, .grouped = grouped}).blocks);
      EXPECT_NEAR(model.log_likelihood(exec, c).log_likelihood, r.log_likelihood,
                  1e-13 * std::abs(r.log_likelihood) + 1e-13)
          << name_of_case(r);
      expect_gradient(r, model.gradient(exec, c));
      expect_information(r, model.information(exec, c, {true, true, true, true}, true));
    }
  }
}

Locations random_places(std::int64_t n, std::size_t coordinates, std::uint64_t seed = 1) {
  Locations at;
  at.further.resize(coordinates - 2);
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(n); ++i) {
    at.x.push_back(uniform(seed, i, 0));
    at.y.push_back(uniform(seed, i, 1));
    for (std::size_t k = 0; k < at.further.size(); ++k)
      at.further[k].push_back(uniform(seed, i, 2 + k));
  }
  return at;
}

struct FieldInSpace {
  Locations at;
  Covariance truth;
  std::vector<double> values;
};

template <class Exec>
FieldInSpace field_in_space(Exec const& exec, std::int64_t n) {
  FieldInSpace field{random_places(n, 3, 7), {1.5, 0.3, 0.5, 0.1, Family::Exponential}, {}};
  field.truth.axes = {3, 0.5};
  field.values = synthetic_field(exec, field.truth, field.at, 11);
  return field;
}

// Likelihood by the logarithms of sigma2, the ranges and the nugget.
template <class Exec>
double value_at(Exec const& exec, FieldInSpace const& field,
                std::vector<double> const& logarithms) {
  Covariance c = field.truth;
  c.sigma2 = std::exp(logarithms[0]), c.nugget = std::exp(logarithms[4]);
  c.range = std::exp(logarithms[1]);
  c.axes = {std::exp(logarithms[2]) / c.range, std::exp(logarithms[3]) / c.range};
  return log_likelihood(exec, c, field.at, field.values).log_likelihood;
}

TYPED_TEST(AxesTest, AreFoundByAFitWithTheirStandardErrors) {
  TypeParam const exec;
  auto const field = field_in_space(exec, 400);
  auto options = default_fit_options(field.at, field.values, Mean::Constant, Family::Exponential);
  auto const without = fit(exec, field.at, field.values, options);
  options.directions = true;
  options.start.axes = {1, 1};
  auto found = fit(exec, field.at, field.values, options);
  EXPECT_TRUE(found.converged) << found.reason;
  EXPECT_LT(found.evaluations, 60);
  auto const& theta = found.theta;
  ASSERT_EQ(theta.axes.size(), 2u);
  auto const ranges = theta.ranges(), truth = field.truth.ranges();
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(std::log(ranges[k] / truth[k]), 0, 0.7) << k;
  EXPECT_GT(found.likelihood.log_likelihood, without.likelihood.log_likelihood + 10);
  std::vector<double> const end = {std::log(theta.sigma2), std::log(ranges[0]), std::log(ranges[1]),
                                   std::log(ranges[2]), std::log(theta.nugget)};
  double const best = value_at(exec, field, end);
  for (std::size_t k = 0; k < end.size(); ++k)
    for (double const side : {-0.02, 0.02}) {
      auto moved = end;
      moved[k] += side;
      EXPECT_LT(value_at(exec, field, moved), best) << k;
    }
  auto const information = fisher_information(
      exec, *found.factor, {.wanted = {true, true, false, true}, .directions = true});
  auto const errors = standard_errors(information, theta, {true, true, false, true},
                                      also_estimated(found, options));
  ASSERT_EQ(errors.of_axes.size(), 2u);
  // With the first axis first and last the errors of a range stay.
  Locations swapped = field.at;
  std::swap(swapped.x, swapped.further[0]);
  Covariance other = theta;
  other.range = ranges[2], other.axes = {ranges[1] / ranges[2], ranges[0] / ranges[2]};
  CovarianceFactor<TypeParam> factor(exec, other, swapped);
  auto const again = standard_errors(
      fisher_information(exec, factor, {.wanted = {true, true, false, true}, .directions = true}),
      other, {true, true, false, true}, also_estimated(found, options));
  EXPECT_NEAR(again.of[1] / errors.of_axes[1], 1, 1e-9);
  EXPECT_NEAR(again.of_axes[0] / errors.of_axes[0], 1, 1e-9);
  EXPECT_NEAR(again.of_axes[1] / errors.of[1], 1, 1e-9);
  EXPECT_NEAR(errors.of_logarithm_of_axes[1] * ranges[2] / errors.of_axes[1], 1, 1e-12);
}

TYPED_TEST(AxesTest, AreFoundByNeighboursNearTheExactFit) {
  TypeParam const exec;
  auto const field = field_in_space(exec, 700);
  auto options = default_fit_options(field.at, field.values, Mean::Constant, Family::Exponential);
  options.directions = true;
  options.start.axes = {1, 1};
  auto const exact = fit(exec, field.at, field.values, options);
  auto const found = fit_by_neighbours(exec, field.at, field.values, options,
                                       {.approximation = {.neighbours = 40}});
  EXPECT_TRUE(found.converged) << found.reason;
  auto const errors = standard_errors(found.information, found.theta, {true, true, false, true},
                                      also_estimated(found, options));
  for (std::size_t k = 0; k < 3; ++k)
    EXPECT_NEAR(std::log(found.theta.ranges()[k]), std::log(exact.theta.ranges()[k]),
                0.5 * (k == 0 ? errors.of_logarithm[1] : errors.of_logarithm_of_axes[k - 1]))
        << k;
}

// A range's profile moves one range alone, to its bounds too.
TYPED_TEST(AxesTest, HaveProfilesOfTheirFirstRange) {
  TypeParam const exec;
  ooc::DeviceTeam<TypeParam> const team{ooc::make_devices(1)};
  auto const field = field_in_space(exec, 60);
  auto options = default_fit_options(field.at, field.values, Mean::Constant, Family::Exponential);
  options.directions = true;
  options.start.axes = {1, 1};
  auto const theta = fit(exec, team, field.at, field.values, options).theta;
  auto const interval = profile_interval(exec, team, field.at, field.values, options, theta, 1);
  EXPECT_LT(interval.lower.value, theta.range);
  EXPECT_GT(interval.upper.value, theta.range);
}

TYPED_TEST(AxesTest, HaveADerivativeEachThatIsNaNWithoutAFactor) {
  TypeParam const exec;
  Covariance c{1, 1, 0.5, 0, Family::Gaussian};
  c.axes = {2};
  Locations at;  // too near for a factor
  for (int i = 0; i < 30; ++i) at.x.push_back(1e-9 * i), at.y.push_back(0);
  CovarianceFactor<TypeParam> factor(exec, c, at);
  ASSERT_FALSE(factor.info().ok());
  std::vector<double> const values(30, 1.0);
  auto const gradient = log_likelihood_gradient(exec, factor, values, Trend());
  ASSERT_EQ(gradient.by_axes.size(), 1u);
  EXPECT_TRUE(std::isnan(gradient.by_axes[0]));
}

TEST(Axes, MayBeginWhereRoundingPutsThemBeyondTheirBound) {
  int beyond = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    FitOptions options;
    options.directions = true;
    options.lower = {0.01, 0.01, 0.1, 0, Family::Exponential};
    options.upper = {100, 5 * uniform(3, i, 0) + 1, 5, 10, Family::Exponential};
    options.start = {1, 0.02 + uniform(3, i, 1), 0.5, 0.1, Family::Exponential};
    options.start.axes = {options.upper.range / options.start.range};
    beyond += options.start.range * options.start.axes[0] > options.upper.range ? 1 : 0;
    strata::geostat::detail::FitVariables const variables(options, true);
    auto const at = variables.at(options.start);
    for (double const x : at) EXPECT_TRUE(std::isfinite(x));
    EXPECT_LE(at.back(), std::log(options.upper.range));
  }
  EXPECT_GT(beyond, 0);
  FitOptions wide;
  wide.directions = true, wide.start.axes = {1};
  wide.start.range = 1, wide.lower = wide.start, wide.upper = wide.start;
  wide.lower.sigma2 = 0.1, wide.upper.sigma2 = 10, wide.lower.nu = 0.1, wide.upper.nu = 5;
  wide.lower.nugget = 0, wide.upper.nugget = 10;
  wide.lower.range = 1e-9, wide.upper.range = 1e6;
  EXPECT_EQ(message_of<ValueError>([&] { strata::geostat::detail::FitVariables(wide, true); }),
            "fit: the bounds of the ranges are 1e-09 and 1e+06, their ratio must be at most "
            "1e+12");
}

TEST(Axes, AreAllOfTheBoxAroundTheLocations) {
  Locations at{{1, 1, 1}, {2, 2, 2}};
  at.further = {{3, 7, 4}};
  EXPECT_EQ(diagonal_of_box(at), 4);
  EXPECT_EQ(diagonal_of_box({}), 0);
  EXPECT_FALSE(empirical_variogram(at, std::vector<double>{1, 2, 3}, {.classes = 2}).empty());
}

TEST(Axes, NeighboursAreTheNearestInAnyDimension) {
  Kokkos::DefaultExecutionSpace const exec;
  for (std::size_t const coordinates : {3, 4, 8}) {
    auto const at = random_places(300, coordinates);
    auto const order = maximin_order(exec, at);
    auto const found = ordered_neighbours(exec, at, order, 10);
    for (std::size_t k = 0; k < order.size(); ++k) {
      std::int64_t const i = order[k];
      std::vector<std::pair<double, std::int64_t>> all;
      for (std::size_t j = 0; j < k; ++j) all.emplace_back(at.distance(i, order[j]), order[j]);
      std::ranges::sort(all);
      auto const near = found.of(i);
      ASSERT_EQ(near.size(), std::min<std::size_t>(10, k));
      for (std::size_t j = 0; j < near.size(); ++j)
        EXPECT_EQ(near[j], all[j].second) << coordinates << " " << i << " " << j;
    }
  }
}

TEST(Axes, AreRefusedWhereTheyAreNone) {
  Covariance c;
  c.axes = {0.5, -1};
  EXPECT_EQ(
      message_of<ValueError>([&] { c.check(); }),
      "Matern covariance: the range of a coordinate by that of x is -1, must be finite and in "
      "[1e-12, 1e12]");
  c.axes = {0.5, 2}, c.ratio = 0.5;
  EXPECT_EQ(message_of<ValueError>([&] { c.check(); }),
            "Matern covariance: a range for each coordinate goes with no ratio, and this is 0.5");
  c.ratio = 1;
  EXPECT_EQ(message_of<ValueError>([&] { (void)covariance_matrix(c, {{1, 2}, {3, 4}}); }),
            "a covariance with 3 ranges is not of locations with 2 coordinates");
  Locations at = random_places(3, 3);
  at.metric = Metric::Chordal;
  EXPECT_EQ(message_of<ValueError>([&] { check_locations(at); }),
            "locations on the sphere have 3 coordinates, must be 2");
  at.metric = Metric::Euclidean, at.further[0][1] = NAN;
  EXPECT_EQ(message_of<ValueError>([&] { check_locations(at); }),
            "location 2 has the coordinate nan, must be finite and at most 1e150 in magnitude");
  c.axes = {}, c.ratio = 0.5, at.further[0][1] = 0;
  EXPECT_EQ(message_of<ValueError>([&] { (void)covariance_matrix(c, at); }),
            "a covariance with directions (ratio 0.5) is of the plane, and the locations have 3 "
            "coordinates; give a range for each");
}

TEST(Axes, TellPlacesApartByAnyCoordinate) {
  Locations at{{1, 1, 1}, {2, 2, 2}};
  at.further = {{3, 4, 3}};
  EXPECT_EQ(message_of<ValueError>([&] { check_distinct(at); }),
            "locations 1 and 3 (counted from 1) are both at (1, 2, 3): without a nugget the "
            "covariance matrix is singular");
  auto const copies = find_copies(at, std::vector<double>{5, 5, 5});
  EXPECT_EQ(copies.places, 1);
  EXPECT_EQ(copies.of_same_value, 1);
  EXPECT_EQ(without_copies(at, std::vector<double>{5, 5, 5}), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(at.permuted(std::vector<std::int64_t>{1, 0, 2}).further,
            (std::vector<std::vector<double>>{{4, 3, 3}}));
}

}  // namespace
