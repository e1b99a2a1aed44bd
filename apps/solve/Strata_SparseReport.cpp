// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/document/Strata_Document.hpp>
#include <apps/shared/Strata_Report.hpp>
#include <apps/shared/Strata_Terminal.hpp>
#include <apps/solve/Strata_Sparse.hpp>
#include <apps/solve/Strata_SparseDocument.hpp>
#include <apps/system/Strata_Answer.hpp>
#include <apps/system/Strata_SolveProblem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace strata::apps {

namespace {

void show_problem(Report& report, SparseOutcome const& outcome) {
  auto const& found = outcome.report;
  report.section("Problem");
  report.show("matrix", outcome.problem.source);
  report.show("format", outcome.problem.format);
  report.only_screen("order, entries", words(outcome.problem.n, ", ", outcome.entries));
  report.show("symmetric", found.symmetric);
  if (outcome.columns.size() > 1)
    report.only_screen("right-hand sides",
                       words(outcome.columns.size(), ", ", outcome.problem.rhs));
  else
    report.show("right-hand side", outcome.problem.rhs);
  report.show("ranks", outcome.ranks);
  report.only_screen("memory needed",
                     "about " + in_bytes(static_cast<double>(outcome.problem.bytes_needed)) +
                         " at most, of all ranks");
}

// Of incomplete factors.
void show_factor(Report& report, sparse::SparseReport const& found) {
  if (!found.has_incomplete_factor()) return;
  auto const& factor = found.incomplete;
  report.only_screen(
      "its factors",
      words(
          "level of fill ", factor.fill, ", ", factor.entries, " entries",
          factor.shift > 0 ? text(", of A + %.1e diag(A)", factor.shift) : "",
          factor.replaced > 0 ? words(", ", counted(factor.replaced, "pivot"), " replaced") : ""));
}

void show_method(Report& report, SparseOutcome const& outcome) {
  auto const& found = outcome.report;
  auto const& asked = outcome.asked;
  auto const show = [&](char const* label, auto used, auto wanted) {
    report.show(label, used, unit::plain, words("asked for: ", wanted));
  };
  report.section("Method");
  show("solver", name_of(found.solver), name_of(asked.solver));
  show("preconditioner", name_of(found.preconditioner), name_of(asked.preconditioner));
  show("its precision", traits(found.precision).name, traits(asked.precision).name);
  if (found.block_size > 1) report.show("unknowns of a node", found.block_size);
  if (found.modes > 1) report.show("modes of an aggregate", found.modes);
  report.show("its memory on a rank", found.preconditioner_bytes, unit::bytes);
  show_factor(report, found);
  bool const has_levels = found.preconditioner == sparse::PreconditionerKind::Amg;
  int number = 0;
  for (auto const& level : found.levels)
    report.only_screen(words("  level ", ++number),
                       has_levels ? words(level.rows, " rows, ", level.entries, " entries") : "");
  report.only_screen("operator complexity",
                     has_levels ? text("%.3f", found.operator_complexity) : "");
  bool const direct = found.direct_coarse_solve;
  report.only_screen("coarsest level", !has_levels ? "" : direct ? "solved directly" : "one sweep");
}

// A bound from below of the condition bounds the digits from above.
void show_digits(Report& report, sparse::SparseReport const& found) {
  int const digits = found.digits();
  bool const is_known = found.solved() && digits >= 0;
  report.only_screen("condition",
                     is_known ? text("%.1e at least, in the infinity norm, of A with scaled rows",
                                     found.condition_at_least)
                              : "");
  report.only_screen("digits to expect",
                     is_known ? words("at most ", digits,
                                      text(", by how far x moved last: %.1e", found.forward_error))
                              : "");
}

void show_solution(Report& report, SparseOutcome const& outcome) {
  auto const& found = outcome.report;
  report.section(outcome.columns.size() > 1 ? "Solution of the worst column" : "Solution");
  bool const varies =
      std::any_of(found.attempts.begin(), found.attempts.end(), [&](auto const& attempt) {
        return attempt.preconditioner != found.attempts.front().preconditioner;
      });
  int number = 0;
  for (auto const& attempt : found.attempts) {
    auto const& krylov = attempt.krylov;
    auto const precision = traits(attempt.precision).name;
    report.only_screen(
        words("run ", ++number),
        words(name_of(attempt.solver), varies ? " + " : "",
              varies ? name_of(attempt.preconditioner) : "", " with ", precision, ": ",
              name_of(krylov.status), ", ", counted(krylov.iterations, "iteration"),
              text(", relative residual %.2e, %.3g s", krylov.relative_residual,
                   attempt.set_up_seconds + krylov.seconds)));
    if (varies) report.only_screen("  why", attempt.reason);
  }
  report.show("iterations", found.iterations);
  report.show("backward error", found.backward_error, unit::error, "normwise");
  report.show("forward error", or_null(outcome.forward_error), unit::error,
              "the solution is known");
  bool const at_limit = found.status == sparse::KrylovStatus::RoundingLimit;
  bool const is_projected = found.status == sparse::KrylovStatus::LeastSquares;
  bool const has_none = found.digits() == 0;
  show_digits(report, found);
  report.only_screen("left out of b", is_projected ? text("%.2e", found.incompatible) : "");
  report.only_screen("relative residual",
                     words(text("%.2e  (limit %.2e)  ", found.relative_residual, found.tolerance),
                           outcome.exit() != Exit::Solved ? "FAILED"
                           : has_none                     ? "PASSED, but x may have no right digit"
                           : is_projected                 ? "PASSED, by least squares"
                           : at_limit                     ? "PASSED, at fp64's limit"
                                                          : "PASSED"));
}

void explain_limit(std::ostream& out, SparseOutcome const& outcome) {
  auto const& report = outcome.report;
  bool const is_solved = outcome.exit() == Exit::Solved;
  auto const limit = text(
      "fp64's own limit: backward error %.1e, relative residual %.1e, as a direct solver's x has",
      report.backward_error, report.relative_residual);
  if (is_solved)
    out << "strata: solved to " << limit << '\n';
  else
    out << error_line("not converged: stopped at " + limit +
                      text(" (--tolerance %.1e)", outcome.asked.tolerance));
}

void explain_failure(std::ostream& out, SparseOutcome const& outcome) {
  auto const& report = outcome.report;
  if (outcome.exit() == Exit::NotPositiveDefinite && report.not_positive_row > 0)
    out << error_line(words("not positive definite: the diagonal entry of row ",
                            report.not_positive_row, " is not positive"));
  else if (outcome.exit() == Exit::NotPositiveDefinite)
    out << error_line(words("not positive definite: CG met a direction p with p' A p <= 0 after ",
                            counted(report.iterations, "iteration"), "; try --solver gmres"));
  else
    out << error_line(words("not converged: relative residual ", report.relative_residual,
                            " after ", counted(report.iterations, "iteration"), " (",
                            name_of(report.status), ')',
                            report.advice().empty() ? "" : "; " + report.advice()));
  if (!report.obstacle.empty())
    out << "strata: there was no memory for a higher precision: " << report.obstacle << '\n';
}

// What may be the cause, for those who did not expect it.
void suggest_cause(std::ostream& out, SparseOutcome const& outcome) {
  auto const& report = outcome.report;
  if (report.contradicts_empty_row)
    out << error_line(
        "there is no solution: the right-hand side is not 0 where a row of the matrix is empty");
  if (report.zero_diagonal_row > 0 && report.preconditioner == sparse::PreconditionerKind::None)
    out << "strata: no preconditioner was used: the diagonal entry of row "
        << report.zero_diagonal_row << " is 0\n";
}

}  // namespace

// AMG that knows constants alone works, slowly.
void suggest_modes(std::ostream& out, SparseOutcome& outcome) {
  int const size = outcome.report.block_size;
  if ((size != 2 && size != 3) || outcome.asked.amg.near_null_space ||
      outcome.report.preconditioner != sparse::PreconditionerKind::Amg ||
      std::exchange(outcome.told_of_modes, true))
    return;
  out << "strata: the matrix has " << size
      << " unknowns a node; if they are displacements, --coordinates with the nodes' places may "
         "need "
         "fewer iterations\n";
}

ResidualHistory history_of(SparseOutcome const& outcome) {
  constexpr std::size_t most = 1000;
  auto const& all = outcome.history;
  std::size_t const step = all.size() / most + 1;
  ResidualHistory history;
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (k % step != 0 && k + 1 != all.size()) continue;
    history.iterations.push_back(all[k].first);
    history.relative_residual.push_back(all[k].second);
  }
  return history;
}

std::string verdict(SparseOutcome const& outcome) {
  auto const& found = outcome.report;
  if (outcome.exit() != Exit::Solved) return "NOT SOLVED: x is the best that was found";
  int const digits = found.digits();
  return digits >= 0 ? right_digits("at most ", digits) : solved_to(found.backward_error);
}

Report report(SparseOutcome const& outcome) {
  Report report;
  report.document("", json_of(outcome));
  show_problem(report, outcome);
  show_method(report, outcome);
  show_solution(report, outcome);
  report.section("Seconds");
  report.show(outcome.problem.read_or_generate(), outcome.read_seconds, unit::seconds);
  report.show("assemble, colour", outcome.assemble_seconds, unit::seconds);
  report.show("set-up", outcome.report.set_up_seconds, unit::seconds);
  report.show("solve", outcome.report.solve_seconds, unit::seconds);
  report.show("total", outcome.total_seconds, unit::seconds);
  add_configuration(report);
  return report;
}

void warn(std::ostream& out, SparseOutcome const& outcome) {
  for (auto const& remark : outcome.report.remarks_on_matrix()) out << warning_line(remark);
  if (outcome.triangular)
    out << warning_line(
        "the matrix is triangular: no entry is on the other side of the diagonal; a file with one "
        "triangle of a symmetric matrix has 'symmetric' in its first line, this one 'general'");
}

void explain(std::ostream& out, SolveOptions const& options, SparseOutcome& outcome) {
  auto const& report = outcome.report;
  bool const is_solved = outcome.exit() == Exit::Solved;
  if (report.status == sparse::KrylovStatus::RoundingLimit)
    explain_limit(out, outcome);
  else if (!is_solved)
    explain_failure(out, outcome);
  for (auto const& remark : report.remarks_on_solution()) out << warning_line(remark);
  if (!is_solved) suggest_cause(out, outcome);
  if (!is_solved || report.attempts.size() > 1) suggest_modes(out, outcome);
  if (options.output.empty()) return;
  if (!is_solved)
    out << text(
        "strata: %s holds the best x that was found: backward error %.1e, relative "
        "residual %.1e\n",
        options.output.c_str(), report.backward_error, report.relative_residual);
  warn_of_invented_rhs(out, options);
}

}  // namespace strata::apps
