// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Text.hpp>

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <iterator>

namespace strata::apps {

std::string text(char const* format, ...) {
  std::va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  std::string result(
      static_cast<std::size_t>(std::max(0, std::vsnprintf(nullptr, 0, format, arguments))), '\0');
  std::vsnprintf(result.data(), result.size() + 1, format, again);
  va_end(again);
  va_end(arguments);
  return result;
}

std::string joined(std::vector<std::string> const& list) {
  std::string result;
  for (auto const& word : list) result += (result.empty() ? "" : ", ") + word;
  return result;
}

std::string counted(std::int64_t number, std::string const& thing) {
  return words(number, ' ', thing, number == 1 ? "" : "s");
}

std::string in_bytes(double bytes) {
  constexpr char const* units[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
  std::size_t unit = 0;
  for (; bytes >= 999.5 && unit + 1 < std::size(units); ++unit) bytes /= 1000;
  return unit == 0 ? text("%.0f %s", bytes, units[unit]) : text("%.3g %s", bytes, units[unit]);
}

std::string outcome_of(FactorAttempt const& attempt) {
  if (attempt.outcome == Outcome::Foretold)
    return "left after half of its columns, whose pivots fall too fast";
  return attempt.info == 0 ? "factored" : words("broke down at minor ", attempt.info);
}

std::string one_line(std::string_view message) {
  std::string result(message);
  while (!result.empty() && result.back() == '\n') result.pop_back();
  std::replace_if(
      result.begin(), result.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return result;
}

}  // namespace strata::apps
