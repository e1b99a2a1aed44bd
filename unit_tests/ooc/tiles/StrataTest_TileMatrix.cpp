// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "ooc/StrataTest_Tiles.hpp"
#include <core/problems/Strata_Generators.hpp>
#include <geostat/Strata_MaternTiles.hpp>
#include <ooc/team/vendor/Strata_Numa.hpp>
#include <ooc/tiles/Strata_TileMatrix.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <vector>

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::geostat;
using namespace strata::test;

template <class Exec>
class TileMatrixOn : public testing::Test {};
TYPED_TEST_SUITE(TileMatrixOn, Spaces, SpaceNames);

// Each stored tile, its scale applied, is D A D to the rounding of its own precision.
template <class Exec>
void holds_the_matrix(std::int64_t n, std::int64_t nb, PrecisionRule const& rule) {
  Exec const exec;
  HostMatrix const A = matern_matrix(n, 0.03, 3.0);
  auto const matrix = TileMatrix<Exec>::from_view(exec, on_space<Exec>(A), nb, rule);
  ASSERT_EQ(matrix.tiles(), (n + nb - 1) / nb);
  EXPECT_EQ(matrix.report().bytes, TileMatrix<Exec>::bytes_needed(n, nb, matrix.map()));
  double norm = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    double const d = matrix.scaling()[static_cast<std::size_t>(i)];
    EXPECT_TRUE(d * d * A(i, i) >= 0.5 && d * d * A(i, i) <= 2) << d << ' ' << A(i, i);
    double sum = 0;
    for (std::int64_t j = 0; j < n; ++j)
      sum += d * matrix.scaling()[static_cast<std::size_t>(j)] * std::abs(A(i, j));
    norm = std::max(norm, sum);
  }
  EXPECT_NEAR(matrix.norm_inf(), norm, 1e-12 * norm);
  // ||.||_F of each tile, of a diagonal one with both triangles, and of the whole; traces of
  // diagonal tiles.
  std::vector<double> squares(matrix.norms().squares.size(), 0);
  std::vector<double> traces(matrix.norms().traces.size(), 0);
  double whole = 0;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) {
      double const h = A(i, j) * matrix.scaling()[static_cast<std::size_t>(i)] *
                       matrix.scaling()[static_cast<std::size_t>(j)];
      whole += h * h;
      if (i == j) traces[static_cast<std::size_t>(i / nb)] += h;
      if (i / nb >= j / nb) squares[tile_number(i / nb, j / nb, matrix.tiles())] += h * h;
    }
  if (rule.accuracy > 0) {
    for (std::size_t k = 0; k < squares.size(); ++k)
      EXPECT_NEAR(matrix.norms().squares[k], squares[k], 1e-13 * squares[k]) << k;
    for (std::size_t k = 0; k < traces.size(); ++k)
      EXPECT_NEAR(matrix.norms().traces[k], traces[k], 1e-13 * traces[k]) << k;
    EXPECT_NEAR(matrix.norms().frobenius(), std::sqrt(whole), 1e-13 * std::sqrt(whole));
  }
  HostMatrix const H = stored_matrix(matrix);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = j; i < n; ++i) {
      auto const precision = traits(matrix.map().at(i / nb, j / nb));
      double const exact = A(i, j) * matrix.scaling()[static_cast<std::size_t>(i)] *
                           matrix.scaling()[static_cast<std::size_t>(j)];
      double const largest =
          std::sqrt(matrix.norms().squares[tile_number(i / nb, j / nb, matrix.tiles())]);
      double const least = largest / precision.max_finite * precision.min_normal;
      EXPECT_LE(std::abs(H(i, j) - exact), precision.unit_roundoff * std::max(exact, 2 * least))
          << i << ", " << j << ' ' << precision.name;
    }
  }
}
TYPED_TEST(TileMatrixOn, HoldsEachTileInItsPrecision) {
  for (std::int64_t const n : {0, 1, 15, 16, 17, 100}) {
    SCOPED_TRACE(n);
    holds_the_matrix<TypeParam>(n, 16, {});
    holds_the_matrix<TypeParam>(n, 16, PrecisionRule{1e-4});
  }
  holds_the_matrix<TypeParam>(200, 8, PrecisionRule{1e-5});
  holds_the_matrix<TypeParam>(5, 100, PrecisionRule{1e-5});
}

TYPED_TEST(TileMatrixOn, UsesAllFourPrecisionsOnAWeaklyCorrelatedField) {
  TypeParam const exec;
  auto const generator =
      matern_tiles(exec, MaternCovariance{1, 0.02627, 0.5, 0}, synthetic_locations(1024));
  auto const matrix =
      TileMatrix<TypeParam>::generate(exec, 1024, 32, generator, PrecisionRule{1e-7});
  for (std::int64_t const count : matrix.map().histogram()) EXPECT_GT(count, 0);
  EXPECT_LT(matrix.report().bytes, TileMatrix<TypeParam>::bytes_needed(1024, 32));
}

TYPED_TEST(TileMatrixOn, IsTheSameFromAViewAndFromAGenerator) {
  TypeParam const exec;
  for (double const nu : {0.5, 0.8, 2.5}) {
    MaternCovariance const covariance{2.0, 0.1, nu, 0.01};
    Locations const locations = synthetic_locations(50);
    HostMatrix const A("strata::test::A", 50, 50);
    fill_covariance(Kokkos::DefaultHostExecutionSpace(), covariance, locations, A);
    auto const view = TileMatrix<TypeParam>::from_view(exec, on_space<TypeParam>(A), 16);
    auto const generated =
        TileMatrix<TypeParam>::generate(exec, 50, 16, matern_tiles(exec, covariance, locations));
    HostMatrix const H = stored_matrix(view), G = stored_matrix(generated);
    for (std::size_t j = 0; j < 50; ++j)
      for (std::size_t i = j; i < 50; ++i) EXPECT_NEAR(G(i, j), H(i, j), 1e-14);
  }
}

TYPED_TEST(TileMatrixOn, IsFilledAgainInTheSameMemory) {
  TypeParam const exec;
  Locations const locations = synthetic_locations(100);
  auto const tiles = [&](double range) {
    return matern_tiles(exec, MaternCovariance{1, range, 0.5, 0}, locations);
  };
  auto matrix = TileMatrix<TypeParam>::generate(exec, 100, 16, tiles(0.1));
  std::byte* const memory = matrix.data(0, 0);
  for (auto const& rule : {PrecisionRule{1e-4}, PrecisionRule{}}) {
    matrix.refill(exec, tiles(0.02), rule);
    EXPECT_EQ(matrix.data(0, 0), memory);
    auto const fresh = TileMatrix<TypeParam>::generate(exec, 100, 16, tiles(0.02), rule);
    EXPECT_TRUE(matrix.map() == fresh.map());
    EXPECT_EQ(matrix.hash(), fresh.hash());
    HostMatrix const H = stored_matrix(matrix), G = stored_matrix(fresh);
    for (std::size_t j = 0; j < 100; ++j)
      for (std::size_t i = j; i < 100; ++i) ASSERT_EQ(H(i, j), G(i, j));
  }
}

TYPED_TEST(TileMatrixOn, TellsHowFarItIsFilled) {
  TypeParam const exec;
  auto const tiles =
      matern_tiles(exec, MaternCovariance{1, 0.03, 0.5, 0}, synthetic_locations(100));
  for (auto const& rule : {PrecisionRule{}, PrecisionRule{1e-4}}) {
    std::vector<double> parts;
    TileMatrixOptions options(rule);
    options.on_progress = [&](double part) { parts.push_back(part); };
    auto matrix = TileMatrix<TypeParam>::generate(exec, 100, 16, tiles, options);
    EXPECT_EQ(parts.size(), rule.may_mix() ? 56u : 28u);  // 7 rows of tiles, mixed ones twice
    EXPECT_EQ(std::ranges::adjacent_find(parts, std::ranges::greater_equal()), parts.end());
    EXPECT_EQ(parts.back(), 1);
    parts.clear();
    matrix.round_anew(PrecisionRule{1e-6});  // norms are known
    EXPECT_EQ(parts.size(), 28u);
    EXPECT_LT(parts.front(), 0.1);
    EXPECT_EQ(parts.back(), 1);
  }
}

TYPED_TEST(TileMatrixOn, KeepsItsChunksBounded) {
  TypeParam const exec;
  TileMatrixOptions options;
  options.chunk_bytes = 3 * ooc::tile_bytes(Precision::fp64, 10, 10);
  auto const matrix = TileMatrix<TypeParam>::from_view(
      exec, on_space<TypeParam>(matern_matrix(50, 0.1)), 10, options);
  EXPECT_EQ(matrix.report().chunks, 5);
  options.chunk_bytes = 1;  // a tile at least
  EXPECT_EQ(TileMatrix<TypeParam>::from_view(exec, on_space<TypeParam>(matern_matrix(50, 0.1)), 10,
                                             options)
                .report()
                .chunks,
            15);
}

// Rows of tiles go round the nodes, in chunks of their own; the numbers do not depend on where they
// are.
TYPED_TEST(TileMatrixOn, BindsRowsOfTilesToNodes) {
  TypeParam const exec;
  HostMatrix const A = matern_matrix(50, 0.1);
  auto const plain = TileMatrix<TypeParam>::from_view(exec, on_space<TypeParam>(A), 10);
  EXPECT_TRUE(plain.report().node_bytes.empty());
  EXPECT_EQ(plain.report().chunks, 1);
  int const known = ooc::vendor::numa_nodes().front();
  int const other = ooc::vendor::numa_nodes().back() + 1;  // the host has no such node
  TileMatrixOptions options;
  options.nodes = {known, other};
  auto matrix = TileMatrix<TypeParam>::from_view(exec, on_space<TypeParam>(A), 10, options);
  std::size_t const tile = ooc::tile_bytes(Precision::fp64, 10, 10);
  std::map<int, std::size_t> const expected = {{known, 9 * tile}, {other, 6 * tile}};
  EXPECT_EQ(matrix.report().node_bytes, expected);
  EXPECT_EQ(matrix.report().chunks, 2);
  EXPECT_EQ(matrix.data(2, 0) - matrix.data(0, 0), static_cast<std::ptrdiff_t>(tile));
  EXPECT_EQ(matrix.data(3, 0) - matrix.data(1, 0), static_cast<std::ptrdiff_t>(tile));
  EXPECT_EQ(matrix.hash(), plain.hash());
  HostMatrix const H = stored_matrix(matrix), G = stored_matrix(plain);
  for (std::size_t j = 0; j < 50; ++j)
    for (std::size_t i = j; i < 50; ++i) ASSERT_EQ(H(i, j), G(i, j));
  int const node = ooc::vendor::numa_node_of(matrix.data(0, 0));  // -1: the build can't tell
  EXPECT_TRUE(node == known || node == -1) << node;
  options.nodes = {known};  // in other chunks
  matrix.refill(exec, matrix.generator(), options);
  EXPECT_EQ(matrix.report().chunks, 1);
  EXPECT_EQ(matrix.hash(), plain.hash());
}

TYPED_TEST(TileMatrixOn, KnowsTheNodesOfDevices) {
  auto const& nodes = ooc::vendor::numa_nodes();
  ASSERT_FALSE(nodes.empty());
  auto const near = numa_nodes<TypeParam>(devices_of<TypeParam>(3));
  ASSERT_EQ(near.size(), 3u);
  for (int const node : near)
    EXPECT_NE(std::find(nodes.begin(), nodes.end(), node), nodes.end()) << node;
  EXPECT_EQ(ooc::vendor::numa_node_of_pci("no such device"), nodes.front());
  ooc::vendor::OnNode const on(nodes.back()), nowhere(nodes.back() + 1);  // the thread goes on
}

TYPED_TEST(TileMatrixOn, RefusesWhatItCannotHold) {
  TypeParam const exec;
  auto const make = [&](std::int64_t n, std::int64_t nb, TileMatrixOptions const& options) {
    return [=] {
      TileGenerator<TypeParam> const none = [](auto const&...) { FAIL() << "generated"; };
      (void)TileMatrix<TypeParam>::generate(exec, n, nb, none, options);
    };
  };
  EXPECT_TRUE(throws_with<ShapeError>("n is -1", make(-1, 8, {})));
  EXPECT_TRUE(throws_with<ShapeError>("tile size is 0", make(8, 0, {})));
  TileMatrixOptions little;
  little.max_bytes = 1000;
  EXPECT_TRUE(
      throws_with<MemoryError>("n = 100 in tiles of 50 needs 61440 bytes", make(100, 50, little)));
  EXPECT_TRUE(throws_with<MemoryError>("1000 are allowed", make(100, 50, little)));
  TileMatrixOptions lots;
  lots.max_bytes = std::numeric_limits<std::size_t>::max();
  lots.chunk_bytes = lots.max_bytes;
  EXPECT_TRUE(throws_with<MemoryError>("can't allocate",
                                       make(std::int64_t(1) << 24, std::int64_t(1) << 23, lots)));
  EXPECT_TRUE(throws_with<ValueError>(
      "there is no generator", [&] { (void)TileMatrix<TypeParam>::generate(exec, 4, 2, {}); }));
  EXPECT_TRUE(throws_with<ShapeError>("a map of 3 tile rows, the matrix has 2", [] {
    (void)TileMatrix<TypeParam>::bytes_needed(4, 2, PrecisionMap(3));
  }));
  std::int64_t const largest = std::numeric_limits<std::int64_t>::max();
  EXPECT_TRUE(throws_with<ShapeError>("has 9223372036854775807 rows of tiles, at most 1048576",
                                      make(largest, 1, {})));
  EXPECT_TRUE(throws_with<ShapeError>("has 2147483648 rows of tiles", [] {
    (void)TileMatrix<TypeParam>::bytes_needed(std::int64_t(1) << 40, 512);
  }));
}

// D A D, whose powers of two d_i d_j are beyond fp64 where the entries are subnormal.
TYPED_TEST(TileMatrixOn, HoldsNumbersAtBothEndsOfTheRangeOfFp64) {
  TypeParam const exec;
  HostMatrix const A = matern_matrix(30, 0.1);
  auto const near_one = TileMatrix<TypeParam>::from_view(exec, on_space<TypeParam>(A), 10);
  for (int const exponent : {-1022, -1030, 1020}) {
    HostMatrix const B("strata::test::B", 30, 30);
    for (std::size_t k = 0; k < B.size(); ++k) B.data()[k] = std::ldexp(A.data()[k], exponent);
    auto const matrix = TileMatrix<TypeParam>::from_view(exec, on_space<TypeParam>(B), 10);
    double const lost =
        exponent < 0 ? std::ldexp(1.0, -1075 - exponent) : 0;  // below normal numbers
    for (std::int64_t j = 0; j < 3; ++j)
      for (std::int64_t i = j; i < 3; ++i)
        for (int k = 0; k < 100; ++k)
          ASSERT_NEAR(matrix.tile(i, j).template as<double>()[k],
                      near_one.tile(i, j).template as<double>()[k], lost)
              << exponent << " " << i << " " << j << " " << k;
  }
}

TYPED_TEST(TileMatrixOn, NamesTheTileThatIsNotFinite) {
  TypeParam const exec;
  for (double const bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    HostMatrix const A = matern_matrix(30, 0.1);
    A(25, 3) = bad;
    EXPECT_TRUE(throws_with<ValueError>("rows 21 to 30 and columns 1 to 10", [&] {
      (void)TileMatrix<TypeParam>::from_view(exec, on_space<TypeParam>(A), 10);
    }));
    EXPECT_TRUE(throws_with<ValueError>("rows 21 to 30 and columns 1 to 10", [&] {
      (void)TileMatrix<TypeParam>::from_view(exec, on_space<TypeParam>(A), 10, PrecisionRule{1e-5});
    }));
  }
}

}  // namespace
