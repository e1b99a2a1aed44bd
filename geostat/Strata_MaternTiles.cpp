// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/Strata_MaternTiles.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace strata::geostat {

namespace {

// The coordinates on each device that has filled a tile, with as many copies as threads fill at a
// time. The reason is that kernels copy Views. Where Kokkos was configured with
// Kokkos_ENABLE_ATOMICS_BYPASS, no two threads may change a View's count of references at once.
template <class Exec>
class EntriesByDevice {
 public:
  using Entries = CovarianceEntries<typename Exec::memory_space>;

  /// Throws   what CovarianceEntries throws.
  EntriesByDevice(Exec const& exec, MaternCovariance const& covariance, Locations const& locations)
      : first_(exec, covariance, locations), locations_(locations) {}

  std::unique_ptr<Entries const> take(Exec const& exec) {
    {
      std::lock_guard const lock(mutex_);
      auto& free = free_[ooc::device_of(exec)];
      if (!free.empty()) {
        auto entries = std::move(free.back());
        free.pop_back();
        return entries;
      }
    }
    return std::make_unique<Entries const>(exec, first_, locations_);
  }
  void give_back(Exec const& exec, std::unique_ptr<Entries const> entries) {
    std::lock_guard const lock(mutex_);
    free_[ooc::device_of(exec)].push_back(std::move(entries));
  }

 private:
  Entries first_;  // what depends on nu alone is worked out once
  Locations locations_;
  std::mutex mutex_;
  std::map<int, std::vector<std::unique_ptr<Entries const>>> free_;
};

}  // namespace

template <class Exec>
ooc::TileGenerator<Exec> matern_tiles(Exec const& exec, MaternCovariance const& covariance,
                                      Locations const& locations) {
  auto const copies = std::make_shared<EntriesByDevice<Exec>>(exec, covariance, locations);
  return [copies](Exec const& instance, std::int64_t row, std::int64_t col,
                  ooc::TileView<Exec> const& tile) {
    auto entries = copies->take(instance);
    entries->fill(instance, row, col, tile);
    copies->give_back(instance, std::move(entries));
  };
}

#define STRATA_INSTANTIATE(Exec)                                                             \
  template ooc::TileGenerator<Exec> matern_tiles<Exec>(Exec const&, MaternCovariance const&, \
                                                       Locations const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
