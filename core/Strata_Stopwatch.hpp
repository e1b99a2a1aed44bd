// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_STOPWATCH_HPP
#define STRATA_STOPWATCH_HPP

#include <chrono>
#include <utility>

namespace strata {

/// Seconds of wall time.
class Stopwatch {
 public:
  /// Since the last lap, or since this was made.
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  /// The same, and a new lap begins.
  double lap() {
    auto const now = Clock::now();
    return std::chrono::duration<double>(now - std::exchange(start_, now)).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace strata

#endif
