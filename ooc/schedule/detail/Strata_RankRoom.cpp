// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/schedule/detail/Strata_RankRoom.hpp>

#include <algorithm>

namespace strata::ooc::detail {

RankRoom rank_room(RankOrder const& order, int rank, std::int64_t n, std::int64_t tile_size,
                   PrecisionMap const& map) {
  auto const rows = [&](std::int64_t i) { return std::min(tile_size, n - i * tile_size); };
  RankRoom room;
  std::int64_t receives = 0;
  for (std::int64_t step = 0; step < order.steps(); ++step)
    for (Message const& got : receives_of(order, rank, step)) {
      ++receives;
      room.slot_bytes = std::max(
          room.slot_bytes, tile_bytes(map.at(got.row, got.col), rows(got.row), rows(got.col)));
    }
  room.slots = static_cast<std::size_t>(std::min(room_of(order, rank), receives));
  return room;
}

}  // namespace strata::ooc::detail
