// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/team/detail/Strata_Lane.hpp>

#include <core/info/Strata_Version.hpp>

namespace strata::ooc::detail {

std::size_t host_free_bytes() {
  std::size_t const pretended = pretended_free_bytes;
  return pretended == all_bytes ? available_memory_bytes() : pretended;
}

}  // namespace strata::ooc::detail
