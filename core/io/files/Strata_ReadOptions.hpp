// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_READ_OPTIONS_HPP
#define STRATA_READ_OPTIONS_HPP

#include <cstddef>
#include <functional>
#include <string>

namespace strata {

/// The bytes of memory of this machine, or what a 64-bit machine can address where it does not say.
std::size_t physical_memory_bytes();

/// What a reader may take from a file that it does not trust.
struct ReadOptions {
  /// Largest result in bytes; what a header asks beyond it is refused with MemoryError.
  std::size_t max_bytes = physical_memory_bytes();
  /// Largest ratio of inflated to compressed bytes in a .gz file, once 4 MiB have come out.
  double max_gz_ratio = 200;
  /// Hears now and then what part of the file's bytes was read, 0 to 1. An exception ends the call.
  std::function<void(double)> on_progress = {};
  /// Hears, in a sentence, what is odd about a file that is read all the same.
  std::function<void(std::string const&)> on_remark = {};
};

}  // namespace strata

#endif
