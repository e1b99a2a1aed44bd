// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What becomes of X, of the tiles and of the report when a solve meets obstacles.
#include "StrataTest_BackwardError.hpp"
#include "StrataTest_FailingAllocations.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "core/io/StrataTest_TemporaryFolder.hpp"
#include "ooc/StrataTest_PlainTiles.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::test;
using dense::Refine;

template <class Exec>
class OocSolve : public testing::Test {};
TYPED_TEST_SUITE(OocSolve, Spaces, SpaceNames);

constexpr std::int64_t order = 160, tile = 16;
PrecisionRule const coarse{1e-2};

// A smooth field: tiles of a coarse rule hold, but no classical refinement with them converges.
HostMatrix hard(std::int64_t n = order, double nu = 1.3) {
  HostMatrix const A("strata::test::A", n, n);
  fill_covariance(Kokkos::DefaultHostExecutionSpace(), MaternCovariance{1, 0.3, nu, 0},
                  synthetic_locations(n), A);
  return A;
}

template <class Exec>
struct System {
  using Block = typename TileFactor<Exec>::Block;

  HostMatrix A, B;
  Exec exec;
  Block device_B, X;

  explicit System(HostMatrix const& matrix, std::int64_t columns = 2)
      : A(matrix),
        B(known_solution(static_cast<std::int64_t>(matrix.extent(0)), columns, 3)),
        device_B("strata::test::B", B.extent(0), B.extent(1)),
        X("strata::test::X", B.extent(0), B.extent(1)) {
    Kokkos::deep_copy(device_B, B);
  }

  TileFactor<Exec> factor(TileMatrixOptions const& rule,
                          CholeskyOptions const& options = {}) const {
    return cholesky(devices_of<Exec>(1),
                    TileMatrix<Exec>::from_view(exec, on_space<Exec>(A), tile, rule), options);
  }
  double error() const {
    return backward_error(A, Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), X), B);
  }
  double bound() const { return std::sqrt(static_cast<double>(A.extent(0))) * 0x1p-52; }
};

// The refinement with the first tiles stalls; those of a higher rung bring fp64's backward error.
TYPED_TEST(OocSolve, ClimbsUntilTheRefinementConverges) {
  System<TypeParam> s(hard());
  auto factor = s.factor(coarse);
  ASSERT_TRUE(factor.info().ok());
  ASSERT_EQ(factor.report().attempts.size(), 1u);
  auto const report = factor.solve(s.exec, s.device_B, s.X, {.refine = Refine::Classical});
  EXPECT_TRUE(report.converged);
  EXPECT_GT(report.climbs, 0);
  EXPECT_GT(report.iterations, report.refinement.iterations);
  EXPECT_TRUE(report.obstacle.empty());
  EXPECT_LE(s.error(), s.bound());
  auto const& made = factor.report();
  ASSERT_EQ(made.attempts.size(), 1u + static_cast<std::size_t>(report.climbs));
  EXPECT_EQ(made.attempts.front().outcome, Outcome::NotConverged);
  EXPECT_EQ(made.attempts.front().info, 0);
  EXPECT_EQ(made.attempts.back().outcome, Outcome::Held);
  EXPECT_GT(made.attempts.back().fill_seconds, 0);
  EXPECT_EQ(made.rung, made.attempts.back().rung);
  EXPECT_GT(made.rung, Rung::AsAsked);
  PrecisionRule held = coarse;
  held.accuracy = made.attempts.back().accuracy;
  EXPECT_TRUE(same_bits(stored_matrix(factor.matrix()), stored_matrix(s.factor(held).matrix())));
  auto const again = factor.solve(s.exec, s.device_B, s.X, {.refine = Refine::Classical});
  EXPECT_TRUE(again.converged);
  EXPECT_EQ(again.climbs, 0);
}

TYPED_TEST(OocSolve, SolvesInPlaceWhileTheLadderIsClimbed) {
  System<TypeParam> s(hard());
  auto factor = s.factor(coarse);
  EXPECT_GT(factor.solve(s.exec, s.device_B, s.device_B, {.refine = Refine::Classical}).climbs, 0);
  s.X = s.device_B;
  EXPECT_LE(s.error(), s.bound());
}

TYPED_TEST(OocSolve, StaysWhereTheLadderIsOff) {
  System<TypeParam> s(hard());
  CholeskyOptions options;
  options.ladder = false;
  auto factor = s.factor(coarse, options);
  auto const report = factor.solve(s.exec, s.device_B, s.X, {.refine = Refine::Classical});
  EXPECT_FALSE(report.converged);
  EXPECT_EQ(report.climbs, 0);
  EXPECT_EQ(factor.report().attempts.size(), 1u);
  EXPECT_NEAR(report.backward_error, s.error(), 0.01 * s.error());
}

// The higher rung has a folder of its own, from which a second run takes its columns.
TYPED_TEST(OocSolve, GoesOnFromTheCheckpointOfTheRungThatItClimbedTo) {
  TemporaryFolder const folder;
  CholeskyOptions options;
  options.checkpoint.folder = folder.path();
  for (bool const again : {false, true}) {
    System<TypeParam> s(hard());
    auto factor = s.factor(coarse, options);
    EXPECT_EQ(factor.report().first_column, again ? order / tile : 0);
    EXPECT_TRUE(factor.solve(s.exec, s.device_B, s.X, {.refine = Refine::Classical}).converged);
    EXPECT_EQ(factor.report().first_column, again ? order / tile : 0);
    EXPECT_LE(s.error(), s.bound());
  }
}

// There is host memory for the rung that was asked for and for none above.
TYPED_TEST(OocSolve, KeepsItsFactorWhereThereIsNoMemoryToClimb) {
  System<TypeParam> s(hard());
  TileMatrixOptions options(coarse);
  options.max_bytes = s.factor(options).matrix().report().bytes;
  auto factor = s.factor(options);
  HostMatrix const before = stored_matrix(factor.matrix());
  auto const report =
      factor.solve(s.exec, s.device_B, s.X, {.refine = Refine::Classical, .max_iterations = 5});
  EXPECT_FALSE(report.converged);
  EXPECT_EQ(report.climbs, 0);
  EXPECT_NE(report.obstacle.find(
                "the refinement did not converge with tiles below fp64, and the next rung of the "
                "ladder can't be had: tile matrix: n = 160"),
            std::string::npos)
      << report.obstacle;
  EXPECT_NEAR(report.backward_error, s.error(), 0.01 * s.error());
  EXPECT_EQ(factor.report().rung, Rung::AsAsked);
  EXPECT_TRUE(same_bits(stored_matrix(factor.matrix()), before));
  EXPECT_TRUE(factor.solve(s.exec, s.device_B, s.X).converged);  // with CG, as long as it takes
  EXPECT_LE(s.error(), s.bound());
}

// The k-th allocation fails, k = 1, 2, ...: a MemoryError, or the best X so far and its true error;
// afterwards the object works.
template <class Exec>
void survives_failing_allocations(double nu, Rung first, dense::RefinementOptions const& how) {
  System<Exec> const s(hard(64, nu));
  int climbed = 0, best = 0;
  for (std::int64_t k = 1;; ++k) {
    auto factor = s.factor(coarse);
    ASSERT_EQ(factor.report().rung, first);
    bool failed = false;
    {
      FailingAllocations failing(k);
      try {
        auto const report = factor.solve(s.exec, s.device_B, s.X, how);
        EXPECT_LE(s.error(), 2 * report.backward_error + 0x1p-51);
        climbed += report.climbs > 0;
        best += !report.obstacle.empty();
        EXPECT_TRUE(report.obstacle.empty() || failing.failed());
      } catch (MemoryError const& error) {
        EXPECT_NE(std::string(error.what()).find("made to fail"), std::string::npos)
            << error.what();
      }
      failed = failing.failed();
      failing.relent();
    }
    ASSERT_TRUE(factor.info().ok());
    EXPECT_TRUE(std::isfinite(factor.log_determinant()));
    EXPECT_TRUE(factor.solve(s.exec, s.device_B, s.X).converged);
    EXPECT_LE(s.error(), s.bound());
    if (!failed) break;
  }
  EXPECT_GT(climbed, 0);
  EXPECT_GT(best, 0);
}
TYPED_TEST(OocSolve, SurvivesFailingAllocationsInAClimb) {
  survives_failing_allocations<TypeParam>(1.8, Rung::AsAsked, {.refine = Refine::Classical});
}
// Where the climb gives up the factor's tiles, the rung that held is made again, not the first.
TYPED_TEST(OocSolve, SurvivesFailingAllocationsInASecondClimb) {
  survives_failing_allocations<TypeParam>(2.0, Rung::StricterAccuracy,
                                          {.refine = Refine::Classical, .max_iterations = 1});
}

// A climb would read what X has overwritten.
TYPED_TEST(OocSolve, XMustNotOverlapTheViewThatTheMatrixReads) {
  System<TypeParam> s(hard(64));
  using Range = Kokkos::pair<int, int>;
  auto const given = on_space<TypeParam>(s.A);
  auto factor = cholesky(devices_of<TypeParam>(1),
                         TileMatrix<TypeParam>::from_view(s.exec, given, tile, coarse));
  auto const columns = Kokkos::subview(given, Kokkos::ALL, Range(3, 5));
  EXPECT_TRUE(throws_with<ValueError>("solve: X overlaps A, which the matrix in tiles reads",
                                      [&] { (void)factor.solve(s.exec, s.device_B, columns); }));
  EXPECT_TRUE(factor.solve(s.exec, columns, s.X).converged);  // may be read
  EXPECT_TRUE(same_bits(Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), given), s.A));
}

// NOLINTBEGIN(bugprone-use-after-move)
TYPED_TEST(OocSolve, WhatWasMovedFromIsRefused) {
  System<TypeParam> s(hard(64));
  auto const refused = [](std::string const& name, auto const& call) {
    EXPECT_TRUE(throws_with<ValueError>(name + ": moved from", call));
  };
  auto matrix = TileMatrix<TypeParam>::from_view(s.exec, on_space<TypeParam>(s.A), tile);
  auto kept = std::move(matrix);
  refused("TileMatrix", [&] { (void)matrix.tile(0, 0); });
  refused("TileMatrix", [&] { (void)matrix.tiles(); });
  refused("TileMatrix", [&] { matrix.round_anew(coarse); });
  refused("TileMatrix", [&] { (void)cholesky(devices_of<TypeParam>(1), std::move(matrix)); });
  DeviceTeam<TypeParam> team(devices_of<TypeParam>(1));
  auto factor = cholesky(team, std::move(kept));
  auto other = std::move(factor);
  refused("TileFactor", [&] { (void)factor.info(); });
  refused("TileFactor", [&] { (void)factor.log_determinant(); });
  refused("TileFactor", [&] { (void)factor.solve(s.exec, s.device_B, s.X); });
  matrix = std::move(other).take();
  EXPECT_EQ(matrix.tiles(), 4);
  refused("TileFactor", [&] { (void)other.info(); });
  refused("TileFactor", [&] { (void)other.matrix(); });
  refused("TileFactor", [&] { (void)std::move(other).take(); });
  auto const copy = std::move(team);
  EXPECT_EQ(copy.devices().size(), 1u);
  refused("DeviceTeam", [&] { (void)team.devices(); });
  refused("DeviceTeam", [&] { team.release(); });
  matrix.round_anew({});
  refused("DeviceTeam", [&] { (void)cholesky(team, std::move(matrix)); });
}
// NOLINTEND(bugprone-use-after-move)

// [1, c; c, c^2 (1 - 1e-6)] along the diagonals: rounded down, c makes it positive definite.
TYPED_TEST(OocSolve, FindsThatAIsIndefiniteByLessThanTheTilesTell) {
  HostMatrix const A("strata::test::indefinite", 2 * tile, 2 * tile);
  double const c = 0.7003;
  for (std::int64_t i = 0; i < tile; ++i) {
    A(i, i) = 1;
    A(i, i + tile) = A(i + tile, i) = c;
    A(i + tile, i + tile) = c * c * (1 - 1e-6);
  }
  System<TypeParam> s(A);
  auto factor = s.factor(PrecisionRule{1e-1});
  ASSERT_TRUE(factor.info().ok());
  auto const report = factor.solve(s.exec, s.device_B, s.X);
  EXPECT_FALSE(report.converged);
  EXPECT_EQ(factor.info().order(), tile + 1);
  EXPECT_EQ(factor.report().attempts.front().outcome, Outcome::SeemsIndefinite);
  EXPECT_EQ(factor.report().attempts.back().rung, Rung::Fp64);
  EXPECT_EQ(factor.report().attempts.back().outcome, Outcome::BrokeDown);
  EXPECT_TRUE(throws_with<ValueError>("solve: there is no factor; the minor of order 17",
                                      [&] { (void)factor.solve(s.exec, s.device_B, s.X); }));
}

// Of A with subnormal entries, and of X with such entries, which are rounded to few bits.
TYPED_TEST(OocSolve, StatesTheTrueErrorAtBothEndsOfTheRangeOfFp64) {
  std::int64_t const n = 40;
  double const rounding = std::sqrt(static_cast<double>(n)) * 0x1p-52;
  for (auto const& [size, size_of_b] : sizes_at_the_ends_of_fp64) {
    HostMatrix const A = generate(MatrixKind::Geometric, n, {.condition = 100});
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i) A(i, j) *= size;
    System<TypeParam> s(A);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::size_t c = 0; c < 2; ++c) s.B(i, c) *= size_of_b;
    Kokkos::deep_copy(s.device_B, s.B);
    for (Refine const refine : {Refine::None, Refine::Automatic}) {
      auto factor = s.factor(PrecisionRule{1e-3});
      ASSERT_TRUE(factor.info().ok()) << size;
      auto const report = factor.solve(s.exec, s.device_B, s.X, {.refine = refine});
      double const truth = s.error();
      EXPECT_NEAR(report.backward_error, truth, 0.01 * truth + 2 * rounding)
          << size << " " << size_of_b << " " << name_of(refine);
      EXPECT_EQ(report.converged, truth <= 1.01 * rounding)
          << size << " " << size_of_b << " " << truth;
    }
  }
}

// Rows of sizes from 1e-100 to 1e100: the error is that of A as given, as is what "converged" says.
TYPED_TEST(OocSolve, JudgesAAsGiven) {
  for (double const spread : {1e4, 1e50, 1e200}) {
    HostMatrix const A = hard(96);
    spread_diagonal(A, spread);
    System<TypeParam> s(A);
    auto factor = s.factor(PrecisionRule{1e-4});
    ASSERT_TRUE(factor.info().ok()) << spread;
    auto const report = factor.solve(s.exec, s.device_B, s.X);
    EXPECT_TRUE(report.converged) << spread;
    EXPECT_NEAR(report.backward_error, s.error(), 0.5 * s.error() + 0x1p-51) << spread;
    EXPECT_LE(report.hpl_scaled_residual, dense::hpl_threshold);
    EXPECT_LE(report.slate_error, dense::slate_threshold);
    double norm = 0;
    for (std::size_t i = 0; i < 96; ++i) {
      double sum = 0;
      for (std::size_t k = 0; k < 96; ++k) sum += std::abs(A(i, k));
      norm = std::max(norm, sum);
    }
    EXPECT_NEAR(factor.matrix().given_norm_inf(), norm, 1e-13 * norm);
  }
}

// 1e-300 x = 1e100 has no solution in fp64: its column is 0 and not converged, the others are
// right.
TYPED_TEST(OocSolve, ASolutionBeyondTheRangeOfFp64IsNotSaidToBeOne) {
  std::int64_t const n = 6;
  HostMatrix const A("strata::test::tiny", n, n);
  System<TypeParam> s(A, 3);
  for (std::int64_t i = 0; i < n; ++i) {
    A(i, i) = 1e-300 * static_cast<double>(i + 1);
    s.B(i, 0) = 1e-300, s.B(i, 1) = 1e100, s.B(i, 2) = -1e-290;
  }
  Kokkos::deep_copy(s.device_B, s.B);
  auto factor = s.factor(PrecisionRule{});
  auto const report = factor.solve(s.exec, s.device_B, s.X);
  EXPECT_FALSE(report.converged);
  EXPECT_EQ(report.backward_error, 1);
  auto const X = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), s.X);
  for (std::int64_t i = 0; i < n; ++i) {
    EXPECT_NEAR(X(i, 0), 1 / static_cast<double>(i + 1), 1e-15);
    EXPECT_EQ(X(i, 1), 0);
    EXPECT_NEAR(X(i, 2), -1e10 / static_cast<double>(i + 1), 1e-5);
  }
}

TYPED_TEST(OocSolve, RefusesNumbersThatAreNotFiniteAndRowsThatOverflow) {
  System<TypeParam> s(hard(40));
  auto factor = s.factor(PrecisionRule{});
  s.B(3, 1) = std::numeric_limits<double>::infinity();
  Kokkos::deep_copy(s.device_B, s.B);
  EXPECT_TRUE(throws_with<ValueError>("solve: column 1 of B holds a non-finite number",
                                      [&] { (void)factor.solve(s.exec, s.device_B, s.X); }));
  for (std::int64_t j = 0; j < 40; ++j)
    for (std::int64_t i = 0; i < 40; ++i) s.A(i, j) *= 1e308;
  EXPECT_TRUE(throws_with<ValueError>("tile matrix: the sum of a row of A overflows; scale A down",
                                      [&] { (void)s.factor(PrecisionRule{}); }));
}

}  // namespace
