// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_CovarianceReference.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "StrataTest_SumReference.hpp"
#include <geostat/Strata_FisherInformation.hpp>
#include <geostat/Strata_LikelihoodGradient.hpp>
#include <geostat/kriging/Strata_Prediction.hpp>
#include <geostat/kriging/Strata_Simulation.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace strata;
using namespace strata::geostat;
using strata::test::CovarianceReference;
using strata::test::message_of;
using strata::test::reference_values;
constexpr double eps = 0x1p-52;

// Of one structure, and of two.
std::vector<CovarianceReference> all_references() {
  auto all = test::covariance_references;
  all.insert(all.end(), test::sum_references.begin(), test::sum_references.end());
  return all;
}

Covariance covariance_of(CovarianceReference const& r) {
  Covariance c{r.theta[0], r.theta[1], r.theta[2], r.theta[3], r.family};
  c.angle = r.theta[4], c.ratio = r.theta[5];
  if (r.second) c.second = {r.theta[6], r.theta[7], r.theta[8], *r.second};
  return c;
}

// On the sphere their degrees are 64 times as many.
Locations places(CovarianceReference const& r, std::vector<double> x, std::vector<double> y) {
  double const unit = r.metric == Metric::Euclidean ? 1 : 64;
  for (double& one : x) one *= unit;
  for (double& one : y) one *= unit;
  return {x, y, r.metric};
}

Locations observed(CovarianceReference const& r) {
  Locations at = places(r, test::reference_x, test::reference_y);
  if (r.with_errors) at.error_variances = test::reference_errors;
  return at;
}

std::string text_of(CovarianceReference const& r) {
  return to_string(covariance_of(r)) + " " + std::string(name_of(r.metric)) + " ratio " +
         std::to_string(r.theta[5]) + (r.with_errors ? " with errors" : "");
}

template <class Space>
class CovarianceTest : public testing::Test {};
TYPED_TEST_SUITE(CovarianceTest, strata::test::Spaces, strata::test::SpaceNames);

// cond(S) is below 100 in all references.
TYPED_TEST(CovarianceTest, HasTheLikelihoodAndTheGradientOf60Digits) {
  TypeParam const exec;
  for (auto const& r : all_references()) {
    CovarianceFactor<TypeParam> factor(exec, covariance_of(r), observed(r));
    auto const found = log_likelihood(exec, factor, reference_values);
    EXPECT_NEAR(found.log_likelihood, r.log_likelihood, 1e-13 * std::abs(r.log_likelihood) + 1e-13)
        << text_of(r);
    EXPECT_LE(std::abs(found.log_likelihood - r.log_likelihood), found.error() + 1e-14);
    auto const by = log_likelihood_gradient(exec, factor, reference_values);
    double const all[] = {by.by[0],        by.by[1],        by.by[2],
                          by.by[3],        by.by_angle,     by.by_ratio,
                          by.by_second[0], by.by_second[1], by.by_second[2]};
    for (std::size_t k = 0; k < r.gradient.size(); ++k) {
      bool const there = !std::isnan(r.gradient[k]);
      EXPECT_EQ(!std::isnan(all[k]), there) << k << " " << text_of(r);
      if (!there) continue;
      EXPECT_NEAR(all[k], r.gradient[k], 1000 * eps * (1 + std::abs(r.gradient[k])))
          << k << " " << text_of(r);
    }
  }
}

TYPED_TEST(CovarianceTest, HasTheInformationOf60Digits) {
  TypeParam const exec;
  for (auto const& r : all_references()) {
    CovarianceFactor<TypeParam> factor(exec, covariance_of(r), observed(r));
    auto const found = fisher_information(exec, factor);
    auto const& I = found.of_all;
    constexpr std::size_t order[] = {0, 1, 2, 3, 6, 7, 8};
    std::size_t at = 0;
    for (std::size_t const j : order)
      for (std::size_t const k : order) {
        if (k > j || at == r.information.size()) break;
        double const expected = r.information[at++];
        EXPECT_EQ(std::isnan(I[j][k]), std::isnan(expected)) << j << k << " " << text_of(r);
        if (std::isnan(expected)) continue;
        EXPECT_NEAR(I[j][k], expected, 1000 * eps * std::sqrt(I[j][j] * I[k][k]))
            << j << k << " " << text_of(r);
        EXPECT_EQ(I[k][j], I[j][k]);
        if (j < 4) EXPECT_EQ(found.of[j][k], I[j][k]);
      }
  }
}

TYPED_TEST(CovarianceTest, PredictsAs60DigitsWithANuggetOfEitherKind) {
  TypeParam const exec;
  for (auto const& r : all_references()) {
    CovarianceFactor<TypeParam> factor(exec, covariance_of(r), observed(r));
    auto const at = places(r, test::reference_new_x, test::reference_new_y);
    for (std::size_t kind = 0; kind < 2; ++kind) {
      PredictionOptions options;
      options.nugget = kind == 0 ? NuggetIs::Error : NuggetIs::Variation;
      auto const found = predict(exec, factor, reference_values, at, Mean::Constant, options);
      for (std::size_t k = 0; k < 2; ++k) {
        double const *const expected = &r.kriging[4 * kind + 2 * k], sill = 2;
        EXPECT_NEAR(found.mean[k], expected[0], 300 * eps * sill) << k << " " << text_of(r);
        EXPECT_NEAR(found.variance[k], expected[1], 300 * eps * sill) << k << " " << text_of(r);
      }
    }
  }
}

// In one tile and in many, by vectors on hosts and entry by entry.
TYPED_TEST(CovarianceTest, FillsWhatItsEntriesAre) {
  TypeParam const exec;
  for (auto const& r : all_references()) {
    Covariance const c = covariance_of(r);
    Locations const at = observed(r);
    CovarianceEntries<Kokkos::HostSpace> const entries(Kokkos::DefaultHostExecutionSpace(), c, at);
    auto const A = covariance_matrix(c, at);
    std::int64_t const n = at.size();
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i) {
        EXPECT_NEAR(A(i, j), entries(i, j), 20 * eps * c.field()) << i << " " << j << text_of(r);
        EXPECT_EQ(A(i, j), A(j, i));
      }
    double const error = r.with_errors ? at.error_variances[3] : 0;
    EXPECT_EQ(A(3, 3), c.field() + (c.nugget + error)) << text_of(r);
  }
}

TYPED_TEST(CovarianceTest, OfRemlHasTheInformationThatSmallerOnesSumTo) {
  TypeParam const exec;
  // Errors that are all the same are a nugget.
  auto const& r = test::covariance_references[4];
  Covariance const c = covariance_of(r);
  Locations plain = observed(r), erring = plain;
  Covariance less = c;
  less.nugget = c.nugget / 2;
  erring.error_variances.assign(plain.x.size(), c.nugget / 2);
  CovarianceFactor<TypeParam> one(exec, c, plain), other(exec, less, erring);
  FisherOptions options;
  options.trend = Trend(Mean::Constant, Criterion::REML);
  auto const a = fisher_information(exec, one, options),
             b = fisher_information(exec, other, options);
  for (std::size_t j = 0; j < 4; ++j)
    for (std::size_t k = 0; k < 4; ++k)
      EXPECT_NEAR(a.of[j][k], b.of[j][k], 1000 * eps * std::sqrt(a.of[j][j] * a.of[k][k]));
  auto const y = reference_values;
  EXPECT_NEAR(log_likelihood(exec, one, y).log_likelihood,
              log_likelihood(exec, other, y).log_likelihood, 1e-13);
}

TYPED_TEST(CovarianceTest, SimulatesTheObservationsWhereTheNuggetIsOfTheField) {
  TypeParam const exec;
  auto const& r = test::covariance_references[3];
  CovarianceFactor<TypeParam> factor(exec, covariance_of(r), observed(r));
  SimulationOptions options;
  options.count = 2;
  options.nugget = NuggetIs::Variation;
  auto const at = places(r, {test::reference_x[2], 0.3}, {test::reference_y[2], 0.9});
  auto const found = simulate(exec, factor, reference_values, at, Mean::Constant, options);
  double const deviation = std::sqrt(1.5 * found.ridge);  // of the variance that was added
  for (std::size_t k = 0; k < 2; ++k)
    EXPECT_NEAR(found.fields(0, k), reference_values[2], 6 * deviation + 1e-7);
  EXPECT_GT(std::abs(found.fields(1, 0) - found.fields(1, 1)), 1e-3);
}

TEST(Covariance, IsItsDefinitionAtAllDistances) {
  for (double x = 1e-9; x < 40; x *= 1.3) {
    long double const h = x;
    EXPECT_NEAR((Covariance{2, 1, 0.5, 0, Family::Gaussian}(x)), 2 * std::exp(-h * h),
                8 * eps * (1 + x * x) * std::exp(-x * x));
    EXPECT_NEAR((Covariance{2, 1, 1.3, 0, Family::PoweredExponential}(x)),
                2 * std::exp(-std::pow(h, static_cast<long double>(1.3))),
                8 * eps * (1 + std::pow(x, 1.3)) * std::exp(-std::pow(x, 1.3)));
    double const expected = x < 1 ? static_cast<double>(2 - 3 * h + h * h * h) : 0;
    EXPECT_NEAR((Covariance{2, 1, 0.5, 0, Family::Spherical}(x)), expected, 8 * eps);
    EXPECT_EQ((Covariance{2, 1, 7, 0, Family::Exponential}(x)),
              (Covariance{2, 1, 0.5, 0, Family::Matern}(x)));
  }
  for (Family const family : enum_values<Family>) {
    Covariance const c{3, 1e-3, 0.8, 0, family};
    EXPECT_EQ(c(0), 3);
    EXPECT_EQ(c(1e300), 0);
  }
}

TEST(Covariance, ParsesWhatItPrints) {
  for (std::string const text :
       {"matern:1.5,0.1,0.5,0", "exponential:1.5,0.1,0.25", "gaussian:1,2,0", "spherical:1,2,3",
        "powered:1,2,1.5,0", "matern:1,0.1,0.5,0.2+exponential:2,0.5",
        "spherical:1e+20,2,0+matern:1e+30,3,1.5"})
    EXPECT_EQ(to_string(Covariance::parse(text)), text);
  EXPECT_EQ(Covariance::parse("spherical:1,2").nugget, 0);
  auto const refusal = [](std::string const& text) {
    return message_of<ValueError>([&] { (void)Covariance::parse(text); });
  };
  EXPECT_EQ(refusal("gaussian:1,2,3,4"), "covariance 'gaussian:1,2,3,4' has more than 3 numbers");
  EXPECT_EQ(refusal("spherical:1,2+gaussian:1,2,3"),
            "covariance 'gaussian:1,2,3' has more than 2 numbers");
  EXPECT_EQ(refusal("spherical:1,2+cubic:1,2").substr(0, 23), "covariance 'cubic:1,2' ");
  EXPECT_EQ(refusal("spherical:1,2+matern:1,2,-1"),
            "Matern covariance: nu of the second structure is -1, must be finite and in (0, 50]");
  EXPECT_EQ(refusal("powered:1,2"),
            "covariance 'powered:1,2' has 2 numbers, needs SIGMA2,RANGE,POWER[,NUGGET]");
  EXPECT_EQ(refusal("powered:1,2,2.5"),
            "powered exponential covariance: the power is 2.5, must be finite and in (0, 2], as it "
            "is positive definite no further");
}

TEST(Covariance, OfTwoStructuresIsTheirSum) {
  Covariance const one{2, 0.5, 1.3, 0.1}, other{3, 2, 0.5, 0, Family::Spherical};
  Covariance sum = one;
  sum.second = {3, 2, 0.5, Family::Spherical};
  for (double h = 0; h < 4; h += 0.13) EXPECT_EQ(sum(h), one(h) + other(h));
  EXPECT_EQ(sum.field(), 5);
}

TEST(Covariance, RefusesDirectionsAndErrorsThatAreNone) {
  Covariance c;
  c.ratio = 1.5;
  EXPECT_EQ(
      message_of<ValueError>([&] { c.check(); }),
      "Matern covariance: ratio is 1.5, must be finite and in [1e-6, 1]: the range across the "
      "major axis by that along it");
  c.ratio = 0.5, c.angle = NAN;
  EXPECT_THROW(c.check(), ValueError);
  c.angle = 0;
  Locations globe{{1, 2}, {3, 4}, Metric::Chordal};
  EXPECT_EQ(message_of<ValueError>([&] { check_covariance(c, globe); }),
            "a covariance with directions (ratio 0.5) is of the plane, not of the sphere");
  globe.metric = Metric::GreatCircle;
  EXPECT_EQ(
      message_of<ValueError>([&] { check_covariance({1, 1, 0.5, 0, Family::Gaussian}, globe); }),
      "Gaussian covariances of great-circle distances are not positive definite; take chordal "
      "distances");
  Locations plane{{1, 1}, {2, 2}};
  plane.error_variances = {0.5};
  EXPECT_EQ(message_of<ShapeError>([&] { check_locations(plane); }),
            "1 error variances of 2 locations");
  plane.error_variances = {0.5, -1};
  EXPECT_EQ(message_of<ValueError>([&] { check_locations(plane); }),
            "location 2 has the error variance -1, must be finite and not negative");
  plane.error_variances = {0.5, 1};
  EXPECT_NO_THROW(check_covariance({}, plane));  // errors part places that coincide
  plane.error_variances = {0.5, 0};
  EXPECT_NO_THROW(check_covariance({}, plane));
  plane.error_variances = {0, 0};
  EXPECT_THROW(check_covariance({}, plane), ValueError);
}

TEST(Covariance, KeepsErrorsWithTheirLocations) {
  Locations at{{1, 2, 3}, {4, 5, 6}};
  at.error_variances = {0.1, 0.2, 0.3};
  auto const permuted = at.permuted(std::vector<std::int64_t>{2, 0, 1});
  EXPECT_EQ(permuted.error_variances, (std::vector<double>{0.3, 0.1, 0.2}));
}

TEST(Covariance, RefusesAVariationOfThatHasTwoValuesAtAPlace) {
  Kokkos::DefaultExecutionSpace const exec;
  CovarianceFactor<Kokkos::DefaultExecutionSpace> factor(exec, {1, 1, 0.5, 0.1},
                                                         {{1, 2, 1}, {1, 2, 1}});
  PredictionOptions options;
  options.nugget = NuggetIs::Variation;
  EXPECT_EQ(message_of<ValueError>([&] {
              (void)predict(exec, factor, std::vector<double>{1, 2, 3}, {{0}, {0}}, Mean::Constant,
                            options);
            }),
            "locations 1 and 3 (counted from 1) are one place, where a nugget that is a variation "
            "of the field has one value: leave one out, or take it for the observations' error");
}

}  // namespace
