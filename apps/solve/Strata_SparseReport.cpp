// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Report.hpp>
#include <apps/shared/Strata_Terminal.hpp>
#include <apps/solve/Strata_SolveProblem.hpp>
#include <apps/solve/Strata_Sparse.hpp>
#include <sparse/coarsening/Strata_NearNullSpace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace strata::apps {

namespace {

using Value = Report::Value;

void add_problem(Report& report, SparseOutcome const& outcome) {
  auto const& found = outcome.report;
  // Numbers of rows count from 1; 0: there is none.
  auto const number = [](std::int64_t row) { return row > 0 ? Value(row) : Value(nullptr); };
  report.section("Problem");
  report.only_json("schema", "strata.solve_sparse/1");
  report.only_json("status", status_name(outcome.exit()));
  report.only_json("ended", name_of(found.status));
  report.add("problem/source", "matrix", outcome.problem.source);
  report.add("problem/format", "format", outcome.problem.format);
  report.tell("n", "order, entries", outcome.problem.n,
              words(outcome.problem.n, ", ", outcome.entries));
  report.only_json("entries", outcome.entries);
  report.add("symmetric", "symmetric", found.symmetric);
  report.add("problem/rhs", "right-hand side", outcome.problem.rhs);
  report.add("ranks", "ranks", outcome.ranks);
  report.tell("bytes/needed", "memory needed", outcome.problem.bytes_needed,
              "about " + in_bytes(static_cast<double>(outcome.problem.bytes_needed)) +
                  " at most, of all ranks");
  report.only_json("rows/empty", found.rows.empty);
  report.only_json("rows/first_empty", number(found.rows.first_empty + 1));
  report.only_json("rows/first_zero_diagonal", number(found.zero_diagonal_row));
  report.only_json("rows/map_constants_to_zero", found.rows.maps_constants_to_zero);
  report.only_json("rows/floating_parts", found.rows.floating_parts);
  report.only_json("rows/floating", found.rows.floating_rows);
  report.only_json("colours", outcome.colours);
}

void add_method(Report& report, SparseOutcome const& outcome) {
  auto const& found = outcome.report;
  auto const& asked = outcome.asked;
  auto const add = [&](char const* key, char const* label, auto used, auto wanted) {
    report.add(key, label, used, unit::plain, words("asked for: ", wanted));
    report.only_json(words("asked/", key), wanted);
  };
  report.section("Method");
  add("solver", "solver", name_of(found.solver), name_of(asked.solver));
  add("preconditioner", "preconditioner", name_of(found.preconditioner),
      name_of(asked.preconditioner));
  add("precision", "its precision", traits(found.precision).name, traits(asked.precision).name);
  report.only_json("asked/tolerance", asked.tolerance);
  report.only_json("asked/restart", asked.restart);
  report.only_json("asked/max_iterations", asked.max_iterations);
  report.only_json("asked/block_size", asked.amg.block_size);
  report.only_json("asked/near_null_space",
                   asked.amg.near_null_space ? asked.amg.near_null_space->width : 0);
  report.tell("block_size", "unknowns of a node", found.block_size,
              found.block_size > 1 ? words(found.block_size) : "");
  report.tell("modes", "modes of an aggregate", found.modes,
              found.modes > 1 ? words(found.modes) : "");
  report.add("bytes/preconditioner", "its memory on a rank", found.preconditioner_bytes,
             unit::bytes);
  bool const has_levels = found.preconditioner == sparse::PreconditionerKind::Amg;
  report.only_json("levels", Value::array());
  int number = 0;
  for (auto const& level : found.levels)
    report.tell("levels/-", words("  level ", ++number),
                {{"rows", level.rows}, {"entries", level.entries}},
                has_levels ? words(level.rows, " rows, ", level.entries, " entries") : "");
  report.tell("operator_complexity", "operator complexity", found.operator_complexity,
              has_levels ? text("%.3f", found.operator_complexity) : "");
  bool const direct = found.direct_coarse_solve;
  report.tell("coarse_solve", "coarsest level", direct ? "direct" : "sweep",
              !has_levels ? ""
              : direct    ? "solved directly"
                          : "one sweep");
}

// Evenly thinned to about a thousand, with the last one.
void add_history(Report& report, SparseOutcome const& outcome) {
  constexpr std::size_t most = 1000;
  auto const& history = outcome.history;
  std::size_t const step = history.size() / most + 1;
  Value iterations = Value::array(), residuals = Value::array();
  for (std::size_t k = 0; k < history.size(); ++k) {
    if (k % step != 0 && k + 1 != history.size()) continue;
    iterations.push_back(history[k].first);
    residuals.push_back(history[k].second);
  }
  report.only_json("history/iterations", iterations);
  report.only_json("history/relative_residual", residuals);
}

// A bound from below of the condition bounds the digits from above.
void add_digits(Report& report, sparse::SparseReport const& found) {
  int const digits = found.digits();
  bool const is_known = found.solved() && digits >= 0;
  report.tell("condition_at_least", "condition", found.condition_at_least,
              is_known ? text("%.1e at least, in the infinity norm, of A with scaled rows",
                              found.condition_at_least)
                       : "");
  report.only_json("forward_error_estimate",
                   is_known ? Value(found.forward_error) : Value(nullptr));
  report.tell("digits", "digits to expect", is_known ? Value(digits) : Value(nullptr),
              is_known ? words("at most ", digits,
                               text(", by how far x moved last: %.1e", found.forward_error))
                       : "");
}

void add_solution(Report& report, SparseOutcome const& outcome) {
  auto const& found = outcome.report;
  report.section("Solution");
  report.only_json("attempts", Value::array());
  int number = 0;
  for (auto const& attempt : found.attempts) {
    auto const& krylov = attempt.krylov;
    auto const precision = traits(attempt.precision).name;
    report.tell(
        "attempts/-", words("run ", ++number),
        {{"solver", name_of(attempt.solver)},
         {"precision", precision},
         {"status", name_of(krylov.status)},
         {"iterations", krylov.iterations},
         {"relative_residual", krylov.relative_residual},
         {"seconds", krylov.seconds}},
        words(name_of(attempt.solver), " with ", precision, ": ", name_of(krylov.status), ", ",
              counted(krylov.iterations, "iteration"),
              text(", relative residual %.2e, %.3g s", krylov.relative_residual, krylov.seconds)));
  }
  add_history(report, outcome);
  report.add("iterations", "iterations", found.iterations);
  report.add("backward_error", "backward error", found.backward_error, unit::error, "normwise");
  report.add("forward_error", "forward error", or_null(outcome.forward_error), unit::error,
             "the solution is known");
  bool const at_limit = found.status == sparse::KrylovStatus::RoundingLimit;
  bool const is_projected = found.status == sparse::KrylovStatus::LeastSquares;
  bool const has_none = found.digits() == 0;
  add_digits(report, found);
  report.tell("incompatible", "left out of b", found.incompatible,
              is_projected ? text("%.2e", found.incompatible) : "");
  report.tell("relative_residual", "relative residual", found.relative_residual,
              words(text("%.2e  (limit %.2e)  ", found.relative_residual, outcome.asked.tolerance),
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

Report report(SparseOutcome const& outcome) {
  Report report;
  add_problem(report, outcome);
  add_method(report, outcome);
  add_solution(report, outcome);
  report.section("Seconds", "seconds/");
  report.add("read", outcome.problem.read_or_generate(), outcome.read_seconds, unit::seconds);
  report.add("assemble", "assemble, colour", outcome.assemble_seconds, unit::seconds);
  report.add("setup", "set-up", outcome.report.set_up_seconds, unit::seconds);
  report.add("solve", "solve", outcome.report.solve_seconds, unit::seconds);
  report.add("total", "total", outcome.total_seconds, unit::seconds);
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
