// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_Precision.hpp>

#include <algorithm>

namespace strata {

namespace {

// In any case of A to Z, in no locale.
bool equal(std::string_view text, std::string_view name) {
  auto const lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::equal(text.begin(), text.end(), name.begin(), name.end(),
                    [&](char a, char b) { return lower(a) == b; });
}

}  // namespace

Precision precision_from_name(std::string_view name) {
  std::string valid;
  for (Precision const precision : all_precisions) {
    if (equal(name, traits(precision).name)) return precision;
    valid.append(valid.empty() ? "" : ", ").append(traits(precision).name);
  }
  throw ValueError(detail::message("no precision '", name, "'; there are ", valid));
}

}  // namespace strata
