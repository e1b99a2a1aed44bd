// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Tiles, factors and solutions of block-cyclic matrices, beside those of the same matrix on one
// rank.
#include "StrataTest_BlockCyclic.hpp"
#include "StrataTest_FailingAllocations.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "ooc/StrataTest_Tiles.hpp"
#include <ooc/Strata_BlockCyclicTiles.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::test;

template <class Exec>
class BlockCyclicTiles : public testing::Test {};
TYPED_TEST_SUITE(BlockCyclicTiles, Spaces, SpaceNames);

// The lower triangle; what is above it and the padding are NaN.
SpreadMatrix spread_lower(HostMatrix const& A, Spread const& spread) {
  auto const n = static_cast<std::int64_t>(A.extent(0));
  SpreadMatrix matrix(spread, n, n);
  matrix.for_each([&](std::int64_t i, std::int64_t j, double& x) {
    if (i >= j) x = A(i, j);
  });
  return matrix;
}
SpreadMatrix spread_all(HostMatrix const& A, Spread const& spread) {
  SpreadMatrix matrix(spread, static_cast<std::int64_t>(A.extent(0)),
                      static_cast<std::int64_t>(A.extent(1)));
  matrix.for_each([&](std::int64_t i, std::int64_t j, double& x) { x = A(i, j); });
  return matrix;
}

// A few of the spreads of these ranks, other ones for another k.
std::vector<Spread> some_spreads(std::size_t k) {
  auto const all = spreads(test_ranks().size());
  std::vector<Spread> some;
  for (std::size_t s = 0; s < 3; ++s) some.push_back(all[(k + s * all.size() / 3) % all.size()]);
  some.push_back(all[all.size() - 1 - k % 2]);
  return some;
}

struct Case {
  std::int64_t n, tile;
  PrecisionRule rule;
  double spread_of_scales = 0;
  double range = 0.1;
};
PrecisionRule in_fp32_below(double accuracy) {
  PrecisionRule rule{accuracy};
  rule.precisions = {Precision::fp64, Precision::fp32};
  return rule;
}
std::vector<Case> cases() {
  return {{0, 8, {}},
          {1, 8, {}},
          {15, 8, {}, 3},
          {61, 8, {}},
          {64, 16, {}, 4},
          {61, 64, {}},  // one tile
          {100, 16, PrecisionRule{1e-5}, 0, 0.02627},
          {61, 8, in_fp32_below(1e-6), 2}};
}

template <class Exec>
TileMatrix<Exec> of_one_rank(HostMatrix const& A, Case const& c) {
  return TileMatrix<Exec>::from_view(Exec(), on_space<Exec>(A), c.tile, c.rule);
}
template <class Exec>
TileMatrix<Exec> of_blocks(SpreadMatrix& A, Case const& c, RankGrid const& grid = {0, 0}) {
  TileMatrixOptions options(c.rule);
  options.grid = grid;
  return from_block_cyclic<Exec>(Exec(), A.view(), c.tile, options);
}
// Of the tiles: all that these ranks can have.
std::vector<RankGrid> tile_grids() {
  int const ranks = test_ranks().size();
  std::vector<RankGrid> grids;
  for (int rows = 1; rows <= ranks; ++rows)
    if (ranks % rows == 0) grids.push_back({rows, ranks / rows});
  return grids;
}
// With zeros above the diagonal, of which the tiles on it keep what they have been given.
HostMatrix lower_of(HostMatrix const& A) {
  for (std::size_t j = 0; j < A.extent(1); ++j)
    for (std::size_t i = 0; i < j; ++i) A(i, j) = 0;
  return A;
}
HostMatrix matrix_of(Case const& c) {
  return lower_of(matern_matrix(c.n, c.range, c.spread_of_scales));
}

template <class F>
void for_each_case(F const& f) {
  std::size_t k = 0;
  for (auto const& c : cases())
    for (auto const& spread : some_spreads(++k)) {
      SCOPED_TRACE(testing::Message()
                   << "n = " << c.n << ", blocks " << spread.row_block << " x " << spread.col_block
                   << " on " << spread.rows << " x " << spread.cols);
      f(c, spread);
    }
}

TYPED_TEST(BlockCyclicTiles, HaveTheBitsOfOneRank) {
  for_each_case([](Case const& c, Spread const& spread) {
    auto const A = matrix_of(c);
    auto blocks = spread_lower(A, spread);
    auto const whole = of_one_rank<TypeParam>(A, c);
    for (RankGrid const& grid : tile_grids())
      expect_same_matrix(of_blocks<TypeParam>(blocks, c, grid), whole);
  });
}

// A = L L^T column by column.
HostMatrix plain_factor(HostMatrix const& A) {
  std::size_t const n = A.extent(0);
  HostMatrix const L("strata::test::L", n, n);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = j; i < n; ++i) {
      double sum = A(i, j);
      for (std::size_t k = 0; k < j; ++k) sum -= L(i, k) * L(j, k);
      L(i, j) = i == j ? std::sqrt(sum) : sum / L(j, j);
    }
  return L;
}

TYPED_TEST(BlockCyclicTiles, GiveTheFactorBack) {
  for_each_case([](Case const& c, Spread const& spread) {
    auto const A = matrix_of(c);
    auto const whole = cholesky(devices_of<TypeParam>(1), of_one_rank<TypeParam>(A, c));
    auto blocks = spread_lower(A, spread);
    auto const grids = tile_grids();
    auto const& grid = grids[static_cast<std::size_t>(c.n + spread.rows) % grids.size()];
    auto factor = cholesky(devices_of<TypeParam>(1), of_blocks<TypeParam>(blocks, c, grid));
    ASSERT_TRUE(factor.info().ok());
    expect_same_matrix(factor.matrix(), whole.matrix());
    EXPECT_EQ(factor.log_determinant(), whole.log_determinant());
    // the bits of one rank's tiles, unscaled by powers of two, on any grid, and near to the plain
    // factor
    HostMatrix const expected = stored_matrix(whole.matrix()), plain = plain_factor(A);
    double const bound = c.rule.accuracy > 0 ? 1e-3 : 1e-12;
    auto const check = [&](std::int64_t i, std::int64_t j, double x) {
      if (i < j) {
        ASSERT_TRUE(std::isnan(x));
        return;
      }
      ASSERT_EQ(x, expected(i, j) / whole.matrix().scaling()[static_cast<std::size_t>(i)]);
      ASSERT_NEAR(x, plain(i, j), bound * plain(i, i));
    };
    for (auto const& other : some_spreads(static_cast<std::size_t>(c.n))) {
      SpreadMatrix L(other, c.n, c.n);
      copy_factor(factor, L.view());
      L.for_each(check);
    }
    copy_factor(std::move(factor), blocks.view());  // to A's place
    blocks.for_each(check);
  });
}

HostMatrix right_hand_sides(std::int64_t n, std::int64_t m) {
  HostMatrix const B("strata::test::B", static_cast<std::size_t>(n), static_cast<std::size_t>(m));
  for (std::size_t j = 0; j < B.extent(1); ++j)
    for (std::size_t i = 0; i < B.extent(0); ++i)
      B(i, j) = std::sin(static_cast<double>(1 + i * 3 + j));
  return B;
}

template <class Exec>
HostMatrix solved_on_one_rank(HostMatrix const& A, HostMatrix const& B, Case const& c) {
  using Block = typename TileFactor<Exec>::Block;
  auto whole = cholesky(devices_of<Exec>(1), of_one_rank<Exec>(A, c));
  Block const V("strata::test::V", B.extent(0), B.extent(1));
  Kokkos::deep_copy(V, B);
  EXPECT_TRUE(whole.solve(Exec(), V, V).converged);
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), V);
}

TYPED_TEST(BlockCyclicTiles, SolveForSidesThatAreSpreadToo) {
  TypeParam const exec;
  for_each_case([&](Case const& c, Spread const& spread) {
    auto const A = matrix_of(c), B = right_hand_sides(c.n, 3);
    HostMatrix const expected = solved_on_one_rank<TypeParam>(A, B, c);
    auto blocks = spread_lower(A, spread);
    auto factor = cholesky(devices_of<TypeParam>(1), of_blocks<TypeParam>(blocks, c));
    auto const some = some_spreads(static_cast<std::size_t>(c.n));
    for (std::size_t s = 0; s < some.size(); ++s) {
      auto b = spread_all(B, some[s]);
      SpreadMatrix x(some[(s + 1) % some.size()], c.n, 3);
      bool const in_place = s == 2;
      auto const report = ooc::solve(exec, factor, b.view(), in_place ? b.view() : x.view());
      EXPECT_TRUE(report.converged);
      (in_place ? b : x).for_each([&](std::int64_t i, std::int64_t j, double value) {
        ASSERT_EQ(value, expected(i, j)) << i << ", " << j;
      });
      if (in_place) continue;
      b.for_each([&](std::int64_t i, std::int64_t j, double value) { ASSERT_EQ(value, B(i, j)); });
    }
  });
}

// sub(A) and sub(B) of larger arrays, as ScaLAPACK's routines take them.
TYPED_TEST(BlockCyclicTiles, SolveWithPartsOfMatrices) {
  TypeParam const exec;
  Case const c{45, 8, {}};
  auto const A = matrix_of(c), B = right_hand_sides(c.n, 2);
  HostMatrix const expected = solved_on_one_rank<TypeParam>(A, B, c);
  for (auto const& spread : some_spreads(1)) {
    SpreadMatrix a(spread, 60, 50), b(spread, 50, 7);
    a.for_each([&](std::int64_t i, std::int64_t j, double& x) {
      if (i - 7 >= j - 3 && j >= 3 && i < 52 && j < 48) x = A(i - 7, j - 3);
    });
    b.for_each([&](std::int64_t i, std::int64_t j, double& x) {
      if (i >= 2 && i < 47 && j >= 4 && j < 6) x = B(i - 2, j - 4);
    });
    auto factor = cholesky(devices_of<TypeParam>(1),
                           from_block_cyclic<TypeParam>(exec, a.view().part(7, 3, 45, 45), 8));
    auto const part = b.view().part(2, 4, 45, 2);
    EXPECT_TRUE(ooc::solve(exec, factor, part, part).converged);
    b.for_each([&](std::int64_t i, std::int64_t j, double x) {
      if (i >= 2 && i < 47 && j >= 4 && j < 6)
        ASSERT_EQ(x, expected(i - 2, j - 4));
      else
        ASSERT_TRUE(std::isnan(x));
    });
  }
}

// A smooth field, whose coarse tiles break down: they are rounded anew, from the blocks.
TYPED_TEST(BlockCyclicTiles, ClimbTheLadderFromTheirBlocks) {
  Case const c{96, 16, PrecisionRule{1e-2}};
  HostMatrix const A("strata::test::A", 96, 96);
  fill_covariance(Kokkos::DefaultHostExecutionSpace(), MaternCovariance{1, 0.3, 3.5, 1e-9},
                  synthetic_locations(96), A);
  (void)lower_of(A);
  auto const whole = cholesky(devices_of<TypeParam>(1), of_one_rank<TypeParam>(A, c));
  ASSERT_GT(whole.report().attempts.size(), 1u);
  for (auto const& spread : some_spreads(2)) {
    auto blocks = spread_lower(A, spread);
    auto const factor = cholesky(devices_of<TypeParam>(1), of_blocks<TypeParam>(blocks, c));
    ASSERT_EQ(factor.info().ok(), whole.info().ok());
    ASSERT_EQ(factor.report().attempts.size(), whole.report().attempts.size());
    if (whole.info().ok()) expect_same_matrix(factor.matrix(), whole.matrix());
  }
}

// While it lives, the largest View of each label.
class Largest {
 public:
  Largest() : saved_(Kokkos::Tools::Experimental::get_callbacks()) {
    bytes_.clear();
    Kokkos::Tools::Experimental::set_allocate_data_callback(
        [](Kokkos::Profiling::SpaceHandle, char const* name, void const*, std::uint64_t bytes) {
          std::lock_guard const lock(mutex_);
          bytes_[name] = std::max(bytes_[name], bytes);
        });
  }
  ~Largest() { Kokkos::Tools::Experimental::set_callbacks(saved_); }
  Largest(Largest const&) = delete;
  Largest& operator=(Largest const&) = delete;
  std::uint64_t bytes(std::string const& label) const { return bytes_[label]; }
  std::uint64_t all() const {
    std::uint64_t sum = 0;
    for (auto const& [label, bytes] : bytes_)
      if (!label.starts_with("strata::test")) sum += bytes;
    return sum;
  }

 private:
  inline static std::mutex mutex_;
  inline static std::map<std::string, std::uint64_t> bytes_;
  Kokkos::Tools::Experimental::EventSet saved_;
};

// Beside its tiles a rank has a column of them, never the triangle.
TYPED_TEST(BlockCyclicTiles, HoldAColumnOfTilesAtATime) {
  Case const c{1024, 16, {}};
  auto const A = matrix_of(c);
  std::uint64_t const column = std::uint64_t{8} * 1024 * 16, triangle = 1024 * column / 32;
  for (auto const& spread : some_spreads(3)) {
    auto blocks = spread_lower(A, spread);
    auto const view = blocks.view();
    auto const ranks = static_cast<std::uint64_t>(view.comm()->size());
    Largest const largest;
    auto const matrix = from_block_cyclic<TypeParam>(TypeParam(), view, c.tile);
    EXPECT_LE(largest.bytes("strata::ooc::arrived_tiles::column"), column);
    EXPECT_LE(largest.bytes("strata::comm::block_cyclic::message"), column);
    // its tiles of fp64 with their trailers, the column, two messages and what measures them
    EXPECT_LE(largest.all(), triangle * 9 / 8 / ranks + 4 * column);
    EXPECT_GT(largest.all(), triangle / ranks / 2);
  }
}

TYPED_TEST(BlockCyclicTiles, GiveTheFactorBackAColumnOfTilesAtATime) {
  Case const c{256, 16, {}};
  auto blocks = spread_lower(matrix_of(c), some_spreads(2)[1]);
  auto factor = cholesky(devices_of<TypeParam>(1), of_blocks<TypeParam>(blocks, c));
  SpreadMatrix L(some_spreads(3)[2], c.n, c.n);
  auto const view = L.view();
  Largest const largest;
  copy_factor(factor, view);
  std::uint64_t const column = std::uint64_t{8} * 256 * 16;
  EXPECT_LE(largest.bytes("strata::comm::block_cyclic::message"), column);
  EXPECT_LE(largest.bytes("strata::ooc::copy_factor::column"), column);
  EXPECT_GT(largest.bytes("strata::ooc::copy_factor::column"), 0u);
}

// --- what is refused ---

TYPED_TEST(BlockCyclicTiles, ReportNumbersThatAreNotFiniteAndMinorsThatAreNotPositive) {
  Case const c{50, 8, {}};
  for (auto const& spread : some_spreads(4)) {
    auto const A = matrix_of(c);
    A(30, 20) = NAN;
    auto blocks = spread_lower(A, spread);
    EXPECT_TRUE(throws_with<ValueError>(
        "tile matrix: the tile of rows 25 to 32 and columns 17 to 24 holds a number that is not",
        [&] { (void)of_blocks<TypeParam>(blocks, c); }));
    for (std::int64_t const bad : {0, 30, 49}) {
      auto const B = matrix_of(c);
      B(bad, bad) = -0.5;
      auto indefinite = spread_lower(B, spread);
      auto const factor = cholesky(devices_of<TypeParam>(1), of_blocks<TypeParam>(indefinite, c));
      EXPECT_EQ(factor.info().order(), bad + 1);
      EXPECT_TRUE(throws_with<ValueError>("copy_factor: there is no factor; the minor of order " +
                                              std::to_string(bad + 1) + " is not",
                                          [&] { copy_factor(factor, indefinite.view()); }));
    }
  }
}

TYPED_TEST(BlockCyclicTiles, RefuseWhatDoesNotFit) {
  TypeParam const exec;
  Case const c{50, 8, {}};
  int const ranks = test_ranks().size();
  Spread const spread{1, ranks, 4, 3};
  auto const A = matrix_of(c);
  auto blocks = spread_lower(A, spread);
  auto factor = cholesky(devices_of<TypeParam>(1), of_blocks<TypeParam>(blocks, c));
  SpreadMatrix wide(spread, 50, 51), x(spread, 50, 2), y(spread, 50, 3), z(spread, 49, 2);
  EXPECT_TRUE(throws_with<ShapeError>("tile matrix: A is 50 x 51, must be square", [&] {
    (void)from_block_cyclic<TypeParam>(exec, wide.view(), 8);
  }));
  EXPECT_TRUE(throws_with<ShapeError>("copy_factor: L is 50 x 51, the factor has order 50",
                                      [&] { copy_factor(factor, wide.view()); }));
  auto const refuses = [&](SpreadMatrix& B, SpreadMatrix& X, std::string const& text) {
    EXPECT_TRUE(
        throws_with<ShapeError>(text, [&] { (void)ooc::solve(exec, factor, B.view(), X.view()); }));
    EXPECT_EQ(X.count(), 0);
  };
  refuses(x, y, "solve: B is 50 x 2, X is 50 x 3, the matrix has order 50");
  refuses(z, z, "solve: B is 49 x 2, X is 49 x 2, the matrix has order 50");
  x.for_each([](std::int64_t, std::int64_t, double& number) { number = NAN; });
  SpreadMatrix solution(spread, 50, 2);
  EXPECT_TRUE(
      throws_with<ValueError>("solve: column 0 of B holds a non-finite number, in row 0",
                              [&] { (void)ooc::solve(exec, factor, x.view(), solution.view()); }));
  EXPECT_EQ(solution.count(), 0);
  auto const a = blocks.view();
  EXPECT_TRUE(throws_with<ValueError>("solve: X overlaps A, of which residuals are made", [&] {
    (void)ooc::solve(exec, factor, x.view(), a.part(0, 0, 50, 2));
  }));
  EXPECT_TRUE(throws_with<ValueError>("copy_factor: L overlaps A, of which residuals are made",
                                      [&] { copy_factor(factor, a); }));
  if (ranks == 1) return;
  auto const alone = std::make_shared<Communicator const>();
  std::vector<double> numbers(50 * 50);
  std::array<int, 9> const descriptor{1, 0, 50, 2, 50, 2, 0, 0, 50},
      square{1, 0, 50, 50, 50, 50, 0, 0, 50};
  BlockCyclic const b(alone, {}, descriptor, numbers.data());
  EXPECT_TRUE(throws_with<ValueError>("solve: B is on rank 0 of 1, the factor on rank ",
                                      [&] { (void)ooc::solve(exec, factor, b, b); }));
  BlockCyclic const l(alone, {}, square, numbers.data());
  EXPECT_TRUE(throws_with<ValueError>("copy_factor: L is on rank 0 of 1, the factor on rank ",
                                      [&] { copy_factor(factor, l); }));
}

// What one rank has no memory for, or an instance throws, all throw; nobody waits.
TYPED_TEST(BlockCyclicTiles, ThrowTogetherWhereOneHasNoMemory) {
  Case const c{50, 8, in_fp32_below(1e-6)};
  Communicator const comm = test_ranks();
  int const ranks = comm.size(), last = ranks - 1;
  auto const A = matrix_of(c);
  auto blocks = spread_lower(A, {1, ranks, 4, 3});
  std::string const from = ranks == 1 ? "" : "rank " + std::to_string(last) + ": ";
  for (std::string const label :
       {"strata::ooc::tile_matrix::tile", "strata::ooc::tile_matrix::sums",
        "strata::ooc::tile_matrix::rounded", "strata::ooc::arrived_tiles::column"}) {
    if (ranks == 1 && label.ends_with("column")) continue;  // one rank reads its own blocks
    FailingAllocations const failing(label, [&] { return comm.rank() == last; });
    EXPECT_TRUE(throws_with<MemoryError>(from + label, [&] {
      (void)of_blocks<TypeParam>(blocks, c);
    })) << label;
  }
  EXPECT_TRUE(cholesky(devices_of<TypeParam>(1), of_blocks<TypeParam>(blocks, c)).info().ok());
}

}  // namespace
