// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_TILES_TILE_MATRIX_HPP
#define STRATA_OOC_TILES_TILE_MATRIX_HPP

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <dense/vectors/Strata_StridedMatrix.hpp>
#include <ooc/schedule/Strata_PrecisionMap.hpp>
#include <ooc/tiles/Strata_TileStore.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace strata {
class BlockCyclic;
}  // namespace strata

namespace strata::ooc {

namespace detail {
struct TileMeasure;
class ArrivedTiles;
template <class ExecutionSpace>
struct Rounder;
}  // namespace detail

/// Which ranks ask for tiles of a column.
enum class TileUsers : std::uint8_t {
  Diagonal,  ///< for the diagonal tile, the rank that makes its rows of A X
  Owners,    ///< for each tile, the rank that has it
  Makers,    ///< for each tile, the rank that makes its rows of A X
  All,       ///< the owner and the maker of each tile
};

/// Choices of a tile matrix.
struct TileMatrixOptions : TileStoreOptions {
  /// The other choices at their defaults.
  TileMatrixOptions(PrecisionRule how = {}) : rule(std::move(how)) {}
  PrecisionRule rule;       ///< rule that gives tiles their precisions
  bool equilibrate = true;  ///< store D A D, D powers of two that bring the diagonal into [1/2, 2]
  /// The generator may run on any device, and in several threads at once: residuals then use all
  /// devices. True of `matern_tiles`, `file_tiles` and `dominant_tiles`. Its kernels must not copy
  /// a View that counts references and that other threads copy too. A Kokkos that was configured
  /// with Kokkos_ENABLE_ATOMICS_BYPASS, as Debian's, miscounts.
  bool anywhere = false;
  /// Hears after each tile what part of the filling is done, 0 to 1. With mixed precisions the
  /// norms are half of the filling.
  std::function<void(double)> on_progress = {};
  /// The tiles of a matrix whose numbers are on other ranks than its tiles; what
  /// `from_block_cyclic` sets.
  std::shared_ptr<detail::ArrivedTiles> arrived;
};

/// What it took to make one.
struct TileMatrixReport : TileStoreReport {
  double generate_seconds = 0;  ///< time to evaluate, measure, round and copy the tiles
};

/// The lower triangle of a symmetric n x n matrix in square tiles, in the memory of the host or of
/// devices. Each tile has its own precision and its own power-of-two scale.
///
/// The tiles hold H = D A D. No row or column of H is large or small as a whole, so that the
/// precision rule and narrow formats treat all alike.
///
/// Memory   `bytes_needed`: 4 n^2 bytes in fp64, and 256 for each tile; each of several ranks has
///          the bytes of its own tiles, with super-panels as wide as their sums. On the host, or by
///          `storage` on the devices. Never the matrix twice: a second look at a tile evaluates the
///          generator again.
template <class ExecutionSpace = Kokkos::DefaultExecutionSpace>
class TileMatrix : public TileStore<ExecutionSpace> {
  using Store = TileStore<ExecutionSpace>;

 public:
  /// The execution space in which tiles are made.
  using execution_space = ExecutionSpace;
  /// What fills a tile.
  using Generator = TileGenerator<ExecutionSpace>;
  using Store::comm, Store::data, Store::has_tile, Store::makes_row, Store::maker_of_row, Store::op,
      Store::order, Store::owner, Store::rows, Store::storage, Store::tile_size, Store::tiles;

  /// A matrix from what fills one tile at a time.
  ///
  /// Result   where the rule may mix precisions the generator is called twice for each tile below
  ///          the diagonal: for the norms, then for the numbers.
  /// Sync     runs on `exec` and fences it.
  /// Memory   on the device two tiles.
  /// Throws   ShapeError if n < 0 or tile_size < 1; ValueError with the position of a tile that
  ///          holds a number that is not finite; ValueError for a row whose sum overflows, or for
  ///          options out of range, as a grid of more or fewer ranks; MemoryError with the bytes
  ///          needed and allowed, or of what can't be had.
  static TileMatrix generate(ExecutionSpace const& exec, std::int64_t n, std::int64_t tile_size,
                             Generator const& generator, TileMatrixOptions const& options = {});

  /// The same of the lower triangle of a View, to which it keeps a reference.
  ///
  /// Shape    A: n x n, any layout and stride, accessible to `exec`.
  /// Throws   ShapeError also if A is not square.
  template <class MatrixView>
  static TileMatrix<ExecutionSpace> from_view(ExecutionSpace const& exec, MatrixView const& A,
                                              std::int64_t tile_size,
                                              TileMatrixOptions const& options = {});

  /// Hold another matrix of the same order, in the host memory that is there as far as it goes.
  /// Contract as for `generate`; what throws leaves no matrix, until it is filled again.
  void refill(ExecutionSpace const& exec, Generator const& generator,
              TileMatrixOptions const& options = {});

  /// Hold the same matrix by another rule: each tile anew from the generator, at the norms that are
  /// known.
  ///
  /// Sync     runs on the instance that `generate` or `refill` ran on last, and fences it.
  /// Memory   as for `generate`.
  /// Throws   ValueError for a rule out of range, MemoryError if its map needs more than max_bytes:
  ///          both leave the matrix as it is; ValueError if `refill` has left no matrix; what the
  ///          generator throws, and MemoryError for what can't be had: the tiles are then
  ///          undefined.
  void round_anew(PrecisionRule const& rule);

  /// The rule that made the map.
  PrecisionRule const& rule() const { return rule_; }

  /// Tells that tiles of column j, from the diagonal down, are about to be asked for. If the
  /// matrix' numbers are on other ranks (`TileMatrixOptions::arrived`), these tiles are sent to the
  /// users. The users' generators have them until the next call. Collective there; else nothing
  /// happens.
  void bring(std::int64_t j, TileUsers users) const;
  /// The matrix from which `from_block_cyclic` made it; nullptr: another origin.
  BlockCyclic const* block_cyclic() const;

  /// D, n powers of two.
  std::vector<double> const& scaling() const { return scaling_; }
  /// The same where `generate` ran; empty if D is 1.
  Kokkos::View<double const*, typename ExecutionSpace::memory_space> device_scaling() const {
    return device_scaling_;
  }
  /// What fills tiles of A (not of H).
  Generator const& generator() const { return generator_; }
  /// The View of `from_view` that it reads; empty: none of fp64.
  dense::StridedMatrix<double const> const& source() const { return source_; }
  /// Whether it may run on any device, and in several threads at once.
  bool is_anywhere() const { return is_anywhere_; }
  /// tile = H's tile (i, j) in fp64, by the generator. Enqueued on `exec`, where `scaling`, or what
  /// `device_scaling` is, must be.
  void generate_tile(ExecutionSpace const& exec, std::int64_t i, std::int64_t j,
                     TileView<ExecutionSpace> const& tile) const {
    generate_tile(exec, i, j, tile, device_scaling_);
  }
  /// The same with a scaling where `exec` can read it.
  void generate_tile(
      ExecutionSpace const& exec, std::int64_t i, std::int64_t j,
      TileView<ExecutionSpace> const& tile,
      Kokkos::View<double const*, typename ExecutionSpace::memory_space> const& scaling) const;

  /// A number of the bits of every entry of H and D, the same for any order in which any number of
  /// threads made them. Two matrices that differ, by a sign, an entry or a last bit, have the same
  /// number with probability 2^-64. A covariance has another number on another kind of device,
  /// whose exp rounds otherwise.
  std::uint64_t digest() const { return digest_; }
  /// The same of the tiles: of the digest and the precisions.
  std::uint64_t hash() const;
  double norm_inf() const { return norm_inf_; }              ///< ||H||_inf
  bool is_equilibrated() const { return is_equilibrated_; }  ///< else H = A
  double given_norm_inf() const { return given_norm_inf_; }  ///< ||A||_inf
  TileNorms const& norms() const { return norms_; }          ///< norms of the tiles of H
  /// What it took to make it.
  TileMatrixReport report() const;

 private:
  using typename Store::HostMemory, typename Store::State;
  using Vector = Kokkos::View<double*, typename ExecutionSpace::memory_space>;

  TileMatrix(std::int64_t n, std::int64_t tile_size, Generator const& generator);
  void evaluate();
  void gather(std::vector<detail::TileMeasure>& measures) const;
  void equilibrate(ExecutionSpace const& exec);
  void measure(ExecutionSpace const& exec, bool keep);
  void measure_own(ExecutionSpace const& exec, bool keep, bool is_even,
                   std::vector<detail::TileMeasure>& host);
  void for_each_tile_in_rows_of(int rank, std::function<void(std::size_t tile)> const& f) const;
  void fill(ExecutionSpace const& exec, double begin);
  void make_rounders(ExecutionSpace const& exec,
                     std::deque<detail::Rounder<ExecutionSpace>>& rounders) const;
  void tell_filled(std::int64_t i, std::int64_t j, double begin, double end) const;
  void copy_out(ExecutionSpace const& exec, std::byte* from, std::int64_t i, std::int64_t j) const;
  void take_norms(std::vector<detail::TileMeasure> const& measures);

  Generator generator_;
  dense::StridedMatrix<double const> source_;
  ExecutionSpace exec_;
  PrecisionRule rule_;
  bool is_equilibrated_ = true, is_anywhere_ = false;
  std::function<void(double)> on_progress_;
  std::shared_ptr<detail::ArrivedTiles> arrived_;
  std::vector<double> scaling_;
  Vector device_scaling_;
  TileNorms norms_;
  double norm_inf_ = 0, given_norm_inf_ = 0;
  std::uint64_t digest_ = 0;
  double generate_seconds_ = 0;
};

namespace detail {

// Copies a block of a View into a tile; a function object, since lambdas for devices need a name.
template <class ExecutionSpace, class MatrixView>
void copy_block(ExecutionSpace const& exec, MatrixView const& A, std::int64_t row, std::int64_t col,
                TileView<ExecutionSpace> const& tile) {
  strata::for_each_element(
      "strata::ooc::tile_matrix::from_view", exec, static_cast<std::int64_t>(tile.extent(0)),
      static_cast<std::int64_t>(tile.extent(1)),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) { tile(i, j) = A(row + i, col + j); });
}

}  // namespace detail

template <class ExecutionSpace>
template <class MatrixView>
TileMatrix<ExecutionSpace> TileMatrix<ExecutionSpace>::from_view(ExecutionSpace const& exec,
                                                                 MatrixView const& A,
                                                                 std::int64_t tile_size,
                                                                 TileMatrixOptions const& options) {
  static_assert(MatrixView::rank() == 2, "a matrix is a View of rank 2");
  STRATA_REQUIRE(ShapeError, A.extent(0) == A.extent(1), "tile matrix: A is ", A.extent(0), " x ",
                 A.extent(1), ", must be square");
  // Kernels of several threads copy what they read: a View that counts no references.
  using Unmanaged =
      Kokkos::View<typename MatrixView::const_data_type, typename MatrixView::array_layout,
                   typename MatrixView::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Unmanaged const values(A);
  auto const copy = [A, values](ExecutionSpace const& instance, std::int64_t row, std::int64_t col,
                                TileView<ExecutionSpace> const& tile) {
    detail::copy_block(instance, values, row, col, tile);
  };
  TileMatrixOptions with_view = options;
  with_view.anywhere = std::is_same_v<HostMemory, Kokkos::HostSpace>;
  auto matrix = generate(exec, static_cast<std::int64_t>(A.extent(0)), tile_size, copy, with_view);
  if constexpr (std::is_same_v<typename MatrixView::non_const_value_type, double>)
    matrix.source_ = dense::strided_matrix<ExecutionSpace, double const>(A);
  return matrix;
}

}  // namespace strata::ooc

#endif
