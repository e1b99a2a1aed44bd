// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Allocations.hpp"
#include "StrataTest_Field.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <geostat/Strata_FisherInformation.hpp>
#include <geostat/Strata_Likelihood.hpp>
#include <geostat/Strata_LikelihoodGradient.hpp>
#include <geostat/fit/Strata_Fit.hpp>
#include <geostat/kriging/Strata_Prediction.hpp>
#include <geostat/kriging/Strata_SyntheticField.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace strata;
using namespace strata::geostat;
using strata::test::message_of;
using strata::test::Numbers;
using strata::test::SlowField;
using strata::test::some_values;

template <class Space>
class WholeFactorTest : public testing::Test {};
TYPED_TEST_SUITE(WholeFactorTest, strata::test::Spaces, strata::test::SpaceNames);

CovarianceFactorOptions stored(ooc::TileStorage storage) {
  CovarianceFactorOptions options;
  options.storage = storage;
  return options;
}

template <class Exec>
CovarianceFactor<Exec> whole(Exec const& exec, MaternCovariance const& c, Locations const& at) {
  return {exec, c, at, stored(ooc::TileStorage::Devices)};
}

template <class Exec>
typename CovarianceFactor<Exec>::Block block_of(Exec const& exec, HostMatrix const& values) {
  typename CovarianceFactor<Exec>::Block const result("strata::test::whole", values.extent(0),
                                                      values.extent(1));
  Kokkos::deep_copy(exec, result, values);
  return result;
}

HostMatrix some_columns(std::int64_t n, std::int64_t m) {
  HostMatrix const values("strata::test::whole::columns", n, m);
  for (std::int64_t j = 0; j < m; ++j) {
    auto const column = some_values(static_cast<int>(n));
    for (std::int64_t i = 0; i < n; ++i)
      values(i, j) = column[static_cast<std::size_t>((i + 7 * j) % n)];
  }
  return values;
}

// Orders about a block of columns, 512, too.
TYPED_TEST(WholeFactorTest, HasTheLikelihoodOfASlowReference) {
  TypeParam const exec;
  for (int const n : {1, 2, 63, 511, 513})
    for (double const nu : {0.5, 0.83}) {
      SCOPED_TRACE(std::to_string(n) + " " + std::to_string(nu));
      Locations const at = synthetic_locations(n);
      MaternCovariance const c{.sigma2 = 2, .range = 0.1, .nu = nu, .nugget = 0.01};
      auto const y = some_values(n);
      Numbers const wide(y.begin(), y.end());
      SlowField const slow(c, at);
      auto factor = whole(exec, c, at);
      ASSERT_TRUE(factor.is_whole());
      Mean const mean = n == 1 ? Mean::None : Mean::Constant;
      auto const result = log_likelihood(exec, factor, y, mean);
      auto const expected = static_cast<double>(slow.log_likelihood(wide, n > 1));
      EXPECT_EQ(result.info, 0);
      EXPECT_TRUE(result.solve_converged);
      EXPECT_LE(result.backward_error, 1e-15);
      EXPECT_NEAR(result.log_det, static_cast<double>(slow.log_det()), 1e-11 * n);
      EXPECT_NEAR(result.log_likelihood, expected, 1e-11 * std::abs(expected));
      EXPECT_EQ(result.factor.storage, ooc::TileStorage::Devices);
      EXPECT_TRUE(result.factor.whole);
      EXPECT_EQ(result.factor.tile_size, n);
      EXPECT_GE(result.factor.bytes, 8 * static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
    }
}

// The same in all that is asked of a factor.
TYPED_TEST(WholeFactorTest, AgreesWithTiles) {
  TypeParam const exec;
  int const n = 600;
  Locations const at = synthetic_locations(n), places = synthetic_locations(17, 5);
  MaternCovariance const c{.sigma2 = 1.5, .range = 0.1, .nu = 1.5, .nugget = 0.02};
  auto const y = some_values(n);
  auto one = whole(exec, c, at);
  CovarianceFactor<TypeParam> tiles(exec, c, at, stored(ooc::TileStorage::Host));
  ASSERT_FALSE(tiles.is_whole());
  EXPECT_EQ(tiles.report().storage, ooc::TileStorage::Host);
  EXPECT_FALSE(tiles.report().whole);
  EXPECT_NEAR(one.norm_inf(), tiles.norm_inf(), 1e-13 * tiles.norm_inf());
  EXPECT_EQ(one.map().tiles(), 1);
  EXPECT_FALSE(one.map().is_mixed());
  auto const a = log_likelihood(exec, one, y, Mean::Constant),
             b = log_likelihood(exec, tiles, y, Mean::Constant);
  EXPECT_NEAR(a.log_likelihood, b.log_likelihood, 1e-11 * std::abs(b.log_likelihood));
  EXPECT_NEAR(a.log_det_error, b.log_det_error, 1e-6 * b.log_det_error);
  auto const by = log_likelihood_gradient(exec, one, y, Mean::Constant).by,
             expected = log_likelihood_gradient(exec, tiles, y, Mean::Constant).by;
  for (std::size_t k = 0; k < 4; ++k)
    EXPECT_NEAR(by[k], expected[k], 1e-9 * (1 + std::abs(expected[k]))) << k;
  auto const information = fisher_information(exec, one).of,
             other = fisher_information(exec, tiles).of;
  for (std::size_t k = 0; k < 4; ++k)
    EXPECT_NEAR(information[k][k], other[k][k], 1e-9 * other[k][k]) << k;
  auto const p = predict(exec, one, y, places, Mean::Constant),
             q = predict(exec, tiles, y, places, Mean::Constant);
  for (std::size_t k = 0; k < p.mean.size(); ++k) {
    EXPECT_NEAR(p.mean[k], q.mean[k], 1e-10);
    EXPECT_NEAR(p.variance[k], q.variance[k], 1e-10);
  }
}

// L L^T X = S X, L^T after L is S^-1, and rows of zeros are passed over.
TYPED_TEST(WholeFactorTest, SubstitutesAndMultiplies) {
  TypeParam const exec;
  std::int64_t const n = 530, m = 3, first = 129;
  Locations const at = synthetic_locations(n);
  MaternCovariance const c{.sigma2 = 3, .range = 0.1, .nu = 0.5, .nugget = 0.1};
  auto const factor = whole(exec, c, at);
  HostMatrix const X = some_columns(n, m), Y("strata::test::whole::Y", n, m);
  auto const device_X = block_of(exec, X), device_Y = block_of(exec, Y);
  factor.apply(exec, device_X, device_Y);
  Kokkos::deep_copy(exec, Y, device_Y);
  exec.fence("strata::test::whole::applied");
  for (std::int64_t j = 0; j < m; ++j)
    for (std::int64_t i = 0; i < n; i += 23) {
      long double sum = c.nugget * X(i, j), size = 0;
      for (std::int64_t k = 0; k < n; ++k) {
        sum += static_cast<long double>(c(at.distance(i, k))) * X(k, j);
        size += std::abs(c(at.distance(i, k)) * X(k, j));
      }
      EXPECT_NEAR(Y(i, j), static_cast<double>(sum), 1e-14 * static_cast<double>(size));
    }
  for (Op const op : {Op::NoTrans, Op::Trans}) factor.half_solve(exec, op, device_Y);
  Kokkos::deep_copy(exec, Y, device_Y);
  exec.fence("strata::test::whole::solved");
  for (std::int64_t j = 0; j < m; ++j)
    for (std::int64_t i = 0; i < n; ++i) EXPECT_NEAR(Y(i, j), X(i, j), 1e-10) << i;
  // From a row on.
  for (std::int64_t j = 0; j < m; ++j)
    for (std::int64_t i = 0; i < first; ++i) X(i, j) = 0;
  auto const V = block_of(exec, X), W = block_of(exec, X);
  for (Op const op : {Op::NoTrans, Op::Trans}) {
    factor.half_solve(exec, op, V);
    factor.half_solve(exec, op, W, first);
  }
  HostMatrix const w("strata::test::whole::w", n, m);
  Kokkos::deep_copy(exec, X, V);
  Kokkos::deep_copy(exec, w, W);
  exec.fence("strata::test::whole::from_a_row");
  for (std::int64_t j = 0; j < m; ++j)
    for (std::int64_t i = first; i < n; ++i) EXPECT_NEAR(w(i, j), X(i, j), 1e-12) << i;
}

// Powers of four change the exponents alone.
TYPED_TEST(WholeFactorTest, TakesVariancesAtTheEndsOfTheRange) {
  TypeParam const exec;
  int const n = 70;
  Locations const at = synthetic_locations(n);
  MaternCovariance const c{.sigma2 = 1.25, .range = 0.1, .nu = 1.5, .nugget = 0.01};
  auto const y = some_values(n);
  auto plain = whole(exec, c, at);
  auto const expected = log_likelihood(exec, plain, y, Mean::None);
  for (int const exponent : {-480, -3, 3, 480}) {
    SCOPED_TRACE(exponent);
    MaternCovariance scaled = c;
    scaled.sigma2 = std::ldexp(c.sigma2, 2 * exponent);
    scaled.nugget = std::ldexp(c.nugget, 2 * exponent);
    auto values = y;
    for (double& value : values) value = std::ldexp(value, exponent);
    auto factor = whole(exec, scaled, at);
    auto const found = log_likelihood(exec, factor, values, Mean::None);
    EXPECT_EQ(found.info, 0);
    EXPECT_EQ(factor.norm_inf(), std::ldexp(plain.norm_inf(), 2 * exponent));
    EXPECT_NEAR(found.quadratic_form, expected.quadratic_form, 1e-12 * expected.quadratic_form);
    double const shift = 2 * exponent * n * std::log(2.);
    EXPECT_NEAR(found.log_det, expected.log_det + shift, found.log_det_error);
    EXPECT_LE(found.log_det_error, expected.log_det_error + 0x1p-51 * std::abs(shift));
    EXPECT_DOUBLE_EQ(found.quadratic_form_error, expected.quadratic_form_error);
    EXPECT_LT(found.error(), 1e-7);
  }
}

// Of no observations all is 0, and blocks without columns or rows are left alone.
TYPED_TEST(WholeFactorTest, HasNothingOfNothing) {
  TypeParam const exec;
  MaternCovariance const c{.sigma2 = 2, .range = 0.1, .nu = 0.5, .nugget = 0.1};
  auto none = whole(exec, c, Locations{});
  EXPECT_TRUE(none.info().ok());
  EXPECT_EQ(none.norm_inf(), 0);
  EXPECT_EQ(none.log_determinant(exec).value, 0);
  EXPECT_EQ(none.log_determinant(exec).error(), 0);
  auto const empty = block_of(exec, HostMatrix("strata::test::whole::empty", 0, 3));
  none.apply(exec, empty, empty);
  EXPECT_TRUE(none.solve(exec, empty, empty).converged);
  int const n = 20;
  auto factor = whole(exec, c, synthetic_locations(n));
  auto const narrow = block_of(exec, HostMatrix("strata::test::whole::narrow", n, 0));
  factor.half_solve(exec, Op::Trans, narrow);
  factor.apply(exec, narrow, narrow);
  EXPECT_TRUE(factor.solve(exec, narrow, narrow).converged);
  HostMatrix const values = some_columns(n, 2), after("strata::test::whole::after", n, 2);
  auto const V = block_of(exec, values);
  factor.half_solve(exec, Op::NoTrans, V, n);
  Kokkos::deep_copy(exec, after, V);
  exec.fence("strata::test::whole::after");
  for (int i = 0; i < n; ++i) EXPECT_EQ(after(i, 1), values(i, 1));
}

// As that of tiles, and a moved-from factor says that it has none.
TYPED_TEST(WholeFactorTest, MultipliesInPlaceAndMoves) {
  TypeParam const exec;
  int const n = 150;
  Locations const at = synthetic_locations(n);
  MaternCovariance const c{.sigma2 = 2, .range = 0.1, .nu = 0.5, .nugget = 0.1};
  auto factor = whole(exec, c, at);
  HostMatrix const X = some_columns(n, 2), Y("strata::test::whole::Y", n, 2),
                   Z("strata::test::whole::Z", n, 2);
  auto const device_X = block_of(exec, X), device_Y = block_of(exec, Y);
  factor.apply(exec, device_X, device_Y);
  factor.apply(exec, device_X, device_X);
  Kokkos::deep_copy(exec, Y, device_Y);
  Kokkos::deep_copy(exec, Z, device_X);
  exec.fence("strata::test::whole::multiplied");
  for (int j = 0; j < 2; ++j)
    for (int i = 0; i < n; ++i) EXPECT_EQ(Z(i, j), Y(i, j)) << i;
  double const log_det = factor.log_determinant(exec).value;
  auto moved = std::move(factor);
  EXPECT_EQ(moved.log_determinant(exec).value, log_det);
  EXPECT_THROW((void)factor.info(), ValueError);       // NOLINT(bugprone-use-after-move)
  EXPECT_THROW(factor.refactor(exec, c), ValueError);  // NOLINT(bugprone-use-after-move)
  factor = std::move(moved);
  EXPECT_EQ(factor.log_determinant(exec).value, log_det);
}

TYPED_TEST(WholeFactorTest, FindsTheMinorThatIsNotPositive) {
  TypeParam const exec;
  int const n = 200;
  Locations const at = synthetic_locations(n);
  MaternCovariance const c{.sigma2 = 1, .range = 5, .nu = 3.5, .nugget = 0};
  auto factor = whole(exec, c, at);
  ASSERT_FALSE(factor.info().ok());
  EXPECT_GT(factor.info().order(), 10);
  EXPECT_LE(factor.info().order(), n);
  auto const result = log_likelihood(exec, factor, some_values(n), Mean::None);
  EXPECT_EQ(result.info, factor.info().order());
  EXPECT_TRUE(std::isnan(result.log_likelihood));
  auto const V = block_of(exec, some_columns(n, 1));
  EXPECT_EQ(message_of<ValueError>([&] { factor.half_solve(exec, Op::NoTrans, V); }),
            "half_solve: there is no factor; the minor of order " +
                std::to_string(factor.info().order()) + " is not positive");
  EXPECT_EQ(message_of<ValueError>([&] { (void)factor.log_determinant(exec); }),
            "log_determinant: there is no factor; the minor of order " +
                std::to_string(factor.info().order()) + " is not positive");
  // The next one has a factor again.
  MaternCovariance const rough{.sigma2 = 1, .range = 0.1, .nu = 0.5, .nugget = 0};
  factor.refactor(exec, rough);
  EXPECT_TRUE(factor.info().ok());
  auto fresh = whole(exec, rough, at);
  EXPECT_EQ(factor.log_determinant(exec).value, fresh.log_determinant(exec).value);
}

TYPED_TEST(WholeFactorTest, IsNoneAfterAnException) {
  TypeParam const exec;
  int const n = 40;
  MaternCovariance const c{.sigma2 = 1, .range = 0.1, .nu = 0.5, .nugget = 0};
  auto factor = whole(exec, c, synthetic_locations(n));
  MaternCovariance wrong = c;
  wrong.range = -1;
  EXPECT_THROW(factor.refactor(exec, wrong), ValueError);
  EXPECT_EQ(message_of<ValueError>([&] { (void)factor.info(); }),
            "covariance factor: there is none, since an exception left none");
  factor.refactor(exec, c);
  EXPECT_TRUE(factor.info().ok());
}

TYPED_TEST(WholeFactorTest, RefusesWhatItHasNot) {
  TypeParam const exec;
  int const n = 40;
  Locations const at = synthetic_locations(n);
  MaternCovariance const c{.sigma2 = 1, .range = 0.1, .nu = 0.5, .nugget = 0};
  auto factor = whole(exec, c, at);
  EXPECT_EQ(message_of<ValueError>([&] { (void)factor.factor(); }),
            "covariance factor: it is whole, not in tiles, which a tile size asks for");
  auto const V = block_of(exec, some_columns(n + 1, 1)), W = block_of(exec, some_columns(n, 2)),
             U = block_of(exec, some_columns(n, 1));
  EXPECT_EQ(message_of<ShapeError>([&] { (void)factor.solve(exec, V, V); }),
            "solve: 41 rows, the matrix has 40");
  EXPECT_EQ(message_of<ShapeError>([&] { factor.half_solve(exec, Op::Trans, V); }),
            "half_solve: 41 rows, the matrix has 40");
  EXPECT_EQ(message_of<ValueError>([&] { factor.half_solve(exec, Op::Trans, W, 41); }),
            "half_solve: first_row is 41, must be 0 to 40");
  EXPECT_EQ(message_of<ShapeError>([&] { factor.apply(exec, U, W); }),
            "apply: X is 40 x 1, Y is 40 x 2");
}

// A device has it whole by itself where nothing speaks for tiles; a host has tiles.
TYPED_TEST(WholeFactorTest, IsChosenWhereNothingSpeaksForTiles) {
  TypeParam const exec;
  std::int64_t const n = 1200;
  Locations const at = synthetic_locations(n);
  MaternCovariance const c{.sigma2 = 1, .range = 0.1, .nu = 0.5, .nugget = 0.1};
  bool const on_host = strata::runs_on_host<TypeParam>;
  auto const is_whole = [&](CovarianceFactorOptions const& options) {
    return CovarianceFactor<TypeParam>(exec, c, at, options).is_whole();
  };
  EXPECT_EQ(is_whole({}), !on_host);
  CovarianceFactorOptions options;
  options.tile_size = 64;
  EXPECT_FALSE(is_whole(options));
  options = {};
  options.rule.accuracy = 1e-6;
  EXPECT_FALSE(is_whole(options));
  options = {};
  options.devices.front().budget_bytes =
      10 << 20;  // of tiles, not of 8 n^2 bytes and a product's columns
  options.tile_size = 0;
  EXPECT_FALSE(is_whole(options));
  options.devices.front().budget_bytes = 20 << 20;
  EXPECT_EQ(is_whole(options), !on_host);
  EXPECT_FALSE(is_whole(stored(ooc::TileStorage::Host)));
  options = stored(ooc::TileStorage::Devices);
  EXPECT_TRUE(is_whole(options));
  options.devices.front().budget_bytes = 28 << 20;  // of the lower tiles, not of 32 MB
  CovarianceFactor<TypeParam> const tiles(exec, c, synthetic_locations(2000), options);
  EXPECT_FALSE(tiles.is_whole());
  EXPECT_EQ(tiles.report().storage, ooc::TileStorage::Devices);
  options = stored(ooc::TileStorage::Devices);
  options.rule.accuracy = 1e-6;
  EXPECT_FALSE(is_whole(options));
}

// What it lacks in tiles, too, it says.
TYPED_TEST(WholeFactorTest, IsRefusedWhereTilesHaveNoRoomEither) {
  TypeParam const exec;
  MaternCovariance const c{.sigma2 = 1, .range = 0.1, .nu = 0.5, .nugget = 0};
  auto small = stored(ooc::TileStorage::Devices);
  small.devices.front().budget_bytes = 9000;
  EXPECT_TRUE(strata::test::throws_with<MemoryError>("to factor them, and has 9000", [&] {
    CovarianceFactor<TypeParam>(exec, c, synthetic_locations(40), small);
  }));
}

}  // namespace
