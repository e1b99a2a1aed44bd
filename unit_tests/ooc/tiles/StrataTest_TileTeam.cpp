// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Substitutions and residuals on several devices.
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "ooc/StrataTest_PlainTiles.hpp"
#include <geostat/Strata_MaternTiles.hpp>
#include <ooc/Strata_Cholesky.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>
#include <set>
#include <thread>

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::geostat;
using namespace strata::test;

template <class Exec>
class TileTeam : public testing::Test {};
TYPED_TEST_SUITE(TileTeam, Spaces, SpaceNames);

template <class Exec>
using Block = typename TileFactor<Exec>::Block;

template <class Exec>
TileFactor<Exec> factor_of(std::int64_t n, std::int64_t nb, PrecisionRule const& rule,
                           int devices = 1) {
  Exec const exec;
  TileMatrixOptions options(rule);
  options.anywhere = true;
  return cholesky(
      devices_of<Exec>(devices),
      TileMatrix<Exec>::generate(
          exec, n, nb, matern_tiles(exec, MaternCovariance{2, 0.1, 0.5, 0}, synthetic_locations(n)),
          options));
}

template <class Exec>
Block<Exec> numbers(std::int64_t n, std::int64_t m) {
  return on_space<Exec>(known_solution(n, m, 3));
}

template <class Exec>
HostMatrix on_host(Block<Exec> const& V) {
  HostMatrix const copy("strata::test::host", V.extent(0), V.extent(1));
  Kokkos::deep_copy(copy, V);
  return copy;
}

testing::AssertionResult all_same_bits(HostMatrix const& A, HostMatrix const& B) {
  for (std::size_t j = 0; j < A.extent(1); ++j)
    for (std::size_t i = 0; i < A.extent(0); ++i)
      if (std::memcmp(&A(i, j), &B(i, j), sizeof(double)) != 0)
        return testing::AssertionFailure()
               << "(" << i << ", " << j << "): " << A(i, j) << " and " << B(i, j);
  return testing::AssertionSuccess();
}

// V = L^-1 V and V = L^-T V have the same bits on any number of devices, for any number of columns.
template <class Exec>
void substitutes_with_the_same_bits(PrecisionRule const& rule) {
  Exec const exec;
  for (std::int64_t const n : {1, 16, 33, 100, 131}) {
    auto factor = factor_of<Exec>(n, 16, rule);
    ASSERT_TRUE(factor.info().ok());
    for (std::int64_t const m : {1, 3, 40})
      for (Op const op : {Op::NoTrans, Op::Trans}) {
        HostMatrix expected;
        for (int count = 1; count <= 4; ++count) {
          SCOPED_TRACE(std::to_string(n) + ", " + std::to_string(m) + " columns, " +
                       std::to_string(count) + " devices");
          factor.solve_on(devices_of<Exec>(count));
          auto const V = numbers<Exec>(n, m);
          factor.half_solve(exec, op, V);
          if (count == 1) expected = on_host<Exec>(V);
          ASSERT_TRUE(all_same_bits(on_host<Exec>(V), expected));
        }
      }
  }
}
TYPED_TEST(TileTeam, SubstitutesWithTheSameBitsOnAnyDevices) {
  substitutes_with_the_same_bits<TypeParam>({});
  substitutes_with_the_same_bits<TypeParam>(PrecisionRule{1e-4});
}

// Of V = 0 above a row and from that row down the half solves are those of all tiles, without the
// tiles above: NaN there would show.
template <class Exec>
void substitutes_from_a_row_on() {
  Exec const exec;
  std::int64_t const n = 131;
  auto factor = factor_of<Exec>(n, 16, {});
  for (std::int64_t const first : {0, 1, 15, 16, 17, 100, 128, 130, 131})
    for (int count = 1; count <= 3; ++count)
      for (Op const op : {Op::NoTrans, Op::Trans}) {
        SCOPED_TRACE(std::to_string(first) + ", " + std::to_string(count) + " devices");
        factor.solve_on(devices_of<Exec>(count));
        auto const V = numbers<Exec>(n, 5), W = numbers<Exec>(n, 5);
        std::pair const above(std::int64_t{0}, first), skipped(std::int64_t{0}, first / 16 * 16);
        Kokkos::deep_copy(Kokkos::subview(V, above, Kokkos::ALL), 0.0);
        Kokkos::deep_copy(Kokkos::subview(W, above, Kokkos::ALL), 0.0);
        Kokkos::deep_copy(Kokkos::subview(W, skipped, Kokkos::ALL), std::nan(""));
        factor.half_solve(exec, op, V);
        factor.half_solve(exec, op, W, first);
        Kokkos::deep_copy(Kokkos::subview(V, above, Kokkos::ALL), 0.0);
        Kokkos::deep_copy(Kokkos::subview(W, above, Kokkos::ALL), 0.0);
        ASSERT_TRUE(all_same_bits(on_host<Exec>(W), on_host<Exec>(V)));
      }
  for (std::int64_t const bad : {-1, 132})
    EXPECT_TRUE(throws_with<ValueError>(
        "half_solve: first_row is " + std::to_string(bad) + ", must be 0 to 131",
        [&] { factor.half_solve(exec, Op::NoTrans, numbers<Exec>(n, 1), bad); }));
}
TYPED_TEST(TileTeam, SubstitutesFromARowOn) { substitutes_from_a_row_on<TypeParam>(); }

// Y = A X to rounding, and to the bit from run to run.
template <class Exec>
void multiplies_alike() {
  Exec const exec;
  std::int64_t const n = 131;
  HostMatrix const A("strata::test::A", n, n), X = known_solution(n, 5, 3);
  fill_covariance(Kokkos::DefaultHostExecutionSpace(), MaternCovariance{2, 0.1, 0.5, 0},
                  synthetic_locations(n), A);
  auto factor = factor_of<Exec>(n, 16, {});
  for (int count = 1; count <= 4; ++count) {
    factor.solve_on(devices_of<Exec>(count));
    HostMatrix first;
    for (int repetition = 0; repetition < 3; ++repetition) {
      Block<Exec> const Y("strata::test::Y", n, 5);
      Kokkos::deep_copy(Y, std::nan(""));  // it is overwritten
      factor.apply(exec, on_space<Exec>(X), Y);
      HostMatrix const y = on_host<Exec>(Y);
      if (repetition == 0) first = y;
      ASSERT_TRUE(all_same_bits(y, first));
      for (std::int64_t c = 0; c < 5; ++c)
        for (std::int64_t i = 0; i < n; ++i) {
          double sum = 0, size = 0;
          for (std::int64_t k = 0; k < n; ++k) {
            sum += A(i, k) * X(k, c);
            size += std::abs(A(i, k) * X(k, c));
          }
          ASSERT_NEAR(y(i, c), sum, 1e-14 * size);
        }
    }
  }
}
TYPED_TEST(TileTeam, MultipliesWithTheSameBitsFromRunToRun) { multiplies_alike<TypeParam>(); }

template <class Exec>
void solves(PrecisionRule const& rule, dense::Refine refine) {
  Exec const exec;
  std::int64_t const n = 200, m = 7;
  HostMatrix const X = known_solution(n, m, 3);
  for (int count = 1; count <= 4; ++count) {
    auto factor = factor_of<Exec>(n, 16, rule, count);  // solves on what factored it
    Block<Exec> const B("strata::test::B", n, m);
    factor.apply(exec, on_space<Exec>(X), B);
    HostMatrix first;
    for (int repetition = 0; repetition < 3; ++repetition) {
      Block<Exec> const Y("strata::test::Y", n, m);
      auto const report = factor.solve(exec, B, Y, {.refine = refine});
      EXPECT_TRUE(report.converged);
      EXPECT_LE(report.backward_error, std::sqrt(200.0) * 0x1p-52);
      HostMatrix const y = on_host<Exec>(Y);
      if (repetition == 0) first = y;
      ASSERT_TRUE(all_same_bits(y, first));
      for (std::int64_t c = 0; c < m; ++c)
        for (std::int64_t i = 0; i < n; ++i) ASSERT_NEAR(y(i, c), X(i, c), 1e-10);
    }
  }
}
TYPED_TEST(TileTeam, SolvesWithTheSameBitsFromRunToRun) {
  solves<TypeParam>({}, dense::Refine::Automatic);
  solves<TypeParam>(PrecisionRule{1e-4}, dense::Refine::Cg);
  solves<TypeParam>(PrecisionRule{1e-4}, dense::Refine::Gmres);
}

TYPED_TEST(TileTeam, EstimatesTheSameLogDeterminant) {
  TypeParam const exec;
  auto factor = factor_of<TypeParam>(200, 16, PrecisionRule{1e-4});
  auto const alone = factor.log_determinant(exec, {});
  factor.solve_on(devices_of<TypeParam>(3));
  auto const together = factor.log_determinant(exec, {});
  EXPECT_NEAR(together.value, alone.value, 1e-10 * std::abs(alone.value));
  EXPECT_NEAR(together.standard_error, alone.standard_error, 1e-6 * alone.standard_error);
}

// Who calls the generator, and on what it fails.
template <class Exec>
struct Watched {
  TileGenerator<Exec> tiles;
  std::shared_ptr<std::set<std::thread::id>> callers =
      std::make_shared<std::set<std::thread::id>>();
  std::shared_ptr<std::atomic<bool>> fails = std::make_shared<std::atomic<bool>>(false);

  explicit Watched(std::int64_t n) {
    Exec const exec;
    auto const inner = matern_tiles(exec, MaternCovariance{2, 0.1, 0.5, 0}, synthetic_locations(n));
    auto const mutex = std::make_shared<std::mutex>();
    tiles = [=, ids = callers, fail = fails](Exec const& instance, std::int64_t row,
                                             std::int64_t col, TileView<Exec> const& tile) {
      {
        std::lock_guard const lock(*mutex);
        ids->insert(std::this_thread::get_id());
      }
      STRATA_REQUIRE(IoError, !*fail || row < 64, "made to fail at row ", row);
      inner(instance, row, col, tile);
    };
  }
};

TYPED_TEST(TileTeam, CallsAGeneratorFromOtherThreadsOnlyIfItMayBe) {
  TypeParam const exec;
  std::int64_t const n = 100;
  for (bool const anywhere : {false, true}) {
    Watched<TypeParam> const watched(n);
    TileMatrixOptions options;
    options.anywhere = anywhere;
    auto factor = cholesky(devices_of<TypeParam>(3),
                           TileMatrix<TypeParam>::generate(exec, n, 16, watched.tiles, options));
    watched.callers->clear();
    auto const X = numbers<TypeParam>(n, 2);
    factor.apply(exec, X, Block<TypeParam>("strata::test::Y", n, 2));
    if (anywhere) {
      EXPECT_EQ(watched.callers->size(), 3u);
      EXPECT_FALSE(watched.callers->contains(std::this_thread::get_id()));
    } else {
      EXPECT_EQ(*watched.callers, std::set{std::this_thread::get_id()});
    }
  }
}

TYPED_TEST(TileTeam, EndsAllDevicesWithOneError) {
  TypeParam const exec;
  std::int64_t const n = 100;
  Watched<TypeParam> const watched(n);
  TileMatrixOptions options;
  options.anywhere = true;
  auto factor = cholesky(devices_of<TypeParam>(1),
                         TileMatrix<TypeParam>::generate(exec, n, 16, watched.tiles, options));
  auto const B = numbers<TypeParam>(n, 2);
  Block<TypeParam> const X("strata::test::X", n, 2);
  *watched.fails = true;
  for (int count = 1; count <= 4; ++count) {
    factor.solve_on(devices_of<TypeParam>(count));
    EXPECT_TRUE(throws_with<IoError>("made to fail at row", [&] { factor.apply(exec, B, X); }));
    EXPECT_TRUE(
        throws_with<IoError>("made to fail at row", [&] { (void)factor.solve(exec, B, X); }));
  }
  *watched.fails = false;
  EXPECT_TRUE(factor.solve(exec, B, X).converged);
  EXPECT_TRUE(
      throws_with<ValueError>("solve_on: there is no device", [&] { factor.solve_on(Devices{}); }));
}

}  // namespace
