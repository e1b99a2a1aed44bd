// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_TILES_TILE_STORE_HPP
#define STRATA_OOC_TILES_TILE_STORE_HPP

#include <core/Strata_EnumNames.hpp>
#include <core/Strata_MatrixRef.hpp>
#include <core/Strata_Pimpl.hpp>
#include <ooc/schedule/Strata_PrecisionMap.hpp>
#include <ooc/schedule/Strata_RankGrid.hpp>
#include <ooc/team/Strata_DeviceTeam.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace strata {
class Communicator;
std::size_t physical_memory_bytes();
}  // namespace strata

namespace strata::ooc {

namespace detail {
template <class ExecutionSpace>
class DeviceTiles;
}  // namespace detail

/// A tile that a generator fills, in the memory of the instance that it runs on.
template <class ExecutionSpace>
using TileView = Kokkos::View<double**, Kokkos::LayoutLeft, typename ExecutionSpace::memory_space,
                              Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// tile(i, j) = A(row + i, col + j) for the whole tile; of a tile with row == col the lower
/// triangle is read. Enqueued on `exec`; called again for the same tile it writes the same bits.
template <class ExecutionSpace>
using TileGenerator = std::function<void(ExecutionSpace const& exec, std::int64_t row,
                                         std::int64_t col, TileView<ExecutionSpace> const& tile)>;

/// The place of tiles.
enum class TileStorage : std::uint8_t {
  Host,     ///< tiles lie in the host's memory, go to the devices and come back
  Devices,  ///< each device has its rows of tiles; the host has no copy
  /// Devices if they hold the tiles beside what a factorisation takes, else Host
  Automatic,
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(TileStorage) {
  return enum_names<TileStorage>("storage of tiles", {{TileStorage::Host, "host"},
                                                      {TileStorage::Devices, "devices"},
                                                      {TileStorage::Automatic, "automatic"}});
}
using strata::name_of;

/// Choices of the memory of tiles.
struct TileStoreOptions {
  std::size_t chunk_bytes = std::size_t(1) << 30;  ///< bytes of one allocation; one tile at least
  /// NUMA nodes of host memory that rows of tiles go round, as they go round the devices: what
  /// `numa_nodes` of the devices says. Empty, or a node that the host has not: left to the system.
  std::vector<int> nodes;
  /// The place of the tiles: the host, or `devices`. Rows of tiles go round these devices as they
  /// go round a team's. A factorisation by a team of the same devices works on them there. A
  /// device's budget then counts its tiles too; 0: what is free, in equal parts for the ranks that
  /// have the device. On hosts they are on `nodes`.
  TileStorage storage = TileStorage::Host;
  Devices devices;  ///< see `storage`
  /// Refuse more host memory than this, of several ranks with the room for tiles of others while
  /// they factor.
  std::size_t max_bytes = physical_memory_bytes();
  /// The ranks that hold the matrix together, all of which make the same calls with it and its
  /// factor (`comm/Strata_Communicator.hpp`); empty: one, without MPI. Each has the tiles that
  /// `grid` gives it. For norms and products rows of A go round the R ranks: rank r has rows of
  /// tiles r, r + R, r + 2 R, ... there. The generator is called on each for both. The ranks'
  /// processors are of one kind, so that all find the same numbers. What one rank throws in a
  /// generator, all throw.
  std::shared_ptr<Communicator const> comm;
  /// The grid of all ranks; 0 x 0: `automatic_grid`. Each grid gives the same bits.
  RankGrid grid{0, 0};
  /// Columns of tiles in a super-panel of a factorisation (`RankOrder`); 0: whole tasks, on one
  /// column of ranks; -1: `automatic_super_panel`. With super-panels the host memory of a tile has
  /// room for its sums, which may be wider.
  std::int64_t super_panel = -1;
};

/// The memory that tiles got.
struct TileStoreReport {
  TileStorage storage = TileStorage::Host;  ///< Host or Devices
  std::string no_room = {};  ///< why they are not on devices that might have held them, or ""
  /// bytes of the tiles; on the host they are pinned where there is a device
  std::size_t bytes = 0;
  std::int64_t chunks = 0;                ///< allocations
  double pin_seconds = 0;                 ///< time to allocate the tiles' memory
  std::map<int, std::size_t> node_bytes;  ///< bytes of tiles on each node that was asked for
};

/// The memory of a lower triangle of n x n numbers in square tiles, and how they are dealt to ranks
/// and devices.
///
/// Each tile has its own precision. What fills tiles is `TileMatrix`, which is one of these.
///
/// Memory   `bytes_needed`: 4 n^2 bytes in fp64, and 256 for each tile; each of several ranks has
///          the bytes of its own tiles, with super-panels as wide as their sums.
template <class ExecutionSpace = Kokkos::DefaultExecutionSpace>
class TileStore {
 public:
  /// A stored tile, to be read.
  using HostTile = ConstMatrixRef<Kokkos::HostSpace>;

  /// Host bytes of a matrix with this map.
  ///
  /// Throws   ShapeError if n < 0, tile_size < 1 or the map is of another size.
  static std::size_t bytes_needed(std::int64_t n, std::int64_t tile_size, PrecisionMap const& map);
  /// Host bytes with every tile in fp64: no map needs more.
  static std::size_t bytes_needed(std::int64_t n, std::int64_t tile_size);
  /// Host bytes of one rank of a grid with `automatic_super_panel`: its tiles, all in fp64, and the
  /// room for tiles of others while the ranks factor. Whole tasks are taken by single columns.
  ///
  /// Throws   ShapeError also as `RankOrder` does; ValueError if the rank is none of the grid.
  static std::size_t bytes_needed(std::int64_t n, std::int64_t tile_size, RankGrid const& grid,
                                  int rank);

  /// A tile size that is fast for a matrix of order n and devices with this budget (0: enough). It
  /// is large enough for products at full rate, and small enough for eight rows of tiles and for 16
  /// tiles on a device. On one core of a host it is at most 384, and divides n into rows of tiles
  /// that are alike, which ranks share better.
  static std::int64_t automatic_tile_size(std::int64_t n, std::size_t budget_bytes = 0);

  /// Throws   MemoryError if tiles of this map need more memory than the devices that must hold
  ///          them have; MemoryError if they need more than max_bytes. On several ranks the room
  ///          for tiles of others counts, in blocks of so many columns
  ///          (`CholeskyOptions::column_block`).
  void require_memory(PrecisionMap const& map, std::int64_t column_block = 1) const;

  /// Whether the tiles hold the matrix: no more once they are overwritten, by a factorisation, or
  /// undefined by an exception, until they are filled again.
  bool is_filled() const { return memory_->state == State::Filled; }
  /// They will be overwritten through `data`.
  void overwrite() {
    if (memory_->state == State::Filled) memory_->state = State::Measured;
  }

  /// Rows, and columns, of the matrix.
  std::int64_t order() const { return n_; }
  /// Rows of a full tile.
  std::int64_t tile_size() const { return tile_size_; }
  /// Tile rows: ceil(n / tile_size).
  std::int64_t tiles() const { return memory_->map.tiles(); }
  /// Rows of the tiles in tile row i.
  std::int64_t rows(std::int64_t i) const;
  /// The precision of each tile.
  PrecisionMap const& map() const { return memory_->map; }

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
  /// The rank that evaluates the tiles of row i for norms and for A X, and sums the row. It has
  /// some of these tiles itself; in a column of ranks it has all.
  int maker_of_row(std::int64_t i) const {
    auto const [rank, round] = dealt_row(grid_, super_panel_, tiles(), i);
    return grid_.rank_at(rank, round);
  }
  /// Whether this is it.
  bool makes_row(std::int64_t i) const { return maker_of_row(i) == rank_; }

  /// The place of its tiles: Host or Devices.
  TileStorage storage() const { return report_.storage; }
  /// The number of the device that has this rank's tiles of row i; -1: they are on the host.
  int device_of_row(std::int64_t i) const {
    if (storage() == TileStorage::Host) return -1;
    return options_.devices[device_index_of_row(i)].id;
  }
  /// Bytes that tiles of this map take of a device's memory, by its number; 0: they are on the
  /// host.
  std::size_t bytes_on(int device, PrecisionMap const& map) const;
  /// The same of the tiles that there are.
  std::size_t bytes_on(int device) const;

  /// The tile (i, j), i >= j. A tile in an 8-bit type is stored transposed, as matrix units read
  /// it. A device's tile is returned as a copy that holds until the next call; two threads must not
  /// call it at once then.
  HostTile tile(std::int64_t i, std::int64_t j) const;
  /// How to read the stored tile as the tile.
  Op op(std::int64_t i, std::int64_t j) const;
  /// The tile as it lies in memory, the host's or the device's: the numbers, then scale, squared
  /// norm and largest magnitude.
  std::byte* data(std::int64_t i, std::int64_t j) const;
  /// How many bytes of `data` a copy takes.
  std::size_t copy_bytes(std::int64_t i, std::int64_t j) const;
  /// A copy between such memory and the host's, in which nothing else may write meanwhile. For any
  /// thread.
  void copy(void* to, void const* from, std::size_t bytes) const;
  /// Squared Frobenius norm of the tile as it was before it was rounded; of the diagonal tiles of a
  /// factor it means nothing.
  double square(std::int64_t i, std::int64_t j) const;

  /// Host memory of at least so many bytes, for tiles of other ranks while the matrix is factored.
  /// It is kept as the tiles are, for the next factorisation. Throws MemoryError.
  std::byte* memory_for_others(std::size_t bytes);

 protected:
  /// Where tiles of the host lie, pinned if there is a device.
  using HostMemory =
      std::conditional_t<Kokkos::SpaceAccessibility<ExecutionSpace, Kokkos::HostSpace>::accessible,
                         Kokkos::HostSpace, Kokkos::SharedHostPinnedSpace>;
  /// What the tiles hold.
  enum class State : std::uint8_t {
    None,      ///< no matrix
    Measured,  ///< numbers of no matrix; the norms of one are known
    Filled,    ///< the matrix
  };

  /// Throws   ShapeError if n < 0 or tile_size < 1.
  TileStore(std::int64_t n, std::int64_t tile_size);
  /// Deal the tiles to ranks and devices; they hold no matrix then. Collective.
  ///
  /// Throws   ValueError for options out of range, before anything is changed.
  void deal(TileStoreOptions const& options);
  /// Memory for the tiles of the map: on the devices, if it may be there and they have room, else
  /// on the host. Collective.
  ///
  /// Throws   MemoryError with the bytes needed and allowed, or of what can't be had.
  void take_memory(bool on_devices);
  /// Other precisions, for which there is no memory yet.
  void set_map(PrecisionMap map) { memory_->map = std::move(map); }
  /// What the tiles hold.
  State state() const { return memory_->state; }
  /// The tiles hold something else now.
  void set_state(State state) { memory_->state = state; }
  /// This rank.
  int rank() const { return rank_; }
  /// Devices that tiles may lie on.
  Devices const& devices() const { return options_.devices; }
  /// Whether devices were asked for.
  bool may_be_on_devices() const { return options_.storage != TileStorage::Host; }
  /// The memory that the tiles got.
  TileStoreReport const& store_report() const { return report_; }
  /// Position of the device that has this rank's tiles of row i.
  std::size_t device_index_of_row(std::int64_t i) const;
  /// An instance on the device at a position.
  ExecutionSpace const& exec_on(std::size_t device) const;

 private:
  using HostChunk = Kokkos::View<std::byte*, HostMemory>;
  struct Memory {
    State state = State::None;
    PrecisionMap map;
    std::vector<HostChunk> chunks;
    std::vector<int> chunk_nodes;
    std::shared_ptr<detail::DeviceTiles<ExecutionSpace>> pieces;  // on devices, in place of chunks
    std::vector<std::byte*> data;                                 // of each tile
    Kokkos::View<std::byte*, Kokkos::HostSpace> copy;             // that `tile` makes
    HostChunk others;                                             // tiles of other ranks
  };

  std::vector<std::size_t> bytes_of_tiles(PrecisionMap const& map) const;
  std::vector<std::size_t> bytes_of_pieces(PrecisionMap const& map) const;
  std::size_t least_pool(PrecisionMap const& map) const;
  std::string lack_of_devices(PrecisionMap const& map) const;
  std::string agree_on_storage(PrecisionMap const& map) const;
  void require_host_memory(PrecisionMap const& map, std::int64_t column_block,
                           TileStorage where) const;
  std::size_t host_bytes(PrecisionMap const& map, std::int64_t i, std::int64_t j) const;
  std::size_t own_bytes(PrecisionMap const& map) const;
  std::size_t room_bytes(PrecisionMap const& map, std::int64_t column_block) const;
  TileStoreReport allocate_on_devices();
  TileStoreReport allocate_tiles();
  void allocate_chunks(std::vector<std::size_t> const& sizes, std::vector<int> const& nodes,
                       std::size_t all);

  std::int64_t n_, tile_size_;
  TileStoreOptions options_;
  int rank_ = 0;
  std::vector<int> sharing_;  // ranks that have the memory of each device
  RankGrid grid_;
  std::int64_t super_panel_ = 0;
  TileStoreReport report_;
  Pimpl<Memory> memory_;
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

}  // namespace detail

}  // namespace strata::ooc

#endif
