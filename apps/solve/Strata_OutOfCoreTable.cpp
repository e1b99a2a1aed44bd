// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Text.hpp>
#include <apps/solve/Strata_OutOfCore.hpp>

#include <array>
#include <ostream>
#include <string>

namespace strata::apps {

namespace {

long long wide(std::int64_t value) { return static_cast<long long>(value); }
std::string bytes(double value) { return in_bytes(value); }
std::string bytes(std::uint64_t value) { return in_bytes(static_cast<double>(value)); }

void row(std::ostream& out, std::string const& name, std::string const& value) {
  out << text("  %-24s %s\n", name.c_str(), value.c_str());
}

std::string tiles_of(std::array<std::int64_t, 4> const& histogram) {
  constexpr std::array<char const*, 4> names = {"fp64", "fp32", "fp16", "fp8_e4m3"};
  std::string list;
  for (std::size_t k = 0; k < names.size(); ++k)
    if (histogram[k] > 0)
      list += text("%s%lld in %s", list.empty() ? "" : ", ", wide(histogram[k]), names[k]);
  return list;
}

void print_problem(std::ostream& out, OutOfCoreResult const& result) {
  auto const& problem = result.problem;
  out << "Problem\n";
  row(out, "matrix", problem.source);
  row(out, "format", problem.format);
  row(out, "order", text("%lld", wide(problem.n)));
  row(out, "right-hand sides", text("%lld, ", wide(problem.nrhs)) + problem.rhs);
  row(out, "memory needed", "at most " + bytes(static_cast<double>(problem.bytes_needed)));
  if (problem.scratch_bytes > 0) row(out, "scratch file", bytes(problem.scratch_bytes));
}

void print_factor(std::ostream& out, OutOfCoreResult const& result) {
  auto const& factor = result.factor;
  out << "\nFactorisation A = L L^T in tiles\n";
  row(out, "tiles",
      text("%s, order %lld", tiles_of(factor.histogram).c_str(), wide(factor.tile_size)));
  row(out, "in host memory", bytes(static_cast<double>(result.tile_bytes)));
  row(out, "rung of the ladder",
      text("%s, after %zu attempt%s", std::string(name_of(factor.rung)).c_str(),
           factor.attempts.size(), factor.attempts.size() == 1 ? "" : "s"));
  if (factor.attempts.size() > 1)
    for (auto const& attempt : factor.attempts)
      row(out, "  " + std::string(name_of(attempt.rung)),
          text("epsilon %.1e: %s", attempt.accuracy,
               attempt.info == 0 ? "factored"
                                 : text("broke down at minor %lld", wide(attempt.info)).c_str()));
  if (!result.checkpoint.empty())
    row(out, "checkpoint",
        text("%s, %lld of %lld columns were there", result.checkpoint.c_str(),
             wide(factor.first_column), wide(factor.tiles)));
  for (auto const& device : factor.devices)
    row(out, text("device %d", device.id),
        text("%s for tiles; %s in, %s out, %s from others",
             bytes(static_cast<double>(device.budget_bytes)).c_str(),
             bytes(device.bytes_in).c_str(), bytes(device.bytes_out).c_str(),
             bytes(device.bytes_peer).c_str()));
  if (result.info != 0)
    row(out, "NOT POSITIVE DEFINITE",
        text("the leading minor of order %lld is not positive", wide(result.info)));
}

void print_solve(std::ostream& out, OutOfCoreResult const& result) {
  if (!result.solve) return;
  auto const& solve = result.solve->refinement;
  out << "\nSolution\n";
  row(out, "refinement",
      text("%s, %lld iterations, %lld fp64 residuals  (asked for: %s)",
           std::string(dense::name_of(solve.method)).c_str(), wide(solve.iterations),
           wide(solve.outer_iterations + 1), result.refine_asked.c_str()));
  if (result.solve->climbs > 0)
    row(out, "climbs",
        text("%d, the refinement did not converge before; %lld iterations in all",
             result.solve->climbs, wide(result.solve->iterations)));
  if (!result.solve->obstacle.empty()) row(out, "not climbed on", result.solve->obstacle);
  row(out, "backward error",
      text("%.2e  (normwise; tolerance %.2e)  %s", solve.backward_error, solve.tolerance,
           solve.converged ? "PASSED" : "FAILED"));
  if (result.forward_error)
    row(out, "forward error", text("%.2e  (the solution is known)", *result.forward_error));
  if (result.log_determinant)
    row(out, "log det A",
        text("%.12g +- %.1e", result.log_determinant->value, result.log_determinant->error()));
  if (!solve.converged)
    row(out, "NOT CONVERGED",
        text("the errors are those reached%s", solve.stagnated ? "; they no longer fell" : ""));
}

}  // namespace

void print(std::ostream& out, OutOfCoreResult const& result) {
  print_problem(out, result);
  print_factor(out, result);
  print_solve(out, result);
  out << "\nSeconds\n";
  auto const seconds = [&](char const* name, double value, std::string const& note = "") {
    out << text("  %-24s %10.4f%s\n", name, value, note.c_str());
  };
  seconds(result.problem.format == "generated" ? "generate" : "open", result.read_seconds);
  seconds("fill tiles", result.fill_seconds);
  seconds("factor", result.factor_seconds,
          text("%10.2f GF/s in the last attempt", result.factor.flop_per_s / 1e9));
  if (result.solve) seconds("solve, refined", result.solve_seconds);
  if (result.log_determinant) seconds("log-determinant", result.log_determinant_seconds);
  seconds("total", result.total_seconds);
}

}  // namespace strata::apps
