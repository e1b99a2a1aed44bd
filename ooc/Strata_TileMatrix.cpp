// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/Strata_TileMatrix.hpp>

#include <comm/Strata_Communicator.hpp>
#include <comm/Strata_Together.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <ooc/Strata_RankOrder.hpp>
#include <ooc/Strata_TilePlan.hpp>
#include <ooc/detail/Strata_DeviceTiles.hpp>
#include <ooc/detail/Strata_Lane.hpp>
#include <ooc/detail/Strata_RankRoom.hpp>
#include <ooc/detail/Strata_TileKernels.hpp>
#include <ooc/vendor/Strata_Numa.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

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
std::size_t TileMatrix<Exec>::bytes_needed(std::int64_t n, std::int64_t tile_size,
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
std::size_t TileMatrix<Exec>::bytes_needed(std::int64_t n, std::int64_t tile_size) {
  return name_bad_alloc("tile matrix", [&] {
    return bytes_needed(n, tile_size, PrecisionMap(tiles_of(n, tile_size)));
  });
}

template <class Exec>
std::size_t TileMatrix<Exec>::bytes_needed(std::int64_t n, std::int64_t tile_size,
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
std::int64_t TileMatrix<Exec>::automatic_tile_size(std::int64_t n, std::size_t budget_bytes) {
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
TileMatrix<Exec>::TileMatrix(std::int64_t n, std::int64_t tile_size, Generator const& generator)
    : n_(n),
      tile_size_(tile_size),
      generator_(generator),
      tiles_("TileMatrix",
             std::make_unique<Tiles>(Tiles{.map = PrecisionMap(tiles_of(n, tile_size))})) {
  STRATA_REQUIRE(ValueError, generator, "tile matrix: there is no generator");
  norms_.tiles = tiles();
}

template <class Exec>
TileMatrix<Exec> TileMatrix<Exec>::generate(Exec const& exec, std::int64_t n,
                                            std::int64_t tile_size, Generator const& generator,
                                            TileMatrixOptions const& options) {
  options.rule.check();
  auto matrix = name_bad_alloc("tile matrix", [&] { return TileMatrix(n, tile_size, generator); });
  matrix.refill(exec, generator, options);
  return matrix;
}

template <class Exec>
void TileMatrix<Exec>::refill(Exec const& exec, Generator const& generator,
                              TileMatrixOptions const& options) {
  Region const region(exec, "strata::ooc::tile_matrix::generate");
  STRATA_REQUIRE(ValueError, generator, "tile matrix: there is no generator");
  options.rule.check();
  take_grid(options);
  tiles_->state = State::None;
  report_ = TileMatrixReport();
  generator_ = generator;
  source_ = {};
  exec_ = exec;
  options_ = options;
  if (comm() && comm()->size() == 1) options_.comm.reset();
  if (options.storage != TileStorage::Host)
    sharing_ = detail::ranks_that_share<Exec>(options_.devices, comm());
  name_bad_alloc("tile matrix", [&] { evaluate(); });
  tiles_->state = State::Filled;
}

// The ranks and their grid, of options that are refused before anything is changed.
template <class Exec>
void TileMatrix<Exec>::take_grid(TileMatrixOptions const& options) {
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
}

// All tiles from the generator, by the options.
template <class Exec>
void TileMatrix<Exec>::evaluate() {
  scaling_.assign(static_cast<std::size_t>(n_), 1.0);
  device_scaling_ = {};
  bool const mixed = options_.rule.may_mix();
  tiles_->map = PrecisionMap(tiles());
  bool const may_be_on_devices = options_.storage != TileStorage::Host;
  if (!mixed) take_memory(may_be_on_devices);  // refuses before any work
  Kokkos::Timer const timer;
  if (options_.equilibrate) equilibrate(exec_);
  measure(exec_, !mixed);
  tiles_->state = State::Measured;
  double const measured = timer.seconds();
  if (mixed) {
    tiles_->map = precision_map(norms_, options_.rule);
    take_memory(may_be_on_devices);
  }
  Kokkos::Timer const again;
  if (mixed) fill(exec_, 0.5);
  report_.generate_seconds = measured + again.seconds();
}

template <class Exec>
void TileMatrix<Exec>::round_anew(PrecisionRule const& rule) {
  Region const region(exec_, "strata::ooc::tile_matrix::round_anew");
  STRATA_REQUIRE(ValueError, tiles_->state != State::None,
                 "tile matrix: there is no matrix to round, since an exception left none");
  PrecisionMap map = precision_map(norms_, rule);
  together(comm(), [&] { require_memory(map); });
  overwrite();
  tiles_->map = std::move(map);
  options_.rule = rule;
  name_bad_alloc("tile matrix", [&] {
    take_memory(storage() == TileStorage::Devices);  // what went to the host stays there
    Kokkos::Timer const timer;
    fill(exec_, 0);
    report_.generate_seconds = timer.seconds();
  });
  tiles_->state = State::Filled;
}

template <class Exec>
void TileMatrix<Exec>::require_memory(PrecisionMap const& map, std::int64_t column_block) const {
  std::string const lack =
      options_.storage == TileStorage::Host ? "none asked for" : lack_of_devices(map);
  STRATA_REQUIRE(MemoryError, options_.storage != TileStorage::Devices || lack.empty(),
                 "tile matrix: ", lack);
  require_host_memory(
      map, column_block,
      storage() == TileStorage::Devices && lack.empty() ? TileStorage::Devices : TileStorage::Host);
}

// With the tiles there.
template <class Exec>
void TileMatrix<Exec>::require_host_memory(PrecisionMap const& map, std::int64_t column_block,
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

// For tiles of others while they are factored.
template <class Exec>
std::size_t TileMatrix<Exec>::room_bytes(PrecisionMap const& map, std::int64_t column_block) const {
  if (!comm()) return 0;
  RankOrder const order{map.tiles(), grid_, 1, 1, super_panel_, column_block};
  return detail::rank_room(order, rank_, n_, tile_size_, map).bytes();
}

// Of a tile, and of its sums in fp64 or fp32 where they come home.
template <class Exec>
std::size_t TileMatrix<Exec>::host_bytes(PrecisionMap const& map, std::int64_t i,
                                         std::int64_t j) const {
  std::size_t const stored = tile_bytes(map.at(i, j), rows(i), rows(j));
  if (super_panel_ == 0 || map.at(i, j) == Precision::fp64) return stored;
  return std::max(stored, tile_bytes(Precision::fp32, rows(i), rows(j)));
}

// Which of the devices has this rank's tiles of a row.
template <class Exec>
std::size_t TileMatrix<Exec>::device_index_of_row(std::int64_t i) const {
  auto const number = dealt_row(grid_, super_panel_, tiles(), i).round;
  return static_cast<std::size_t>(number) % options_.devices.size();
}

template <class Exec>
std::vector<std::size_t> TileMatrix<Exec>::bytes_of_tiles(PrecisionMap const& map) const {
  std::vector<std::size_t> bytes(options_.devices.size(), 0);
  for (std::int64_t i = 0; i < tiles(); ++i)
    for (std::int64_t j = 0; j <= i; ++j)
      if (has_tile(i, j)) bytes[device_index_of_row(i)] += host_bytes(map, i, j);
  return bytes;
}

template <class Exec>
std::size_t TileMatrix<Exec>::bytes_on(int device, PrecisionMap const& map) const {
  if (storage() == TileStorage::Host) return 0;
  if (options_.storage == TileStorage::Automatic && !lack_of_devices(map).empty()) return 0;
  auto const bytes = bytes_of_pieces(map);
  std::size_t sum = 0;
  for (std::size_t d = 0; d < bytes.size(); ++d)
    if (options_.devices[d].id == device) sum += bytes[d];
  return sum;
}

template <class Exec>
std::size_t TileMatrix<Exec>::bytes_on(int device) const {
  auto const& pieces = tiles_->pieces;
  std::size_t sum = 0;
  for (std::size_t d = 0; pieces && d < pieces->devices().size(); ++d)
    if (pieces->devices()[d].id == device) sum += pieces->bytes(d);
  return sum;
}

// The least pool of a factorisation.
template <class Exec>
std::size_t TileMatrix<Exec>::least_pool(PrecisionMap const& map) const {
  return smallest_budget_bytes(n_, tile_size_, map, detail::default_streams<Exec>());
}

// Of the pieces that hold tiles of this map: a larger one is kept unless the device's budget has no pool beside it.
template <class Exec>
std::vector<std::size_t> TileMatrix<Exec>::bytes_of_pieces(PrecisionMap const& map) const {
  auto bytes = bytes_of_tiles(map);
  auto const& pieces = tiles_->pieces;
  std::size_t const pool = least_pool(map);
  for (std::size_t d = 0; pieces && d < bytes.size(); ++d) {
    std::size_t const budget = options_.devices[d].budget_bytes, there = pieces->bytes(d);
    if (budget == 0 || there + pool <= budget) bytes[d] = std::max(bytes[d], there);
  }
  return bytes;
}

// What the first device lacks that can't hold its tiles beside the least pool; "": each can.
template <class Exec>
std::string TileMatrix<Exec>::lack_of_devices(PrecisionMap const& map) const {
  using Lane = detail::Lane<Exec>;
  auto const& devices = options_.devices;
  auto const& pieces = tiles_->pieces;
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
std::string TileMatrix<Exec>::agree_on_storage(PrecisionMap const& map) const {
  std::string lack = together(comm(), [&] {
    std::string found = lack_of_devices(map);
    STRATA_REQUIRE(MemoryError, options_.storage != TileStorage::Devices || found.empty(),
                   "tile matrix: ", found);
    return found;
  });
  if (comm() && comm()->max(lack.empty() ? 0 : 1) > 0 && lack.empty())
    lack = "those of another rank have no room";
  return lack;
}

// For the map, on the devices if it may be and they have room, else on the host. Where the tiles are the report says once
// all ranks have them there: what throws leaves the ranks of one mind. Collective.
template <class Exec>
void TileMatrix<Exec>::take_memory(bool on_devices) {
  typename detail::Lane<Exec>::Visit const visit;
  auto& pieces = tiles_->pieces;
  if (pieces &&
      !std::ranges::equal(pieces->devices(), options_.devices, {}, &Device::id, &Device::id))
    pieces.reset();
  std::string no_room = on_devices ? agree_on_storage(tiles_->map) : report_.no_room;
  on_devices = on_devices && no_room.empty();
  if (on_devices) try {
      report_ = together(comm(), [&] { return allocate_on_devices(); });
    } catch (MemoryError const& error) {
      if (options_.storage == TileStorage::Devices || !all_have(comm(), error)) throw;
      on_devices = false;
      no_room = error.what();
    }
  if (on_devices) return;
  report_ = together(comm(), [&] {
    pieces.reset();
    return allocate_tiles();
  });
  report_.no_room = no_room;
}

template <class Exec>
TileMatrixReport TileMatrix<Exec>::allocate_on_devices() {
  require_host_memory(tiles_->map, 1, TileStorage::Devices);
  Kokkos::Timer const timer;
  auto const& devices = options_.devices;
  auto& pieces = tiles_->pieces;
  tiles_->chunks.clear();
  tiles_->chunk_nodes.clear();
  if (!pieces) pieces = std::make_shared<detail::DeviceTiles<Exec>>(devices);
  auto const bytes = bytes_of_tiles(tiles_->map), kept = bytes_of_pieces(tiles_->map);
  TileMatrixReport report;
  for (std::size_t d = 0; d < devices.size(); ++d) try {
      auto const& round = options_.nodes;
      bool const on_node = strata::runs_on_host<Exec> && !round.empty();
      int const node = on_node ? round[d % round.size()] : -1;
      pieces->trim(d, kept[d]);
      pieces->need(d, bytes[d], node);
      if (on_node) report.node_bytes[node] += bytes[d];
    } catch (MemoryError const& failure) {
      throw MemoryError(strata::detail::message("tile matrix: can't allocate ", bytes[d],
                                                " bytes of tiles on device ", devices[d].id, ": ",
                                                failure.what()));
    }
  std::vector<std::size_t> used(devices.size(), 0);
  tiles_->data.clear();
  for (std::int64_t j = 0; j < tiles(); ++j)
    for (std::int64_t i = j; i < tiles(); ++i) {
      if (!has_tile(i, j)) {
        tiles_->data.push_back(nullptr);
        continue;
      }
      std::size_t const d = device_index_of_row(i);
      tiles_->data.push_back(pieces->data(d) + used[d]);
      used[d] += host_bytes(tiles_->map, i, j);
    }
  report.storage = TileStorage::Devices;
  report.bytes = own_bytes(tiles_->map);
  report.pin_seconds = timer.seconds();
  return report;
}

// Of the tiles that are on this rank.
template <class Exec>
std::size_t TileMatrix<Exec>::own_bytes(PrecisionMap const& map) const {
  std::size_t bytes = 0;
  for (std::int64_t j = 0; j < tiles(); ++j)
    for (std::int64_t i = j; i < tiles(); ++i)
      if (has_tile(i, j)) bytes += host_bytes(map, i, j);
  return bytes;
}

template <class Exec>
std::int64_t TileMatrix<Exec>::rows(std::int64_t i) const {
  return rows_of(n_, tile_size_, i);
}

template <class Exec>
auto TileMatrix<Exec>::tile(std::int64_t i, std::int64_t j) const -> HostTile {
  std::byte* stored = data(i, j);
  if (storage() == TileStorage::Devices) {
    auto& here = tiles_->copy;
    std::size_t const bytes = copy_bytes(i, j);
    if (here.size() < bytes)
      here =
          allocate_on_host<std::decay_t<decltype(here)>>("strata::ooc::tile_matrix::copy", bytes);
    copy(here.data(), stored, bytes);
    stored = here.data();
  }
  return detail::stored_tile<Kokkos::HostSpace>(stored, tiles_->map.at(i, j), rows(i), rows(j));
}

template <class Exec>
void TileMatrix<Exec>::copy(void* to, void const* from, std::size_t bytes) const {
  if (storage() == TileStorage::Devices)
    tiles_->pieces->copy(to, from, bytes);
  else
    std::memcpy(to, from, bytes);
}

template <class Exec>
std::byte* TileMatrix<Exec>::memory_for_others(std::size_t bytes) {
  HostChunk& others = tiles_->others;
  if (others.size() < bytes) {
    others = {};
    others = allocate_on_host<HostChunk>("strata::ooc::tile_matrix::others", bytes);
  }
  return others.data();
}

template <class Exec>
double TileMatrix<Exec>::square(std::int64_t i, std::int64_t j) const {
  std::size_t const numbers = number_bytes(tiles_->map.at(i, j), rows(i), rows(j));
  double result = 0;
  copy(&result, data(i, j) + numbers + detail::SquareField * sizeof(double), sizeof result);
  return result;
}

template <class Exec>
std::uint64_t TileMatrix<Exec>::hash() const {
  return detail::digest_of(digest_, tiles_->map.hash());
}

template <class Exec>
Op TileMatrix<Exec>::op(std::int64_t i, std::int64_t j) const {
  return detail::is_transposed(tiles_->map.at(i, j)) ? Op::Trans : Op::NoTrans;
}

template <class Exec>
std::byte* TileMatrix<Exec>::data(std::int64_t i, std::int64_t j) const {
  return tiles_->data[tile_number(i, j, tiles())];
}

template <class Exec>
std::size_t TileMatrix<Exec>::copy_bytes(std::int64_t i, std::int64_t j) const {
  return tile_copy_bytes(tiles_->map.at(i, j), rows(i), rows(j));
}

template <class Exec>
void TileMatrix<Exec>::generate_tile(
    Exec const& exec, std::int64_t i, std::int64_t j, TileView<Exec> const& tile,
    Kokkos::View<double const*, typename Exec::memory_space> const& scaling) const {
  std::int64_t const row = i * tile_size_, col = j * tile_size_;
  generator_(exec, row, col, tile);
  detail::scale_tile<Exec>(exec, scaling, row, col, matrix_ref(tile));
}

// Host memory for the map, in chunks that no tile straddles, each on one node.
template <class Exec>
TileMatrixReport TileMatrix<Exec>::allocate_tiles() {
  require_host_memory(tiles_->map, 1, TileStorage::Host);
  Kokkos::Timer const timer;
  constexpr int any = -1;
  constexpr std::size_t elsewhere = ~std::size_t(0);  // on another rank
  std::vector<std::size_t> sizes, offsets, chunk_of;
  std::vector<int> nodes;
  std::map<int, std::size_t> open;  // the chunk that each node's tiles go to
  TileMatrixReport report;
  report.bytes = own_bytes(tiles_->map);
  for (std::int64_t j = 0; j < tiles(); ++j) {
    for (std::int64_t i = j; i < tiles(); ++i) {
      if (!has_tile(i, j)) {
        chunk_of.push_back(elsewhere);
        offsets.push_back(0);
        continue;
      }
      auto const& round = options_.nodes;
      auto const number = dealt_row(grid_, super_panel_, tiles(), i).round;  // as devices
      int const node = round.empty() ? any : round[static_cast<std::size_t>(number) % round.size()];
      std::size_t const bytes = host_bytes(tiles_->map, i, j);
      auto const found = open.find(node);
      if (found == open.end() || sizes[found->second] + bytes > options_.chunk_bytes) {
        open[node] = sizes.size();
        sizes.push_back(0);
        nodes.push_back(node);
      }
      std::size_t const chunk = open[node];
      chunk_of.push_back(chunk);
      offsets.push_back(sizes[chunk]);
      sizes[chunk] += bytes;
      if (node != any) report.node_bytes[node] += bytes;
    }
  }
  allocate_chunks(sizes, nodes, report.bytes);
  tiles_->data.clear();
  for (std::size_t t = 0; t < offsets.size(); ++t)
    tiles_->data.push_back(
        chunk_of[t] == elsewhere ? nullptr : tiles_->chunks[chunk_of[t]].data() + offsets[t]);
  report.chunks = static_cast<std::int64_t>(sizes.size());
  report.pin_seconds = timer.seconds();
  return report;
}

// Pinned memory is touched as it is allocated, other memory later.
template <class Exec>
void TileMatrix<Exec>::allocate_chunks(std::vector<std::size_t> const& sizes,
                                       std::vector<int> const& nodes, std::size_t all) {
  auto& chunks = tiles_->chunks;
  auto& chunk_nodes = tiles_->chunk_nodes;
  chunks.resize(sizes.size());
  chunk_nodes.resize(sizes.size(), -1);
  for (std::size_t c = 0; c < sizes.size(); ++c) {
    // of the matrix that was here before
    if (chunks[c].size() >= sizes[c] && chunk_nodes[c] == nodes[c]) continue;
    chunks[c] = {};
    try {
      vendor::OnNode const near(nodes[c]);
      chunks[c] = allocate_on_host<HostChunk>("strata::ooc::tile_matrix::chunk", sizes[c]);
    } catch (MemoryError const& failure) {
      throw MemoryError(strata::detail::message("tile matrix: can't allocate ", sizes[c], " of ",
                                                all, " bytes of host memory, the first of chunk ",
                                                c + 1, ": ", failure.what()));
    }
    chunk_nodes[c] = nodes[c];
    if constexpr (std::is_same_v<HostMemory, Kokkos::HostSpace>)
      vendor::bind_to_node(chunks[c].data(), sizes[c], nodes[c]);
  }
}

template <class Exec>
int device_of(Exec const& exec) {
  return detail::Lane<Exec>::device_of(exec);
}

template <class Exec>
std::size_t free_bytes(Exec const& exec) {
  return detail::Lane<Exec>::free_bytes(device_of(exec));
}

#define STRATA_INSTANTIATE(Exec)             \
  template class TileMatrix<Exec>;           \
  template int device_of<Exec>(Exec const&); \
  template std::size_t free_bytes<Exec>(Exec const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc
