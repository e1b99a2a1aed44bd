// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_SlowGradient.hpp"
#include "StrataTest_SlowTrend.hpp"
#include "StrataTest_Spaces.hpp"
#include <geostat/Strata_FisherInformation.hpp>
#include <geostat/Strata_LikelihoodGradient.hpp>
#include <geostat/fit/Strata_Fit.hpp>
#include <geostat/kriging/Strata_Prediction.hpp>
#include <geostat/kriging/Strata_SyntheticField.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace {

using namespace strata;
using namespace strata::geostat;
using strata::test::message_of;
using strata::test::Numbers;
using strata::test::SlowField;
using strata::test::SlowTrend;
using strata::test::some_columns;
using strata::test::some_values;

constexpr Criterion criteria[] = {Criterion::ML, Criterion::REML};

template <class Space>
class TrendTest : public testing::Test {};
TYPED_TEST_SUITE(TrendTest, strata::test::Spaces, strata::test::SpaceNames);

std::vector<double> with_trend(Locations const& at, std::vector<double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += 40 - 3 * at.x[i] + 7 * at.y[i];
  return values;
}

// In tiles and whole, fp64 and below.
template <class Exec>
std::vector<CovarianceFactorOptions> ways_to_factor() {
  CovarianceFactorOptions tiles, whole, low({.accuracy = 1e-5});
  tiles.tile_size = low.tile_size = 32;
  whole.storage = ooc::TileStorage::Devices;
  return {tiles, whole, low};
}

TYPED_TEST(TrendTest, HasTheLikelihoodsAndCoefficientsOfASlowReference) {
  TypeParam const exec;
  Locations const at = synthetic_locations(120);
  auto const F = some_columns(at);
  auto const y = with_trend(at, some_values(120));
  for (double const nu : {0.5, 0.83}) {
    MaternCovariance const c{.sigma2 = 2, .range = 0.2, .nu = nu, .nugget = 0.3};
    SlowTrend const slow(SlowField(c, at), F, Numbers(y.begin(), y.end()));
    for (auto const& how : ways_to_factor<TypeParam>())
      for (Criterion const criterion : criteria) {
        auto const found = log_likelihood(exec, c, at, y, Trend(F, {}, criterion), how);
        auto const expected = static_cast<double>(criterion == Criterion::ML ? slow.ml : slow.reml);
        EXPECT_NEAR(found.log_likelihood, expected, 1e-9 + found.error()) << name_of(criterion);
        EXPECT_TRUE(std::isnan(found.mean));
        ASSERT_EQ(found.coefficients.size(), 4U);
        for (std::size_t j = 0; j < 4; ++j) {
          auto const variance = static_cast<double>(slow.covariance[j + 4 * j]);
          EXPECT_NEAR(found.coefficients[j], static_cast<double>(slow.b[j]),
                      1e-8 * std::sqrt(variance));
          EXPECT_NEAR(found.coefficient_covariance[j + 4 * j], variance, 1e-8 * variance);
        }
      }
  }
}

TYPED_TEST(TrendTest, OfAConstantIsTheMean) {
  TypeParam const exec;
  Locations const at = synthetic_locations(60);
  auto const y = some_values(60);
  MaternCovariance const c{.range = 0.2, .nugget = 0.1};
  std::vector<std::vector<double>> const ones{std::vector<double>(60, 1)};
  for (Criterion const criterion : criteria) {
    auto const a = log_likelihood(exec, c, at, y, Trend(Mean::Constant, criterion)),
               b = log_likelihood(exec, c, at, y, Trend(ones, {}, criterion));
    EXPECT_NEAR(a.log_likelihood, b.log_likelihood, 1e-11);
    EXPECT_NEAR(a.mean, b.coefficients[0], 1e-13);
    EXPECT_NEAR(a.coefficient_covariance[0], b.coefficient_covariance[0], 1e-13);
  }
}

TYPED_TEST(TrendTest, RestrictedLikelihoodDoesNotChangeWhereColumnsAreMixed) {
  TypeParam const exec;
  Locations const at = synthetic_locations(80);
  auto const y = some_values(80);
  auto F = some_columns(at), mixed = F;
  for (std::size_t i = 0; i < 80; ++i) {
    mixed[1][i] = 3 * F[1][i] - 2 * F[2][i];
    mixed[2][i] = F[2][i] + 5 * F[0][i];
  }
  MaternCovariance const c{.range = 0.2, .nugget = 0.1};
  auto const a = log_likelihood(exec, c, at, y, Trend(F, {}, Criterion::REML)),
             b = log_likelihood(exec, c, at, y, Trend(mixed, {}, Criterion::REML));
  EXPECT_NEAR(a.log_likelihood, b.log_likelihood, 1e-9);
}

TYPED_TEST(TrendTest, GradientIsThatOfDifferencesInLongDouble) {
  TypeParam const exec;
  Locations const at = synthetic_locations(50);
  auto const F = some_columns(at);
  auto near = F;  // as columns with large offsets would cost the reference its digits
  for (double& x : near[1]) x -= 4e5;
  for (double& x : near[2]) x -= 5e6;
  auto const y = with_trend(at, some_values(50));
  Numbers const wide_y(y.begin(), y.end());
  for (double const nu : {0.5, 0.7}) {
    MaternCovariance const c{.sigma2 = 2, .range = 0.1, .nu = nu, .nugget = 0.1};
    for (Criterion const criterion : criteria) {
      CovarianceFactor<TypeParam> factor(exec, c, at);
      auto const found = log_likelihood_gradient(exec, factor, y, Trend(F, {}, criterion));
      for (std::size_t k = 0; k < 4; ++k) {
        auto const expected =
            static_cast<double>(test::difference(test::wide(c), k, [&](test::Wide const& theta) {
              SlowField const S(at.size(), [&](std::int64_t i, std::int64_t j) {
                return test::wide_entry(theta, at, i, j);
              });
              SlowTrend const slow(S, near, wide_y);
              return criterion == Criterion::ML ? slow.ml : slow.reml;
            }));
        EXPECT_NEAR(found.by[k], expected, 1e-9 * (1 + std::abs(expected)))
            << parameter_names[k] << " " << name_of(criterion);
      }
    }
  }
}

// P = S^-1 - S^-1 F (F' S^-1 F)^-1 F' S^-1, n x n.
Numbers projected_inverse(SlowField const& S, SlowTrend const& trend, std::int64_t n) {
  auto const N = static_cast<std::size_t>(n), k = trend.F.size();
  Numbers P;
  for (std::size_t j = 0; j < N; ++j) {
    Numbers unit(N);
    unit[j] = 1;
    auto const column = S.solve(unit);
    P.insert(P.end(), column.begin(), column.end());
  }
  std::vector<Numbers> W;
  for (auto const& f : trend.F) W.push_back(S.solve(f));
  for (std::size_t j = 0; j < N; ++j)
    for (std::size_t i = 0; i < N; ++i)
      for (std::size_t a = 0; a < k; ++a)
        for (std::size_t b = 0; b < k; ++b)
          P[i + N * j] -= W[a][i] * trend.covariance[a + k * b] * W[b][j];
  return P;
}

TYPED_TEST(TrendTest, InformationOfRestrictedLikelihoodIsThatOfItsDefinition) {
  TypeParam const exec;
  std::int64_t const n = 40;
  Locations const at = synthetic_locations(n);
  auto const F = some_columns(at);
  auto const y = some_values(n);
  MaternCovariance const c{.sigma2 = 2, .range = 0.1, .nu = 0.7, .nugget = 0.1};
  test::SlowMatrices const slow(c, at);
  SlowField const S(c, at);
  auto const P = projected_inverse(S, SlowTrend(S, F, Numbers(y.begin(), y.end())), n);
  auto const N = static_cast<std::size_t>(n);
  auto const product = [N](Numbers const& A, Numbers const& B) {
    Numbers C(N * N);
    for (std::size_t j = 0; j < N; ++j)
      for (std::size_t k = 0; k < N; ++k)
        for (std::size_t i = 0; i < N; ++i) C[i + N * j] += A[i + N * k] * B[k + N * j];
    return C;
  };
  std::array<Numbers, 4> PS;
  for (std::size_t k = 0; k < 4; ++k) PS[k] = product(P, slow.derivative[k]);
  for (auto const& how : ways_to_factor<TypeParam>()) {
    CovarianceFactor<TypeParam> factor(exec, c, at, how);
    auto const found = fisher_information(exec, factor, {.trend = Trend(F, {}, Criterion::REML)});
    for (std::size_t j = 0; j < 4; ++j)
      for (std::size_t k = 0; k < 4; ++k) {
        long double expected = 0;
        for (std::size_t a = 0; a < N; ++a)
          for (std::size_t b = 0; b < N; ++b) expected += PS[j][a + N * b] * PS[k][b + N * a] / 2;
        EXPECT_NEAR(found.of[j][k], static_cast<double>(expected),
                    1e-9 * std::sqrt(found.of[j][j] * found.of[k][k]));
      }
  }
}

TYPED_TEST(TrendTest, UniversalKrigingIsThatOfASlowReference) {
  TypeParam const exec;
  Locations const at = synthetic_locations(90);
  Locations const fresh{{0.5, 0.111, 2, 0.7}, {0.5, 0.93, 2, 0.2}};
  MaternCovariance const c{.sigma2 = 2, .range = 0.2, .nu = 0.83, .nugget = 0.3};
  auto const y = with_trend(at, some_values(90));
  auto const F = some_columns(at), F_new = some_columns(fresh);
  SlowField const S(c, at);
  SlowTrend const slow(S, F, Numbers(y.begin(), y.end()));
  for (auto const& how : ways_to_factor<TypeParam>()) {
    CovarianceFactor<TypeParam> factor(exec, c, at, how);
    auto const found = predict(exec, factor, y, fresh, Trend(F), {.trend_columns = F_new}),
               means = predict(exec, factor, y, fresh, Trend(F),
                               {.trend_columns = F_new, .variances = false});
    EXPECT_TRUE(means.variance.empty());
    for (std::size_t p = 0; p < 4; ++p) {
      Numbers k0, d;
      for (std::int64_t i = 0; i < at.size(); ++i)
        k0.push_back(c(std::hypot(at.x[i] - fresh.x[p], at.y[i] - fresh.y[p])));
      long double mean = S.form(k0, slow.r), variance = c.sigma2 - S.form(k0, k0);
      for (std::size_t a = 0; a < 4; ++a) {
        mean += F_new[a][p] * slow.b[a];
        d.push_back(F_new[a][p] - S.form(slow.F[a], k0));
      }
      for (std::size_t a = 0; a < 4; ++a)
        for (std::size_t b = 0; b < 4; ++b) variance += d[a] * slow.covariance[a + 4 * b] * d[b];
      EXPECT_NEAR(found.mean[p], static_cast<double>(mean), 1e-9) << p;
      EXPECT_NEAR(means.mean[p], found.mean[p], 1e-12) << p;
      EXPECT_NEAR(found.variance[p], static_cast<double>(variance), 1e-9) << p;
    }
  }
}

TYPED_TEST(TrendTest, FitsEndAtTheMaximumOfTheirLikelihood) {
  TypeParam const exec;
  Locations const at = synthetic_locations(150);
  auto const F = some_columns(at);
  MaternCovariance const truth{.sigma2 = 1, .range = 0.15, .nu = 0.5, .nugget = 0.2};
  auto const y = with_trend(at, synthetic_field(exec, truth, at, 3));
  Fit of[2];
  for (Criterion const criterion : criteria) {
    Trend const trend(F, {}, criterion);
    auto options = default_fit_options(at, y, trend);
    options.fixed[2] = true;
    auto found = fit(exec, at, y, options);
    EXPECT_TRUE(found.converged) << found.reason;
    EXPECT_LT(found.evaluations, 30);
    auto const gradient = log_likelihood_gradient(exec, *found.factor, y, trend);
    for (std::size_t const k : {0U, 1U, 3U})
      EXPECT_NEAR(gradient.by[k] * parameters_of(found.theta)[k], 0, 2e-2) << k;
    EXPECT_NEAR(found.likelihood.log_likelihood,
                log_likelihood(exec, found.theta, at, y, trend).log_likelihood, 1e-8);
    of[criterion == Criterion::REML] = found;
  }
  // The sills of REML are those of n - k degrees of freedom.
  EXPECT_GT(of[1].theta.sigma2 + of[1].theta.nugget, of[0].theta.sigma2 + of[0].theta.nugget);
}

TEST(Trend, NamesColumnsThatSayNothingNew) {
  std::vector<double> const one(6, 1), x{1, 2, 3, 4, 5, 7}, z{0, 1, 0, 2, 0, 1};
  std::vector<double> sum, zero(6, 0);
  for (std::size_t i = 0; i < 6; ++i) sum.push_back(0.3 * x[i] + 2);
  auto const message = [](std::vector<std::vector<double>> const& F) {
    return message_of<ValueError>([&] { (void)Trend(F, {"1", "x", "z", "elev"}); });
  };
  EXPECT_EQ(message({one, x, z, sum}), "trend: elev is a combination of 1, x: leave it out");
  EXPECT_EQ(message({one, zero, z, x}), "trend: x is 0: leave it out");
  EXPECT_EQ(message({one, x, {0, 1, NAN, 1, 0, 1}, z}),
            "trend: z is nan at observation 3, must be finite");
  auto const shape = [](auto const& make) { return message_of<ShapeError>(make); };
  EXPECT_EQ(shape([&] { (void)Trend({{1, 2}, {2, 3}}); }),
            "trend: 2 columns for 2 observations, must be fewer");
  EXPECT_EQ(shape([&] { (void)Trend({one, {1, 2}}); }),
            "trend: column 2 has 2 numbers, column 1 has 6");
  EXPECT_EQ(shape([&] { (void)Trend({one}, {"a", "b"}); }), "trend: 2 names of 1 columns");
  EXPECT_EQ(shape([&] { Trend({one, x}).check(7); }),
            "trend: its columns are of 6 observations, there are 7");
  EXPECT_EQ(shape([&] { Trend(Mean::Constant, Criterion::REML).check(1); }),
            "trend: REML of 1 coefficients and 1 observations leaves none of them");
  EXPECT_EQ(shape([&] { (void)Trend({one, x}, {"1", "x"}).rows(2, {{1, 1}}); }),
            "trend: 1 columns at the new places, there are 2 at the observations");
}

TEST(Trend, CostsNoDigitsInMetresOfAMap) {
  Locations const at = synthetic_locations(200);
  std::vector<std::vector<double>> F(4);
  for (std::size_t i = 0; i < 200; ++i) {
    double const x = 4e5 + 2000 * at.x[i];
    F[0].push_back(1), F[1].push_back(x), F[2].push_back(5e6 + 2000 * at.y[i]),
        F[3].push_back(x * x);
  }
  Trend const trend(F);
  auto const Q = trend.basis(200);
  for (std::size_t a = 0; a < 4; ++a)
    for (std::size_t b = 0; b < 4; ++b) {
      long double sum = 0;
      for (std::size_t i = 0; i < 200; ++i)
        sum += static_cast<long double>(Q[i + 200 * a]) * Q[i + 200 * b];
      EXPECT_NEAR(static_cast<double>(sum), a == b ? 1 : 0, 4 * 0x1p-52);
    }
}

TEST(Trend, RefusesAFitOfValuesThatItSaysWhole) {
  Locations const at = synthetic_locations(20);
  std::vector<double> const y = with_trend(at, std::vector<double>(20, 0));
  std::vector<std::vector<double>> const F{std::vector<double>(20, 1), at.x, at.y};
  EXPECT_EQ(
      message_of<ValueError>([&] { (void)default_fit_options(at, y, Trend(F)); }),
      "default_fit_options: the values are a combination of the trend's 3 columns: nothing is left "
      "to fit");
}

}  // namespace
