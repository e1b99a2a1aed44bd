// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_SCHEDULE_DETAIL_SCHEDULE_PLAYER_HPP
#define STRATA_OOC_SCHEDULE_DETAIL_SCHEDULE_PLAYER_HPP

#include <ooc/schedule/Strata_Messages.hpp>
#include <ooc/schedule/Strata_RankOrder.hpp>
#include <ooc/schedule/Strata_Schedule.hpp>

#include <cstdint>
#include <vector>

namespace strata::ooc::detail {

/// The tasks of a schedule, each a visit.
std::vector<std::vector<Visit>> visits_of(Schedule const& schedule);

/// What is played: the visits of all streams, and what they are of.
struct Played {
  RankOrder order;
  int devices = 1;  ///< devices of all ranks; device g belongs to rank g % ranks
  std::vector<std::vector<Visit>> lanes;
};
/// A schedule for so many ranks in a column, and an order.
Played played(Schedule const& schedule, int ranks);
Played played(RankOrder const& order);

/// What `check_schedule` finds of one rank, without messages, and `check_messages` and
/// `check_order` of several.
RankCheck play(Played const& all, std::vector<RankMessages> const& messages,
               std::vector<std::int64_t> const& rooms);

}  // namespace strata::ooc::detail

#endif
