// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "ooc/StrataTest_PlainTiles.hpp"
#include <core/io/Strata_MatrixMarket.hpp>
#include <core/io/Strata_Npy.hpp>
#include <core/io/matrix_file/Strata_MatrixBlocks.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <geostat/Strata_MaternTiles.hpp>
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/tiles/Strata_TileSources.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::geostat;
using namespace strata::test;

template <class Exec>
class TileSources : public testing::Test {
 public:
  TileSources()
      : folder_(std::filesystem::temp_directory_path() /
                ("strata_tiles_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~TileSources() override { std::filesystem::remove_all(folder_); }

 protected:
  std::filesystem::path folder_;
};
TYPED_TEST_SUITE(TileSources, Spaces, SpaceNames);

// A matrix from its file has the bits of one from a View, and the same factor and solution.
template <class Exec>
void holds_the_file(std::string const& path, HostMatrix const& A, PrecisionRule const& rule) {
  Exec const exec;
  auto const n = static_cast<std::int64_t>(A.extent(0));
  auto const file = std::make_shared<MatrixBlocks const>(path);
  auto of_file = TileMatrix<Exec>::generate(exec, n, 16, file_tiles<Exec>(file), rule);
  auto of_view = TileMatrix<Exec>::from_view(exec, on_space<Exec>(A), 16, rule);
  EXPECT_EQ(of_file.hash(), of_view.hash());
  EXPECT_EQ(of_file.norm_inf(), of_view.norm_inf());
  ASSERT_TRUE(same_bits(stored_matrix(of_file), stored_matrix(of_view)));
  auto factor = cholesky(make_devices(1), std::move(of_file)),
       expected = cholesky(make_devices(1), std::move(of_view));
  ASSERT_TRUE(same_bits(stored_matrix(factor.matrix()), stored_matrix(expected.matrix())));
  using Block = typename TileFactor<Exec>::Block;
  HostMatrix const X = known_solution(n, 2);
  Block const B("strata::test::B", n, 2), C("strata::test::C", n, 2), Y("strata::test::Y", n, 2);
  factor.apply(exec, on_space<Exec>(X), B);
  expected.apply(exec, on_space<Exec>(X), C);
  EXPECT_TRUE(factor.solve(exec, B, Y).converged);
  HostMatrix const b = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), B),
                   c = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), C),
                   y = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), Y);
  for (std::size_t j = 0; j < 2; ++j)
    for (std::size_t i = 0; i < A.extent(0); ++i) {
      EXPECT_EQ(b(i, j), c(i, j));
      EXPECT_NEAR(y(i, j), X(i, j), 1e-9);
    }
}

TYPED_TEST(TileSources, FillTilesFromFilesOfEachFormat) {
  for (std::int64_t const n : {40, 48, 77}) {
    HostMatrix const A = matern_matrix(n, 0.1, 3);
    for (PrecisionRule const& rule : {PrecisionRule{}, PrecisionRule{1e-4}}) {
      write_npy(this->folder_ / "F.npy", A);
      holds_the_file<TypeParam>(this->folder_ / "F.npy", A, rule);
      write_npy(this->folder_ / "C.npy", A, {.order = NpyOrder::C});
      holds_the_file<TypeParam>(this->folder_ / "C.npy", A, rule);
      write_matrix_market(this->folder_ / "A.mtx", A, {.symmetry = Symmetry::Symmetric});
      holds_the_file<TypeParam>(this->folder_ / "A.mtx", A, rule);
    }
  }
}

// A file that is cut short while tiles are read ends the work with its name.
TYPED_TEST(TileSources, TellWhichFileFailed) {
  TypeParam const exec;
  write_npy(this->folder_ / "A.npy", matern_matrix(50, 0.1));
  auto const tiles =
      file_tiles<TypeParam>(std::make_shared<MatrixBlocks const>(this->folder_ / "A.npy"));
  auto const factor =
      cholesky(make_devices(1), TileMatrix<TypeParam>::generate(exec, 50, 16, tiles));
  std::filesystem::resize_file(this->folder_ / "A.npy", 9000);
  typename TileFactor<TypeParam>::Block const X("strata::test::X", 50, 1);
  EXPECT_TRUE(throws_with<IoError>("A.npy: expected", [&] { factor.apply(exec, X, X); }));
  EXPECT_TRUE(throws_with<IoError>(
      "has become shorter", [&] { (void)TileMatrix<TypeParam>::generate(exec, 50, 16, tiles); }));
  EXPECT_TRUE(throws_with<ValueError>("file_tiles: there is no file",
                                      [] { (void)file_tiles<TypeParam>(nullptr); }));
}

TYPED_TEST(TileSources, FillTilesByAFunctionOfTheHost) {
  TypeParam const exec;
  HostMatrix const A = matern_matrix(50, 0.1);
  auto const tiles =
      host_tiles<TypeParam>([&](std::int64_t row, std::int64_t col, HostBlock const& block) {
        for (std::size_t j = 0; j < block.extent(1); ++j)
          for (std::size_t i = 0; i < block.extent(0); ++i)
            block(i, j) = A(static_cast<std::size_t>(row) + i, static_cast<std::size_t>(col) + j);
      });
  auto const matrix = TileMatrix<TypeParam>::generate(exec, 50, 16, tiles);
  auto const view = TileMatrix<TypeParam>::from_view(exec, on_space<TypeParam>(A), 16);
  EXPECT_TRUE(same_bits(stored_matrix(matrix), stored_matrix(view)));
  EXPECT_TRUE(throws_with<ValueError>("host_tiles: there is no function",
                                      [] { (void)host_tiles<TypeParam>(nullptr); }));
}

TYPED_TEST(TileSources, MakeTheDominantMatrix) {
  TypeParam const exec;
  HostMatrix const A = generate(MatrixKind::Dominant, 50, {.seed = 7});
  auto const tiles =
      TileMatrix<TypeParam>::generate(exec, 50, 16, dominant_tiles<TypeParam>(50, 7));
  auto const view = TileMatrix<TypeParam>::from_view(exec, on_space<TypeParam>(A), 16);
  EXPECT_TRUE(same_bits(stored_matrix(tiles), stored_matrix(view)));
}

template <class Exec>
void fill_in_threads(TileGenerator<Exec> const& generator) {
  int const count = std::min(4, most_instances<Exec>());
  auto const instances = Kokkos::Experimental::partition_space(
      Exec(), std::vector<int>(static_cast<std::size_t>(count), 1));
  std::vector<std::thread> threads;
  for (Exec const& exec : instances)
    threads.emplace_back([&generator, &exec] {
      Kokkos::View<double**, Kokkos::LayoutLeft, typename Exec::memory_space> const tile(
          Kokkos::view_alloc(exec, std::string("strata::test::tile")), 8, 8);
      for (int k = 0; k < 2000; ++k)
        generator(exec, 8 * (k % 4), 0, TileView<Exec>(tile.data(), 8, 8));
      exec.fence("strata::test::filled");
    });
  for (auto& thread : threads) thread.join();
}

// Kernels copy Views; where Kokkos counts references without atomics, no two threads may share one.
TYPED_TEST(TileSources, CountReferencesRightlyInThreads) {
  TypeParam const exec;
  fill_in_threads<TypeParam>(
      matern_tiles(exec, {}, synthetic_locations(40)));  // or its end would abort
  auto const A = on_space<TypeParam>(matern_matrix(40, 0.1));
  auto const matrix = TileMatrix<TypeParam>::from_view(exec, A, 8);
  auto const before = A.use_count();
  fill_in_threads<TypeParam>(matrix.generator());
  EXPECT_EQ(A.use_count(), before);
}

// Tiles of one core: no more of them than tiles of 384 would be, all of nearly one size.
template <class Matrix>
void expect_small_tiles() {
  for (std::int64_t const n : {3073, 4096, 8192, 10000, 100000}) {
    std::int64_t const tile = Matrix::automatic_tile_size(n), rows = (n + tile - 1) / tile;
    EXPECT_LE(tile, 384);
    EXPECT_EQ(rows, (n + 383) / 384);                        // no more than tiles of 384 have
    EXPECT_GE(n - (rows - 1) * tile, tile - 8 * rows) << n;  // the last one's
  }
  EXPECT_EQ(Matrix::automatic_tile_size(4096), 376);
}

TYPED_TEST(TileSources, HaveATileSizeForTheirDevices) {
  using Matrix = TileMatrix<TypeParam>;
  for (std::int64_t const n : {1, 1000, 5000, 100000}) {
    std::int64_t const free = Matrix::automatic_tile_size(n);
    EXPECT_GE(free, 64);
    EXPECT_LE(free, 2048);
    std::size_t const little = 16 * (256 * 256 * 8 + 256);
    EXPECT_LE(Matrix::automatic_tile_size(n, little), std::min<std::int64_t>(256, free));
    EXPECT_EQ(Matrix::automatic_tile_size(n, std::size_t(1) << 40), free);
    EXPECT_GT(Matrix::automatic_tile_size(n, 1), 0);
  }
  if constexpr (runs_on_host<TypeParam>) {
    if (TypeParam().concurrency() == 1) expect_small_tiles<Matrix>();
  }
}

}  // namespace
