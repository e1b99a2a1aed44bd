// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_USE_TABLE_HPP
#define STRATA_USE_TABLE_HPP

#include <ooc/Strata_Schedule.hpp>
#include <ooc/detail/Strata_TilePlan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata::ooc::detail {

/// How a cache makes room.
enum class Eviction : std::uint8_t { AtOnce, LeastRecentlyUsed, FurthestUse };

/// When each key is used again on one device, as far as a static schedule tells: on a clock that counts
/// the steps of each stream, as if all streams went at the same pace.
///
/// A tile is used first by its own task, and then by the tasks of its row, as whose operand it is
/// named by the step. The tasks of a row are kept, and how far each key has come in them; uses are as
/// many as products, and are not.
///
/// Memory   32 bytes for each task, 8 for each tile and 12 for each key.
class UseTable {
 public:
  /// No use of any key is known.
  UseTable() = default;
  /// Keeps a reference to the plan.
  UseTable(TilePlan const& plan, Schedule const& schedule, int device)
      : plan_(&plan),
        tiles_(schedule.tiles),
        own_(tile_count(tiles_), none),
        tasks_of_row_(static_cast<std::size_t>(tiles_)),
        times_(plan.keys(), unknown),
        positions_(plan.keys(), 0) {
    for (int stream = 0; stream < schedule.streams; ++stream) {
      std::int64_t time = 0;
      for (Task const& task :
           schedule.tasks[static_cast<std::size_t>(device * schedule.streams + stream)]) {
        own_[tile_number(task.row, task.col, tiles_)] = time;
        Timed const timed{task, time};
        tasks_of_row_[static_cast<std::size_t>(task.row)].push_back(timed);
        if (task.row != task.col)
          tasks_of_row_[static_cast<std::size_t>(task.col)].push_back(timed);
        time += task.col + 1;
      }
    }
    for (auto& tasks : tasks_of_row_) std::ranges::stable_sort(tasks, {}, &Timed::start);
  }

  /// One use has come.
  void consume(std::int64_t key) {
    if (!plan_) return;
    (void)next(key);
    auto const k = static_cast<std::size_t>(key);
    if (times_[k] < never) find(key, positions_[k]);
  }
  /// The time of the next use; far away if there is none.
  double next(std::int64_t key) {
    if (!plan_) return never;
    auto& time = times_[static_cast<std::size_t>(key)];
    if (time == unknown) begin(key);
    return static_cast<double>(time);
  }

 private:
  struct Timed {
    Task task;
    std::int64_t start;
  };
  static constexpr std::int64_t none = -1, unknown = -1, never = 1'000'000'000'000'000;

  // The first use: the tile's own task, if the device has it, else that of an operand.
  void begin(std::int64_t key) {
    auto const [i, k, form] = plan_->tile_of(key);
    std::int64_t const own = own_[tile_number(i, k, tiles_)];
    if (own != none && precision_rank(plan_->map().at(i, k)) == form)
      times_[static_cast<std::size_t>(key)] = own;
    else
      find(key, 0);
  }

  // The first use by a task from that position in its row on.
  void find(std::int64_t key, std::size_t position) {
    auto const [i, k, form] = plan_->tile_of(key);
    auto const& tasks = tasks_of_row_[static_cast<std::size_t>(i)];
    while (position < tasks.size() && !is_used(i, k, form, tasks[position].task)) ++position;
    bool const found = position < tasks.size();
    times_[static_cast<std::size_t>(key)] = found ? tasks[position].start + k : never;
    positions_[static_cast<std::size_t>(key)] = static_cast<std::uint32_t>(position + 1);
  }

  // Whether a task whose row or column is i takes L_ik in that form: as an operand of a product, or
  // as the triangle of its TRSM.
  bool is_used(std::int64_t i, std::int64_t k, int form, Task const& task) const {
    auto const [row, col] = task;
    if (col > k) return precision_rank(plan_->product(row, col, k)) == form;
    return col == k && i == k && row != col && precision_rank(plan_->working(row, col)) == form;
  }

  TilePlan const* plan_ = nullptr;
  std::int64_t tiles_ = 0;
  std::vector<std::int64_t> own_;                 // when each tile's task begins
  std::vector<std::vector<Timed>> tasks_of_row_;  // whose row or column it is, as they begin
  std::vector<std::int64_t> times_;               // of the next use, by key
  std::vector<std::uint32_t> positions_;          // behind it in the tasks of the key's row
};

}  // namespace strata::ooc::detail

#endif
