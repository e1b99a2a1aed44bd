// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_Precision.hpp>

namespace strata {

Precision precision_from_name(std::string_view name) {
  std::string valid;
  for (Precision const precision : all_precisions) {
    if (name == traits(precision).name) return precision;
    valid.append(valid.empty() ? "" : ", ").append(traits(precision).name);
  }
  throw ValueError(detail::message("no precision '", name, "'; there are ", valid));
}

}  // namespace strata
