// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/schedule/Strata_Messages.hpp>

#include <ooc/schedule/detail/Strata_SchedulePlayer.hpp>

#include <algorithm>

namespace strata::ooc {

std::uint64_t bytes_of(std::vector<Message> const& messages, std::int64_t n, std::int64_t tile_size,
                       PrecisionMap const& map) {
  std::uint64_t bytes = 0;
  auto const rows = [&](std::int64_t i) { return std::min(tile_size, n - i * tile_size); };
  for (Message const& m : messages)
    bytes += tile_copy_bytes(map.at(m.row, m.col), rows(m.row), rows(m.col));
  return bytes;
}

RankCheck check_messages(Schedule const& all, std::vector<RankMessages> const& messages,
                         std::int64_t room) {
  return detail::play(detail::played(all, static_cast<int>(messages.size())), messages,
                      std::vector<std::int64_t>(messages.size(), room));
}

}  // namespace strata::ooc
