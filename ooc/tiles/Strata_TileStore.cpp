// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/tiles/Strata_TileStore.hpp>

#include <comm/Strata_Communicator.hpp>
#include <comm/Strata_Together.hpp>
#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <ooc/schedule/Strata_RankOrder.hpp>
#include <ooc/schedule/Strata_TilePlan.hpp>
#include <ooc/schedule/detail/Strata_RankRoom.hpp>
#include <ooc/team/detail/Strata_Lane.hpp>
#include <ooc/tiles/detail/Strata_DeviceTiles.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

// How tiles are dealt to ranks and devices, and what memory they need there.
namespace strata::ooc {

namespace {

constexpr std::int64_t most_tile_rows = std::int64_t{1} << 20;  // 512 GiB of maps

std::int64_t tiles_of(std::int64_t n, std::int64_t tile_size) {
  STRATA_REQUIRE(ShapeError, n >= 0, "tile matrix: n is ", n, ", must not be negative");
  STRATA_REQUIRE(ShapeError, tile_size >= 1, "tile matrix: the tile size is ", tile_size,
                 ", must be at least 1");
  std::int64_t const tiles = n / tile_size + (n % tile_size > 0 ? 1 : 0);
  STRATA_REQUIRE(ShapeError, tiles <= most_tile_rows, "tile matrix: n = ", n, " in tiles of ",
                 tile_size, " has ", tiles, " rows of tiles, at most ", most_tile_rows,
                 " are possible");
  return tiles;
}

std::int64_t rows_of(std::int64_t n, std::int64_t tile_size, std::int64_t i) {
  return std::min(tile_size, n - i * tile_size);
}

}  // namespace

template <class Exec>
std::size_t TileStore<Exec>::bytes_needed(std::int64_t n, std::int64_t tile_size,
                                          PrecisionMap const& map) {
  std::int64_t const tiles = tiles_of(n, tile_size);
  STRATA_REQUIRE(ShapeError, map.tiles() == tiles, "tile matrix: a map of ", map.tiles(),
                 " tile rows, the matrix has ", tiles);
  std::size_t bytes = 0;
  for (std::int64_t j = 0; j < tiles; ++j)
    for (std::int64_t i = j; i < tiles; ++i)
      bytes += tile_bytes(map.at(i, j), rows_of(n, tile_size, i), rows_of(n, tile_size, j));
  return bytes;
}

template <class Exec>
std::size_t TileStore<Exec>::bytes_needed(std::int64_t n, std::int64_t tile_size) {
  return name_bad_alloc("tile matrix", [&] {
    return bytes_needed(n, tile_size, PrecisionMap(tiles_of(n, tile_size)));
  });
}

template <class Exec>
std::size_t TileStore<Exec>::bytes_needed(std::int64_t n, std::int64_t tile_size,
                                          RankGrid const& grid, int rank) {
  return name_bad_alloc("tile matrix", [&] {
    std::int64_t const tiles = tiles_of(n, tile_size);
    RankOrder const order{tiles, grid, 1, 1, automatic_super_panel(grid)};
    order.check();
    STRATA_REQUIRE(ValueError, rank >= 0 && rank < grid.ranks(), "tile matrix: rank ", rank, " of ",
                   grid.ranks());
    std::size_t bytes = detail::rank_room(order, rank, n, tile_size, PrecisionMap(tiles)).bytes();
    for (std::int64_t j = 0; j < tiles; ++j)
      for (std::int64_t i = j; i < tiles; ++i)
        if (order.owner(i, j) == rank)
          bytes += tile_bytes(Precision::fp64, rows_of(n, tile_size, i), rows_of(n, tile_size, j));
    return bytes;
  });
}

template <class Exec>
std::int64_t TileStore<Exec>::automatic_tile_size(std::int64_t n, std::size_t budget_bytes) {
  constexpr bool on_host =
      Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Exec::memory_space>::accessible;
  bool const on_one_core = on_host && Exec().concurrency() == 1;
  constexpr std::int64_t smallest = on_host ? 64 : 256, step = 64, rows = 8, tiles = 16;
  std::int64_t const largest = on_one_core ? 384 : on_host ? 512 : 2048;
  std::int64_t size = std::clamp((n + rows * step - 1) / (rows * step) * step, smallest, largest);
  while (budget_bytes > 0 && size > smallest &&
         tiles * tile_bytes(Precision::fp64, size, size) > budget_bytes)
    size -= step;
  if (!on_one_core || size < largest || n <= rows * largest) return size;
  constexpr std::int64_t lanes = 8;  // of the products' kernels
  std::int64_t const tile_rows = (n + largest - 1) / largest,
                     least = (n + tile_rows - 1) / tile_rows;
  return (least + lanes - 1) / lanes * lanes;  // rows that are alike
}

template <class Exec>
TileStore<Exec>::TileStore(std::int64_t n, std::int64_t tile_size)
    : n_(n),
      tile_size_(tile_size),
      memory_("TileMatrix",
              std::make_unique<Memory>(Memory{.map = PrecisionMap(tiles_of(n, tile_size))})) {}

// Deals the tiles by these options. Bad options are refused before anything is changed. Collective.
template <class Exec>
void TileStore<Exec>::deal(TileStoreOptions const& options) {
  Communicator const* const ranks = options.comm.get();
  int const count = ranks ? ranks->size() : 1;
  RankGrid const grid = options.grid == RankGrid{0, 0} ? automatic_grid(count) : options.grid;
  std::int64_t const super_panel =
      options.super_panel < 0 ? automatic_super_panel(grid) : options.super_panel;
  together(ranks, [&] {
    STRATA_REQUIRE(ValueError,
                   grid.rows >= 1 && grid.cols >= 1 && grid.rows <= count && grid.cols <= count &&
                       grid.ranks() == count,
                   "tile matrix: a grid of ", grid.rows, " x ", grid.cols, " ranks, there are ",
                   count);
    STRATA_REQUIRE(ValueError, options.super_panel >= -1 && (super_panel > 0 || grid.cols == 1),
                   "tile matrix: super-panels of ", options.super_panel, " columns on a grid of ",
                   grid.rows, " x ", grid.cols,
                   ", must be at least 1, or -1 for automatic; 0 on one column of ranks");
    STRATA_REQUIRE(ValueError, options.storage == TileStorage::Host || !options.devices.empty(),
                   "tile matrix: its tiles are to lie on devices, and there is none");
  });
  rank_ = ranks ? ranks->rank() : 0;
  grid_ = grid;
  super_panel_ = super_panel;
  memory_->state = State::None;
  report_ = TileStoreReport();
  options_ = options;
  if (count == 1) options_.comm.reset();
  if (options.storage != TileStorage::Host)
    sharing_ = detail::ranks_that_share<Exec>(options_.devices, comm());
}

template <class Exec>
void TileStore<Exec>::require_memory(PrecisionMap const& map, std::int64_t column_block) const {
  std::string const lack =
      options_.storage == TileStorage::Host ? "none asked for" : lack_of_devices(map);
  STRATA_REQUIRE(MemoryError, options_.storage != TileStorage::Devices || lack.empty(),
                 "tile matrix: ", lack);
  require_host_memory(
      map, column_block,
      storage() == TileStorage::Devices && lack.empty() ? TileStorage::Devices : TileStorage::Host);
}

// Requires host memory for tiles that lie at `where`, and for the room that they need.
template <class Exec>
void TileStore<Exec>::require_host_memory(PrecisionMap const& map, std::int64_t column_block,
                                          TileStorage where) const {
  bool const on_host = strata::runs_on_host<Exec> || where == TileStorage::Host;
  std::size_t room = room_bytes(map, column_block);
  if (comm() && where == TileStorage::Devices)  // for copies of tiles on their way
    room += 2 * static_cast<std::size_t>(grid_.ranks() - 1) *
            tile_bytes(Precision::fp64, rows(0), rows(0));
  std::size_t const needed = (on_host ? own_bytes(map) : 0) + room;
  std::string const whose = comm()
                                ? strata::detail::message(" for its part of ", grid_.ranks(), ", ",
                                                          room, " of them for tiles of others")
                                : "";
  STRATA_REQUIRE(MemoryError, needed <= options_.max_bytes, "tile matrix: n = ", n_,
                 " in tiles of ", tile_size_, " needs ", needed, " bytes of host memory", whose,
                 ", ", options_.max_bytes, " are allowed");
}

// Bytes of the room for tiles of others while the matrix is factored.
template <class Exec>
std::size_t TileStore<Exec>::room_bytes(PrecisionMap const& map, std::int64_t column_block) const {
  if (!comm()) return 0;
  RankOrder const order{map.tiles(), grid_, 1, 1, super_panel_, column_block};
  return detail::rank_room(order, rank_, n_, tile_size_, map).bytes();
}

// Host bytes of a tile, and of its sums in fp64 or fp32 where they come home.
template <class Exec>
std::size_t TileStore<Exec>::host_bytes(PrecisionMap const& map, std::int64_t i,
                                        std::int64_t j) const {
  std::size_t const stored = tile_bytes(map.at(i, j), rows(i), rows(j));
  if (super_panel_ == 0 || map.at(i, j) == Precision::fp64) return stored;
  return std::max(stored, tile_bytes(Precision::fp32, rows(i), rows(j)));
}

// Which of the devices has this rank's tiles of a row.
template <class Exec>
std::size_t TileStore<Exec>::device_index_of_row(std::int64_t i) const {
  auto const number = dealt_row(grid_, super_panel_, tiles(), i).round;
  return static_cast<std::size_t>(number) % options_.devices.size();
}

template <class Exec>
std::vector<std::size_t> TileStore<Exec>::bytes_of_tiles(PrecisionMap const& map) const {
  std::vector<std::size_t> bytes(options_.devices.size(), 0);
  for (std::int64_t i = 0; i < tiles(); ++i)
    for (std::int64_t j = 0; j <= i; ++j)
      if (has_tile(i, j)) bytes[device_index_of_row(i)] += host_bytes(map, i, j);
  return bytes;
}

template <class Exec>
std::size_t TileStore<Exec>::bytes_on(int device, PrecisionMap const& map) const {
  if (storage() == TileStorage::Host) return 0;
  if (options_.storage == TileStorage::Automatic && !lack_of_devices(map).empty()) return 0;
  auto const bytes = bytes_of_pieces(map);
  std::size_t sum = 0;
  for (std::size_t d = 0; d < bytes.size(); ++d)
    if (options_.devices[d].id == device) sum += bytes[d];
  return sum;
}

template <class Exec>
std::size_t TileStore<Exec>::bytes_on(int device) const {
  auto const& pieces = memory_->pieces;
  std::size_t sum = 0;
  for (std::size_t d = 0; pieces && d < pieces->devices().size(); ++d)
    if (pieces->devices()[d].id == device) sum += pieces->bytes(d);
  return sum;
}

// The least pool of a factorisation.
template <class Exec>
std::size_t TileStore<Exec>::least_pool(PrecisionMap const& map) const {
  return smallest_budget_bytes(n_, tile_size_, map, detail::default_streams<Exec>());
}

// Bytes of the pieces that hold tiles of this map. A larger piece is kept unless the device's
// budget has no pool beside it.
template <class Exec>
std::vector<std::size_t> TileStore<Exec>::bytes_of_pieces(PrecisionMap const& map) const {
  auto bytes = bytes_of_tiles(map);
  auto const& pieces = memory_->pieces;
  std::size_t const pool = least_pool(map);
  for (std::size_t d = 0; pieces && d < bytes.size(); ++d) {
    std::size_t const budget = options_.devices[d].budget_bytes, there = pieces->bytes(d);
    if (budget == 0 || there + pool <= budget) bytes[d] = std::max(bytes[d], there);
  }
  return bytes;
}

// What the first device lacks that can't hold its tiles beside the least pool; "": each can.
template <class Exec>
std::string TileStore<Exec>::lack_of_devices(PrecisionMap const& map) const {
  using Lane = detail::Lane<Exec>;
  auto const& devices = options_.devices;
  auto const& pieces = memory_->pieces;
  auto const bytes = bytes_of_tiles(map);
  std::size_t const pool = least_pool(map);
  std::map<int, std::size_t> open,
      held;  // of each memory: devices without a budget, bytes of pieces
  for (std::size_t d = 0; d < devices.size(); ++d) {
    open[Lane::memory_of(devices[d].id)] += devices[d].budget_bytes == 0 ? 1 : 0;
    if (pieces) held[Lane::memory_of(devices[d].id)] += pieces->bytes(d);
  }
  for (std::size_t d = 0; d < devices.size(); ++d) {
    int const memory = Lane::memory_of(devices[d].id);
    std::size_t most = devices[d].budget_bytes;
    if (most == 0) {
      if (pieces && pieces->bytes(d) >= bytes[d]) continue;
      std::size_t const free =
          Lane::free_bytes(devices[d].id) / static_cast<std::size_t>(sharing_[d]);
      most = (free + held[memory]) / 10 * 9 / open[memory];
    }
    if (bytes[d] + pool > most)
      return strata::detail::message("device ", devices[d].id, " needs ", bytes[d],
                                     " bytes for its tiles and at least ", pool,
                                     " to factor them, and has ", most);
  }
  return "";
}

// Why tiles of this map are not to lie on devices; "": they are. Collective.
template <class Exec>
std::string TileStore<Exec>::agree_on_storage(PrecisionMap const& map) const {
  std::string lack = together(comm(), [&] {
    std::string found = lack_of_devices(map);
    STRATA_REQUIRE(MemoryError, options_.storage != TileStorage::Devices || found.empty(),
                   "tile matrix: ", found);
    return found;
  });
  if (comm() && comm()->max(lack.empty() ? 0 : 1) > 0 && lack.empty())
    lack = "another rank has no room for its tiles";
  return lack;
}

// Bytes of the tiles that are on this rank.
template <class Exec>
std::size_t TileStore<Exec>::own_bytes(PrecisionMap const& map) const {
  std::size_t bytes = 0;
  for (std::int64_t j = 0; j < tiles(); ++j)
    for (std::int64_t i = j; i < tiles(); ++i)
      if (has_tile(i, j)) bytes += host_bytes(map, i, j);
  return bytes;
}

template <class Exec>
std::int64_t TileStore<Exec>::rows(std::int64_t i) const {
  return rows_of(n_, tile_size_, i);
}

#define STRATA_INSTANTIATE(Exec) template class TileStore<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc
