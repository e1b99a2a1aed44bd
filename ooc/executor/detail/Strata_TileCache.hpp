// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_EXECUTOR_DETAIL_TILE_CACHE_HPP
#define STRATA_OOC_EXECUTOR_DETAIL_TILE_CACHE_HPP

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <vector>

namespace strata::ooc::detail {

/// Which tile lies where in a device's memory: the bookkeeping, without memory.
///
/// Memory is cut into blocks of `units` units. A tile takes 1, 2, 4, ... units at a multiple of its
/// size, so that what is freed always fits again. A tile is known by a key in [0, keys). Not to be
/// used by two threads at once.
class TileCache {
 public:
  struct Slot {
    std::int64_t key = -1;
    int units = 0;
    int pins = 0;
    bool keep = false;           ///< evicted only where nothing else can be
    std::uint64_t last_use = 0;  ///< tick of the last `touch`
  };

  TileCache(std::int64_t blocks, int units, std::size_t keys)
      : units_(units),
        slots_(static_cast<std::size_t>(blocks * units)),
        owner_(slots_.size(), -1),
        begin_of_(keys, -1),
        free_(static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(units)) + 1)) {
    for (std::int64_t block = 0; block < blocks; ++block) free_.back().insert(block * units);
  }

  /// First unit of the slot of `key`, or -1.
  std::int64_t find(std::int64_t key) const { return begin_of_[static_cast<std::size_t>(key)]; }
  Slot& slot(std::int64_t begin) { return slots_[static_cast<std::size_t>(begin)]; }
  Slot const& slot(std::int64_t begin) const { return slots_[static_cast<std::size_t>(begin)]; }
  std::int64_t evictions() const { return evictions_; }
  std::size_t size() const { return slots_.size(); }

  void touch(std::int64_t begin) { slot(begin).last_use = ++tick_; }

  /// Free the slot.
  void drop(std::int64_t begin) {
    Slot& gone = slot(begin);
    begin_of_[static_cast<std::size_t>(gone.key)] = -1;
    for (int u = 0; u < gone.units; ++u) owner_[static_cast<std::size_t>(begin + u)] = -1;
    give_back(begin, gone.units);
    gone = {};
  }

  /// Where to put a tile of so many units. In free memory it is one of the smallest pieces that
  /// hold the tile, the next one after the last that was given. What was freed last is in use the
  /// longest. Else it is the region whose dearest tile has the least `worth(slot)`, if that is at
  /// most `limit`. Nothing is changed.
  template <class Worth>
  std::optional<std::int64_t> choose(int units, Worth const& worth,
                                     double limit = std::numeric_limits<double>::infinity()) const {
    for (std::size_t order = order_of(units); order < free_.size(); ++order)
      if (!free_[order].empty()) {
        auto const next = free_[order].upper_bound(last_);
        return next == free_[order].end() ? *free_[order].begin() : *next;
      }
    std::optional<std::int64_t> best;
    double least = std::numeric_limits<double>::infinity();
    for (std::int64_t begin = 0; begin < static_cast<std::int64_t>(slots_.size()); begin += units) {
      double const cost = cost_of(begin, units, worth);
      if (cost < least && cost <= limit) {
        best = begin;
        least = cost;
      }
    }
    return best;
  }

  /// Evict what lies in the region that `choose` found and give it to `key`, pinned once.
  void put(std::int64_t begin, std::int64_t key, int units) {
    for (std::int64_t u = begin; u < begin + units;) {
      std::int64_t const owner = owner_[static_cast<std::size_t>(u)];
      if (owner < 0) {
        ++u;
        continue;
      }
      u = owner + slot(owner).units;
      drop(owner);
      ++evictions_;
    }
    take(begin, units);
    last_ = begin;
    slot(begin) = {key, units, 1, false, ++tick_};
    for (int u = 0; u < units; ++u) owner_[static_cast<std::size_t>(begin + u)] = begin;
    begin_of_[static_cast<std::size_t>(key)] = begin;
  }

 private:
  template <class Worth>
  double cost_of(std::int64_t begin, int units, Worth const& worth) const {
    double cost = -std::numeric_limits<double>::max();
    for (std::int64_t u = begin; u < begin + units;) {
      std::int64_t const owner = owner_[static_cast<std::size_t>(u)];
      if (owner < 0) {
        ++u;
        continue;
      }
      Slot const& found = slot(owner);
      if (found.pins > 0) return std::numeric_limits<double>::infinity();
      double const value = worth(found) + (found.keep ? 1e200 : 0);
      cost = value > cost ? value : cost;
      u = owner + found.units;
    }
    return cost;
  }

  static std::size_t order_of(int units) {
    return static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(units)));
  }

  // A free piece and its free other half become one.
  void give_back(std::int64_t begin, int units) {
    std::size_t order = order_of(units);
    for (; order + 1 < free_.size(); ++order) {
      std::int64_t const half = std::int64_t{1} << order;
      std::int64_t const other = begin % units_ & half ? begin - half : begin + half;
      if (free_[order].erase(other) == 0) break;
      begin = std::min(begin, other);
    }
    free_[order].insert(begin);
  }

  // Cut a region out of the free piece that it lies in.
  void take(std::int64_t begin, int units) {
    std::size_t order = order_of(units);
    auto const start_at = [&](std::size_t o) {
      return begin - begin % units_ + (begin % units_ >> o << o);
    };
    while (free_[order].erase(start_at(order)) == 0) ++order;
    for (std::int64_t start = start_at(order); order > order_of(units);) {
      --order;
      std::int64_t const half = std::int64_t{1} << order;
      bool const upper = begin >= start + half;
      free_[order].insert(upper ? start : start + half);
      if (upper) start += half;
    }
  }

  int units_;
  std::vector<Slot> slots_;                   // by first unit
  std::vector<std::int64_t> owner_;           // of each unit: the first unit of its slot
  std::vector<std::int64_t> begin_of_;        // by key
  std::vector<std::set<std::int64_t>> free_;  // first units of free pieces of 1, 2, 4, ... units
  std::int64_t last_ = -1;                    // where the last tile was put
  std::uint64_t tick_ = 0;
  std::int64_t evictions_ = 0;
};

}  // namespace strata::ooc::detail

#endif
