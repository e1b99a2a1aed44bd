// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_EXECUTOR_DETAIL_DEVICE_MEMORY_HPP
#define STRATA_OOC_EXECUTOR_DETAIL_DEVICE_MEMORY_HPP

#include <ooc/executor/detail/Strata_TileCache.hpp>
#include <ooc/executor/detail/Strata_UseTable.hpp>
#include <ooc/team/detail/Strata_Lane.hpp>
#include <ooc/tiles/detail/Strata_Progress.hpp>

#include <Kokkos_Core.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace strata::ooc::detail {

/// One device's pool of tiles: where a tile lies, who uses it, and what must have ended before its
/// slot is used again. For all threads.
template <class ExecutionSpace>
class DeviceMemory {
 public:
  using Mark = typename Lane<ExecutionSpace>::Mark;

  /// A tile that is pinned.
  struct Hold {
    std::int64_t begin = -1;
    std::byte* data = nullptr;
    bool fresh = false;        ///< its holder must fill it after `before`, then `publish` it
    std::vector<Mark> before;  ///< what used the slot, or what fills the tile
  };

  using Pool = Kokkos::View<std::byte*, typename ExecutionSpace::memory_space>;

  /// Divides a pool into `blocks` blocks. The pool holds at least so many, and has no other
  /// user.
  DeviceMemory(Pool const& pool, std::int64_t blocks, int units, std::size_t unit_bytes,
               std::size_t keys, Eviction eviction, UseTable uses)
      : pool_(pool),
        unit_bytes_(unit_bytes),
        eviction_(eviction),
        uses_(std::move(uses)),
        cache_(blocks, units, keys),
        units_(cache_.size()) {}

  std::size_t bytes() const { return cache_.size() * unit_bytes_; }

  /// Pin the tile, or a slot for it; waits until there is one. `planned`: a use that the table has.
  ///
  /// Throws   Stopped.
  Hold acquire(std::int64_t key, int units, Progress<Mark> const& progress, bool planned = true) {
    std::unique_lock lock(mutex_);
    if (planned) uses_.consume(key);
    while (true) {
      if (progress.stopped()) throw Stopped();
      if (auto const found = hold_existing(key)) {
        changed_.wait(lock, [&] { return !unit(found->begin).loading || progress.stopped(); });
        if (progress.stopped()) throw Stopped();
        ++hits_;
        return {found->begin, found->data, false, {unit(found->begin).ready}};
      }
      if (auto const begin = cache_.choose(units, worth())) {
        ++misses_;
        return claim(*begin, key, units);
      }
      changed_.wait(lock);
    }
  }

  /// Whether the tile is here.
  bool holds(std::int64_t key) {
    std::lock_guard const lock(mutex_);
    return cache_.find(key) >= 0;
  }

  /// A slot to fetch a tile to ahead of its use, if there is one that is worth less.
  std::optional<Hold> prefetch(std::int64_t key, int units) {
    std::lock_guard const lock(mutex_);
    if (cache_.find(key) >= 0) return std::nullopt;
    auto const begin = cache_.choose(units, worth(), -uses_.next(key, cache_) - 1);
    if (!begin) return std::nullopt;
    ++misses_;
    return claim(*begin, key, units);
  }

  /// Pin the tile for another device if it is here.
  std::optional<Hold> borrow(std::int64_t key) {
    std::lock_guard const lock(mutex_);
    std::int64_t const begin = cache_.find(key);
    if (begin < 0 || unit(begin).loading) return std::nullopt;
    return hold_existing(key);
  }

  /// The tile is there once `ready` is reached; who waits for it goes on. begin < 0: it is in other
  /// memory.
  void publish(std::int64_t begin, Mark const& ready) {
    if (begin < 0) return;
    {
      std::lock_guard const lock(mutex_);
      unit(begin).loading = false;
      unit(begin).ready = ready;
    }
    changed_.notify_all();
  }

  /// The holder's last use ends at `used`. A tile that is not kept goes when nobody holds it. begin
  /// < 0: it is in other memory.
  void release(std::int64_t begin, Mark const& used, bool forget = false) {
    if (begin < 0) return;
    {
      std::lock_guard const lock(mutex_);
      auto& slot = cache_.slot(begin);
      for (int u = 0; u < slot.units; ++u) note(units_[static_cast<std::size_t>(begin + u)], used);
      --slot.pins;
      bool const drop = forget || (eviction_ == Eviction::AtOnce && !slot.keep);
      if (slot.pins == 0 && drop) cache_.drop(begin);
    }
    changed_.notify_all();
  }

  /// Keep the tile while it is here, or no longer.
  void keep(std::int64_t key, bool kept) {
    {
      std::lock_guard const lock(mutex_);
      std::int64_t const begin = cache_.find(key);
      if (begin < 0) return;
      cache_.slot(begin).keep = kept;
    }
    changed_.notify_all();
  }

  void wake() {
    {
      std::lock_guard const lock(mutex_);
    }
    changed_.notify_all();
  }

  std::int64_t hits() const { return hits_; }
  std::int64_t misses() const { return misses_; }
  std::int64_t evictions() const { return cache_.evictions(); }

 private:
  // What is known of the tile that begins in a unit, and who used the unit last.
  struct Unit {
    bool loading = false;
    Mark ready;
    std::vector<Mark> used;
  };

  Unit& unit(std::int64_t begin) { return units_[static_cast<std::size_t>(begin)]; }
  std::byte* at(std::int64_t begin) const {
    return pool_.data() + static_cast<std::size_t>(begin) * unit_bytes_;
  }
  auto worth() {
    return [this](TileCache::Slot const& slot) {
      return eviction_ == Eviction::FurthestUse ? -uses_.next(slot.key, cache_)
                                                : static_cast<double>(slot.last_use);
    };
  }

  std::optional<Hold> hold_existing(std::int64_t key) {
    std::int64_t const begin = cache_.find(key);
    if (begin < 0) return std::nullopt;
    ++cache_.slot(begin).pins;
    cache_.touch(begin);
    return Hold{begin, at(begin), false, {unit(begin).ready}};
  }

  Hold claim(std::int64_t begin, std::int64_t key, int units) {
    Hold hold{begin, at(begin), true, {}};
    for (int u = 0; u < units; ++u) {
      auto& used = units_[static_cast<std::size_t>(begin + u)].used;
      hold.before.insert(hold.before.end(), used.begin(), used.end());
      used.clear();
    }
    cache_.put(begin, key, units);
    unit(begin).loading = true;
    unit(begin).ready = {};
    return hold;
  }

  // The last mark of each lane suffices.
  static void note(Unit& unit, Mark const& used) {
    if (!used.lane) return;
    for (Mark& mark : unit.used)
      if (mark.lane == used.lane) {
        mark = used;
        return;
      }
    unit.used.push_back(used);
  }

  Pool pool_;
  std::size_t unit_bytes_;
  Eviction eviction_;
  UseTable uses_;
  TileCache cache_;
  std::vector<Unit> units_;
  std::int64_t hits_ = 0, misses_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace strata::ooc::detail

#endif
