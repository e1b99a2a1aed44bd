// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/document/Strata_Document.hpp>
#include <apps/shared/Strata_Report.hpp>
#include <apps/shared/Strata_Terminal.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <apps/symmetric/Strata_Symmetric.hpp>
#include <apps/symmetric/Strata_SymmetricFields.hpp>
#include <apps/system/Strata_Answer.hpp>
#include <apps/system/Strata_SystemReport.hpp>

#include <cmath>
#include <ostream>

namespace strata::apps {

namespace {

void show_attempts(Report& report, dense::SymmetricReport const& factor) {
  report.show("rung of the ladder", name_of(factor.rung), unit::plain,
              words("attempts: ", factor.attempts.size()));
  int number = 0;
  for (auto const& attempt : factor.attempts)
    report.only_screen(
        words("  attempt ", ++number),
        words(name_of(attempt.rung), ", ", attempt.layers.name(), ": ", name_of(attempt.outcome),
              attempt.growth > 0 ? text(", growth %.1e", attempt.growth) : "",
              attempt.zero_pivot > 0 ? words(", pivot ", attempt.zero_pivot, " is 0") : "",
              text(", %.3f s", attempt.seconds)));
}

void show_factor(Report& report, SymmetricResult const& result) {
  auto const& factor = result.factor;
  report.section("Factorisation A = L D L^T");
  report.show("layers", factor.layers.name(), unit::plain, "asked for: " + result.layers_asked);
  report.only_screen("scaling", text("D A D with D from %.3g to %.3g", factor.smallest_scaling,
                                     factor.largest_scaling));
  show_attempts(report, factor);
  report.show_unless_zero("SINGULAR", factor.refusal);
  report.show("bytes of the factor", factor.stored_bytes, unit::bytes);
}

void show_signs(Report& report, SymmetricResult const& result) {
  if (result.inertia) {
    auto const& inertia = *result.inertia;
    report.only_screen("eigenvalues",
                       inertia.decided
                           ? words(inertia.positive, " positive, ", inertia.negative, " negative")
                           : "signs not decided: rounding may have changed one");
  }
  if (!result.log_determinant) return;
  auto const& found = *result.log_determinant;
  report.only_screen("sign of det A", found.sign > 0   ? "+1"
                                      : found.sign < 0 ? "-1"
                                                       : "not decided");
  report.only_screen("log |det A|", std::isfinite(found.error)
                                        ? text("%.12g +- %.1e", found.value, found.error)
                                        : "not known");
}

void show_solution(Report& report, SymmetricResult const& result) {
  report.section("Solution");
  if (result.solve) {
    auto const& solve = *result.solve;
    auto const& condition = result.factor.condition;
    show_refinement(report, result, solve);
    report.show("backward error", solve.backward_error, unit::error, "normwise");
    show_forward_error(report, result);
    report.only_screen("condition number kappa",
                       condition.converged
                           ? text("%.1e, estimated in the 1-norm, of D A D", condition.value)
                           : "not known");
    if (condition.converged) show_digits(report, expected_error(solve, condition));
  }
  show_signs(report, result);
  if (result.exit() == Exit::NotConverged)
    report.only_screen(
        "NOT CONVERGED",
        words("the errors are those reached",
              result.solve && result.solve->refinement.stagnated ? "; they no longer fell" : ""));
}

void show_seconds(Report& report, SymmetricResult const& result) {
  auto const& wall = result.seconds;
  begin_seconds(report, result.repeat);
  show_time(report, result.problem.read_or_generate(), wall.read);
  show_time(report, "transfer, known vector", wall.transfer);
  show_time(report, "factor", wall.factor);
  show_time(report, "  analyse", result.factor.analyse_seconds);
  show_time(report, "  L D L^T", result.factor.factor_seconds,
            result.factor.attempts.size() > 1 ? "  (of all attempts)" : "");
  show_time(report, "solve, refined", wall.solve);
  show_time(report, "inertia", result.inertia_seconds);
  show_time(report, "log-determinant", wall.log_determinant);
  show_time(report, "condition", wall.condition);
  show_time(report, "comparison", wall.compare);
  show_time(report, "total", wall.total);
}

void show_comparison(Report& report, SymmetricResult const& result) {
  if (!result.comparison) return;
  auto const& vendor = *result.comparison;
  auto const& wall = result.seconds;
  report.section("Comparison with " + vendor.library);
  report.show_unless_zero("SINGULAR", vendor.refusal);
  show_compared(report, {{"factor", vendor.factor_seconds, wall.factor},
                         {"solve", vendor.solve_seconds, wall.solve},
                         {"factor + solve", vendor.seconds(), seconds_of_solve(result)}});
  report.only_screen("", "  the library factors; the solve with its factor is Strata's");
  show_compared_errors(report, vendor.backward_error, result.solve->backward_error);
}

}  // namespace

std::string verdict(SymmetricResult const& result) {
  if (result.exit() != Exit::Solved) return "NOT SOLVED";
  if (!result.factor.condition.converged) return solved_to(result.solve->backward_error);
  return right_digits("about ", expected_error(*result.solve, result.factor.condition).digits);
}

Report report(SymmetricResult const& result) {
  Report report;
  report.document("", json_of(result));
  show_problem(report, result);
  report.show("entries in the file", or_null(result.problem.entries));
  show_factor(report, result);
  show_solution(report, result);
  show_seconds(report, result);
  show_comparison(report, result);
  if (result.solve && result.exit() != Exit::NotPositiveDefinite) show_hpl(report, *result.solve);
  add_configuration(report);
  return report;
}

void explain(std::ostream& out, SymmetricResult const& result) {
  if (result.exit() == Exit::NotPositiveDefinite)
    out << error_line("singular: " + result.factor.refusal);
  if (result.exit() == Exit::NotConverged)
    out << error_line(
        words("not converged: normwise backward error ", result.solve->backward_error));
}

}  // namespace strata::apps
