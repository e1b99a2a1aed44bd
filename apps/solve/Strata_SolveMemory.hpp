// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SOLVE_MEMORY_HPP
#define STRATA_APPS_SOLVE_MEMORY_HPP

#include <apps/solve/Strata_SolveOptions.hpp>
#include <apps/solve/Strata_SolveProblem.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace strata::apps {

struct MemoryLimit {
  std::size_t bytes;
  std::string reason;  ///< "--max-memory" or "available"
};

/// What the program may use: --max-memory, else what the machine has available now.
MemoryLimit memory_limit(SolveOptions const& options);

/// Columns of B: those of the file --rhs, 1 for measured values, else --nrhs.
std::int64_t right_hand_sides(SolveOptions const& options);

/// Set `summary.bytes_needed` for its n and nrhs: on the machine, and where the matrix is copied to a device,
/// what is needed there in addition.
///
/// Throws   MemoryError with the bytes needed and allowed, if that is more than the limit or the device's memory.
void require_memory(ProblemSummary& summary, SolveOptions const& options);

}  // namespace strata::apps

#endif
