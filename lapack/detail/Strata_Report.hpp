// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_LAPACK_REPORT_HPP
#define STRATA_LAPACK_REPORT_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace strata::lapack::detail {

/// What the drop-in replaces.
enum class Routine { Spotrf, Dpotrf, Spotrs, Dpotrs, Sposv, Dposv, Dsposv };
inline constexpr std::array<char const*, 7> routine_names = {"spotrf", "dpotrf", "spotrs", "dpotrs",
                                                             "sposv",  "dposv",  "dsposv"};

/// Who has done a call.
enum class Doer { Strata, System };

/// One call more.
void count(Routine routine, Doer doer);

/// How many there were in this process; one that was forked begins at 0.
std::int64_t calls(Routine routine, Doer doer);

/// One line on stderr with the program's name and process, for what a caller of LAPACK can be told
/// in no other way.
void say(std::string_view line) noexcept;

}  // namespace strata::lapack::detail

#endif
