// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_EXECUTOR_DETAIL_VARIANT_RULES_HPP
#define STRATA_OOC_EXECUTOR_DETAIL_VARIANT_RULES_HPP

#include <ooc/Strata_CholeskyOptions.hpp>
#include <ooc/executor/detail/Strata_UseTable.hpp>

namespace strata::ooc::detail {

/// What a variant keeps on the device.
struct VariantRules {
  bool fences;      ///< the host waits for every step
  bool keeps_sums;  ///< a tile stays while it is updated
  bool keeps_diagonal;
  bool fetches_ahead;
  Eviction eviction;
};

constexpr VariantRules rules_of(Variant variant) {
  switch (variant) {
    case Variant::Sync:
      return {true, false, false, false, Eviction::AtOnce};
    case Variant::Async:
      return {false, false, false, false, Eviction::AtOnce};
    case Variant::V1:
      return {false, true, false, false, Eviction::AtOnce};
    case Variant::V2:
      return {false, true, false, false, Eviction::LeastRecentlyUsed};
    case Variant::V3:
      return {false, true, true, false, Eviction::LeastRecentlyUsed};
    case Variant::V4:
      break;
  }
  return {false, true, false, true, Eviction::FurthestUse};
}

}  // namespace strata::ooc::detail

#endif
