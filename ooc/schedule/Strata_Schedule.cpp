// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/schedule/Strata_Schedule.hpp>

#include <core/Strata_Errors.hpp>
#include <ooc/schedule/Strata_RankGrid.hpp>
#include <ooc/schedule/detail/Strata_SchedulePlayer.hpp>

#include <algorithm>

namespace strata::ooc {

using strata::detail::message;

Schedule cholesky_schedule(std::int64_t tiles, int devices, int streams, std::int64_t column_block,
                           std::int64_t first_column, int ranks) {
  STRATA_REQUIRE(ShapeError, tiles >= 0 && first_column >= 0 && first_column <= tiles,
                 "schedule: ", tiles, " tile rows from column ", first_column);
  STRATA_REQUIRE(ValueError, devices >= 1 && streams >= 1 && column_block >= 1,
                 "schedule: ", devices, " devices, ", streams, " streams and blocks of ",
                 column_block, " columns, must all be at least 1");
  STRATA_REQUIRE(ValueError, ranks >= 1 && devices % ranks == 0, "schedule: ", devices,
                 " devices on ", ranks, " ranks");
  column_block = std::clamp<std::int64_t>(tiles, 1, column_block);
  Schedule schedule{tiles, first_column, devices, streams, {}};
  schedule.tasks.resize(static_cast<std::size_t>(devices) * static_cast<std::size_t>(streams));
  std::vector<std::int64_t> dealt(static_cast<std::size_t>(devices), 0);
  auto const deal = [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
    auto const [rank, round] = dealt_row({ranks, 1}, 0, tiles, row);
    auto const device = static_cast<std::size_t>(round % (devices / ranks) * ranks + rank);
    auto const stream = static_cast<std::size_t>(dealt[device]++ % streams);
    auto& tasks = schedule.tasks[device * static_cast<std::size_t>(streams) + stream];
    for (std::int64_t col = begin; col < std::min(end, row + 1); ++col) tasks.push_back({row, col});
  };
  bool const ahead = column_block == 1 && schedule.tasks.size() > 1;
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
  return detail::play(detail::played(schedule, 1), {RankMessages{}}, {0});
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
