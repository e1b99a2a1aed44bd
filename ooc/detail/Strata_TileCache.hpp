// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TILE_CACHE_HPP
#define STRATA_TILE_CACHE_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace strata::ooc::detail {

/// Which tile lies where in a device's memory: the bookkeeping, without memory.
///
/// Memory is cut into blocks of `units` units; a tile takes 1, 2, 4, ... units at a multiple of its
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
        place_(keys, -1) {}

  /// First unit of the slot of `key`, or -1.
  std::int64_t find(std::int64_t key) const { return place_[static_cast<std::size_t>(key)]; }
  Slot& slot(std::int64_t begin) { return slots_[static_cast<std::size_t>(begin)]; }
  Slot const& slot(std::int64_t begin) const { return slots_[static_cast<std::size_t>(begin)]; }
  std::int64_t evictions() const { return evictions_; }
  std::size_t size() const { return slots_.size(); }

  void touch(std::int64_t begin) { slot(begin).last_use = ++tick_; }

  /// Free the slot.
  void drop(std::int64_t begin) {
    Slot& gone = slot(begin);
    place_[static_cast<std::size_t>(gone.key)] = -1;
    for (int u = 0; u < gone.units; ++u) owner_[static_cast<std::size_t>(begin + u)] = -1;
    gone = {};
  }

  /// What to give up: the region whose dearest tile has the least `worth(slot)`, if that is at most
  /// `limit`; a free region before all others. Nothing is changed.
  template <class Worth>
  std::optional<std::int64_t> choose(int units, Worth const& worth,
                                     double limit = std::numeric_limits<double>::infinity()) const {
    std::optional<std::int64_t> best;
    double least = std::numeric_limits<double>::infinity();
    for (std::int64_t begin = 0; begin < static_cast<std::int64_t>(slots_.size()); begin += units) {
      double const cost = cost_of(begin, units, worth);
      if (cost < least && cost <= limit) {
        best = begin;
        least = cost;
        if (units == units_ && cost == free_block) break;
      }
    }
    return best;
  }

  /// Evict what lies in the region that `choose` found and give it to `key`, pinned once.
  void place(std::int64_t begin, std::int64_t key, int units) {
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
    slot(begin) = {key, units, 1, false, ++tick_};
    for (int u = 0; u < units; ++u) owner_[static_cast<std::size_t>(begin + u)] = begin;
    place_[static_cast<std::size_t>(key)] = begin;
  }

 private:
  static constexpr double free_block = -2e300, free_part = -3e300;  // a broken block is used first

  template <class Worth>
  double cost_of(std::int64_t begin, int units, Worth const& worth) const {
    double cost = free_block;
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
    return cost == free_block && units < units_ && is_broken(begin) ? free_part : cost;
  }

  bool is_broken(std::int64_t begin) const {
    std::int64_t const first = begin / units_ * units_;
    for (int u = 0; u < units_; ++u)
      if (owner_[static_cast<std::size_t>(first + u)] >= 0) return true;
    return false;
  }

  int units_;
  std::vector<Slot> slots_;          // by first unit
  std::vector<std::int64_t> owner_;  // of each unit: the first unit of its slot
  std::vector<std::int64_t> place_;  // by key
  std::uint64_t tick_ = 0;
  std::int64_t evictions_ = 0;
};

}  // namespace strata::ooc::detail

#endif
