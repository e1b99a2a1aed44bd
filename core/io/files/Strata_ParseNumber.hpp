// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PARSE_NUMBER_HPP
#define STRATA_PARSE_NUMBER_HPP

#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace strata {

/// Take the first word, up to a space or tab, off the front of `text`; empty if there is none.
inline std::string_view take_word(std::string_view& text) {
  auto const blank = [](char c) { return c == ' ' || c == '\t'; };
  std::size_t begin = 0;
  while (begin < text.size() && blank(text[begin])) ++begin;
  std::size_t end = begin;
  while (end < text.size() && !blank(text[end])) ++end;
  auto const word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

/// Read all of `text` as a number, in no locale; fp64 must be finite and in range (1e400 and 1e-400
/// are not).
///
/// Result   nullptr, or why not, to follow the text in a message.
template <class T>
char const* parse_number(std::string_view text, T& value) {
  // from_chars takes no plus sign, which is common in files that Fortran wrote
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr bool real = std::is_floating_point_v<T>;
  if (error == std::errc::result_out_of_range)
    return real ? "is outside the range of fp64" : "is outside the range of 64-bit integers";
  if (error != std::errc() || end != text.data() + text.size())
    return real ? "is not a number" : "is not an integer";
  if constexpr (real)
    if (!std::isfinite(value)) return "is not finite";
  return nullptr;
}

}  // namespace strata

#endif
