// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_TEXT_HPP
#define STRATA_APPS_TEXT_HPP

#include <core/Strata_Ladder.hpp>

#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace strata::apps {

/// What printf would print.
[[gnu::format(printf, 1, 2)]] std::string text(char const* format, ...);

/// What a stream would print of all of them.
template <class... Part>
std::string words(Part const&... part) {
  std::ostringstream stream;
  (stream << ... << part);
  return stream.str();
}

/// "a, b, c".
std::string joined(std::vector<std::string> const& list);

/// "1 iteration", "2 iterations".
std::string counted(std::int64_t number, std::string const& thing);

/// "640 bytes", "1.5 MB", "137 GB": three digits, powers of 1000.
std::string in_bytes(double bytes);

/// "factored", where a factorisation broke down, or why it was left.
std::string outcome_of(FactorAttempt const& attempt);

/// `message` on one line and without control characters, which might come from a file.
std::string one_line(std::string_view message);

}  // namespace strata::apps

#endif
