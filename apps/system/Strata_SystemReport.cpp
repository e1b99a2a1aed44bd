// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/system/Strata_SystemReport.hpp>

#include <apps/shared/Strata_Text.hpp>
#include <dense/refine/Strata_Refinement.hpp>

#include <utility>

namespace strata::apps {

void show_problem(Report& report, SystemResult const& result) {
  auto const& problem = result.problem;
  report.section("Problem");
  report.show("matrix", problem.source);
  report.show("format", problem.format);
  report.show("order", problem.n);
  report.only_screen("right-hand sides", words(problem.nrhs, ", ", problem.rhs));
  report.show("memory needed", problem.bytes_needed, unit::bytes, "at most");
}

void show_refinement(Report& report, SystemResult const& result, dense::SolveReport const& solve) {
  auto const& refinement = solve.refinement;
  bool const needless = refinement.method == dense::Refine::None && result.refine_asked != "none";
  auto const method = name_of(refinement.method);
  report.only_screen("refinement", words(needless ? "none needed" : method, ", ",
                                         refinement.method == dense::Refine::None
                                             ? ""
                                             : counted(refinement.iterations, "iteration") + ", ",
                                         counted(refinement.outer_iterations + 1, "fp64 residual"),
                                         "  (asked for: ", result.refine_asked, ")"));
  report.only_screen("climbs",
                     solve.climbs == 0
                         ? ""
                         : words(solve.climbs, ", the refinement did not converge before; ",
                                 counted(solve.iterations, "iteration"), " in all"));
  report.show_unless_zero("not climbed on", solve.obstacle);
}

void show_forward_error(Report& report, SystemResult const& result) {
  report.show("forward error", or_null(result.forward_error), unit::error, "the solution is known");
}

std::string rate_of(double flop_per_s) {
  if (!(flop_per_s > 0)) return "";
  return flop_per_s >= 1e12 ? text("%10.2f TF/s", flop_per_s / 1e12)
                            : text("%10.2f GF/s", flop_per_s / 1e9);
}

void show_time(Report& report, std::string label, double seconds, std::string const& rate) {
  report.only_screen(std::move(label), seconds > 0 ? text(unit::seconds, seconds) + rate
                                                   : "");  // else it was not done
}

void begin_seconds(Report& report, int repeat) {
  report.section(repeat > 1 ? words("Seconds (median of ", repeat, " runs)") : "Seconds");
}

void show_compared(Report& report, std::initializer_list<ComparedSeconds> rows) {
  report.only_screen("", text("%37s %10s %10s", "vendor s", "Strata s", "ratio"));
  for (auto const& [label, vendor, strata] : rows)
    report.only_screen(label, text("%10.4f %10.4f %9.2fx", vendor, strata, vendor / strata));
}

void show_compared_errors(Report& report, double vendor, double strata) {
  report.only_screen("backward error", text("%10.1e %10.1e", vendor, strata));
}

void show_digits(Report& report, ExpectedError const& expected) {
  report.only_screen(
      "digits to expect",
      words(expected.digits,
            text("  (error up to about %.0e: condition times backward error)", expected.shown)));
}

void show_hpl(Report& report, dense::SolveReport const& solve) {
  double const residual = solve.hpl_scaled_residual;
  report.section("");
  report.only_screen("", text("||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N) = %.6e ...... %s",
                              residual, residual < dense::hpl_threshold ? "PASSED" : "FAILED"));
}

}  // namespace strata::apps
