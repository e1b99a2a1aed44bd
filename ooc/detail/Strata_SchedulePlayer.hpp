// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SCHEDULE_PLAYER_HPP
#define STRATA_SCHEDULE_PLAYER_HPP

#include <ooc/Strata_Messages.hpp>
#include <ooc/Strata_Schedule.hpp>

#include <cstdint>
#include <vector>

namespace strata::ooc::detail {

/// What `check_schedule` finds of one rank, without messages, and `check_messages` of several.
RankCheck play(Schedule const& all, std::vector<RankMessages> const& messages, std::int64_t room);

}  // namespace strata::ooc::detail

#endif
