// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TILE_FEED_HPP
#define STRATA_TILE_FEED_HPP

#include <core/blas/Strata_LeafBlas.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <ooc/Strata_TileMatrix.hpp>
#include <ooc/detail/Strata_Lane.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <vector>

namespace strata::ooc::detail {

/// Brings tiles from the host to the device of an instance, ahead of the work on them.
template <class ExecutionSpace>
class TileFeed {
 public:
  using Space = typename ExecutionSpace::memory_space;
  struct Tile {
    MatrixRef<Space> matrix;
    Op op;
  };

  TileFeed(ExecutionSpace const& exec, TileMatrix<ExecutionSpace> const& matrix, int slots = 4)
      : matrix_(matrix), in_(device_of(exec)), work_(exec), used_(static_cast<std::size_t>(slots)) {
    std::int64_t const edge = std::min(matrix.order(), matrix.tile_size());
    slot_bytes_ = tile_bytes(Precision::fp64, edge, edge);
    slots_ = allocate<Buffer>(exec, "strata::ooc::solve::slots",
                              slot_bytes_ * static_cast<std::size_t>(slots));
    in_.wait(work_.record());  // the slots are there
  }
  ~TileFeed() { in_.fence(); }
  TileFeed(TileFeed const&) = delete;
  TileFeed& operator=(TileFeed const&) = delete;

  /// The tile, for what is enqueued on the instance until the next call.
  Tile next(std::int64_t i, std::int64_t j) {
    if (taken_ > 0) used_[(taken_ - 1) % used_.size()] = work_.record();
    std::size_t const slot = taken_++ % used_.size();
    std::byte* const data = slots_.data() + slot * slot_bytes_;
    in_.wait(used_[slot]);
    in_.copy(data, matrix_.data(i, j), matrix_.copy_bytes(i, j));
    work_.wait(in_.record());
    return {stored_tile<Space>(data, matrix_.map().at(i, j), matrix_.rows(i), matrix_.rows(j)),
            matrix_.op(i, j)};
  }

 private:
  using Buffer = Kokkos::View<std::byte*, Space>;

  static int device_of(ExecutionSpace const& exec) { return Lane<ExecutionSpace>::device_of(exec); }

  TileMatrix<ExecutionSpace> const& matrix_;
  Lane<ExecutionSpace> in_, work_;
  std::vector<typename Lane<ExecutionSpace>::Mark> used_;
  std::size_t slot_bytes_ = 0, taken_ = 0;
  Buffer slots_;
};

}  // namespace strata::ooc::detail

#endif
