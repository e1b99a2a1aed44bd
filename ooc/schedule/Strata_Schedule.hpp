// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_SCHEDULE_SCHEDULE_HPP
#define STRATA_OOC_SCHEDULE_SCHEDULE_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace strata::ooc {

/// All that is done to one tile: the updates by the columns to its left, in order, then POTRF on
/// the diagonal or TRSM below it.
struct Task {
  std::int64_t row = 0, col = 0;  ///< row and column of the tile
  /// The same tile.
  bool operator==(Task const&) const = default;
};

/// Who factors which tile, and in which order: plain data.
struct Schedule {
  std::int64_t tiles = 0;         ///< tile rows of the matrix
  std::int64_t first_column = 0;  ///< columns of tiles before it are factored already
  int devices = 1;                ///< devices that take part
  int streams = 1;                ///< streams of each device
  /// The tasks of stream s of device d, in their order, are tasks[d * streams + s].
  std::vector<std::vector<Task>> tasks;

  /// The device of a stream, by the stream's position in `tasks`.
  int device_of(std::size_t lane) const { return static_cast<int>(lane) / streams; }
  /// The same tasks in the same order.
  bool operator==(Schedule const&) const = default;
};

/// The left-looking factorisation, by columns of tiles. Rows of tiles are dealt to the devices in
/// turn, and the tasks of a device to its streams. With several ranks device g belongs to rank g %
/// ranks, and a rank's rows (`owner_of`) go round its devices.
///
/// With column_block > 1 so many columns are factored together, row by row. What a row has to its
/// left is then read once for all of them. With single columns and several streams the next
/// diagonal tile comes before the last two rows of each stream. So its POTRF hides behind these
/// rows. Where memory is short this costs bytes: the operands of that tile may have left before the
/// column that needs them begins.
///
/// Throws   ShapeError if tiles < 0 or the first column is not in [0, tiles]; ValueError if
///          devices, streams, column_block or ranks < 1, or the devices are no multiple of the
///          ranks.
/// Source   Algorithm 1 and figure 5 of Ren et al. (paper B); deviations: the block of columns, and
///          the next diagonal ahead of the rest where there is more than one stream.
Schedule cholesky_schedule(std::int64_t tiles, int devices, int streams,
                           std::int64_t column_block = 1, std::int64_t first_column = 0,
                           int ranks = 1);

/// What a check found.
struct ScheduleCheck {
  std::string fault;         ///< empty: none
  std::int64_t tasks = 0;    ///< tasks that were run
  std::int64_t updates = 0;  ///< products that they made
  /// Whether no fault was found.
  bool ok() const { return fault.empty(); }
};

/// Plays the schedule and checks it. Each tile is written exactly once. Streams that wait for one
/// another's tiles in their fixed order all come to their end. Cost: one step for each update.
ScheduleCheck check_schedule(Schedule const& schedule);

/// One line for each stream: "device 0 stream 1: (1,0) (3,0) ...".
std::string to_string(Schedule const& schedule);

}  // namespace strata::ooc

#endif
