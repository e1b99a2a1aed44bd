// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_LAPACK_REPORT_HPP
#define STRATA_LAPACK_REPORT_HPP

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace strata::lapack::detail {

/// What the drop-in replaces.
enum class Routine { Spotrf, Dpotrf, Spotrs, Dpotrs, Sposv, Dposv, Dsposv };
inline constexpr std::array<char const*, 7> routine_names = {"spotrf", "dpotrf", "spotrs", "dpotrs",
                                                             "sposv",  "dposv",  "dsposv"};

/// How often it did, and how often the system's LAPACK.
struct Calls {
  std::atomic<std::int64_t> by_strata{0}, by_system{0};
};

/// The counters of a routine.
Calls& calls(Routine routine);

/// One line on stderr, for what a caller of LAPACK can be told in no other way.
void say(std::string_view line) noexcept;

}  // namespace strata::lapack::detail

#endif
