// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_SCHEDULE_MESSAGES_HPP
#define STRATA_OOC_SCHEDULE_MESSAGES_HPP

#include <ooc/schedule/Strata_PrecisionMap.hpp>
#include <ooc/schedule/Strata_Schedule.hpp>

#include <cstdint>
#include <vector>

namespace strata::ooc {

/// A final tile on its way.
struct Message {
  std::int64_t row = 0, col = 0;  ///< row and column of the tile
  int from = 0, to = 0;           ///< ranks
  /// The same tile between the same ranks.
  bool operator==(Message const&) const = default;
};

/// What one rank sends and gets in a factorisation, each in its order (`RankOrder`).
struct RankMessages {
  std::vector<Message> sends, receives;  ///< messages in their order
};

/// The bytes of these messages for tiles of an n x n matrix in their stored precisions.
std::uint64_t bytes_of(std::vector<Message> const& messages, std::int64_t n, std::int64_t tile_size,
                       PrecisionMap const& map);

/// What a check of all ranks found.
struct RankCheck : ScheduleCheck {
  std::int64_t messages = 0;    ///< messages that arrived
  std::int64_t most_tiles = 0;  ///< most tiles of other ranks that a rank had or waited for at once
};

/// Plays all ranks together and checks them. Each tile is written once and by its owner. Each
/// receive has its send and each send its receive, in the same order between any two ranks. With
/// room for `room` tiles of others on each rank, all come to their end.
///
/// `all` is for ranks * devices devices: device g is number g / ranks of rank g % ranks. Cost: one
/// step for each update and each message.
RankCheck check_messages(Schedule const& all, std::vector<RankMessages> const& messages,
                         std::int64_t room);

}  // namespace strata::ooc

#endif
