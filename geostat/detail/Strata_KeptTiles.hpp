// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_KEPT_TILES_HPP
#define STRATA_KEPT_TILES_HPP

#include <ooc/tiles/Strata_TileMatrix.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace strata::geostat::detail {

/// Tiles of a matrix that a generator fills once on a host: when they are asked for again they are
/// copied.
template <class Exec>
class KeptTiles {
 public:
  /// Forget all tiles, but not their memory, and fill by this generator from now on.
  void begin(ooc::TileGenerator<Exec> generator) {
    generator_ = std::move(generator);
    for (auto& [place, tile] : tiles_) tile.is_filled = false;
  }

  /// The tile whose first entry is (row, col). Threads may ask for different tiles at once. What
  /// can't be kept for want of memory is filled each time.
  void fill(Exec const& exec, std::int64_t row, std::int64_t col, ooc::TileView<Exec> const& A) {
    Kept& kept = at(row, col);
    bool const fits = kept.rows == A.extent(0) && kept.cols == A.extent(1);
    if (kept.is_filled && fits) return Kokkos::deep_copy(exec, A, kept.view());
    generator_(exec, row, col, A);
    if (!fits)
      kept = {A.extent(0), A.extent(1),
              std::unique_ptr<double[]>(new (std::nothrow) double[A.extent(0) * A.extent(1)])};
    if (!kept.entries) return;
    Kokkos::deep_copy(exec, kept.view(), A);
    exec.fence("strata::geostat::kept_tiles::kept");
    kept.is_filled = true;
  }

 private:
  struct Kept {
    std::size_t rows = 0, cols = 0;
    std::unique_ptr<double[]> entries = nullptr;
    bool is_filled = false;

    ooc::TileView<Exec> view() const { return ooc::TileView<Exec>(entries.get(), rows, cols); }
  };
  Kept& at(std::int64_t row, std::int64_t col) {
    std::lock_guard const lock(mutex_);
    return tiles_[{row, col}];
  }

  ooc::TileGenerator<Exec> generator_;
  std::mutex mutex_;
  std::map<std::pair<std::int64_t, std::int64_t>, Kept> tiles_;
};

}  // namespace strata::geostat::detail

#endif
