// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Text.hpp>
#include <apps/solve/Strata_SparseReport.hpp>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

namespace strata::apps {

namespace {

void explain_limit(std::ostream& out, SparseOutcome const& outcome) {
  auto const& report = outcome.report;
  out << text(
      "strata: %s fp64's own limit: backward error %.1e, relative residual %.1e; "
      "no method in fp64 gets much below",
      outcome.exit() == Exit::Solved ? "solved to" : "not converged: stopped at",
      report.backward_error, report.relative_residual);
  if (outcome.exit() != Exit::Solved) out << text(" (--tolerance %.1e)", outcome.asked.tolerance);
  out << '\n';
}

void explain_failure(std::ostream& out, SparseOutcome const& outcome) {
  auto const& report = outcome.report;
  if (outcome.exit() == Exit::NotPositiveDefinite && report.not_positive_row > 0)
    out << "strata: not positive definite: the diagonal entry of row " << report.not_positive_row
        << " is not positive\n";
  else if (outcome.exit() == Exit::NotPositiveDefinite)
    out << "strata: not positive definite: CG met a direction p with p' A p <= 0 after "
        << report.iterations << " iterations; try --solver gmres\n";
  else
    out << "strata: not converged: relative residual " << report.relative_residual << " after "
        << report.iterations << " iterations (" << name_of(report.status) << ")\n";
  if (!report.out_of_memory.empty())
    out << "strata: there was no memory for a higher precision: " << report.out_of_memory << '\n';
}

// What may be the cause, for those who did not expect it.
void suggest_cause(std::ostream& out, SparseOutcome const& outcome) {
  auto const& report = outcome.report;
  if (report.contradicts_empty_row)
    out << "strata: there is no solution: the right-hand side is not 0 where a row of the matrix "
           "is "
           "empty\n";
  if (report.rows.maps_constants_to_zero)
    out << "strata: the matrix is probably singular: each row's entries add up to 0, so that A x = "
           "0 for constant x; are boundary conditions missing?\n";
  else if (report.zero_diagonal_row > 0 &&
           report.preconditioner == sparse::PreconditionerKind::None)
    out << "strata: no preconditioner was used: the diagonal entry of row "
        << report.zero_diagonal_row << " is 0\n";
}

// Entries of the rows in aligned blocks of columns that a row has all of.
double in_full_blocks(sparse::HostRows const& rows, int size) {
  double count = 0;
  std::vector<std::int64_t> columns;
  for (std::size_t i = 0; i + 1 < rows.begin.size(); ++i) {
    columns.assign(rows.column.begin() + rows.begin[i], rows.column.begin() + rows.begin[i + 1]);
    std::sort(columns.begin(), columns.end());
    for (std::size_t k = 0; k + static_cast<std::size_t>(size) <= columns.size(); ++k)
      if (columns[k] % size == 0 &&
          columns[k + static_cast<std::size_t>(size) - 1] == columns[k] + size - 1)
        count += size;
  }
  return count;
}

// AMG that takes the unknowns of a node for points of one grid works, slowly.
void suggest_blocks(std::ostream& out, SparseOutcome const& outcome) {
  constexpr std::int64_t many = 60;
  auto const& report = outcome.report;
  bool const is_slow =
      outcome.exit() != Exit::Solved || report.iterations > many || report.attempts.size() > 1;
  if (!is_slow || outcome.likely_block_size == 1 || outcome.asked.amg.block_size > 1 ||
      report.preconditioner != sparse::PreconditionerKind::Amg)
    return;
  out << "strata: the matrix looks like one of " << outcome.likely_block_size
      << " unknowns a node; --block-size " << outcome.likely_block_size
      << " may need fewer iterations\n";
}

}  // namespace

int likely_block_size(sparse::Communicator const& comm, std::int64_t n,
                      sparse::HostRows const& rows) {
  constexpr double most = 0.9;
  for (int const size : {6, 3, 2}) {
    double counts[2] = {n % size == 0 ? in_full_blocks(rows, size) : 0,
                        static_cast<double>(rows.entries())};
    comm.sum(counts);
    if (counts[0] > 0 && counts[0] >= most * counts[1]) return size;
  }
  return 1;
}

void warn(std::ostream& out, sparse::SparseReport const& set_up) {
  auto const& rows = set_up.rows;
  if (rows.empty == 0) return;
  out << "strata: warning: row " << rows.first_empty + 1 << " is empty";
  if (rows.empty > 1) out << ", with " << rows.empty - 1 << " more";
  out << ": the matrix is singular; x is set to 0 there\n";
}

void explain(std::ostream& out, SolveOptions const& options, SparseOutcome const& outcome) {
  auto const& report = outcome.report;
  bool const is_solved = outcome.exit() == Exit::Solved;
  if (report.status == sparse::KrylovStatus::RoundingLimit)
    explain_limit(out, outcome);
  else if (!is_solved)
    explain_failure(out, outcome);
  if (!is_solved) suggest_cause(out, outcome);
  suggest_blocks(out, outcome);
  if (options.output.empty()) return;
  if (!is_solved)
    out << text(
        "strata: %s holds the best x that was found: backward error %.1e, relative "
        "residual %.1e\n",
        options.output.c_str(), report.backward_error, report.relative_residual);
  if (options.rhs.empty())
    out << "strata: warning: " << options.output
        << " solves for an invented right-hand side, A times a known vector; give yours with "
           "--rhs\n";
}

}  // namespace strata::apps
