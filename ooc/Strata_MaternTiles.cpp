// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/detail/Strata_Instantiate.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <ooc/Strata_MaternTiles.hpp>
#include <ooc/detail/Strata_Lane.hpp>

namespace strata::ooc {

namespace {

// The coordinates on each device that has filled a tile.
template <class Exec>
class EntriesByDevice {
 public:
  using Entries = CovarianceEntries<typename Exec::memory_space>;

  EntriesByDevice(MaternCovariance const& covariance, Locations const& locations)
      : covariance_(covariance), locations_(locations) {}

  Entries const& on(Exec const& exec) {
    std::lock_guard const lock(mutex_);
    int const device = detail::Lane<Exec>::device_of(exec);
    auto const found = entries_.find(device);
    if (found != entries_.end()) return found->second;
    return entries_.emplace(device, Entries(exec, covariance_, locations_)).first->second;
  }

 private:
  MaternCovariance covariance_;
  Locations locations_;
  std::mutex mutex_;
  std::map<int, Entries> entries_;
};

}  // namespace

template <class Exec>
TileGenerator<Exec> matern_tiles(Exec const& exec, MaternCovariance const& covariance,
                                 Locations const& locations) {
  auto const entries = std::make_shared<EntriesByDevice<Exec>>(covariance, locations);
  (void)entries->on(exec);  // throws now what it may throw
  return [entries](Exec const& instance, std::int64_t row, std::int64_t col,
                   TileView<Exec> const& tile) {
    entries->on(instance).fill(instance, row, col, tile);
  };
}

#define STRATA_INSTANTIATE(Exec)                                                        \
  template TileGenerator<Exec> matern_tiles<Exec>(Exec const&, MaternCovariance const&, \
                                                  Locations const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc
