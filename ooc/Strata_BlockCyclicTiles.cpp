// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/Strata_BlockCyclicTiles.hpp>

#include <comm/Strata_Together.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <core/io/matrix_file/Strata_MatrixBlocks.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/tiles/Strata_TileSources.hpp>
#include <ooc/tiles/detail/Strata_ArrivedTiles.hpp>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace strata::ooc {

namespace {

using Host = Kokkos::DefaultHostExecutionSpace;
using Numbers = Kokkos::View<double*, Kokkos::HostSpace>;

template <class Exec>
void require_ranks(char const* function, char const* name, TileMatrix<Exec> const& matrix,
                   BlockCyclic const& A) {
  int const ranks = matrix.comm() ? matrix.comm()->size() : 1;
  int const rank = matrix.comm() ? matrix.comm()->rank() : 0;
  STRATA_REQUIRE(ValueError, A.comm()->size() == ranks && A.comm()->rank() == rank, function, ": ",
                 name, " is on rank ", A.comm()->rank(), " of ", A.comm()->size(),
                 ", the factor on rank ", rank, " of ", ranks);
}

template <class Exec>
void require_free(char const* function, char const* name, TileMatrix<Exec> const& matrix,
                  BlockCyclic const& A) {
  STRATA_REQUIRE(ValueError, !matrix.block_cyclic() || !matrix.block_cyclic()->overlaps(A),
                 function, ": ", name, " overlaps A, of which residuals are made");
}

// Tile (i, j) of D^-1 L in fp64, by columns without gaps.
template <class Exec>
void write_tile(LeafBlas<Host>& blas, TileMatrix<Exec> const& matrix, std::int64_t i,
                std::int64_t j, double* numbers) {
  std::int64_t const m = matrix.rows(i), n = matrix.rows(j);
  blas.convert(matrix.op(i, j), matrix.tile(i, j),
               MatrixRef<Kokkos::HostSpace>{numbers, m, n, m, Precision::fp64, nullptr});
  Host().fence("strata::ooc::copy_factor");
  double const* const d = matrix.scaling().data() + i * matrix.tile_size();
  for (std::int64_t c = 0; c < n; ++c)
    for (std::int64_t r = 0; r < m; ++r) numbers[r + c * m] /= d[r];
}

// A column of tiles at a time goes to the ranks that have its blocks.
template <class Exec>
void give_factor(TileMatrix<Exec> const& matrix, BlockCyclic const& L) {
  Numbers numbers;
  LeafBlas<Host> blas{Host()};
  int const rank = L.comm()->rank();
  for (std::int64_t j = 0; j < matrix.tiles(); ++j) {
    std::vector<WholeBlock> blocks;
    std::vector<double const*> where;
    together(L.comm().get(), [&] {
      std::int64_t size = 0;
      for (std::int64_t i = j; i < matrix.tiles(); ++i) {
        blocks.push_back({i * matrix.tile_size(), j * matrix.tile_size(), matrix.rows(i),
                          matrix.rows(j), i == j, matrix.owner(i, j)});
        if (matrix.has_tile(i, j)) size += matrix.rows(i) * matrix.rows(j);
      }
      if (numbers.extent(0) < static_cast<std::size_t>(size))  // in the first column, then never
        numbers = allocate_on_host<Numbers>("strata::ooc::copy_factor::column", size);
      double* next = numbers.data();
      for (WholeBlock const& block : blocks) {
        where.push_back(block.rank == rank ? next : nullptr);
        if (block.rank != rank) continue;
        write_tile(blas, matrix, block.row / matrix.tile_size(), j, next);
        next += block.rows * block.cols;
      }
    });
    L.give(blocks, where);
  }
}

template <class Exec>
void require_factor(Info const& info, TileMatrix<Exec> const& matrix, BlockCyclic const& L) {
  STRATA_REQUIRE(ValueError, info.ok(), "copy_factor: there is no factor; the minor of order ",
                 info.order(), " is not positive");
  STRATA_REQUIRE(ShapeError, L.rows() == matrix.order() && L.cols() == matrix.order(),
                 "copy_factor: L is ", L.rows(), " x ", L.cols(), ", the factor has order ",
                 matrix.order());
  require_ranks("copy_factor", "L", matrix, L);
}

}  // namespace

template <class Exec>
TileMatrix<Exec> from_block_cyclic(Exec const& exec, BlockCyclic const& A, std::int64_t tile_size,
                                   TileMatrixOptions const& options) {
  STRATA_REQUIRE(ShapeError, A.rows() == A.cols(), "tile matrix: A is ", A.rows(), " x ", A.cols(),
                 ", must be square");
  auto const arrived = std::make_shared<detail::ArrivedTiles>(A);
  TileMatrixOptions of_ranks = options;
  of_ranks.comm = A.comm();
  of_ranks.arrived = arrived;
  of_ranks.anywhere = true;  // of several ranks each has one device
  auto const tiles =
      host_tiles<Exec>([arrived](std::int64_t row, std::int64_t col, HostBlock const& block) {
        arrived->read(row, col, block);
      });
  return TileMatrix<Exec>::generate(exec, A.rows(), tile_size, tiles, of_ranks);
}

template <class Exec>
dense::SolveReport solve(Exec const& exec, TileFactor<Exec>& factor, BlockCyclic const& B,
                         BlockCyclic const& X, dense::RefinementOptions const& options) {
  Region const region(exec, "strata::ooc::solve_block_cyclic");
  using Block = typename TileFactor<Exec>::Block;
  TileMatrix<Exec> const& matrix = factor.matrix();
  int const ranks = B.comm()->size();
  WholeBlock const whole{0, 0, B.rows(), B.cols()};
  std::vector<WholeBlock> blocks;
  Numbers numbers;
  Block V;
  together(B.comm().get(), [&] {
    STRATA_REQUIRE(ShapeError,
                   B.rows() == matrix.order() && B.rows() == X.rows() && B.cols() == X.cols(),
                   "solve: B is ", B.rows(), " x ", B.cols(), ", X is ", X.rows(), " x ", X.cols(),
                   ", the matrix has order ", matrix.order());
    require_ranks("solve", "B", matrix, B);
    require_ranks("solve", "X", matrix, X);
    require_free("solve", "X", matrix, X);
    numbers = allocate_on_host<Numbers>("strata::ooc::solve_block_cyclic::HostX",
                                        whole.rows * whole.cols);
    V = allocate<Block>(exec, "strata::ooc::solve_block_cyclic::X", whole.rows, whole.cols);
    blocks.assign(static_cast<std::size_t>(ranks), whole);
    for (int rank = 0; rank < ranks; ++rank) blocks[static_cast<std::size_t>(rank)].rank = rank;
  });
  B.fetch(blocks, std::vector<double*>(blocks.size(), numbers.data()));
  HostBlock const host(numbers.data(), V.extent(0), V.extent(1));
  Kokkos::deep_copy(exec, V, host);
  exec.fence("strata::ooc::solve_block_cyclic: B is there");
  auto const report = factor.solve(exec, V, V, options);
  Kokkos::deep_copy(exec, host, V);
  exec.fence("strata::ooc::solve_block_cyclic: X is on the host");
  X.write_own(whole, numbers.data());  // all ranks have the same
  return report;
}

template <class Exec>
void copy_factor(TileFactor<Exec> const& factor, BlockCyclic const& L) {
  Region const region("strata::ooc::copy_factor");
  TileMatrix<Exec> const& matrix = factor.matrix();
  together(L.comm().get(), [&] {
    require_factor(factor.info(), matrix, L);
    require_free("copy_factor", "L", matrix, L);
  });
  give_factor(matrix, L);
}

template <class Exec>
void copy_factor(TileFactor<Exec>&& factor, BlockCyclic const& L) {
  Region const region("strata::ooc::copy_factor");
  TileMatrix<Exec> const& matrix = factor.matrix();
  together(L.comm().get(), [&] { require_factor(factor.info(), matrix, L); });
  give_factor(matrix, L);
  (void)std::move(factor).take();
}

#define STRATA_INSTANTIATE(Exec)                                                                   \
  template TileMatrix<Exec> from_block_cyclic<Exec>(Exec const&, BlockCyclic const&, std::int64_t, \
                                                    TileMatrixOptions const&);                     \
  template dense::SolveReport solve<Exec>(Exec const&, TileFactor<Exec>&, BlockCyclic const&,      \
                                          BlockCyclic const&, dense::RefinementOptions const&);    \
  template void copy_factor<Exec>(TileFactor<Exec> const&, BlockCyclic const&);                    \
  template void copy_factor<Exec>(TileFactor<Exec>&&, BlockCyclic const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc
