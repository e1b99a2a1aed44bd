// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_SlowGradient.hpp"
#include "StrataTest_Spaces.hpp"
#include <geostat/Strata_LikelihoodGradient.hpp>
#include <geostat/kriging/Strata_SyntheticField.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>

namespace {

using namespace strata;
using namespace strata::geostat;
using strata::test::message_of;
using strata::test::Numbers;
using strata::test::SlowField;
using strata::test::SlowMatrices;
using strata::test::some_values;

template <class Space>
class LikelihoodGradientTest : public testing::Test {};
TYPED_TEST_SUITE(LikelihoodGradientTest, strata::test::Spaces, strata::test::SpaceNames);

Locations on_globe(Locations at) {
  for (double& x : at.x) x = 20 * x - 10;
  for (double& y : at.y) y = 20 * y + 40;
  at.metric = Metric::GreatCircle;
  return at;
}

std::string text_of(MaternCovariance const& c, std::int64_t n, Mean mean, std::size_t k) {
  return to_string(c) + " n " + std::to_string(n) + " " + std::string(name_of(mean)) + " " +
         std::string(parameter_names[k]);
}

// The gradient by differences of the log-likelihood in long double.
Parameters by_differences(MaternCovariance const& c, Locations const& at,
                          std::vector<double> const& y, Mean mean, long double trace) {
  Numbers const wide_y(y.begin(), y.end());
  Parameters result{};
  for (std::size_t k = 0; k < 4; ++k)
    result[k] = static_cast<double>(test::difference(
        test::wide(c), k,
        [&](test::Wide const& theta) {
          SlowField const S(at.size(), [&](std::int64_t i, std::int64_t j) {
            return test::wide_entry(theta, at, i, j);
          });
          return S.log_likelihood(wide_y, mean == Mean::Constant);
        },
        1 / trace));
  return result;
}

long double trace_of_inverse(SlowMatrices const& slow) {
  long double sum = 0;
  for (std::int64_t i = 0; i < slow.n; ++i)
    sum += slow.inverse[static_cast<std::size_t>(i + slow.n * i)];
  return sum;
}

// What rounding in S and in the solves may change: an S^-1 of relative error eps cond meets |S_k|.
// cond is taken as S_11 trace(S^-1), at most n cond and at least cond / n.
Parameters error_scale(MaternCovariance const& c, SlowMatrices const& slow,
                       std::vector<double> const& y) {
  auto const n = static_cast<std::size_t>(slow.n);
  Numbers w(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) w[i] += slow.inverse[i + n * j] * (y[j] - 3);
  Parameters result{};
  for (std::size_t k = 0; k < 4; ++k) {
    long double sum = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        sum += (std::abs(slow.inverse[i + n * j]) + std::abs(w[i] * w[j])) *
               std::abs(slow.derivative[k][i + n * j]);
    result[k] =
        static_cast<double>(0x1p-52L * (c.sigma2 + c.nugget) * trace_of_inverse(slow) * sum);
  }
  return result;
}

struct Case {
  std::int64_t n;
  double nu, nugget;
  bool globe = false;
};

// Which smoothness, with and without a nugget, on plane and sphere; one tile and many.
std::vector<Case> const cases = {
    {1, 0.5, 0},    {1, 0.7, 0.1},  {2, 0.5, 0.1},      {2, 1.5, 0},          {2, 2.5, 0.1},
    {50, 0.5, 0},   {50, 0.7, 0},   {50, 1.5, 0},       {50, 2.5, 0},         {50, 0.5, 0.1},
    {50, 0.7, 0.1}, {50, 1.5, 0.1}, {50, 2.5, 0.01},    {50, 0.2, 0.01},      {50, 3.2, 1e-3},
    {50, 1, 0.1},   {50, 0.5, 10},  {50, 0.3, 0, true}, {50, 0.5, 0.1, true}, {300, 0.5, 0.01}};

TYPED_TEST(LikelihoodGradientTest, IsThatOfDifferencesInLongDouble) {
  TypeParam const exec;
  double worst = 0;
  for (auto const& [n, nu, nugget, globe] : cases) {
    Locations const plane = synthetic_locations(n), at = globe ? on_globe(plane) : plane;
    MaternCovariance const c{.sigma2 = 2, .range = globe ? 300. : 0.1, .nu = nu, .nugget = nugget};
    auto const y = some_values(n);
    CovarianceFactorOptions options;
    options.tile_size = n == 50 ? 16 : 0;
    CovarianceFactor<TypeParam> factor(exec, c, at, options);
    SlowMatrices const slow(c, at);
    Parameters const scale = error_scale(c, slow, y);
    for (Mean const mean : {Mean::None, Mean::Constant}) {
      if (mean == Mean::Constant && n == 1) continue;
      auto const result = log_likelihood_gradient(exec, factor, y, mean);
      EXPECT_EQ(result.info, 0);
      EXPECT_TRUE(result.solve_converged);
      Parameters const expected = by_differences(c, at, y, mean, trace_of_inverse(slow));
      for (std::size_t k = 0; k < 4; ++k) {
        double const error = std::abs(result.by[k] - expected[k]),
                     bound = scale[k] + 1e-13 * (1 + std::abs(expected[k]));
        EXPECT_LE(error, bound) << text_of(c, n, mean, k) << ": " << result.by[k] << " for "
                                << expected[k];
        worst = std::max(worst, error / bound);
      }
      auto const known = log_likelihood_gradient(exec, factor, y, mean, {true, true, false, true});
      EXPECT_TRUE(std::isnan(known.by[2]));
      for (std::size_t const k : {0U, 1U, 3U})
        EXPECT_LE(std::abs(known.by[k] - expected[k]),
                  scale[k] + 1e-13 * (1 + std::abs(expected[k])))
            << text_of(c, n, mean, k);
    }
  }
  std::printf("largest error of a gradient: %.2f of its bound\n", worst);
}

// Without correlation everything is known: l = -n/2 log v - y'y / (2 v), v = sigma2 + nugget.
TYPED_TEST(LikelihoodGradientTest, HasAClosedFormForWhiteNoise) {
  TypeParam const exec;
  std::int64_t const n = 700;  // more than one block of columns
  auto const y = some_values(n);
  MaternCovariance const c{.sigma2 = 2, .range = 1e-6, .nu = 0.5, .nugget = 0.5};
  CovarianceFactor<TypeParam> factor(exec, c, synthetic_locations(n));
  auto const gradient = log_likelihood_gradient(exec, factor, y, Mean::None);
  double squares = 0;
  for (double const value : y) squares += value * value;
  double const expected = -0.5 * static_cast<double>(n) / 2.5 + squares / (2 * 2.5 * 2.5);
  EXPECT_NEAR(gradient.by[0], expected, 1e-11 * expected);
  EXPECT_NEAR(gradient.by[3], expected, 1e-11 * expected);
  EXPECT_EQ(gradient.by[1], 0);
  EXPECT_EQ(gradient.by[2], 0);
  EXPECT_GT(gradient.seconds, 0);
}

// Of several blocks of columns, by its directional derivative: over (1 + t) theta the
// log-likelihood's differences.
TYPED_TEST(LikelihoodGradientTest, IsTheSlopeOfTheLogLikelihood) {
  TypeParam const exec;
  std::int64_t const n = 1100;
  Locations const at = synthetic_locations(n);
  MaternCovariance const c{.sigma2 = 1, .range = 0.1, .nu = 0.8, .nugget = 0.05};
  auto const y = synthetic_field(exec, c, at, 4);
  CovarianceFactor<TypeParam> factor(exec, c, at);
  auto const gradient = log_likelihood_gradient(exec, factor, y, Mean::Constant);
  Parameters const theta = parameters_of(c), direction = {1, -0.5, 0.3, 2};
  double slope = 0;
  for (std::size_t k = 0; k < 4; ++k) slope += gradient.by[k] * theta[k] * direction[k];
  auto const along = [&](double t) {
    Parameters moved = theta;
    for (std::size_t k = 0; k < 4; ++k) moved[k] *= 1 + t * direction[k];
    return log_likelihood(exec, covariance_of(moved), at, y, Mean::Constant).log_likelihood;
  };
  double const h = 2e-3,
               expected = (8 * (along(h) - along(-h)) - along(2 * h) + along(-2 * h)) / (12 * h);
  EXPECT_NEAR(slope, expected, 1e-6 * static_cast<double>(n));
}

TYPED_TEST(LikelihoodGradientTest, IsAsExactWithLowTiles) {
  TypeParam const exec;
  std::int64_t const n = 700;
  Locations const at = synthetic_locations(n);
  MaternCovariance const c{.range = 0.078809, .nugget = 0.01};
  auto const y = synthetic_field(exec, c, at, 1);
  CovarianceFactor<TypeParam> exact(exec, c, at);
  auto const expected = log_likelihood_gradient(exec, exact, y, Mean::Constant);
  EXPECT_LT(expected.backward_error, 1e-14);
  CovarianceFactorOptions options({.accuracy = 1e-4});
  options.tile_size = 64;
  CovarianceFactor<TypeParam> low(exec, c, at, options);
  ASSERT_GT(low.report().tiles[1] + low.report().tiles[2] + low.report().tiles[3], 10);
  auto const found = log_likelihood_gradient(exec, low, y, Mean::Constant);
  EXPECT_TRUE(found.solve_converged);
  EXPECT_LT(found.backward_error, 1e-14);
  Parameters const theta = parameters_of(c);
  for (std::size_t k = 0; k < 4; ++k)
    EXPECT_NEAR(found.by[k] * theta[k], expected.by[k] * theta[k], 1e-9 * static_cast<double>(n))
        << k;
}

TYPED_TEST(LikelihoodGradientTest, SaysWhichMinorIsNotPositive) {
  TypeParam const exec;
  CovarianceFactor<TypeParam> factor(exec, {.range = 100, .nu = 20}, synthetic_locations(100));
  auto const result = log_likelihood_gradient(exec, factor, some_values(100));
  EXPECT_EQ(result.info, factor.info().order());
  EXPECT_GT(result.info, 1);
  for (double const by : result.by) EXPECT_TRUE(std::isnan(by));
  EXPECT_FALSE(result.solve_converged);
}

TYPED_TEST(LikelihoodGradientTest, RefusesWhatALikelihoodRefuses) {
  TypeParam const exec;
  CovarianceFactor<TypeParam> factor(exec, {}, synthetic_locations(4));
  EXPECT_EQ(
      message_of<ShapeError>([&] { (void)log_likelihood_gradient(exec, factor, some_values(3)); }),
      "log_likelihood: 3 values at 4 locations");
  auto y = some_values(4);
  y[2] = NAN;
  EXPECT_EQ(message_of<ValueError>([&] { (void)log_likelihood_gradient(exec, factor, y); }),
            "log_likelihood: value 3 is nan, must be finite");
  CovarianceFactor<TypeParam> none(exec, {}, synthetic_locations(0));
  EXPECT_EQ(message_of<ShapeError>([&] { (void)log_likelihood_gradient(exec, none, {}); }),
            "log_likelihood: 0 values at 0 locations");
}

TYPED_TEST(LikelihoodGradientTest, TellsWhatPartIsDone) {
  TypeParam const exec;
  constexpr int n = 1100;  // a whole factor takes 1024 columns at a time or more
  CovarianceFactor<TypeParam> factor(exec, {.nu = 0.5, .nugget = 0.1}, synthetic_locations(n));
  std::vector<double> parts;
  auto const gradient = log_likelihood_gradient(exec, factor, std::vector<double>(n, 1.0),
                                                Mean::None, {true, true, false, true},
                                                [&](double part) { parts.push_back(part); });
  EXPECT_EQ(gradient.info, 0);
  ASSERT_GE(parts.size(), 2U);
  EXPECT_GT(parts.front(), 0);
  EXPECT_TRUE(std::is_sorted(parts.begin(), parts.end(), std::less_equal<>()));
  EXPECT_EQ(parts.back(), 1);
}

}  // namespace
