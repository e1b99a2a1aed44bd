// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TILE_MATRIX_HPP
#define STRATA_TILE_MATRIX_HPP

#include <core/Strata_EnumNames.hpp>
#include <core/Strata_Errors.hpp>
#include <core/Strata_MatrixRef.hpp>
#include <core/Strata_Pimpl.hpp>
#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <dense/refine/Strata_StridedMatrix.hpp>
#include <ooc/Strata_DeviceTeam.hpp>
#include <ooc/Strata_PrecisionMap.hpp>
#include <ooc/Strata_RankGrid.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace strata {
class Communicator;
class BlockCyclic;
std::size_t physical_memory_bytes();
}  // namespace strata

namespace strata::ooc {

namespace detail {
struct TileMeasure;
class ArrivedTiles;
template <class ExecutionSpace>
class DeviceTiles;
template <class ExecutionSpace>
struct Rounder;
}  // namespace detail

/// Where tiles lie.
enum class TileStorage : std::uint8_t {
  Host,     ///< in the host's memory, from where they go to the devices and come back
  Devices,  ///< in the devices' memory, each its rows of tiles; the host has no copy
  Automatic,  ///< on the devices if they hold them beside what a factorisation takes, else on the host
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(TileStorage) {
  return enum_names<TileStorage>("storage of tiles", {{TileStorage::Host, "host"},
                                                      {TileStorage::Devices, "devices"},
                                                      {TileStorage::Automatic, "automatic"}});
}
using strata::name_of;

/// Which ranks ask for tiles of a column.
enum class TileUsers : std::uint8_t {
  Diagonal,  ///< the one that makes the diagonal tile's rows of A X, for that one
  Owners,    ///< of each tile the one that has it
  Makers,    ///< of each tile the one that makes its rows of A X
  All,       ///< both
};

/// A tile that a generator fills, in the memory of the instance that it runs on.
template <class ExecutionSpace>
using TileView = Kokkos::View<double**, Kokkos::LayoutLeft, typename ExecutionSpace::memory_space,
                              Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// tile(i, j) = A(row + i, col + j) for the whole tile; of a tile with row == col the lower triangle
/// is read. Enqueued on `exec`; called again for the same tile it writes the same bits.
template <class ExecutionSpace>
using TileGenerator = std::function<void(ExecutionSpace const& exec, std::int64_t row,
                                         std::int64_t col, TileView<ExecutionSpace> const& tile)>;

/// The number of the device that `exec` works on, which `Device::id` is; 0 on a host.
template <class ExecutionSpace>
int device_of(ExecutionSpace const& exec);
/// Bytes of that device's memory that are free now.
///
/// Throws   VendorError.
template <class ExecutionSpace>
std::size_t free_bytes(ExecutionSpace const& exec);

/// Choices of a tile matrix.
struct TileMatrixOptions {
  /// The other choices at their defaults.
  TileMatrixOptions(PrecisionRule how = {}) : rule(std::move(how)) {}
  PrecisionRule rule;       ///< by which tiles get their precisions
  bool equilibrate = true;  ///< store D A D, D powers of two that bring the diagonal into [1/2, 2]
  /// The generator may run on any device, and in several threads at once: residuals then use all
  /// devices. True of `matern_tiles`, `file_tiles` and `dominant_tiles`. Its kernels must not copy a
  /// View that counts references and that other threads copy too: a Kokkos that was configured with
  /// Kokkos_ENABLE_ATOMICS_BYPASS, as Debian's, miscounts.
  bool anywhere = false;
  std::size_t chunk_bytes = std::size_t(1) << 30;  ///< of one allocation; one tile at least
  /// NUMA nodes of host memory that rows of tiles go round, as they go round the devices: what
  /// `numa_nodes` of the devices says. Empty, or a node that the host has not: left to the system.
  std::vector<int> nodes;
  /// Where tiles lie: on the host, or on `devices`, round which rows of tiles go as they go round a team's. A factorisation
  /// by a team of the same devices works on them there. A device's budget then counts its tiles too; 0: what is free, in equal
  /// parts for the ranks that have the device. On hosts they are on `nodes`.
  TileStorage storage = TileStorage::Host;
  Devices devices;  ///< see `storage`
  /// Refuse more host memory than this, of several ranks with the room for tiles of others while they factor.
  std::size_t max_bytes = physical_memory_bytes();
  /// The ranks that hold the matrix together, all of which make the same calls with it and its factor
  /// (`comm/Strata_Communicator.hpp`); empty: one, without MPI. Each has the tiles that `grid` gives it. For norms and
  /// products rows of A go round the R ranks: rank r has rows of tiles r, r + R, r + 2 R, ... there. The generator is
  /// called on each for both. The ranks' processors are of one
  /// kind, so that all find the same numbers. What one rank throws in a generator, all throw.
  std::shared_ptr<Communicator const> comm;
  /// Of all ranks, as many as there are; 0 x 0: `automatic_grid`. The bits are the same on any.
  RankGrid grid{0, 0};
  /// Columns of tiles in a super-panel of a factorisation (`RankOrder`); 0: whole tasks, on one column of ranks; -1:
  /// `automatic_super_panel`. With super-panels each tile has the host memory of its sums, which may be wider.
  std::int64_t super_panel = -1;
  /// Hears after each tile what part of the filling is done, 0 to 1; of mixed precisions the norms are half of it.
  std::function<void(double)> on_progress = {};
  /// The tiles of a matrix whose numbers are on other ranks than its tiles; what `from_block_cyclic` sets.
  std::shared_ptr<detail::ArrivedTiles> arrived;
};

/// What it took to make one.
struct TileMatrixReport {
  TileStorage storage = TileStorage::Host;  ///< Host or Devices
  std::string no_room = {};  ///< why they are not on devices that might have held them, or ""
  std::size_t bytes = 0;     ///< of tiles; on the host pinned where there is a device
  std::int64_t chunks = 0;   ///< allocations
  double pin_seconds = 0;    ///< to allocate them
  std::map<int, std::size_t> node_bytes;  ///< of the tiles of each node that was asked for
  double generate_seconds = 0;            ///< to evaluate, measure, round and copy the tiles
};

/// The lower triangle of a symmetric n x n matrix in square tiles, in host memory or in that of devices, each in its own
/// precision with its own power-of-two scale.
///
/// What is stored is H = D A D, which has no row or column that is large or small as a whole, so
/// that the precision rule and narrow formats treat all alike.
///
/// Memory   `bytes_needed`: 4 n^2 bytes in fp64, and 256 for each tile; of several ranks each has that of
///          its own tiles, with super-panels as wide as their sums. On the host, or by `storage` on the devices. Never the
///          matrix twice: a second look at a tile evaluates the generator again.
template <class ExecutionSpace = Kokkos::DefaultExecutionSpace>
class TileMatrix {
 public:
  /// That tiles are made in.
  using execution_space = ExecutionSpace;
  /// What fills a tile.
  using Generator = TileGenerator<ExecutionSpace>;
  /// A stored tile, to be read.
  using HostTile = ConstMatrixRef<Kokkos::HostSpace>;

  /// Host bytes of a matrix with this map.
  ///
  /// Throws   ShapeError if n < 0, tile_size < 1 or the map is of another size.
  static std::size_t bytes_needed(std::int64_t n, std::int64_t tile_size, PrecisionMap const& map);
  /// Host bytes with every tile in fp64: no map needs more.
  static std::size_t bytes_needed(std::int64_t n, std::int64_t tile_size);
  /// Host bytes of one rank of a grid with `automatic_super_panel`: of its tiles, all in fp64, and of the room for tiles of
  /// others while they factor, by single columns where they go by whole tasks.
  ///
  /// Throws   ShapeError also as `RankOrder` does; ValueError if the rank is none of the grid.
  static std::size_t bytes_needed(std::int64_t n, std::int64_t tile_size, RankGrid const& grid,
                                  int rank);

  /// A tile size that is fast for a matrix of order n and devices with this budget (0: enough): large
  /// enough for products at full rate, small enough for eight rows of tiles, and for 16 tiles on a
  /// device. On one core of a host at most 384, and rows of tiles that are alike, which ranks share better.
  static std::int64_t automatic_tile_size(std::int64_t n, std::size_t budget_bytes = 0);

  /// A matrix from what fills one tile at a time.
  ///
  /// Result   where the rule may mix precisions the generator is called twice for each tile below the
  ///          diagonal: for the norms, then for the numbers.
  /// Sync     runs on `exec` and fences it.
  /// Memory   on the device two tiles.
  /// Throws   ShapeError if n < 0 or tile_size < 1; ValueError with the position of a tile that holds
  ///          a number that is not finite, for a row whose sum overflows, or for options out of range, as a grid of more or fewer ranks; MemoryError with the bytes
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
  ///          generator throws, and MemoryError for what can't be had: the tiles are then undefined.
  void round_anew(PrecisionRule const& rule);

  /// Throws   MemoryError if tiles of this map need more than the devices have that must hold them, or more than max_bytes, of
  ///          several ranks with the room for tiles of others in blocks of so many columns (`CholeskyOptions::column_block`).
  void require_memory(PrecisionMap const& map, std::int64_t column_block = 1) const;

  /// Whether the tiles hold H: no more once they are overwritten, by a factorisation, or undefined by
  /// an exception, until `refill` or `round_anew` has filled them.
  bool is_filled() const { return tiles_->state == State::Filled; }
  /// They will be overwritten through `data`.
  void overwrite() {
    if (tiles_->state == State::Filled) tiles_->state = State::Measured;
  }

  /// Rows, and columns, of the matrix.
  std::int64_t order() const { return n_; }
  /// Rows of a full tile.
  std::int64_t tile_size() const { return tile_size_; }
  /// Tile rows: ceil(n / tile_size).
  std::int64_t tiles() const { return tiles_->map.tiles(); }
  /// Rows of the tiles in tile row i.
  std::int64_t rows(std::int64_t i) const;
  /// The precision of each tile.
  PrecisionMap const& map() const { return tiles_->map; }
  /// By which the map was made.
  PrecisionRule const& rule() const { return options_.rule; }

  /// The ranks that hold it; nullptr: this one alone.
  Communicator const* comm() const { return options_.comm.get(); }
  /// The ranks.
  RankGrid const& grid() const { return grid_; }
  /// Columns of tiles in its super-panels; 0: it is factored by whole tasks.
  std::int64_t super_panel() const { return super_panel_; }
  /// The rank that has tile (i, j).
  int owner(std::int64_t i, std::int64_t j) const {
    return owner_of(grid_, super_panel_, tiles(), i, j);
  }
  /// Whether it is this one; `tile`, `data` and `square` are of such tiles alone.
  bool has_tile(std::int64_t i, std::int64_t j) const { return owner(i, j) == rank_; }
  /// Where its tiles lie: Host or Devices.
  TileStorage storage() const { return report_.storage; }
  /// The number of the device that has this rank's tiles of row i; -1: they are on the host.
  int device_of_row(std::int64_t i) const {
    if (storage() == TileStorage::Host) return -1;
    return options_.devices[device_index_of_row(i)].id;
  }
  /// Bytes that tiles of this map take of a device's memory, by its number; 0: they are on the host.
  std::size_t bytes_on(int device, PrecisionMap const& map) const;
  /// The same of the tiles that there are.
  std::size_t bytes_on(int device) const;

  /// The rank that evaluates the tiles of row i for norms and for A X, and sums these rows: one that has some of them, in a
  /// column of ranks all.
  int maker_of_row(std::int64_t i) const {
    auto const [rank, round] = dealt_row(grid_, super_panel_, tiles(), i);
    return grid_.rank_at(rank, round);
  }
  /// Whether this is it.
  bool makes_row(std::int64_t i) const { return maker_of_row(i) == rank_; }

  /// Tiles of column j, from the diagonal down, are about to be asked for: of a matrix whose numbers are on other ranks
  /// (`TileMatrixOptions::arrived`) they are sent to the users, whose generators have them until the next call.
  /// Collective there, else nothing.
  void bring(std::int64_t j, TileUsers users) const;
  /// What it was made of by `from_block_cyclic`; nullptr: something else.
  BlockCyclic const* block_cyclic() const;

  /// The tile (i, j), i >= j. A tile in an 8-bit type is stored transposed, as matrix units read it. Of a device's tile it is
  /// a copy, until the next call; not for two threads at once then.
  HostTile tile(std::int64_t i, std::int64_t j) const;
  /// How to read the stored tile as the tile.
  Op op(std::int64_t i, std::int64_t j) const;
  /// The tile as it lies in memory, the host's or the device's, and how many of its bytes a copy needs: the numbers, then scale,
  /// squared norm and largest magnitude.
  std::byte* data(std::int64_t i, std::int64_t j) const;
  /// How many bytes of `data` a copy takes.
  std::size_t copy_bytes(std::int64_t i, std::int64_t j) const;
  /// A copy between such memory and the host's, in which nothing else may write meanwhile. For any thread.
  void copy(void* to, void const* from, std::size_t bytes) const;

  /// Host memory for tiles of other ranks while it is factored, at least so many bytes, which is kept as its tiles are, for
  /// the next factorisation of what it holds then. Throws MemoryError.
  std::byte* memory_for_others(std::size_t bytes);

  /// Squared Frobenius norm of the tile as it was before it was rounded; of the diagonal tiles of a
  /// factor it means nothing.
  double square(std::int64_t i, std::int64_t j) const;

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
  bool is_anywhere() const { return options_.anywhere; }
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
  /// threads made them. Of two matrices that differ, by a sign, an entry or a last bit, it is the same
  /// with probability 2^-64. A covariance has another one on another kind of device, whose exp rounds
  /// otherwise.
  std::uint64_t digest() const { return digest_; }
  /// The same of the tiles: of the digest and the precisions.
  std::uint64_t hash() const;
  double norm_inf() const { return norm_inf_; }                  ///< ||H||_inf
  bool is_equilibrated() const { return options_.equilibrate; }  ///< else H = A
  double given_norm_inf() const { return given_norm_inf_; }      ///< ||A||_inf
  TileNorms const& norms() const { return norms_; }              ///< of H
  /// What it took to make it.
  TileMatrixReport const& report() const { return report_; }

 private:
  using HostMemory =
      std::conditional_t<Kokkos::SpaceAccessibility<ExecutionSpace, Kokkos::HostSpace>::accessible,
                         Kokkos::HostSpace, Kokkos::SharedHostPinnedSpace>;
  using HostChunk = Kokkos::View<std::byte*, HostMemory>;
  using Vector = Kokkos::View<double*, typename ExecutionSpace::memory_space>;

  enum class State : std::uint8_t { None, Measured, Filled };
  struct Tiles {
    State state = State::None;
    PrecisionMap map;
    std::vector<HostChunk> chunks;
    std::vector<int> chunk_nodes;
    std::shared_ptr<detail::DeviceTiles<ExecutionSpace>> pieces;  // on devices, in place of chunks
    std::vector<std::byte*> data;                                 // of each tile
    Kokkos::View<std::byte*, Kokkos::HostSpace> copy;             // that `tile` makes
    HostChunk others;                                             // tiles of other ranks
  };

  TileMatrix(std::int64_t n, std::int64_t tile_size, Generator const& generator);
  void evaluate();
  void take_grid(TileMatrixOptions const& options);
  std::size_t device_index_of_row(std::int64_t i) const;
  std::vector<std::size_t> bytes_of_tiles(PrecisionMap const& map) const;
  std::vector<std::size_t> bytes_of_pieces(PrecisionMap const& map) const;
  std::size_t least_pool(PrecisionMap const& map) const;
  std::string lack_of_devices(PrecisionMap const& map) const;
  std::string agree_on_storage(PrecisionMap const& map) const;
  void take_memory(bool on_devices);
  void require_host_memory(PrecisionMap const& map, std::int64_t column_block,
                           TileStorage where) const;
  TileMatrixReport allocate_on_devices();
  std::size_t host_bytes(PrecisionMap const& map, std::int64_t i, std::int64_t j) const;
  std::size_t own_bytes(PrecisionMap const& map) const;
  std::size_t room_bytes(PrecisionMap const& map, std::int64_t column_block) const;
  void gather(std::vector<detail::TileMeasure>& measures) const;
  void equilibrate(ExecutionSpace const& exec);
  void measure(ExecutionSpace const& exec, bool keep);
  void measure_own(ExecutionSpace const& exec, bool keep, bool is_even,
                   std::vector<detail::TileMeasure>& host);
  void for_each_tile_in_rows_of(int rank, std::function<void(std::size_t tile)> const& f) const;
  TileMatrixReport allocate_tiles();
  void allocate_chunks(std::vector<std::size_t> const& sizes, std::vector<int> const& nodes,
                       std::size_t all);
  void fill(ExecutionSpace const& exec, double begin);
  void make_rounders(ExecutionSpace const& exec,
                     std::deque<detail::Rounder<ExecutionSpace>>& rounders) const;
  void tell_filled(std::int64_t i, std::int64_t j, double begin, double end) const;
  void copy_out(ExecutionSpace const& exec, std::byte* from, std::int64_t i, std::int64_t j) const;
  void take_norms(std::vector<detail::TileMeasure> const& measures);

  std::int64_t n_, tile_size_;
  Generator generator_;
  dense::StridedMatrix<double const> source_;
  ExecutionSpace exec_;
  TileMatrixOptions options_;
  int rank_ = 0;
  std::vector<int> sharing_;  // ranks that have the memory of each device
  RankGrid grid_;
  std::int64_t super_panel_ = 0;
  std::vector<double> scaling_;
  Vector device_scaling_;
  TileNorms norms_;
  double norm_inf_ = 0, given_norm_inf_ = 0;
  std::uint64_t digest_ = 0;
  Pimpl<Tiles> tiles_;
  TileMatrixReport report_;
};

namespace detail {

/// Whether tiles of this precision are stored transposed.
constexpr bool is_transposed(Precision precision) { return traits(precision).bytes == 1; }

/// The stored tile at `data`, of a tile with `rows` x `cols` numbers.
template <class MemorySpace>
MatrixRef<MemorySpace> stored_tile(std::byte* data, Precision precision, std::int64_t rows,
                                   std::int64_t cols) {
  bool const transposed = is_transposed(precision);
  auto* const trailer = reinterpret_cast<double*>(data + number_bytes(precision, rows, cols));
  std::int64_t const m = transposed ? cols : rows;
  return {data, m,         transposed ? rows : cols,
          m,    precision, is_arithmetic(precision) ? nullptr : trailer};
}

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
