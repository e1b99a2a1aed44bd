// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/solve/Strata_SparseReport.hpp>

#include <apps/shared/Strata_Report.hpp>

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
  report.add("problem/source", "matrix", outcome.source);
  report.add("problem/format", "format", outcome.format);
  report.tell("n", "order, entries", outcome.n, words(outcome.n, ", ", outcome.entries));
  report.only_json("entries", outcome.entries);
  report.add("symmetric", "symmetric", found.symmetric);
  report.add("problem/rhs", "right-hand side", outcome.rhs);
  report.add("ranks", "ranks", outcome.ranks);
  report.tell(
      "bytes/needed", "memory needed", outcome.bytes_needed,
      "about " + in_bytes(static_cast<double>(outcome.bytes_needed)) + " at most, of all ranks");
  report.only_json("rows/empty", found.rows.empty);
  report.only_json("rows/first_empty", number(found.rows.first_empty + 1));
  report.only_json("rows/first_zero_diagonal", number(found.zero_diagonal_row));
  report.only_json("rows/map_constants_to_zero", found.rows.maps_constants_to_zero);
  report.only_json("colours", outcome.colours);
}

void add_method(Report& report, SparseOutcome const& outcome) {
  auto const& found = outcome.report;
  auto const& asked = outcome.asked;
  bool const has_levels = found.preconditioner == sparse::PreconditionerKind::Amg;
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
  report.add("bytes/preconditioner", "its memory on a rank", found.preconditioner_bytes,
             unit::bytes);
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

void add_solution(Report& report, SparseOutcome const& outcome) {
  auto const& found = outcome.report;
  report.section("Solution");
  report.only_json("attempts", Value::array());
  int number = 0;
  for (auto const& [solver, precision, krylov] : found.attempts)
    report.tell("attempts/-", words("run ", ++number),
                {{"solver", name_of(solver)},
                 {"precision", traits(precision).name},
                 {"status", name_of(krylov.status)},
                 {"iterations", krylov.iterations},
                 {"relative_residual", krylov.relative_residual},
                 {"seconds", krylov.seconds}},
                words(name_of(solver), ", ", traits(precision).name, ": ", krylov.iterations,
                      text(" iterations, residual %.2e, ", krylov.relative_residual),
                      name_of(krylov.status), text(", %.3f s", krylov.seconds)));
  report.add("iterations", "iterations", found.iterations);
  report.add("backward_error", "backward error", found.backward_error, unit::error, "normwise");
  report.add("forward_error", "forward error", or_null(outcome.forward_error), unit::error,
             "the solution is known");
  bool const at_limit = found.status == sparse::KrylovStatus::RoundingLimit;
  report.tell("relative_residual", "relative residual", found.relative_residual,
              words(text("%.2e  (limit %.2e)  ", found.relative_residual, outcome.asked.tolerance),
                    outcome.exit() != Exit::Solved ? "FAILED"
                    : at_limit                     ? "PASSED, at fp64's limit"
                                                   : "PASSED"));
}

}  // namespace

Report report(SparseOutcome const& outcome) {
  Report report;
  add_problem(report, outcome);
  add_method(report, outcome);
  add_solution(report, outcome);
  report.section("Seconds", "seconds/");
  report.add("read", outcome.format == "generated" ? "generate" : "read", outcome.read_seconds,
             unit::seconds);
  report.add("assemble", "assemble, colour", outcome.assemble_seconds, unit::seconds);
  report.add("setup", "set-up", outcome.report.set_up_seconds, unit::seconds);
  report.add("solve", "solve", outcome.report.solve_seconds, unit::seconds);
  report.add("total", "total", outcome.total_seconds, unit::seconds);
  add_configuration(report);
  return report;
}

}  // namespace strata::apps
