// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SPARSE_REPORT_HPP
#define STRATA_APPS_SPARSE_REPORT_HPP

#include <apps/shared/Strata_Exit.hpp>
#include <apps/solve/Strata_Solve.hpp>
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/matrix/Strata_HostRows.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

namespace strata::apps {

class Report;

/// All that the report of a sparse solve tells, on screen and in JSON.
struct SparseOutcome {
  std::string source, format, rhs;
  std::int64_t n = 0, entries = 0;
  int ranks = 1, colours = 0;
  std::size_t bytes_needed = 0;
  sparse::SparseOptions asked;
  int likely_block_size = 1;   ///< by the pattern
  bool has_tolerance = false;  ///< of the user's; the default one gives way to fp64's limit
  sparse::SparseReport report;
  std::optional<double> forward_error;  ///< ||x - known||_oo / ||known||_oo
  double read_seconds = 0, assemble_seconds = 0, total_seconds = 0;

  Exit exit() const {
    if (report.solved() && (!has_tolerance || report.relative_residual <= asked.tolerance))
      return Exit::Solved;
    return report.status == sparse::KrylovStatus::NotPositiveDefinite ? Exit::NotPositiveDefinite
                                                                      : Exit::NotConverged;
  }
};

/// As schema/solve_sparse.schema.json describes it.
Report report(SparseOutcome const& outcome);

/// The largest of 6, 3 and 2 by which rows and columns fall into whole blocks, all but a tenth of the entries in full
/// ones: the unknowns of a node, as of elasticity; 1 where none does. Collective.
int likely_block_size(sparse::Communicator const& comm, std::int64_t n,
                      sparse::HostRows const& rows);

/// What is odd about the matrix, before it is solved for.
void warn(std::ostream& out, sparse::SparseReport const& set_up);

/// A line for each thing that a user should know of the result: why it is none, or less than was asked for, what the
/// cause may be, and what --output holds.
void explain(std::ostream& out, SolveOptions const& options, SparseOutcome const& outcome);

}  // namespace strata::apps

#endif
