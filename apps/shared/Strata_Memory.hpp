// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_MEMORY_HPP
#define STRATA_APPS_MEMORY_HPP

#include <cstddef>
#include <string>

namespace strata::apps {

/// What a command may use of a host's memory.
struct MemoryLimit {
  std::size_t bytes;
  std::string reason;  ///< "--max-memory allows" or "available are"
};

/// `max_memory` bytes, or where that is 0 what the machine has available now.
MemoryLimit memory_limit(std::size_t max_memory);

/// Refuse a run before anything is allocated. `what` ends in "needs"; `detail` stands behind the bytes.
///
/// Throws   MemoryError with the bytes needed and allowed if that is more than the limit.
void require_memory(MemoryLimit const& limit, double bytes, std::string const& what,
                    std::string const& detail = "");

}  // namespace strata::apps

#endif
