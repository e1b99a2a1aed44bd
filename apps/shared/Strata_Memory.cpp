// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Memory.hpp>

#include <apps/shared/Strata_Text.hpp>
#include <core/Strata_Errors.hpp>
#include <core/info/Strata_Version.hpp>

namespace strata::apps {

MemoryLimit memory_limit(std::size_t max_memory) {
  if (max_memory > 0) return {max_memory, "--max-memory allows"};
  return {available_memory_bytes(), "available are"};
}

void require_memory(MemoryLimit const& limit, double bytes, std::string const& what,
                    std::string const& detail) {
  auto const allowed = static_cast<double>(limit.bytes);
  STRATA_REQUIRE(MemoryError, bytes <= allowed, what, ' ', in_bytes(bytes), detail, "; ",
                 limit.reason, ' ', in_bytes(allowed));
}

}  // namespace strata::apps
