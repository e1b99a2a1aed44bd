// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/hpgmxp/Strata_Hpgmxp.hpp>
#include <apps/shared/Strata_Report.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace strata::apps {

namespace {

constexpr double official_seconds = 1800, least_share = 0.25;

// Standard validation: the paper's code has restart 30 and eight ranks, the reference restart 40 and four.
bool has_the_ranks_of_a_rule(sparse::HpgmxpValidation const& validation, int ranks, int restart) {
  return validation.ranks == std::min(8, ranks) ||
         (restart == 40 && validation.ranks == std::min(4, ranks));
}

using sparse::FlopCount;
using sparse::HpgmxpPhase;
using sparse::HpgmxpResult;
using Value = Report::Value;

template <class Level>
Value sizes_of(std::vector<Level> const& levels) {
  Value list = Value::array();
  for (auto const& level : levels)
    list.push_back({{"equations", level.rows}, {"entries", level.entries}});
  return list;
}

char const* status_of(sparse::KrylovStatus status) {
  if (status == sparse::KrylovStatus::Converged) return "converged";
  return status == sparse::KrylovStatus::IterationLimit ? "iteration limit" : "breakdown";
}

void add_problem(Report& report, HpgmxpOutcome const& outcome) {
  auto const& box = outcome.result.problem;
  auto const& matrix = outcome.options.matrix;
  int const colours = outcome.result.colours;
  report.only_json("schema", "strata.hpgmxp/1");
  report.only_json("run_type", name_of(outcome.options.run));
  report.only_json("valid", outcome.result.passed());
  report.only_json("ended", outcome.result.is_cut);
  report.only_json("restart", outcome.options.restart);
  report.section("HPG-MxP");
  report.tell("problem/local", "local grid", {box.nx, box.ny, box.nz},
              words(box.nx, " x ", box.ny, " x ", box.nz));
  report.tell("problem/ranks", "ranks", {box.grid_x, box.grid_y, box.grid_z},
              words(box.grid_x, " x ", box.grid_y, " x ", box.grid_z));
  report.add("problem/equations", "equations", box.global_rows());
  report.add("problem/entries", "entries", box.global_entries());
  report.add_unless_zero("problem/beta", "beta", box.beta);
  report.only_json("problem/levels", sizes_of(outcome.result.levels));
  report.tell("ordering/method", "sweep", name_of(matrix.colouring),
              matrix.colouring == sparse::ColouringMethod::Levels
                  ? words("lexicographic, ", colours, " wavefronts")
                  : words(colours, " colours"));
  report.only_json("ordering/colours", colours);
  if (matrix.free_colours) report.only_json("ordering/free_colours", *matrix.free_colours);
}

void add_set_up(Report& report, HpgmxpOutcome const& outcome) {
  auto const& [run, options, result, estimate, memory, free] = outcome;
  report.add("estimated_bytes", "memory of a rank", estimate, unit::bytes, "at most");
  report.add("matrix_bytes", "  matrices", result.matrix_bytes, unit::bytes);
  report.add("held_bytes", "  held", result.held_bytes, unit::bytes, "of " + in_bytes(memory));
  report.only_json("memory_bytes", memory);
  report.tell("columns/shared", "columns", result.columns.shared, columns_in_words(result.columns));
  report.only_json("columns/narrow", result.columns.narrow);
  report.only_json("columns/wide", result.columns.wide);
  report.only_json("columns/bytes_per_entry", result.columns.bytes_per_entry);
  report.tell("orthogonalisation/method", "orthogonalisation", "cgs2", orthogonalisation);
  report.only_json("orthogonalisation/norm", "summed");
  report.add("transport", "halo", name_of(result.transport));
  report.add("set_up_seconds", "set-up", result.set_up_seconds, "%.3g s");
  report.add("copy_gb_per_s", "copy rate of a rank", result.copy_bytes_per_second / 1e9,
             "%.1f GB/s");
  auto const rules = departures(outcome);
  report.only_json("conforming", rules.empty());
  report.only_json("departures", Value::array());
  for (auto const& rule : rules) report.tell("departures/-", "not conforming", rule, rule);
}

void add_validation(Report& report, sparse::HpgmxpValidation const& validation) {
  report.section("Validation");
  report.tell("validation/ranks", "ranks, tolerance", validation.ranks,
              words(validation.ranks, text(", %.3g", validation.tolerance)));
  report.only_json("validation/tolerance", validation.tolerance);
  report.only_json("validation/basis", traits(validation.basis).name);
  report.only_json("validation/passed", validation.passed());
  auto const add = [&](std::string const& solver, sparse::KrylovReport const& run) {
    report.tell("iterations_" + solver, solver, run.iterations,
                text("%6lld iterations, residual %.6g, ", static_cast<long long>(run.iterations),
                     run.relative_residual) +
                    status_of(run.status));
    report.only_json("residual_" + solver, run.relative_residual);
    report.only_json("validation/seconds_" + solver, run.seconds);
  };
  add("fp64", validation.fp64);
  add("mixed", validation.mixed);
  report.add("penalty", "penalty factor", validation.penalty(), "%.4f");
}

// In one more solve than those that are rated.
void add_motifs(Report& report, HpgmxpResult const& result, HpgmxpPhase const& phase) {
  if (!phase.breakdown) return report.only_json("motifs", nullptr);
  auto const& [times, rank, most_waiting, mean_waiting, solve_seconds, iterations] =
      *phase.breakdown;
  double const cycles = static_cast<double>(iterations) / phase.cycle_iterations;
  auto const ornl = cycle_flops(result.levels, phase.cycle_iterations, FlopCount::Ornl);
  auto const reference = cycle_flops(result.levels, phase.cycle_iterations, FlopCount::Reference);
  auto const bytes = cycle_bytes(result.levels, phase.cycle_iterations, phase.storage);
  double const copy = result.copy_bytes_per_second * result.ranks;
  report.tell("motifs/seconds", "motifs", solve_seconds, breakdown_in_words(*phase.breakdown));
  report.only_json("motifs/iterations", iterations);
  report.only_json("motifs/rank", rank);
  report.only_json("motifs/parts", Value::array());
  report.only_screen("",
                     text("  %-24s %s", "", "  share  waiting    GFLOP/s     GB/s   of copy rate"));
  bool is_above = false;
  for (auto const& [motif, name] : named_motifs) {
    double const seconds = times.seconds[motif], share = seconds / times.seconds.total();
    auto const rate = [&](double work) {
      return seconds > 0 ? Value(cycles * work / seconds / 1e9) : Value(nullptr);
    };
    double const gflops = cycles * ornl[motif] / seconds / 1e9,
                 gb = cycles * bytes[motif] / seconds / 1e9, of_copy = 1e9 * gb / copy;
    is_above = is_above || of_copy > 1;
    report.tell("motifs/parts/-", name,
                {{"name", name},
                 {"seconds", seconds},
                 {"waiting_seconds", times.waiting[motif]},
                 {"waiting_seconds_most", most_waiting[motif]},
                 {"waiting_seconds_mean", mean_waiting[motif]},
                 {"share", share},
                 {"gflops", rate(ornl[motif])},
                 {"gflops_reference", rate(reference[motif])},
                 {"gb_per_s", rate(bytes[motif])},
                 {"fraction_of_copy", seconds > 0 ? Value(of_copy) : Value(nullptr)}},
                !(seconds > 0) ? ""
                               : text("%5.1f %%  %5.1f %%  %9.4g %8.4g   %.2f", 100 * share,
                                      100 * times.waiting[motif] / seconds, gflops, gb, of_copy));
  }
  if (is_above)
    report.only_screen("above the copy rate", "what stays in caches, as vectors of coarse levels");
}

void add_phase(Report& report, std::string const& key, char const* title,
               HpgmxpResult const& result, std::optional<HpgmxpPhase> const& run) {
  if (!run) return report.only_json(key, nullptr);
  auto const& phase = *run;
  auto const flops = [&](FlopCount count) { return result.flop_per_second(phase, count) / 1e9; };
  report.section(title, key + "/");
  report.add("values", "values", traits(phase.values).name);
  report.add("vectors", "vectors", traits(phase.scalars).name);
  report.add("basis", "basis", traits(phase.basis).name);
  report.tell("solves", "solves, iterations", phase.solves,
              words(phase.solves, ", ", phase.iterations, text(" in %.3g s", phase.seconds)));
  report.only_json("iterations", phase.iterations);
  report.only_json("seconds", phase.seconds);
  report.only_json("completed", phase.completed());
  if (!phase.completed())
    report.only_screen("BROKE OFF", words("a solve broke down, or had fewer than ",
                                          phase.solve_iterations, " iterations"));
  report.add("ms_per_iteration", "ms per iteration", phase.ms_per_iteration(), "%.4g");
  report.add("gflops", "GFLOP/s", flops(FlopCount::Ornl), "%.4g");
  report.add("gflops_reference", "  by the reference", flops(FlopCount::Reference), "%.4g",
             "its count of flops");
  report.only_json("solver_bytes", phase.bytes);
  add_motifs(report, result, phase);
}

void add_free(Report& report, HpgmxpOutcome const& outcome) {
  auto const& free = *outcome.free;
  auto const& krylov = free.krylov;
  report.section("Free mode", "free/");
  report.tell("solver", "rules left", free.conjugate_gradients ? "cg" : "fgmres",
              words("trilinear transfers, Galerkin coarse matrices, any number of levels, ",
                    free.conjugate_gradients ? "CG" : "FGMRES"));
  report.tell("levels", "levels", sizes_of(free.levels),
              words(free.levels.size(), ", the coarsest of ", free.levels.back().rows,
                    " equations solved directly"));
  report.add("values", "values", traits(free.values).name);
  report.add("set_up_seconds", "set-up", free.set_up_seconds, "%.3g s");
  report.tell("iterations", "solve", krylov.iterations,
              words(krylov.iterations,
                    text(" iterations in %.4g s, residual %.6g, ", krylov.seconds,
                         krylov.relative_residual),
                    status_of(krylov.status)));
  report.only_json("relative_residual", krylov.relative_residual);
  report.only_json("converged", krylov.status == sparse::KrylovStatus::Converged);
  report.only_json("seconds", krylov.seconds);
  report.add("speedup_over_conforming", "over conforming", or_null(outcome.free_speedup()),
             "%.2f x", "time to the same residual");
}

}  // namespace

// The rules leave free: the order of rows and colours, formats of values, columns and vectors in the inner solver, and
// how messages travel and what runs beside them. Orthogonalisation is not an option here.
std::vector<std::string> departures(HpgmxpOutcome const& outcome) {
  auto const& [run, options, result, estimate, memory, free] = outcome;
  std::vector<std::string> rules;
  auto const unless = [&](bool kept, std::string const& rule) {
    if (!kept) rules.push_back(rule);
  };
  unless(options.restart == 30 || options.restart == 40, "the restart is neither 30 nor 40");
  unless(options.tolerance == 1e-9, "the tolerance of the validation is not 1e-9");
  unless(options.run == sparse::RunType::Benchmark, "not all phases are run");
  unless(!result.is_cut, "a signal ended the run before all that was asked for had run");
  unless(options.beta == 0, text("beta is %g: the benchmark's matrix has 0", options.beta));
  if (result.validation && options.validation == sparse::ValidationType::Standard)
    unless(has_the_ranks_of_a_rule(*result.validation, result.ranks, options.restart),
           text("the validation ran on %d of %d ranks: a standard one takes eight, with restart 40 "
                "eight or four, or all if there are fewer",
                result.validation->ranks, result.ranks));
  double const seconds = result.mixed ? result.mixed->least_seconds : 0;
  unless(seconds >= official_seconds,
         text("the mixed phase ran for %.4g s: an official run has %g s or more", seconds,
              official_seconds));
  auto const held = static_cast<double>(result.held_bytes);
  unless(held >= least_share * memory,
         "a rank holds " + in_bytes(held) + " of its " + in_bytes(memory) +
             ": the problem is to take a quarter of the memory or more");
  for (auto const* const phase : {&result.mixed, &result.fp64})
    if (*phase)
      unless((*phase)->completed(),
             text("a timed solve broke off or down: %lld iterations in %lld solves of %lld",
                  static_cast<long long>((*phase)->iterations),
                  static_cast<long long>((*phase)->solves),
                  static_cast<long long>((*phase)->solve_iterations)));
  return rules;
}

std::string breakdown_in_words(sparse::Breakdown const& breakdown) {
  return text("of one more solve, %lld iterations in %.3g s, on rank %d, which computes longest",
              static_cast<long long>(breakdown.iterations), breakdown.seconds, breakdown.rank);
}

std::string columns_in_words(sparse::ColumnForms const& columns) {
  return text(
      "shared by a slice's rows %.1f %%, 16 bits %.1f %%, 32 bits %.1f %%: %.3g bytes an entry",
      100 * columns.shared, 100 * columns.narrow, 100 * columns.wide, columns.bytes_per_entry);
}

Report report(HpgmxpOutcome const& outcome) {
  auto const& result = outcome.result;
  auto const& validation = result.validation;
  Report report;
  add_problem(report, outcome);
  add_set_up(report, outcome);
  if (validation) add_validation(report, *validation);
  report.section("");
  add_phase(report, "mixed", "Mixed phase", result, result.mixed);
  report.section("");
  add_phase(report, "fp64", "fp64 phase", result, result.fp64);
  if (outcome.free) add_free(report, outcome);
  report.section("Result");
  if (result.mixed && validation)
    report.add("rating_gflops", "rating",
               validation->penalty() * result.flop_per_second(*result.mixed, FlopCount::Ornl) / 1e9,
               "%.4g GFLOP/s");
  if (auto const speedup = result.speedup())
    report.add("speedup", "mixed over fp64", *speedup, "%.3f x");
  if (validation) report.only_screen("validation", validation->passed() ? "PASSED" : "FAILED");
  if (!result.passed()) report.only_screen("result", "INVALID");
  if (result.is_cut)
    report.only_screen("ENDED", "by a signal, before all that was asked for had run");
  add_configuration(report);
  return report;
}

}  // namespace strata::apps
