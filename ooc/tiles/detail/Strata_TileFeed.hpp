// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_TILES_DETAIL_TILE_FEED_HPP
#define STRATA_OOC_TILES_DETAIL_TILE_FEED_HPP

#include <core/kokkos_ext/Strata_Team.hpp>
#include <ooc/team/detail/Strata_Machine.hpp>
#include <ooc/tiles/Strata_TileMatrix.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace strata::ooc::detail {

/// Brings tiles to a worker, ahead of its work on them, from the host or another device. A worker
/// on a host, or one whose device's memory has the tile, takes it where it is.
template <class ExecutionSpace>
class TileFeed {
 public:
  using Space = typename ExecutionSpace::memory_space;
  struct Tile {
    MatrixRef<Space> matrix;
    Op op;
  };

  /// The worker does nothing yet.
  TileFeed(Worker<ExecutionSpace>& worker, TileMatrix<ExecutionSpace> const& matrix)
      : matrix_(matrix), device_(worker.id), in_(worker.feed()), work_(worker.work) {
    if constexpr (strata::runs_on_host<ExecutionSpace>) return;
    std::int64_t const edge = std::min(matrix.order(), matrix.tile_size());
    slot_bytes_ = tile_bytes(Precision::fp64, edge, edge);
    slots_ =
        worker.slots.need(worker.exec(), "strata::ooc::solve::slots", slot_bytes_ * used_.size())
            .data();
  }

  /// The tile, for what is enqueued on the worker's work lane until the next call.
  Tile next(std::int64_t i, std::int64_t j) {
    auto const tile = [&](std::byte* data) -> Tile {
      return {stored_tile<Space>(data, matrix_.map().at(i, j), matrix_.rows(i), matrix_.rows(j)),
              matrix_.op(i, j)};
    };
    if constexpr (strata::runs_on_host<ExecutionSpace>) return tile(matrix_.data(i, j));
    if (matrix_.device_of_row(i) == device_) return tile(matrix_.data(i, j));
    if (taken_ > 0) used_[(taken_ - 1) % used_.size()] = work_.record();
    std::size_t const slot = taken_++ % used_.size();
    std::byte* const data = slots_ + slot * slot_bytes_;
    in_.wait(used_[slot]);
    in_.copy(data, matrix_.data(i, j), matrix_.copy_bytes(i, j));
    work_.wait(in_.record());
    return tile(data);
  }

 private:
  TileMatrix<ExecutionSpace> const& matrix_;
  int device_;  // the worker's
  Lane<ExecutionSpace>&in_, &work_;
  std::array<typename Lane<ExecutionSpace>::Mark, 4> used_;  // the last use of each slot
  std::size_t slot_bytes_ = 0, taken_ = 0;
  std::byte* slots_ = nullptr;
};

}  // namespace strata::ooc::detail

#endif
