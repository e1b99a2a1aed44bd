// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Text.hpp>
#include <apps/solve/Strata_SolveReport.hpp>
#include <core/blas/Strata_FlopCount.hpp>

#include <cmath>
#include <ostream>
#include <string>
#include <utility>

namespace strata::apps {

namespace {

long long wide(std::int64_t value) { return static_cast<long long>(value); }

class Table {
 public:
  explicit Table(std::ostream& out) : out_(out) {}
  void heading(std::string const& title) {
    out_ << (std::exchange(first_, false) ? "" : "\n") << title << '\n';
  }
  void row(std::string const& name, std::string const& value) {
    out_ << text("  %-24s %s\n", name.c_str(), value.c_str());
  }

 private:
  std::ostream& out_;
  bool first_ = true;
};

std::string rate(double flop_per_s) {
  if (!(flop_per_s > 0)) return "";
  return flop_per_s >= 1e12 ? text("%10.2f TF/s", flop_per_s / 1e12)
                            : text("%10.2f GF/s", flop_per_s / 1e9);
}

std::string against(double value, double limit) {
  return text("%.2e  (limit %.2e)  %s", value, limit, value <= limit ? "PASSED" : "FAILED");
}

void print_problem(Table& table, SolveResult const& result) {
  auto const& problem = result.problem;
  table.heading("Problem");
  table.row("matrix", problem.source);
  table.row("format", problem.format);
  table.row("order", text("%lld", wide(problem.n)));
  if (problem.entries) table.row("entries in the file", text("%lld", wide(*problem.entries)));
  if (problem.condition)
    table.row("condition number", text("%.3g (prescribed)", *problem.condition));
  table.row("right-hand sides", text("%lld, ", wide(problem.nrhs)) + problem.rhs);
  table.row("memory needed", in_bytes(static_cast<double>(problem.bytes_needed)));
}

std::string outcome(std::int64_t info) {
  return info == 0 ? "factored" : text("broke down at minor %lld", wide(info));
}

void print_factor(Table& table, SolveResult const& result) {
  auto const& factor = result.factor;
  double const full = 8.0 * static_cast<double>(factor.n) * static_cast<double>(factor.n);
  double const stored = static_cast<double>(factor.stored_bytes);
  table.heading("Factorisation A = L L^T");
  table.row("layers",
            text("%s  (asked for: %s)", factor.layers.name().c_str(), result.layers_asked.c_str()));
  table.row("leaf size", text("%lld", wide(factor.leaf_size)));
  table.row("equilibration", factor.equilibrated
                                 ? text("D A D with D from %.3g to %.3g", factor.smallest_scaling,
                                        factor.largest_scaling)
                                 : "none");
  table.row("block scales",
            text("%.3g to %.3g", factor.smallest_block_scale, factor.largest_block_scale));
  table.row("shift", text("%.3g", factor.shift));
  table.row("rung of the ladder",
            text("%s, after %zu attempt%s", std::string(name_of(factor.rung)).c_str(),
                 factor.attempts.size(), factor.attempts.size() == 1 ? "" : "s"));
  int number = 0;
  for (auto const& attempt : factor.attempts)
    table.row(text("  attempt %d", ++number),
              text("%s, shift %.3g: %s, %.3f s", attempt.layers.name().c_str(), attempt.shift,
                   outcome(attempt.info).c_str(), attempt.seconds()));
  table.row("bytes of the factor",
            text("%s, %.1f %% of 8 n^2  (%s while factoring)", in_bytes(stored).c_str(),
                 full > 0 ? 100 * stored / full : 0,
                 in_bytes(static_cast<double>(factor.peak_bytes)).c_str()));
  if (result.info != 0)
    table.row("NOT POSITIVE DEFINITE",
              text("the leading minor of order %lld is not positive", wide(result.info)));
}

// What the backward error means for X: that depends on the matrix.
void print_condition(Table& table, SolveResult const& result) {
  auto const& condition = result.factor.condition;
  if (result.info != 0) return;
  table.row("condition", condition.converged ? text("%.1e, estimated%s", condition.value,
                                                    result.factor.equilibrated ? ", of D A D" : "")
                                             : "not known");
  double const error = dense::forward_error(result.solve->refinement, condition);
  table.row("digits to expect",
            text("%.0f  (error up to about %.0e: condition times backward error)",
                 std::floor(dense::digits(error)), error));
}

void print_solve(Table& table, SolveResult const& result) {
  if (!result.solve) return;
  auto const& solve = *result.solve;
  table.heading("Solution");
  bool const needless =
      solve.refinement.method == dense::Refine::None && result.refine_asked != "none";
  table.row(
      "refinement",
      text("%s, %lld iterations, %lld fp64 residuals  (asked for: %s)",
           needless ? "none needed" : std::string(dense::name_of(solve.refinement.method)).c_str(),
           wide(solve.refinement.iterations), wide(solve.refinement.outer_iterations + 1),
           result.refine_asked.c_str()));
  if (solve.climbs > 0)
    table.row("climbs", text("%d, the refinement did not converge before; %lld iterations in all",
                             solve.climbs, wide(solve.iterations)));
  if (!solve.obstacle.empty()) table.row("not climbed on", solve.obstacle);
  table.row("backward error", text("%.2e  (normwise)", solve.backward_error));
  if (result.forward_error)
    table.row("forward error", text("%.2e  (the solution is known)", *result.forward_error));
  print_condition(table, result);
  table.row("SLATE error", against(solve.slate_error, dense::slate_threshold));
  if (result.log_determinant) {
    auto const& estimate = *result.log_determinant;
    table.row("log det A", text("%.12g +- %.1e", estimate.value, estimate.error()));
  }
  if (!solve.converged)
    table.row("NOT CONVERGED", text("the errors are those reached%s",
                                    solve.refinement.stagnated ? "; they no longer fell" : ""));
}

void print_seconds(std::ostream& out, Table& table, SolveResult const& result) {
  auto const& seconds = result.seconds;
  auto const speeds = rates(result);
  table.heading(result.repeat > 1 ? text("Seconds (median of %d runs)", result.repeat) : "Seconds");
  auto const row = [&](char const* name, double value, double flop_per_s = 0) {
    out << text("  %-24s %10.4f%s\n", name, value, rate(flop_per_s).c_str());
  };
  row(result.problem.format == "generated" ? "generate" : "read", seconds.read);
  row("transfer, known vector", seconds.transfer);
  row("factor", seconds.factor);
  row("  analyse", result.factor.analyse_seconds);
  row("  load", result.factor.load_seconds);
  row("  layered Cholesky", result.factor.factor_seconds, speeds.factor);
  if (result.solve) row("solve, refined", seconds.solve, speeds.solve);
  row("condition", seconds.condition);
  if (result.log_determinant) row("log-determinant", seconds.log_determinant);
  row("factor + solve", seconds.factor + seconds.solve, speeds.whole);
  if (result.comparison) row("comparison", seconds.compare);
  row("total", seconds.total);
}

void print_comparison(std::ostream& out, Table& table, SolveResult const& result) {
  if (!result.comparison || !result.solve) return;
  auto const& vendor = *result.comparison;
  table.heading(text("Comparison with %s", vendor.library.c_str()));
  if (vendor.info != 0) return table.row("broke down", outcome(vendor.info));
  out << text("  %-24s %10s %10s %10s\n", "", "vendor s", "Strata s", "ratio");
  auto const row = [&](char const* name, double theirs, double ours) {
    out << text("  %-24s %10.4f %10.4f %9.2fx\n", name, theirs, ours, ours > 0 ? theirs / ours : 0);
  };
  row("Cholesky alone", vendor.factor_seconds, result.factor.factor_seconds);
  row("factor, A kept", vendor.copy_seconds + vendor.factor_seconds, result.seconds.factor);
  row("solve", vendor.solve_seconds, result.seconds.solve);
  row("factor + solve", vendor.seconds(), result.seconds.factor + result.seconds.solve);
  out << text("  %-24s %10.1e %10.1e\n", "backward error", vendor.backward_error,
              result.solve->backward_error);
}

}  // namespace

Rates rates(SolveResult const& result) {
  auto const n = result.problem.n, nrhs = result.problem.nrhs;
  auto const per = [](std::int64_t flops, double seconds) {
    return seconds > 0 ? static_cast<double>(flops) / seconds : 0;
  };
  Rates speeds;
  speeds.factor = result.factor.factor_flop_per_s;
  if (!result.solve) return speeds;
  speeds.solve = per(refinement_flops(n, nrhs) * result.solve->iterations, result.solve->seconds);
  speeds.whole =
      per(potrf_flops(n) + potrs_flops(n, nrhs), result.seconds.factor + result.seconds.solve);
  return speeds;
}

void print(std::ostream& out, SolveResult const& result) {
  Table table(out);
  print_problem(table, result);
  print_factor(table, result);
  print_solve(table, result);
  print_seconds(out, table, result);
  print_comparison(out, table, result);
  if (!result.solve) return;
  double const residual = result.solve->hpl_scaled_residual;
  out << text("\n||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N) = %.6e ...... %s\n", residual,
              residual < dense::hpl_threshold ? "PASSED" : "FAILED");
}

}  // namespace strata::apps
