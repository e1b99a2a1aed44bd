// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/hpgmxp/Strata_HpgmxpReport.hpp>
#include <apps/shared/Strata_Text.hpp>

#include <ostream>
#include <string>

namespace strata::apps {

namespace {

using sparse::FlopCount;
using sparse::HpgmxpPhase;
using sparse::HpgmxpResult;

void heading(std::ostream& out, char const* title) { out << '\n' << title << '\n'; }
void row(std::ostream& out, char const* name, std::string const& value) {
  out << text("  %-22s %s\n", name, value.c_str());
}

char const* status_name(sparse::GmresStatus status) {
  if (status == sparse::GmresStatus::Converged) return "converged";
  return status == sparse::GmresStatus::IterationLimit ? "iteration limit" : "breakdown";
}

void print_problem(std::ostream& out, HpgmxpOutcome const& outcome) {
  auto const& [options, result, estimate, memory, free] = outcome;
  auto const& problem = result.problem;
  out << "HPG-MxP\n";
  row(out, "local grid",
      text("%lld x %lld x %lld", static_cast<long long>(problem.nx),
           static_cast<long long>(problem.ny), static_cast<long long>(problem.nz)));
  row(out, "ranks", text("%d x %d x %d", problem.grid_x, problem.grid_y, problem.grid_z));
  row(out, "equations", text("%lld", static_cast<long long>(problem.global_rows())));
  row(out, "entries", text("%lld", static_cast<long long>(problem.global_entries())));
  if (problem.beta != 0) row(out, "beta", text("%g", problem.beta));
  row(out, "sweep",
      options.matrix.colouring == sparse::ColouringMethod::Levels
          ? text("lexicographic, %d wavefronts", result.colours)
          : text("%d colours", result.colours));
  row(out, "memory of a rank",
      in_bytes(static_cast<double>(estimate)) + " at most, matrices " +
          in_bytes(static_cast<double>(result.matrix_bytes)) + "; held " +
          in_bytes(static_cast<double>(result.held_bytes)) + " of " + in_bytes(memory));
  row(out, "columns", columns_in_words(result.columns));
  row(out, "orthogonalisation", orthogonalisation);
  row(out, "halo", std::string(name_of(result.transport)));
  row(out, "set-up", text("%.3g s", result.set_up_seconds));
  row(out, "copy rate of a rank", text("%.1f GB/s", result.copy_bytes_per_second / 1e9));
  for (auto const& rule : departures(outcome)) row(out, "not conforming", rule);
}

void print_validation(std::ostream& out, sparse::HpgmxpValidation const& validation) {
  heading(out, "Validation");
  row(out, "ranks, tolerance", text("%d, %.3g", validation.ranks, validation.tolerance));
  auto const solve = [&](char const* name, sparse::GmresReport const& report) {
    row(out, name,
        text("%6lld iterations, residual %.6g, %s", static_cast<long long>(report.iterations),
             report.relative_residual, status_name(report.status)));
  };
  solve("fp64", validation.fp64);
  solve("mixed", validation.mixed);
  row(out, "penalty factor", text("%.4f", validation.penalty()));
}

void print_phase(std::ostream& out, char const* title, HpgmxpResult const& result,
                 HpgmxpPhase const& phase) {
  heading(out, title);
  row(out, "values, vectors, basis",
      std::string(traits(phase.values).name) + ", " + std::string(traits(phase.scalars).name) +
          ", " + std::string(traits(phase.basis).name));
  row(out, "solves, iterations",
      text("%lld, %lld in %.3g s", static_cast<long long>(phase.solves),
           static_cast<long long>(phase.iterations), phase.seconds));
  if (!phase.completed())
    row(out, "BROKE OFF",
        text("a solve broke down, or had fewer than %lld iterations",
             static_cast<long long>(phase.solve_iterations)));
  row(out, "ms per iteration", text("%.4g", phase.ms_per_iteration()));
  row(out, "GFLOP/s",
      text("%.4g, %.4g by the reference's count",
           result.flop_per_second(phase, FlopCount::Ornl) / 1e9,
           result.flop_per_second(phase, FlopCount::Reference) / 1e9));
  auto const flops = cycle_flops(result.levels, phase.cycle_iterations, FlopCount::Ornl);
  auto const bytes = cycle_bytes(result.levels, phase.cycle_iterations, phase.storage);
  out << "  motif            share    GFLOP/s     GB/s   of copy rate\n";
  for (auto const& [motif, name] : named_motifs) {
    double const seconds = phase.motif_seconds[motif];
    if (!(seconds > 0)) continue;
    double const rate = bytes[motif] / seconds;
    out << text("  %-14s %5.1f %%  %9.4g %8.4g   %.2f\n", name,
                100 * seconds / phase.motif_seconds.total(), flops[motif] / seconds / 1e9,
                rate / 1e9, rate / (result.copy_bytes_per_second * result.ranks));
  }
}

void print_free(std::ostream& out, HpgmxpOutcome const& outcome) {
  auto const& free = *outcome.free;
  heading(out, "Free mode");
  row(out, "rules left",
      "trilinear transfers, Galerkin coarse matrices, any number of levels, " +
          std::string(free.conjugate_gradients ? "CG" : "FGMRES"));
  row(out, "levels",
      text("%zu, the coarsest of %lld equations solved directly", free.levels.size(),
           static_cast<long long>(free.levels.back().rows)));
  row(out, "values", std::string(traits(free.values).name));
  row(out, "set-up", text("%.3g s", free.set_up_seconds));
  row(out, "solve",
      text("%lld iterations in %.4g s, residual %.6g, %s",
           static_cast<long long>(free.krylov.iterations), free.krylov.seconds,
           free.krylov.relative_residual, status_name(free.krylov.status)));
  if (auto const speedup = outcome.free_speedup())
    row(out, "over conforming", text("%.2f x (time to the same residual)", *speedup));
}

}  // namespace

void print(std::ostream& out, HpgmxpOutcome const& outcome) {
  auto const& result = outcome.result;
  print_problem(out, outcome);
  if (result.validation) print_validation(out, *result.validation);
  if (result.mixed) print_phase(out, "Mixed phase", result, *result.mixed);
  if (result.fp64) print_phase(out, "fp64 phase", result, *result.fp64);
  if (outcome.free) print_free(out, outcome);
  heading(out, "Result");
  if (result.mixed && result.validation)
    row(out, "rating",
        text("%.4g GFLOP/s", result.validation->penalty() *
                                 result.flop_per_second(*result.mixed, FlopCount::Ornl) / 1e9));
  if (auto const speedup = result.speedup()) row(out, "mixed over fp64", text("%.3f x", *speedup));
  if (result.validation) row(out, "validation", result.validation->passed() ? "PASSED" : "FAILED");
  if (!result.passed()) row(out, "result", "INVALID");
}

}  // namespace strata::apps
