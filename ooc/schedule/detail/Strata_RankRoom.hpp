// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_SCHEDULE_DETAIL_RANK_ROOM_HPP
#define STRATA_OOC_SCHEDULE_DETAIL_RANK_ROOM_HPP

#include <ooc/schedule/Strata_PrecisionMap.hpp>
#include <ooc/schedule/Strata_RankOrder.hpp>

#include <cstddef>
#include <cstdint>

namespace strata::ooc::detail {

/// Host memory for tiles of others: slots, each as wide as the widest tile that comes.
struct RankRoom {
  std::size_t slots = 0, slot_bytes = 0;
  std::size_t bytes() const { return slots * slot_bytes; }
};

/// What a rank needs in an order, of a matrix of order n with this map.
RankRoom rank_room(RankOrder const& order, int rank, std::int64_t n, std::int64_t tile_size,
                   PrecisionMap const& map);

}  // namespace strata::ooc::detail

#endif
