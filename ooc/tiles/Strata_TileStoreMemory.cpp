// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <comm/Strata_Communicator.hpp>
#include <comm/Strata_Together.hpp>
#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <ooc/team/detail/Strata_Lane.hpp>
#include <ooc/team/detail/Strata_TileKernels.hpp>
#include <ooc/team/vendor/Strata_Numa.hpp>
#include <ooc/tiles/Strata_TileStore.hpp>
#include <ooc/tiles/detail/Strata_DeviceTiles.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

// The memory of tiles, and the tiles there.
namespace strata::ooc {

// For the map, on the devices if it may be and they have room, else on the host. Where the tiles
// are the report says once all ranks have them there: what throws leaves the ranks of one mind.
// Collective.
template <class Exec>
void TileStore<Exec>::take_memory(bool on_devices) {
  typename detail::Lane<Exec>::Visit const visit;
  auto& pieces = memory_->pieces;
  if (pieces &&
      !std::ranges::equal(pieces->devices(), options_.devices, {}, &Device::id, &Device::id))
    pieces.reset();
  std::string no_room = on_devices ? agree_on_storage(memory_->map) : report_.no_room;
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
TileStoreReport TileStore<Exec>::allocate_on_devices() {
  require_host_memory(memory_->map, 1, TileStorage::Devices);
  Kokkos::Timer const timer;
  auto const& devices = options_.devices;
  auto& pieces = memory_->pieces;
  memory_->chunks.clear();
  memory_->chunk_nodes.clear();
  if (!pieces) pieces = std::make_shared<detail::DeviceTiles<Exec>>(devices);
  auto const bytes = bytes_of_tiles(memory_->map), kept = bytes_of_pieces(memory_->map);
  TileStoreReport report;
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
  memory_->data.clear();
  for (std::int64_t j = 0; j < tiles(); ++j)
    for (std::int64_t i = j; i < tiles(); ++i) {
      if (!has_tile(i, j)) {
        memory_->data.push_back(nullptr);
        continue;
      }
      std::size_t const d = device_index_of_row(i);
      memory_->data.push_back(pieces->data(d) + used[d]);
      used[d] += host_bytes(memory_->map, i, j);
    }
  report.storage = TileStorage::Devices;
  report.bytes = own_bytes(memory_->map);
  report.pin_seconds = timer.seconds();
  return report;
}

// Host memory for the map, in chunks that no tile straddles, each on one node.
template <class Exec>
TileStoreReport TileStore<Exec>::allocate_tiles() {
  require_host_memory(memory_->map, 1, TileStorage::Host);
  Kokkos::Timer const timer;
  constexpr int any = -1;
  constexpr std::size_t elsewhere = ~std::size_t(0);  // on another rank
  std::vector<std::size_t> sizes, offsets, chunk_of;
  std::vector<int> nodes;
  std::map<int, std::size_t> open;  // the chunk that each node's tiles go to
  TileStoreReport report;
  report.bytes = own_bytes(memory_->map);
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
      std::size_t const bytes = host_bytes(memory_->map, i, j);
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
  memory_->data.clear();
  for (std::size_t t = 0; t < offsets.size(); ++t)
    memory_->data.push_back(
        chunk_of[t] == elsewhere ? nullptr : memory_->chunks[chunk_of[t]].data() + offsets[t]);
  report.chunks = static_cast<std::int64_t>(sizes.size());
  report.pin_seconds = timer.seconds();
  return report;
}

// Pinned memory is touched as it is allocated, other memory later.
template <class Exec>
void TileStore<Exec>::allocate_chunks(std::vector<std::size_t> const& sizes,
                                      std::vector<int> const& nodes, std::size_t all) {
  auto& chunks = memory_->chunks;
  auto& chunk_nodes = memory_->chunk_nodes;
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
auto TileStore<Exec>::tile(std::int64_t i, std::int64_t j) const -> HostTile {
  std::byte* stored = data(i, j);
  if (storage() == TileStorage::Devices) {
    auto& here = memory_->copy;
    std::size_t const bytes = copy_bytes(i, j);
    if (here.size() < bytes)
      here =
          allocate_on_host<std::decay_t<decltype(here)>>("strata::ooc::tile_matrix::copy", bytes);
    copy(here.data(), stored, bytes);
    stored = here.data();
  }
  return detail::stored_tile<Kokkos::HostSpace>(stored, memory_->map.at(i, j), rows(i), rows(j));
}

template <class Exec>
void TileStore<Exec>::copy(void* to, void const* from, std::size_t bytes) const {
  if (storage() == TileStorage::Devices)
    memory_->pieces->copy(to, from, bytes);
  else
    std::memcpy(to, from, bytes);
}

template <class Exec>
std::byte* TileStore<Exec>::memory_for_others(std::size_t bytes) {
  HostChunk& others = memory_->others;
  if (others.size() < bytes) {
    others = {};
    others = allocate_on_host<HostChunk>("strata::ooc::tile_matrix::others", bytes);
  }
  return others.data();
}

template <class Exec>
double TileStore<Exec>::square(std::int64_t i, std::int64_t j) const {
  std::size_t const numbers = number_bytes(memory_->map.at(i, j), rows(i), rows(j));
  double result = 0;
  copy(&result, data(i, j) + numbers + detail::SquareField * sizeof(double), sizeof result);
  return result;
}

template <class Exec>
Op TileStore<Exec>::op(std::int64_t i, std::int64_t j) const {
  return detail::is_transposed(memory_->map.at(i, j)) ? Op::Trans : Op::NoTrans;
}

template <class Exec>
std::byte* TileStore<Exec>::data(std::int64_t i, std::int64_t j) const {
  return memory_->data[tile_number(i, j, tiles())];
}

template <class Exec>
std::size_t TileStore<Exec>::copy_bytes(std::int64_t i, std::int64_t j) const {
  return tile_copy_bytes(memory_->map.at(i, j), rows(i), rows(j));
}

template <class Exec>
Exec const& TileStore<Exec>::exec_on(std::size_t device) const {
  return memory_->pieces->exec(device);
}

#define STRATA_INSTANTIATE(Exec)                                                      \
  template void TileStore<Exec>::take_memory(bool);                                   \
  template auto TileStore<Exec>::tile(std::int64_t, std::int64_t) const -> HostTile;  \
  template void TileStore<Exec>::copy(void*, void const*, std::size_t) const;         \
  template std::byte* TileStore<Exec>::memory_for_others(std::size_t);                \
  template double TileStore<Exec>::square(std::int64_t, std::int64_t) const;          \
  template Op TileStore<Exec>::op(std::int64_t, std::int64_t) const;                  \
  template std::byte* TileStore<Exec>::data(std::int64_t, std::int64_t) const;        \
  template std::size_t TileStore<Exec>::copy_bytes(std::int64_t, std::int64_t) const; \
  template Exec const& TileStore<Exec>::exec_on(std::size_t) const;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc
