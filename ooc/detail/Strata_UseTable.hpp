// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_USE_TABLE_HPP
#define STRATA_USE_TABLE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata::ooc::detail {

/// How a cache makes room.
enum class Eviction : std::uint8_t { AtOnce, LeastRecentlyUsed, FurthestUse };

/// When each key is used again, as far as a static schedule tells: on a clock that counts the steps
/// of each stream, as if all streams went at the same pace.
class UseTable {
 public:
  /// No use of any key is known.
  explicit UseTable(std::size_t keys = 0) : times_(keys), next_(keys, 0) {}

  void add(std::int64_t key, std::int64_t time) {
    times_[static_cast<std::size_t>(key)].push_back(static_cast<std::int32_t>(time));
  }
  /// All uses are known.
  void sort() {
    for (auto& times : times_) std::ranges::sort(times);
  }
  /// One use has come.
  void consume(std::int64_t key) {
    if (!times_.empty()) ++next_[static_cast<std::size_t>(key)];
  }
  /// The time of the next use; far away if there is none.
  double next(std::int64_t key) const {
    auto const k = static_cast<std::size_t>(key);
    if (times_.empty() || next_[k] >= times_[k].size()) return 1e15;
    return times_[k][next_[k]];
  }

 private:
  std::vector<std::vector<std::int32_t>> times_;
  std::vector<std::uint32_t> next_;
};

}  // namespace strata::ooc::detail

#endif
