// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_TILES_DETAIL_DEVICE_TILES_HPP
#define STRATA_OOC_TILES_DETAIL_DEVICE_TILES_HPP

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <ooc/team/Strata_DeviceTeam.hpp>
#include <ooc/team/detail/Strata_Lane.hpp>
#include <ooc/team/vendor/Strata_Numa.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace strata::ooc::detail {

/// The memory of devices that hold a matrix in tiles, a piece on each. A copy may be made by any
/// thread.
template <class ExecutionSpace>
class DeviceTiles {
 public:
  explicit DeviceTiles(Devices devices)
      : devices_(std::move(devices)), pieces_(devices_.size()), nodes_(devices_.size(), -1) {
    for (Device const& device : devices_)
      lanes_.push_back(std::make_unique<Lane<ExecutionSpace>>(device.id));
  }
  ~DeviceTiles() {
    typename Lane<ExecutionSpace>::Visit const visit;
    pieces_.clear();
    lanes_.clear();
  }
  DeviceTiles(DeviceTiles const&) = delete;
  DeviceTiles& operator=(DeviceTiles const&) = delete;

  Devices const& devices() const { return devices_; }
  /// An instance on the device at this position.
  ExecutionSpace const& exec(std::size_t position) const { return lanes_[position]->exec(); }
  /// Bytes of the piece on the device at this position.
  std::size_t bytes(std::size_t position) const { return pieces_[position].size(); }
  std::byte* data(std::size_t position) const { return pieces_[position].data(); }
  /// A piece of at least so many bytes, of host memory on this NUMA node (-1: any); if there were
  /// fewer, what was there is gone.
  ///
  /// Throws   MemoryError.
  void need(std::size_t position, std::size_t bytes, int node) {
    Piece& piece = pieces_[position];
    if (piece.size() >= bytes && nodes_[position] == node) return;
    piece = {};
    vendor::OnNode const near(node);
    auto const& exec = lanes_[position]->exec();
    piece = allocate<Piece>(exec, "strata::ooc::tile_matrix::piece", bytes);
    exec.fence("strata::ooc::tile_matrix::piece");  // for all lanes
    if constexpr (strata::runs_on_host<ExecutionSpace>)
      vendor::bind_to_node(piece.data(), bytes, node);
    nodes_[position] = node;
  }
  /// Give the piece back if it is larger.
  void trim(std::size_t position, std::size_t most) {
    if (bytes(position) > most) pieces_[position] = {};
  }
  /// Copies between a piece and the host, when nothing else writes there.
  void copy(void* to, void const* from, std::size_t bytes) const {
    std::lock_guard const lock(mutex_);
    typename Lane<ExecutionSpace>::Visit const visit;
    lanes_.front()->copy(to, from, bytes);
    lanes_.front()->fence();
  }

 private:
  using Piece = Kokkos::View<std::byte*, typename ExecutionSpace::memory_space>;

  Devices devices_;
  std::vector<std::unique_ptr<Lane<ExecutionSpace>>> lanes_;  // of each device; outlive the pieces
  std::vector<Piece> pieces_;
  std::vector<int> nodes_;  // of each piece
  mutable std::mutex mutex_;
};

}  // namespace strata::ooc::detail

#endif
