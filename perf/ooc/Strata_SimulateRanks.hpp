// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PERF_OOC_SIMULATE_RANKS_HPP
#define STRATA_PERF_OOC_SIMULATE_RANKS_HPP

#include <ooc/executor/Strata_Simulate.hpp>
#include <ooc/schedule/Strata_PrecisionMap.hpp>
#include <ooc/schedule/Strata_RankOrder.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata::study {

using ooc::PrecisionMap, ooc::Rates, ooc::RankOrder;

/// What one rank did in a simulation.
struct SimulatedRank {
  std::uint64_t bytes_sent = 0, bytes_received = 0;  ///< bytes to and from other ranks
  /// Bytes from the host to its devices, back, and between them.
  std::uint64_t bytes_in = 0, bytes_out = 0, bytes_peer = 0;
  std::uint64_t tile_bytes = 0;  ///< bytes of its own tiles
  std::uint64_t copy_bytes = 0;  ///< most bytes of others' tiles that it had or waited for at once
  double busy_seconds = 0;       ///< time of work, all its devices together
};

/// What a simulation of several ranks found, and what no order could be faster than.
struct RankSimulation {
  double seconds = 0;                ///< time of the factorisation
  double flop_per_s = 0;             ///< n^3/3 over the seconds
  std::vector<SimulatedRank> ranks;  ///< each one's part
  bool is_resident = true;     ///< tiles stay on their devices; else they go home after each visit
  double work_seconds = 0;     ///< work of the device that works longest
  double network_seconds = 0;  ///< bytes of the rank that sends or gets most, over the rate
  /// Time of the chain from diagonal tile to diagonal tile: POTRF, its message, TRSM, its message,
  /// the update.
  double chain_seconds = 0;
};

/// Play a factorisation by several ranks on paper, with the messages between them.
///
/// Each device does one product and one copy in each direction at a time, each rank one message in
/// each direction. A tile leaves its maker's host in its stored precision, once it is there. It
/// goes to the devices that need it as soon as it has arrived. A receiver has the room of
/// `room_of`. Devices keep the tiles of their rank and what the rank has of others. Where the
/// budget does not suffice for that, an order with super-panels brings each of its own tiles for
/// each visit and takes it back. (`ooc::simulate` plays the caches of one rank whose memory is
/// short.)
///
/// Result   the bytes sent are the bytes of `messages_of`.
/// Cost     one step for each product of whole tasks, for each visit to a super-panel, and for each
///          message.
/// Memory   some 40 bytes a tile, and 9 for each tile that a rank has room for.
/// Throws   ValueError for rates or an order out of range, or one that goes on from a later column;
///          ShapeError for a map of another size; MemoryError for a budget that does not hold what
///          must stay.
RankSimulation simulate(RankOrder const& order, std::int64_t n, std::int64_t tile_size,
                        PrecisionMap const& map, Rates const& rates, std::size_t budget_bytes = 0);

}  // namespace strata::study

#endif
