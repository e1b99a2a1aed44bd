// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SPARSE_PROBLEM_HPP
#define STRATA_APPS_SPARSE_PROBLEM_HPP

#include <apps/shared/Strata_Progress.hpp>
#include <apps/solve/Strata_Solve.hpp>
#include <sparse/matrix/Strata_HostRows.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace strata::apps {

/// A sparse system, spread over the ranks in consecutive blocks of rows; summary on rank 0 only.
struct SparseProblem {
  std::string source;            ///< the file, or how the matrix was made
  std::string format;            ///< of the file, or "generated"
  std::string rhs;               ///< where b comes from
  std::size_t bytes_needed = 0;  ///< of all ranks together
  std::int64_t n = 0;
  std::vector<std::int64_t> first_row;  ///< of each rank, and the end
  sparse::HostRows rows;                ///< of this rank
  std::vector<double> b, x;             ///< of this rank: given, or to be made from the known x
  bool knows_solution = false;
};

/// Read (on rank 0) or make (on each rank its rows) the system. Collective.
///
/// Throws   on all ranks: Error of the readers and generators; UsageError if the file is not a square sparse
///          matrix or b does not fit; MemoryError, before the matrix is read, if the run needs more bytes than
///          --max-memory or than are available.
SparseProblem set_up_sparse(SolveOptions const& options, sparse::Communicator const& comm,
                            Progress* progress);

}  // namespace strata::apps

#endif
