// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SPARSE_HPP
#define STRATA_APPS_SPARSE_HPP

#include <apps/system/Strata_SolveProblem.hpp>
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/matrix/Strata_HostRows.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace strata::apps {

class Report;

/// A sparse system, spread over the ranks in consecutive blocks of rows; summary on rank 0 only.
struct SparseProblem {
  ProblemSummary summary;               ///< bytes of all ranks together
  std::vector<std::int64_t> first_row;  ///< first row of each rank, and the end
  sparse::HostRows rows;                ///< rows of this rank
  /// columns of this rank, one after the other: given, or to be made from the known x
  std::vector<double> b, x, guess;
  bool knows_solution = false;
};

/// Read (on rank 0) or make (on each rank its rows) the system. Collective.
///
/// Throws   on all ranks: Error of the readers and generators; UsageError if the file is not a
///          square sparse matrix or b does not fit; MemoryError, before the matrix is read, if the
///          run needs more bytes than --max-memory or than are available.
SparseProblem set_up_sparse(SolveOptions const& options, sparse::Communicator const& comm,
                            Progress& progress);

/// All that the report of a sparse solve tells, on screen and in JSON.
struct SparseOutcome {
  ProblemSummary problem;
  std::int64_t entries = 0;
  int ranks = 1, colours = 0;
  sparse::SparseOptions asked;
  /// All entries are on one side of the diagonal, or on it, and some beside it.
  bool triangular = false;
  /// the user gave a tolerance; the default one gives way to fp64's limit
  bool has_tolerance = false;
  bool told_of_modes = false;
  sparse::SparseReport report;  ///< the worst column's
  std::vector<sparse::SparseReport> columns;
  std::vector<std::pair<std::int64_t, double>>
      history;                          ///< iterations, and the relative residuals after them
  std::optional<double> forward_error;  ///< ||x - known||_oo / ||known||_oo
  double read_seconds = 0, assemble_seconds = 0, total_seconds = 0;

  Exit exit() const {
    if (report.solved() && (!has_tolerance || asked.stop != sparse::StopNorm::Residual ||
                            report.relative_residual <= report.tolerance))
      return Exit::Solved;
    return report.status == sparse::KrylovStatus::NotPositiveDefinite ? Exit::NotPositiveDefinite
                                                                      : Exit::NotConverged;
  }
};

/// As schema/solve_sparse.schema.json describes it.
Report report(SparseOutcome const& outcome);
/// What became of the solve, a line.
std::string verdict(SparseOutcome const& outcome);

/// Iterations after which a solve is slow.
constexpr std::int64_t many_iterations = 60;

/// Once, where the matrix has several unknowns a node and the solve, of `outcome.report`, was not
/// told of their places.
void suggest_modes(std::ostream& out, SparseOutcome& outcome);

/// What is odd about the matrix, of `outcome.report` as set-up left it, before it is solved for.
void warn(std::ostream& out, SparseOutcome const& outcome);

/// A line for each thing that a user should know of the result. The lines say why there is none, or
/// less than was asked for, what the cause may be, and what --output holds.
void explain(std::ostream& out, SolveOptions const& options, SparseOutcome& outcome);

}  // namespace strata::apps

#endif
