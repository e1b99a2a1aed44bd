// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/document/Strata_Document.hpp>
#include <apps/hpgmxp/Strata_Hpgmxp.hpp>
#include <apps/hpgmxp/Strata_HpgmxpDocument.hpp>
#include <apps/shared/Strata_Report.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace strata::apps {

namespace {

constexpr double official_seconds = 1800, least_share = 0.25;

// Standard validation: the paper's code has restart 30 and eight ranks, the reference restart 40
// and four.
bool has_the_ranks_of_a_rule(sparse::HpgmxpValidation const& validation, int ranks, int restart) {
  return validation.ranks == std::min(8, ranks) ||
         (restart == 40 && validation.ranks == std::min(4, ranks));
}

using sparse::FlopCount;
using sparse::HpgmxpPhase;
using sparse::HpgmxpResult;

char const* status_of(sparse::KrylovStatus status) {
  if (status == sparse::KrylovStatus::Converged) return "converged";
  return status == sparse::KrylovStatus::IterationLimit ? "iteration limit" : "breakdown";
}

void show_problem(Report& report, HpgmxpOutcome const& outcome) {
  auto const& box = outcome.result.problem;
  auto const& matrix = outcome.options.matrix;
  int const colours = outcome.result.colours;
  report.section("HPG-MxP");
  report.only_screen("local grid", words(box.nx, " x ", box.ny, " x ", box.nz));
  report.only_screen("ranks", words(box.grid_x, " x ", box.grid_y, " x ", box.grid_z));
  report.show("equations", box.global_rows());
  report.show("entries", box.global_entries());
  report.show_unless_zero("beta", box.beta);
  report.only_screen("sweep", matrix.colouring == sparse::ColouringMethod::Levels
                                  ? words("lexicographic, ", colours, " wavefronts")
                                  : words(colours, " colours"));
}

void show_set_up(Report& report, HpgmxpOutcome const& outcome) {
  auto const& [run, options, result, estimate, memory, free] = outcome;
  report.show("memory of a rank", estimate, unit::bytes, "at most");
  report.show("  matrices", result.matrix_bytes, unit::bytes);
  report.show("  held", result.held_bytes, unit::bytes, "of " + in_bytes(memory));
  report.only_screen("columns", columns_in_words(result.columns));
  report.only_screen("orthogonalisation", orthogonalisation);
  report.show("halo", name_of(result.transport));
  report.show("set-up", result.set_up_seconds, "%.3g s");
  report.show("copy rate of a rank", result.copy_bytes_per_second / 1e9, "%.1f GB/s");
  auto const rules = departures(outcome);
  for (auto const& rule : rules) report.only_screen("not conforming", rule);
}

void show_validation(Report& report, sparse::HpgmxpValidation const& validation) {
  report.section("Validation");
  report.only_screen("ranks, tolerance",
                     words(validation.ranks, text(", %.3g", validation.tolerance)));
  auto const add = [&](std::string const& solver, sparse::KrylovReport const& run) {
    report.only_screen(solver, text("%6lld iterations, residual %.6g, ",
                                    static_cast<long long>(run.iterations), run.relative_residual) +
                                   status_of(run.status));
  };
  add("fp64", validation.fp64);
  add("mixed", validation.mixed);
  report.show("penalty factor", validation.penalty(), "%.4f");
}

// In one more solve than those that are rated.
void show_motifs(Report& report, PhaseOfRun const& run) {
  auto const motifs = run.motifs();
  if (!motifs) return;
  report.only_screen("motifs", breakdown_in_words(*motifs->of));
  report.only_screen("",
                     text("  %-24s %s", "", "  share  waiting    GFLOP/s     GB/s   of copy rate"));
  bool is_above = false;
  for (auto const& part : motifs->parts) {
    if (!part.gflops) continue;
    is_above = is_above || *part.fraction_of_copy > 1;
    report.only_screen(part.name, text("%5.1f %%  %5.1f %%  %9.4g %8.4g   %.2f", 100 * part.share,
                                       100 * part.waiting_seconds / part.seconds, *part.gflops,
                                       *part.gb_per_s, *part.fraction_of_copy));
  }
  if (is_above)
    report.only_screen("above the copy rate", "what stays in caches, as vectors of coarse levels");
}

void show_phase(Report& report, char const* title, HpgmxpResult const& result,
                std::optional<HpgmxpPhase> const& run) {
  if (!run) return;
  auto const& phase = *run;
  PhaseOfRun const of_run{&result, &phase};
  report.section(title);
  report.show("values", traits(phase.values).name);
  report.show("vectors", traits(phase.scalars).name);
  report.show("basis", traits(phase.basis).name);
  report.only_screen("solves, iterations", words(phase.solves, ", ", phase.iterations,
                                                 text(" in %.3g s", phase.seconds)));
  if (!phase.completed())
    report.only_screen("BROKE OFF", words("a solve broke down, or had fewer than ",
                                          phase.solve_iterations, " iterations"));
  report.show("ms per iteration", phase.ms_per_iteration(), "%.4g");
  report.show("GFLOP/s", of_run.gflops(FlopCount::Ornl), "%.4g");
  report.show("  by the reference", of_run.gflops(FlopCount::Reference), "%.4g",
              "its count of flops");
  show_motifs(report, of_run);
}

void show_free(Report& report, HpgmxpOutcome const& outcome) {
  auto const& free = *outcome.free;
  auto const& krylov = free.krylov;
  report.section("Free mode");
  report.only_screen("rules left",
                     words("trilinear transfers, Galerkin coarse matrices, any number of levels, ",
                           free.conjugate_gradients ? "CG" : "FGMRES"));
  report.only_screen("levels", words(free.levels.size(), ", the coarsest of ",
                                     free.levels.back().rows, " equations solved directly"));
  report.show("values", traits(free.values).name);
  report.show("set-up", free.set_up_seconds, "%.3g s");
  report.only_screen("solve", words(krylov.iterations,
                                    text(" iterations in %.4g s, residual %.6g, ", krylov.seconds,
                                         krylov.relative_residual),
                                    status_of(krylov.status)));
  report.show("over conforming", or_null(outcome.free_speedup()), "%.2f x",
              "time to the same residual");
}

}  // namespace

// The rules leave free: the order of rows and colours, formats of values, columns and vectors in
// the inner solver, and how messages travel and what runs beside them. Orthogonalisation is not an
// option here.
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

std::optional<Motifs> PhaseOfRun::motifs() const {
  if (!phase->breakdown) return std::nullopt;
  auto const& found = *phase->breakdown;
  double const cycles = static_cast<double>(found.iterations) / phase->cycle_iterations;
  auto const work_of = [&](FlopCount count) {
    return cycle_flops(result->levels, phase->cycle_iterations, count);
  };
  auto const ornl = work_of(FlopCount::Ornl), reference = work_of(FlopCount::Reference);
  auto const bytes = cycle_bytes(result->levels, phase->cycle_iterations, phase->storage);
  auto const& seconds = found.slowest.seconds;
  Motifs motifs{&found, {}};
  for (auto const& [motif, name] : named_motifs) {
    auto const rate = [&, at = motif](sparse::PerMotif const& work) {
      return seconds[at] > 0 ? std::optional(cycles * work[at] / seconds[at] / 1e9) : std::nullopt;
    };
    auto const gb = rate(bytes);
    double const copy = result->copy_bytes_per_second * result->ranks;
    motifs.parts.push_back({name, seconds[motif], found.slowest.waiting[motif],
                            found.most_waiting[motif], found.mean_waiting[motif],
                            seconds[motif] / seconds.total(), rate(ornl), rate(reference), gb,
                            gb ? std::optional(1e9 * *gb / copy) : std::nullopt});
  }
  return motifs;
}

std::optional<double> rating_gflops(HpgmxpOutcome const& outcome) {
  auto const& result = outcome.result;
  if (!result.mixed || !result.validation) return std::nullopt;
  return result.validation->penalty() * result.flop_per_second(*result.mixed, FlopCount::Ornl) /
         1e9;
}

Report report(HpgmxpOutcome const& outcome) {
  auto const& result = outcome.result;
  auto const& validation = result.validation;
  Report report;
  report.document("", json_of(outcome));
  show_problem(report, outcome);
  show_set_up(report, outcome);
  if (validation) show_validation(report, *validation);
  show_phase(report, "Mixed phase", result, result.mixed);
  show_phase(report, "fp64 phase", result, result.fp64);
  if (outcome.free) show_free(report, outcome);
  report.section("Result");
  report.show("rating", or_null(rating_gflops(outcome)), "%.4g GFLOP/s");
  report.show("mixed over fp64", or_null(result.speedup()), "%.3f x");
  if (validation) report.only_screen("validation", validation->passed() ? "PASSED" : "FAILED");
  if (!result.passed()) report.only_screen("result", "INVALID");
  if (result.is_cut)
    report.only_screen("ENDED", "by a signal, before all that was asked for had run");
  add_configuration(report);
  return report;
}

}  // namespace strata::apps
