// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_TIME_LEFT_HPP
#define STRATA_DETAIL_TIME_LEFT_HPP

#include <core/Strata_Stopwatch.hpp>
#include <sparse/hpgmxp/Strata_Hpgmxp.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

namespace strata::sparse::detail {

/// A solver's `monitor`. In each of the first `iterations`, from now on, it tells
/// `options.on_time_left` the time that they still take. Empty if that is.
inline std::function<void(std::int64_t, double)> warm_up_monitor(HpgmxpOptions const& options,
                                                                 std::int64_t iterations) {
  if (!options.on_time_left) return {};
  return [&options, iterations, watch = Stopwatch(), done = std::int64_t{0}](std::int64_t,
                                                                             double) mutable {
    if (++done > iterations) return;
    double const part = static_cast<double>(done) / static_cast<double>(iterations);
    options.on_time_left(watch.seconds() * (1 - part) / part);
  };
}

/// Tells, before a solve of `phase`, the time of all solves to come, if each takes as long as the
/// `last` one. The phase has at most `most` solves.
inline void tell_time_left(HpgmxpOptions const& options, HpgmxpPhase const& phase,
                           std::int64_t most, double last) {
  if (!options.on_time_left || last <= 0) return;
  double const solves = std::ceil((options.seconds - phase.least_seconds) / last);
  options.on_time_left(last * std::clamp(solves, 1.0, static_cast<double>(most - phase.solves)));
}

}  // namespace strata::sparse::detail

#endif
