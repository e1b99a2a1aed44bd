// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/io/files/Strata_ReadOptions.hpp>

#include <unistd.h>

#include <limits>

namespace strata {

std::size_t physical_memory_bytes() {
  long const pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGE_SIZE);
  if (pages <= 0 || page_bytes <= 0) return std::numeric_limits<std::size_t>::max() / 2;
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page_bytes);
}

}  // namespace strata
