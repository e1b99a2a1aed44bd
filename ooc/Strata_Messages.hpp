// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_MESSAGES_HPP
#define STRATA_MESSAGES_HPP

#include <ooc/Strata_PrecisionMap.hpp>
#include <ooc/Strata_Schedule.hpp>

#include <cstdint>
#include <vector>

namespace strata::ooc {

/// Who has which tiles: rows of tiles go round the ranks. One rank has them all.
struct RankGrid {
  int ranks = 1;  ///< how many there are

  /// The rank that has the tiles of a row.
  int owner(std::int64_t row) const { return static_cast<int>(row % ranks); }
  /// Whether a rank has tiles below this row, and so needs the row's own.
  bool needs(int rank, std::int64_t row, std::int64_t tiles) const {
    if (owner(row) == rank) return false;
    std::int64_t const next = row + 1 + ((rank - row - 1) % ranks + ranks) % ranks;
    return next < tiles;
  }
};

/// A final tile on its way.
struct Message {
  std::int64_t row = 0, col = 0;  ///< of the tile
  int from = 0, to = 0;           ///< ranks
  /// The same tile between the same ranks.
  bool operator==(Message const&) const = default;
};

/// What one rank sends and gets in a factorisation, each in its order.
///
/// Row i of L depends on rows before it alone, and a rank needs it whole when it comes to its tiles of
/// column i, not before, and not after. So tiles travel row by row; a rank has room for some rows
/// ahead, and gives the room of a row to others when its part of the column is done.
struct RankMessages {
  std::vector<Message> sends, receives;  ///< in their order
};

/// Where columns before `first_column` are done, the rows of these are not needed; of those below, their tiles in
/// such columns are, as of all.
///
/// Throws   ValueError if the rank is not in [0, ranks).
RankMessages messages_of(std::int64_t tiles, RankGrid const& grid, int rank,
                         std::int64_t first_column = 0);

/// Tiles of other ranks that a rank has room for: so many that its widest block of columns has all
/// that it needs, and the next as much again, so that tiles arrive ahead.
std::int64_t room_for_messages(std::int64_t tiles, RankGrid const& grid, std::int64_t column_block);

/// The tasks that one rank plays, of a schedule for the devices of all: the device of a row is
/// row / ranks % devices there.
Schedule part_of(Schedule const& all, RankGrid const& grid, int rank);

/// The bytes of these messages for tiles of an n x n matrix in their stored precisions.
std::uint64_t bytes_of(std::vector<Message> const& messages, std::int64_t n, std::int64_t tile_size,
                       PrecisionMap const& map);

/// What a check of all ranks found.
struct RankCheck : ScheduleCheck {
  std::int64_t messages = 0;    ///< that arrived
  std::int64_t most_tiles = 0;  ///< of others that a rank had or waited for at once
};

/// Play all ranks together: each tile is written once and by its owner, each receive has its send and each
/// send its receive, in the same order between any two; with room for `room` tiles of others on each
/// rank all come to their end.
///
/// `all`: of ranks * devices devices, device g being number g / ranks of rank g % ranks. Cost: one
/// step for each update and each message.
RankCheck check_messages(Schedule const& all, std::vector<RankMessages> const& messages,
                         std::int64_t room);

}  // namespace strata::ooc

#endif
