// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/Strata_Schedule.hpp>

#include <core/Strata_Errors.hpp>
#include <ooc/Strata_PrecisionMap.hpp>

#include <algorithm>

namespace strata::ooc {

namespace {

using strata::detail::message;

// Runs every stream as far as it gets, and again those that waited for a tile once it is there.
class Player {
 public:
  explicit Player(Schedule const& schedule)
      : schedule_(schedule),
        done_(tile_count(schedule.tiles), false),
        waiting_(done_.size()),
        position_(schedule.tasks.size()) {
    for (std::int64_t j = 0; j < schedule.first_column; ++j)
      for (std::int64_t i = j; i < schedule.tiles; ++i) done_[number(i, j)] = true;
  }

  ScheduleCheck play() {
    for (std::size_t lane = 0; lane < position_.size(); ++lane) ready_.push_back(lane);
    while (!ready_.empty()) {
      std::size_t const lane = ready_.back();
      ready_.pop_back();
      advance(lane);
    }
    for (std::size_t lane = 0; lane < position_.size(); ++lane) {
      auto const& tasks = schedule_.tasks[lane];
      if (position_[lane].task == tasks.size()) continue;
      Task const& task = tasks[position_[lane].task];
      result_.fault = message("deadlock: device ", schedule_.device_of(lane), " stream ",
                              lane % static_cast<std::size_t>(schedule_.streams),
                              " waits in task (", task.row, ",", task.col, ") for tile (",
                              position_[lane].awaited.row, ",", position_[lane].awaited.col, ")");
      break;
    }
    return result_;
  }

 private:
  struct Position {
    std::size_t task = 0;
    std::int64_t update = 0;
    Task awaited;
  };

  std::size_t number(std::int64_t i, std::int64_t j) const {
    return tile_number(i, j, schedule_.tiles);
  }

  bool has(std::size_t lane, std::int64_t i, std::int64_t j) {
    if (done_[number(i, j)]) return true;
    position_[lane].awaited = {i, j};
    waiting_[number(i, j)].push_back(lane);
    return false;
  }

  void advance(std::size_t lane) {
    Position& position = position_[lane];
    auto const& tasks = schedule_.tasks[lane];
    for (; position.task < tasks.size(); ++position.task, position.update = 0) {
      Task const& task = tasks[position.task];
      for (; position.update < task.col; ++position.update, ++result_.updates)
        if (!has(lane, task.row, position.update) || !has(lane, task.col, position.update)) return;
      if (task.row != task.col && !has(lane, task.col, task.col)) return;
      done_[number(task.row, task.col)] = true;
      ++result_.tasks;
      auto& woken = waiting_[number(task.row, task.col)];
      ready_.insert(ready_.end(), woken.begin(), woken.end());
      woken.clear();
    }
  }

  Schedule const& schedule_;
  std::vector<bool> done_;
  std::vector<std::vector<std::size_t>> waiting_;  // lanes, by tile
  std::vector<Position> position_;
  std::vector<std::size_t> ready_;
  ScheduleCheck result_;
};

// The first thing wrong with which tiles are written, or "".
std::string fault_in_tiles(Schedule const& s) {
  if (s.tiles < 0 || s.devices < 1 || s.streams < 1 || s.first_column < 0 ||
      s.first_column > s.tiles ||
      s.tasks.size() != static_cast<std::size_t>(s.devices) * static_cast<std::size_t>(s.streams))
    return message("sizes: ", s.tiles, " tile rows from column ", s.first_column, ", ", s.devices,
                   " devices, ", s.streams, " streams, ", s.tasks.size(), " lists of tasks");
  std::vector<int> written(tile_count(s.tiles), 0);
  for (auto const& tasks : s.tasks) {
    for (Task const& task : tasks) {
      if (task.col < s.first_column || task.row < task.col || task.row >= s.tiles)
        return message("task (", task.row, ",", task.col, ") is not a tile to be factored");
      if (++written[tile_number(task.row, task.col, s.tiles)] > 1)
        return message("tile (", task.row, ",", task.col, ") is written twice");
    }
  }
  for (std::int64_t j = s.first_column; j < s.tiles; ++j)
    for (std::int64_t i = j; i < s.tiles; ++i)
      if (written[tile_number(i, j, s.tiles)] == 0)
        return message("tile (", i, ",", j, ") is never written");
  return "";
}

}  // namespace

Schedule cholesky_schedule(std::int64_t tiles, int devices, int streams, std::int64_t column_block,
                           std::int64_t first_column) {
  STRATA_REQUIRE(ShapeError, tiles >= 0 && first_column >= 0 && first_column <= tiles,
                 "schedule: ", tiles, " tile rows from column ", first_column);
  STRATA_REQUIRE(ValueError, devices >= 1 && streams >= 1 && column_block >= 1,
                 "schedule: ", devices, " devices, ", streams, " streams and blocks of ",
                 column_block, " columns, must all be at least 1");
  Schedule schedule{tiles, first_column, devices, streams, {}};
  schedule.tasks.resize(static_cast<std::size_t>(devices) * static_cast<std::size_t>(streams));
  std::vector<std::int64_t> dealt(static_cast<std::size_t>(devices), 0);
  auto const deal = [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
    auto const device = static_cast<std::size_t>(row % devices);
    auto const stream = static_cast<std::size_t>(dealt[device]++ % streams);
    auto& tasks = schedule.tasks[device * static_cast<std::size_t>(streams) + stream];
    for (std::int64_t col = begin; col < std::min(end, row + 1); ++col) tasks.push_back({row, col});
  };
  bool const ahead = column_block == 1;
  std::int64_t const late = tiles - 1 - std::int64_t{2} * devices * streams;
  for (std::int64_t block = first_column; block < tiles; block += column_block) {
    std::int64_t const end = std::min(block + column_block, tiles);
    for (std::int64_t row = ahead && block > first_column ? end : block; row < tiles; ++row) {
      deal(row, block, end);
      if (ahead && row == std::max(end, late)) deal(end, end, end + 1);
    }
  }
  return schedule;
}

ScheduleCheck check_schedule(Schedule const& schedule) {
  std::string const fault = fault_in_tiles(schedule);
  if (!fault.empty()) return {fault, 0, 0};
  return Player(schedule).play();
}

std::string to_string(Schedule const& schedule) {
  std::string text;
  for (std::size_t lane = 0; lane < schedule.tasks.size(); ++lane) {
    text += message("device ", schedule.device_of(lane), " stream ",
                    lane % static_cast<std::size_t>(schedule.streams), ":");
    for (Task const& task : schedule.tasks[lane])
      text += message(" (", task.row, ",", task.col, ")");
    text += '\n';
  }
  return text;
}

}  // namespace strata::ooc
