// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_MOTIF_TIMES_HPP
#define STRATA_SPARSE_MOTIF_TIMES_HPP

#include <array>
#include <chrono>
#include <cstddef>

namespace strata::sparse {

/// The parts of a solve that are timed and counted by themselves.
enum class Motif { Multiply, GaussSeidel, Restrict, Prolong, Orthogonalise, Update };
inline constexpr std::size_t motif_count = 6;

/// Seconds spent in each motif. Filling it fences `exec` around each: for breakdowns, not for records.
class MotifTimes {
 public:
  double seconds(Motif motif) const { return seconds_[static_cast<std::size_t>(motif)]; }
  double total() const {
    double sum = 0;
    for (double const part : seconds_) sum += part;
    return sum;
  }

  /// Call `work`, timed if there is something to fill.
  template <class Exec, class Work>
  static void time(MotifTimes* times, Exec const& exec, Motif motif, Work const& work) {
    if (!times) return work();
    exec.fence("strata::sparse::MotifTimes::start");
    auto const start = std::chrono::steady_clock::now();
    work();
    exec.fence("strata::sparse::MotifTimes::end");
    times->seconds_[static_cast<std::size_t>(motif)] +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  std::array<double, motif_count> seconds_{};
};

}  // namespace strata::sparse

#endif
