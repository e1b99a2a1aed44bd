// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_EnumNames.hpp>

#include <core/Strata_Errors.hpp>

#include <algorithm>

namespace strata {

namespace {

// In no locale.
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equal(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

std::string detail::joined(std::span<std::string_view const> names) {
  std::string list;
  for (auto const name : names) list.append(list.empty() ? "" : ", ").append(name);
  return list;
}

std::size_t detail::position_of(std::span<std::string_view const> names, std::string_view text) {
  auto const found = std::find_if(names.begin(), names.end(),
                                  [&](std::string_view name) { return equal(name, text); });
  return static_cast<std::size_t>(found - names.begin());
}

std::size_t detail::find_name(std::string_view what, std::span<std::string_view const> names,
                              std::string_view text) {
  std::size_t const found = position_of(names, text);
  STRATA_REQUIRE(ValueError, found < names.size(), "no ", what, " '", text, "'; there are ",
                 joined(names));
  return found;
}

}  // namespace strata
