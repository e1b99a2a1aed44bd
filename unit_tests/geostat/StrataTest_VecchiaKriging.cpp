// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Residuals and simulations by neighbours.
#include "StrataTest_Matchers.hpp"
#include "StrataTest_SlowTrend.hpp"
#include "StrataTest_Spaces.hpp"
#include <core/problems/Strata_Random.hpp>
#include <geostat/kriging/Strata_CrossValidation.hpp>
#include <geostat/kriging/Strata_SyntheticField.hpp>
#include <geostat/vecchia/Strata_VecchiaFit.hpp>
#include <geostat/vecchia/Strata_VecchiaPrediction.hpp>
#include <geostat/vecchia/Strata_VecchiaSimulation.hpp>
#include <geostat/vecchia/Strata_VecchiaValidation.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using namespace strata;
using namespace strata::geostat;
using strata::test::message_of;
using strata::test::some_columns;
using strata::test::some_values;

template <class Space>
class VecchiaKriging : public testing::Test {};
TYPED_TEST_SUITE(VecchiaKriging, strata::test::Spaces, strata::test::SpaceNames);

Covariance turned_matern() {
  Covariance c{1.3, 0.3, 1.2, 0.1};
  c.angle = 20, c.ratio = 0.6;
  return c;
}

Locations places_with_errors(std::int64_t n) {
  auto at = synthetic_locations(n, 3);
  for (std::int64_t i = 0; i < n; ++i)
    at.error_variances.push_back(0.02 + 0.1 * static_cast<double>(i % 4));
  return at;
}

template <class Exec>
Vecchia<Exec> with_neighbours(Exec const& exec, Locations const& at, std::vector<double> const& y,
                              Trend const& trend, Covariance const& c, std::int64_t m) {
  return {exec, at, y, trend, vecchia_blocks(exec, at, c, {.neighbours = m}).blocks};
}

void expect_same_residuals(CrossValidation const& found, CrossValidation const& exact,
                           double tolerance) {
  ASSERT_EQ(found.residual.size(), exact.residual.size());
  for (std::size_t i = 0; i < found.residual.size(); ++i) {
    EXPECT_NEAR(found.residual[i], exact.residual[i], tolerance) << i;
    EXPECT_NEAR(found.variance[i] / exact.variance[i], 1, tolerance) << i;
  }
  EXPECT_NEAR(found.rmse, exact.rmse, tolerance);
  EXPECT_NEAR(found.mean_square_z, exact.mean_square_z, 2 * tolerance);
  EXPECT_EQ(found.without, exact.without);
}

TYPED_TEST(VecchiaKriging, LeavesOutAsTheFactorDoesWithAllNeighbours) {
  TypeParam const exec;
  std::int64_t const n = 60;
  auto const at = places_with_errors(n);
  auto const y = some_values(n);
  Covariance const c = turned_matern();
  auto const folds = random_folds(n, 7);
  for (Trend const& trend : {Trend(Mean::None), Trend(Mean::Constant), Trend(some_columns(at))}) {
    CovarianceFactor<TypeParam> factor(exec, c, at);
    auto const model = with_neighbours(exec, at, y, trend, c, n - 1);
    // cond(S) is below 1000.
    expect_same_residuals(cross_validate(exec, model, c, y, {.neighbours = n - 1}),
                          cross_validate(exec, factor, y, trend), 1e-10);
    expect_same_residuals(
        cross_validate(exec, model, c, y,
                       {.neighbours = n, .folds = folds, .approximation = {.neighbours = n}}),
        cross_validate(exec, factor, y, trend, folds), 1e-10);
  }
}

TYPED_TEST(VecchiaKriging, LeavesOutNearlyAsTheFactorDoesWithThirty) {
  TypeParam const exec;
  std::int64_t const n = 900;
  auto const at = synthetic_locations(n, 3);
  Covariance const c{1, 0.1, 0.5, 0.05};
  auto const y = synthetic_field(exec, c, at, 5);
  CovarianceFactor<TypeParam> factor(exec, c, at);
  auto const model = with_neighbours(exec, at, y, Mean::Constant, c, 30);
  auto const folds = random_folds(n, 5);
  std::vector<std::int64_t> const none;
  for (auto const& parts : {none, folds}) {
    auto const found = cross_validate(exec, model, c, y, {.neighbours = 60, .folds = parts}),
               exact = cross_validate(exec, factor, y, Mean::Constant, parts);
    for (std::size_t i = 0; i < y.size(); ++i) {
      double const sd = std::sqrt(exact.variance[i]);
      EXPECT_NEAR(found.residual[i], exact.residual[i], 0.02 * sd) << i;
      EXPECT_NEAR(found.variance[i] / exact.variance[i], 1, 0.002) << i;
    }
    EXPECT_NEAR(found.rmse / exact.rmse, 1, 1e-3);
  }
}

TYPED_TEST(VecchiaKriging, SaysWhereTheOthersDoNotTellTheTrend) {
  TypeParam const exec;
  auto const at = places_with_errors(30);
  auto const y = some_values(30);
  std::vector<std::vector<double>> columns(2, std::vector<double>(30, 1));
  columns[1].assign(30, 0);
  columns[1][4] = 1;  // the fifth observation alone tells this column
  Covariance const c{1, 0.2, 0.5, 0.1};
  auto const model = with_neighbours(exec, at, y, Trend(columns), c, 29);
  EXPECT_EQ(cross_validate(exec, model, c, y, {.neighbours = 29}).without, 1);
  std::vector<std::int64_t> folds(30);
  for (std::size_t i = 0; i < folds.size(); ++i) folds[i] = static_cast<std::int64_t>(i / 10);
  auto const found = cross_validate(exec, model, c, y, {.neighbours = 29, .folds = folds});
  EXPECT_EQ(found.without, 10);
  EXPECT_TRUE(std::isnan(found.residual[4]));
}

// [A B; B' 0]^-1 of the field's covariance and trend, by elimination in long double.
struct SlowConditional {
  std::vector<long double> M;
  std::size_t order;

  long double form(std::vector<long double> const& a, std::vector<long double> b) const {
    auto A = M;
    for (std::size_t k = 0; k < order; ++k) {
      std::size_t pivot = k;
      for (std::size_t i = k; i < order; ++i)
        if (std::abs(A[i + k * order]) > std::abs(A[pivot + k * order])) pivot = i;
      for (std::size_t j = 0; j < order; ++j) std::swap(A[k + j * order], A[pivot + j * order]);
      std::swap(b[k], b[pivot]);
      for (std::size_t i = k + 1; i < order; ++i) {
        long double const factor = A[i + k * order] / A[k + k * order];
        for (std::size_t j = k; j < order; ++j) A[i + j * order] -= factor * A[k + j * order];
        b[i] -= factor * b[k];
      }
    }
    for (std::size_t k = order; k-- > 0;) {
      for (std::size_t j = k + 1; j < order; ++j) b[k] -= A[k + j * order] * b[j];
      b[k] /= A[k + k * order];
    }
    long double sum = 0;
    for (std::size_t k = 0; k < order; ++k) sum += a[k] * b[k];
    return sum;
  }
};

// Fields are linear in their normal numbers, so that these tell mean and covariance exactly.
TYPED_TEST(VecchiaKriging, DrawsFieldsOfTheExactDistributionWithAllNeighbours) {
  TypeParam const exec;
  std::int64_t const n = 25, N = 8;
  auto const at = places_with_errors(n);
  auto const places = synthetic_locations(N, 8);
  auto const y = some_values(n);
  Covariance const c = turned_matern();
  auto const columns = some_columns(at), new_columns = some_columns(places);
  Trend const trend(columns);
  auto const k = static_cast<std::size_t>(trend.columns());
  auto const model = with_neighbours(exec, at, y, trend, c, n - 1);
  LocalSimulationOptions const options{.neighbours = n + N, .trend_columns = new_columns};
  auto const K = static_cast<std::int64_t>(k);
  HostMatrix const normal = allocate_host_matrix("strata::test::normal", N + K, N + K + 1);
  for (std::int64_t j = 0; j < N + K + 1; ++j)
    for (std::int64_t i = 0; i < N + K; ++i) normal(i, j) = i == j ? 1 : 0;
  auto const found = geostat::detail::simulate_from(exec, model, c, places, options, normal).fields;
  CovarianceFactor<TypeParam> factor(exec, c, at);
  auto const exact = predict(exec, factor, y, places, trend, {.trend_columns = new_columns});
  auto const S = covariance_matrix(c, at);
  CovarianceEntries<Kokkos::HostSpace> const between(Kokkos::DefaultHostExecutionSpace(), c, at,
                                                     places),
      among(Kokkos::DefaultHostExecutionSpace(), c, places, places);
  auto const m = static_cast<std::size_t>(n) + k;
  SlowConditional slow{std::vector<long double>(m * m), m};
  for (std::size_t j = 0; j < m; ++j)
    for (std::size_t i = 0; i < m; ++i) {
      auto const rows = static_cast<std::size_t>(n);
      slow.M[i + j * m] = i < rows && j < rows ? S(i, j)
                          : i < rows           ? columns[j - rows][i]
                          : j < rows           ? columns[i - rows][j]
                                               : 0.0;
    }
  auto const right_hand_side = [&](std::int64_t place) {
    std::vector<long double> c0;
    for (std::int64_t i = 0; i < n; ++i) c0.push_back(between(i, place));
    for (std::size_t j = 0; j < k; ++j)
      c0.push_back(new_columns[j][static_cast<std::size_t>(place)]);
    return c0;
  };
  for (std::int64_t a = 0; a < N; ++a) {
    EXPECT_NEAR(found(a, N + K), exact.mean[static_cast<std::size_t>(a)], 1e-11) << a;
    for (std::int64_t b = 0; b <= a; ++b) {
      long double expected = among(a, b) - slow.form(right_hand_side(a), right_hand_side(b)),
                  sum = 0;
      for (std::int64_t l = 0; l < N + K; ++l)
        sum += (found(a, l) - found(a, N + K)) * (found(b, l) - found(b, N + K));
      EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(expected), 1e-11) << a << " " << b;
    }
  }
}

TYPED_TEST(VecchiaKriging, DrawsNearlyTheSpreadOfKrigingWithThirty) {
  TypeParam const exec;
  auto const at = synthetic_locations(800, 3), places = synthetic_locations(200, 8);
  Covariance const c{1, 0.15, 0.5, 0.05};
  auto const y = synthetic_field(exec, c, at, 5);
  auto const model = with_neighbours(exec, at, y, Mean::Constant, c, 30);
  std::int64_t const count = 600;
  auto const found =
      simulate(exec, model, c, places, {.neighbours = 60, .count = count, .seed = 3});
  CovarianceFactor<TypeParam> factor(exec, c, at);
  auto const exact = predict(exec, factor, y, places);
  double off = 0, spread = 0;
  for (std::int64_t i = 0; i < places.size(); ++i) {
    double mean = 0, square = 0;
    for (std::int64_t j = 0; j < count; ++j)
      mean += found.fields(i, j) / static_cast<double>(count);
    for (std::int64_t j = 0; j < count; ++j)
      square += std::pow(found.fields(i, j) - mean, 2) / static_cast<double>(count - 1);
    auto const at_i = static_cast<std::size_t>(i);
    double const z = (mean - exact.mean[at_i]) / std::sqrt(exact.variance[at_i] / count);
    EXPECT_LT(std::abs(z), 4.5) << i;
    off += z * z / 200, spread += square / exact.variance[at_i] / 200;
  }
  EXPECT_NEAR(off, 1, 0.4);
  EXPECT_NEAR(spread, 1, 0.02);
  EXPECT_EQ(found.ridge, 0);
}

TYPED_TEST(VecchiaKriging, KeepsTheObservationsWhereTheNuggetIsOfTheField) {
  TypeParam const exec;
  auto const at = synthetic_locations(100, 3);
  auto const y = some_values(100);
  Covariance const c{1, 0.2, 0.5, 0.3};
  auto const model = with_neighbours(exec, at, y, Mean::Constant, c, 30);
  Locations const here{{at.x[7], at.x[50], 0.51}, {at.y[7], at.y[50], 0.53}};
  auto const found =
      simulate(exec, model, c, here, {.neighbours = 30, .count = 2, .nugget = NuggetIs::Variation});
  for (std::int64_t j = 0; j < 2; ++j) {
    EXPECT_NEAR(found.fields(0, j), y[7], 1e-6);
    EXPECT_NEAR(found.fields(1, j), y[50], 1e-6);
  }
  EXPECT_GT(std::abs(found.fields(2, 0) - found.fields(2, 1)), 1e-3);
  EXPECT_EQ(
      message_of<ValueError>([&] { (void)simulate(exec, model, c, here, {.neighbours = 0}); }),
      "simulate: 0 neighbours, must be 1 to 1000");
}

}  // namespace
