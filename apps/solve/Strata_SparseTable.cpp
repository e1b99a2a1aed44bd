// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Text.hpp>
#include <apps/solve/Strata_SparseReport.hpp>

#include <ostream>
#include <string>
#include <string_view>

namespace strata::apps {

namespace {

long long wide(std::int64_t value) { return static_cast<long long>(value); }

void heading(std::ostream& out, char const* title) { out << title << '\n'; }
void row(std::ostream& out, char const* name, std::string const& value) {
  out << text("  %-24s %s\n", name, value.c_str());
}
std::string chosen(std::string_view used, std::string_view asked) {
  return std::string(used) + "  (asked for: " + std::string(asked) + ")";
}

void print_problem(std::ostream& out, SparseOutcome const& outcome) {
  heading(out, "Problem");
  row(out, "matrix", outcome.source);
  row(out, "format", outcome.format);
  row(out, "order, entries", text("%lld, %lld", wide(outcome.n), wide(outcome.entries)));
  row(out, "symmetric", outcome.report.symmetric ? "yes" : "no");
  row(out, "right-hand side", outcome.rhs);
  row(out, "ranks", text("%d", outcome.ranks));
  row(out, "memory needed",
      "about " + in_bytes(static_cast<double>(outcome.bytes_needed)) + " at most, of all ranks");
}

void print_method(std::ostream& out, SparseOutcome const& outcome) {
  auto const& report = outcome.report;
  auto const& asked = outcome.asked;
  heading(out, "\nMethod");
  row(out, "solver", chosen(name_of(report.solver), name_of(asked.solver)));
  row(out, "preconditioner", chosen(name_of(report.preconditioner), name_of(asked.preconditioner)));
  row(out, "its precision", chosen(traits(report.precision).name, traits(asked.precision).name));
  row(out, "its memory on a rank", in_bytes(static_cast<double>(report.preconditioner_bytes)));
  if (report.preconditioner == sparse::PreconditionerKind::Amg) {
    int number = 0;
    for (auto const& level : report.levels)
      row(out, text("  level %d", ++number).c_str(),
          text("%lld rows, %lld entries", wide(level.rows), wide(level.entries)));
    row(out, "operator complexity", text("%.3f", report.operator_complexity));
    row(out, "coarsest level", report.direct_coarse_solve ? "solved directly" : "one sweep");
  }
}

void print_solution(std::ostream& out, SparseOutcome const& outcome) {
  auto const& report = outcome.report;
  double const limit = outcome.asked.tolerance;
  heading(out, "\nSolution");
  int number = 0;
  for (auto const& attempt : report.attempts)
    row(out, text("run %d", ++number).c_str(),
        text("%s, %s: %lld iterations, residual %.2e, %s, %.3f s",
             std::string(name_of(attempt.solver)).c_str(),
             std::string(traits(attempt.precision).name).c_str(), wide(attempt.krylov.iterations),
             attempt.krylov.relative_residual, std::string(name_of(attempt.krylov.status)).c_str(),
             attempt.krylov.seconds));
  row(out, "iterations", text("%lld", wide(report.iterations)));
  row(out, "backward error", text("%.2e  (normwise)", report.backward_error));
  if (outcome.forward_error)
    row(out, "forward error", text("%.2e  (the solution is known)", *outcome.forward_error));
  row(out, "relative residual",
      text("%.2e  (limit %.2e)  %s", report.relative_residual, limit,
           outcome.exit() != Exit::Solved                         ? "FAILED"
           : report.status == sparse::KrylovStatus::RoundingLimit ? "PASSED, at fp64's limit"
                                                                  : "PASSED"));
}

}  // namespace

void print(std::ostream& out, SparseOutcome const& outcome) {
  print_problem(out, outcome);
  print_method(out, outcome);
  print_solution(out, outcome);
  heading(out, "\nSeconds");
  auto const seconds = [&](char const* name, double value) {
    row(out, name, text("%10.4f", value));
  };
  seconds(outcome.format == "generated" ? "generate" : "read", outcome.read_seconds);
  seconds("assemble, colour", outcome.assemble_seconds);
  seconds("set-up", outcome.report.set_up_seconds);
  seconds("solve", outcome.report.solve_seconds);
  seconds("total", outcome.total_seconds);
}

}  // namespace strata::apps
