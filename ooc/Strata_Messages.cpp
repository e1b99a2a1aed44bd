// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/Strata_Messages.hpp>

#include <core/Strata_Errors.hpp>
#include <ooc/Strata_TileMatrix.hpp>
#include <ooc/detail/Strata_SchedulePlayer.hpp>

#include <algorithm>

namespace strata::ooc {

RankMessages messages_of(std::int64_t tiles, RankGrid const& grid, int rank,
                         std::int64_t first_column) {
  STRATA_REQUIRE(ValueError, rank >= 0 && rank < grid.ranks, "messages: rank ", rank, " of ",
                 grid.ranks);
  RankMessages messages;
  for (std::int64_t row = first_column; row < tiles; ++row) {
    int const owner = grid.owner(row);
    for (std::int64_t col = 0; col <= row; ++col) {
      if (grid.needs(rank, row, tiles)) messages.receives.push_back({row, col, owner, rank});
      for (int to = 0; owner == rank && to < grid.ranks; ++to)
        if (grid.needs(to, row, tiles)) messages.sends.push_back({row, col, rank, to});
    }
  }
  return messages;
}

std::int64_t room_for_messages(std::int64_t tiles, RankGrid const& grid,
                               std::int64_t column_block) {
  return grid.ranks == 1 ? 0 : std::min(2 * column_block, tiles) * tiles;
}

Schedule part_of(Schedule const& all, RankGrid const& grid, int rank) {
  Schedule part{all.tiles, all.first_column, all.devices / grid.ranks, all.streams, {}};
  for (int device = rank; device < all.devices; device += grid.ranks)
    for (int stream = 0; stream < all.streams; ++stream)
      part.tasks.push_back(
          all.tasks[static_cast<std::size_t>(device) * static_cast<std::size_t>(all.streams) +
                    static_cast<std::size_t>(stream)]);
  return part;
}

std::uint64_t bytes_of(std::vector<Message> const& messages, std::int64_t n, std::int64_t tile_size,
                       PrecisionMap const& map) {
  std::uint64_t bytes = 0;
  auto const rows = [&](std::int64_t i) { return std::min(tile_size, n - i * tile_size); };
  for (Message const& m : messages)
    bytes += detail::tile_copy_bytes(map.at(m.row, m.col), rows(m.row), rows(m.col));
  return bytes;
}

RankCheck check_messages(Schedule const& all, std::vector<RankMessages> const& messages,
                         std::int64_t room) {
  return detail::play(detail::played(all, static_cast<int>(messages.size())), messages, room);
}

}  // namespace strata::ooc
