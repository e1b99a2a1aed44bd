// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_EXECUTOR_SIMULATE_HPP
#define STRATA_OOC_EXECUTOR_SIMULATE_HPP

#include <ooc/Strata_CholeskyOptions.hpp>
#include <ooc/schedule/Strata_PrecisionMap.hpp>
#include <ooc/schedule/Strata_Schedule.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata::ooc {

/// The speeds of a machine, as far as a simulation needs them. The defaults describe no real
/// machine.
struct Rates {
  /// Rates of products of tiles in fp64, fp32, fp16 and fp8.
  std::array<double, 4> product_flop_per_s = {1e12, 1e12, 1e12, 1e12};
  double solve_flop_per_s = 1e12;                        ///< rate of TRSM
  double factor_flop_per_s = 0;                          ///< rate of POTRF; 0: as TRSM
  double in_bytes_per_s = 1e10, out_bytes_per_s = 1e10;  ///< host to device and back, each device
  /// rate into each device from others; 0: no links
  double peer_bytes_per_s = 1e10;
  /// rate into each rank, and at the same time out of each rank
  double network_bytes_per_s = 1e10;
  double message_seconds = 0;  ///< time of a message without bytes

  /// The rate of POTRF that counts.
  double potrf_flop_per_s() const {
    return factor_flop_per_s > 0 ? factor_flop_per_s : solve_flop_per_s;
  }
  /// Throws   ValueError if a rate is not positive.
  void check() const;
};

/// What a simulation asks for.
struct SimulationOptions {
  Variant variant = Variant::V4;  ///< what is kept on a device
  std::size_t budget_bytes = 0;   ///< memory of each device; 0: what the matrix can use
  int lookahead = 2;              ///< updates ahead of which V4 fetches
  Rates rates;                    ///< speeds of the machine
};

/// What it found.
struct Simulation {
  double seconds = 0;     ///< time of the factorisation
  double flop_per_s = 0;  ///< n^3/3 over the seconds
  /// Bytes from the host, to it, and between devices.
  std::uint64_t bytes_in = 0, bytes_out = 0, bytes_peer = 0;
  std::vector<double> busy_seconds;  ///< time that each device works
};

/// Plays a factorisation on paper: the schedule, the caches and the bytes of `cholesky`. Each
/// device does one product, one copy in and one copy out at a time, at the rates given.
///
/// Result   on one stream the bytes are the same as in a run. On several streams they depend on
///          which stream is first, and a run decides that by its own times.
/// Throws   ValueError for rates out of range or a schedule that `check_schedule` refuses;
///          MemoryError for a budget below the smallest.
Simulation simulate(Schedule const& schedule, std::int64_t n, std::int64_t tile_size,
                    PrecisionMap const& map, SimulationOptions const& options = {});

}  // namespace strata::ooc

#endif
