// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/hpgmxp/Strata_Hpgmxp.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <core/Strata_Config.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

// The public codes' output file, which their script reads, has the same keys. "Orho" and "Restic"
// are theirs, as are the blanks.

namespace strata::apps {

namespace {

using sparse::FlopCount;
using sparse::HpgmxpPhase;
using sparse::HpgmxpResult;
using sparse::Motif;

class Lines {
 public:
  void section(std::string const& name) { text_ << (section_ = name) << "=\n"; }
  template <class Value>
  void add(std::string const& key, Value const& value) {
    text_ << section_ << "::" << key << '=' << value << '\n';
  }
  std::string text() const { return text_.str(); }

 private:
  std::string section_;
  std::ostringstream text_;
};

// Motifs as the public codes group them, and the names of each group in their three tables; none:
// not there.
struct Group {
  std::vector<Motif> motifs;
  char const *time, *bandwidth, *flops;
};
std::vector<Group> const& groups() {
  using enum sparse::Motif;
  static std::vector<Group> const list{
      {{Orthogonalise}, "Ortho", "Raw Ortho", "Raw Orho"},
      {{Multiply}, "SpMV", "Raw SpMV", "Raw SpMV"},
      {{GaussSeidel, Restrict, Prolong}, "MG", "Raw MG", "Raw MG"},
      {{GaussSeidel}, " SpTRSV", "  GS", nullptr},
      {{Restrict}, " Restic", nullptr, nullptr},
      {{Prolong}, " Prlong", nullptr, nullptr},
      {{Restrict, Prolong}, nullptr, "  RestrPro", nullptr},
      {{Update}, "VecUpdate", "Raw vecupd", nullptr},
      {{Orthogonalise, Multiply, GaussSeidel, Restrict, Prolong, Update},
       "Total",
       "Raw Total",
       "Raw Total"}};
  return list;
}

// Of motifs in the solve that is recorded after a phase, and of all in its timed solves.
class Work {
 public:
  Work(HpgmxpResult const& result, HpgmxpPhase const& phase)
      : phase_(&phase),
        flops_(cycle_flops(result.levels, phase.cycle_iterations, FlopCount::Ornl)),
        bytes_(cycle_bytes(result.levels, phase.cycle_iterations, phase.storage)) {}

  HpgmxpPhase const& phase() const { return *phase_; }
  // Nothing where no solve was recorded.
  std::optional<double> seconds(Group const& group) const {
    if (!phase_->breakdown) return std::nullopt;
    return sum(phase_->breakdown->slowest.seconds, group);
  }
  std::optional<double> gflops(Group const& group) const { return rate(group, flops_); }
  std::optional<double> gb_per_second(Group const& group) const { return rate(group, bytes_); }
  double total_flops(Group const& group) const { return cycles() * sum(flops_, group); }
  double total_bytes(Group const& group) const { return cycles() * sum(bytes_, group); }
  std::optional<double> total_gflops() const {
    return total_flops(groups().back()) / phase_->seconds / 1e9;
  }
  std::optional<double> total_gb_per_second() const {
    return total_bytes(groups().back()) / phase_->seconds / 1e9;
  }
  static double sum(sparse::PerMotif const& values, Group const& group) {
    double sum = 0;
    for (auto const motif : group.motifs) sum += values[motif];
    return sum;
  }

 private:
  double cycles() const {
    return static_cast<double>(phase_->iterations) / phase_->cycle_iterations;
  }
  std::optional<double> rate(Group const& group, sparse::PerMotif const& work) const {
    auto const time = seconds(group);
    if (!time) return std::nullopt;
    auto const iterations = static_cast<double>(phase_->breakdown->iterations);
    return iterations / phase_->cycle_iterations * sum(work, group) / *time / 1e9;
  }
  HpgmxpPhase const* phase_;
  sparse::PerMotif flops_, bytes_;
};

void add_run(Lines& lines, HpgmxpOutcome const& outcome) {
  auto const& [run, options, result, estimate, memory, free] = outcome;
  lines.section("Run Information");
  lines.add("Date", run.started);
  lines.add("Command", run.command);
  lines.add("Run type", name_of(options.run));
  lines.add("Validation type", name_of(options.validation));
  lines.add("Run time requested (sec)", options.seconds);
  lines.add("MPI", run.mpi);
  for (auto const& [host, ranks] : run.hosts) lines.add("Processes on " + host, ranks);
  lines.section("Memory Use Information");
  lines.add("Estimated bytes per process", estimate);
  lines.add("Bytes of matrices and vectors, least of all processes", result.held_bytes);
  lines.add("Peak resident bytes, least of all processes", run.least_peak_bytes);
  lines.add("Peak resident bytes, most of all processes", run.most_peak_bytes);
}

void add_machine(Lines& lines, HpgmxpResult const& result) {
  auto const& problem = result.problem;
  lines.section("Machine Summary");
  lines.add("Distributed Processes", result.ranks);
  lines.add("Threads per processes", Kokkos::DefaultExecutionSpace().concurrency());
  lines.section("Global Problem Dimensions");
  lines.add("Global nx", problem.nx * problem.grid_x);
  lines.add("Global ny", problem.ny * problem.grid_y);
  lines.add("Global nz", problem.nz * problem.grid_z);
  lines.section("Processor Dimensions");
  lines.add("npx", problem.grid_x);
  lines.add("npy", problem.grid_y);
  lines.add("npz", problem.grid_z);
  lines.section("Local Domain Dimensions");
  lines.add("nx", problem.nx);
  lines.add("ny", problem.ny);
  lines.add("nz", problem.nz);
  lines.section("Setup Information");
  lines.add("Setup Time", result.set_up_seconds);
  lines.section("Linear System Information");
  lines.add("Number of Equations", problem.global_rows());
  lines.add("Number of Nonzero Terms", problem.global_entries());
  lines.section("Multigrid Information");
  lines.add("Number of coarse grid levels", result.levels.size() - 1);
  for (std::size_t level = 1; level < result.levels.size(); ++level) {
    auto const name = words("Coarse Grids::Grid Level=", level, "::");
    lines.add(name + "Number of Equations", result.levels[level].rows);
    lines.add(name + "Number of Nonzero Terms", result.levels[level].entries);
    lines.add(name + "Number of Presmoother Steps", 1);
    lines.add(name + "Number of Postsmoother Steps", level + 1 < result.levels.size() ? 1 : 0);
  }
}

void add_validation(Lines& lines, sparse::HpgmxpValidation const& validation, int restart) {
  lines.section("Iteration Count Information");
  lines.add("Number of processes (validation)", validation.ranks);
  lines.add("Restart length (validation)", restart);
  lines.add("Convergence tolerance (validation)", validation.tolerance);
  lines.add("Total number of reference iterations (validation)", validation.fp64.iterations);
  lines.add("Total number of optimized iterations (validation)", validation.mixed.iterations);
  lines.add("Residual norms", "relative to the initial residual, b");
  lines.add("Final residual norm of reference (validation)", validation.fp64.relative_residual);
  lines.add("Final residual norm of optimized (validation)", validation.mixed.relative_residual);
  lines.add("Penalty factor (validation)", validation.penalty());
}

std::string key(HpgmxpPhase const& phase, int width, char const* name) {
  bool const is_reference = phase.scalars == Precision::fp64;
  return is_reference ? apps::text(" - %-*s (reference)", width, name) : std::string(name);
}

template <class Value>
void add_known(Lines& lines, std::string const& name, std::optional<Value> const& value) {
  if (value) lines.add(name, *value);
}

// Of the timed solves.
void add_counts(Lines& lines, std::vector<Work> const& works) {
  lines.section("Timed Solves");
  for (auto const& work : works) {
    auto const& phase = work.phase();
    lines.add(key(phase, 0, "Number of solves"), phase.solves);
    lines.add(key(phase, 0, "Number of iterations"), phase.iterations);
    auto const cycles = phase.iterations / phase.cycle_iterations;
    lines.add(key(phase, 0, "Number of matrix products"), phase.iterations + cycles);
    lines.add(key(phase, 0, "Number of multigrid cycles"), phase.iterations + cycles);
    lines.add(key(phase, 0, "Seconds"), phase.seconds);
    for (auto const& group : groups())
      if (group.flops) {
        lines.add(key(phase, 0, group.flops) + " flops", work.total_flops(group));
        lines.add(key(phase, 0, group.flops) + " bytes", work.total_bytes(group));
      }
  }
}

// Seconds of the solve that was recorded, and the part in which its rank, or another, waits.
void add_times(Lines& lines, std::vector<Work> const& works) {
  lines.section("Benchmark Time Summary");
  for (auto const& work : works) {
    auto const& phase = work.phase();
    if (!phase.breakdown) continue;
    lines.add(key(phase, 0, "Measured"), breakdown_in_words(*phase.breakdown));
    for (auto const& group : groups())
      if (group.time) add_known(lines, key(phase, 7, group.time), work.seconds(group));
  }
  lines.section("Waiting Time Summary");
  for (auto const& work : works) {
    auto const& phase = work.phase();
    if (!phase.breakdown) continue;
    auto const& [times, rank, most, mean, seconds, iterations] = *phase.breakdown;
    for (auto const& group : groups())
      if (group.time) {
        auto const name = key(phase, 0, group.time);
        lines.add(name + ", that process", Work::sum(times.waiting, group));
        lines.add(name + ", most of all processes", Work::sum(most, group));
        lines.add(name + ", mean of all processes", Work::sum(mean, group));
      }
  }
}

// Lines on both phases. Rates of motifs are from the recorded solve, the totals from the timed
// ones.
void add_phases(Lines& lines, HpgmxpResult const& result, double penalty) {
  std::vector<Work> works;
  if (result.mixed) works.emplace_back(result, *result.mixed);
  if (result.fp64) works.emplace_back(result, *result.fp64);
  auto const is_total = [](Group const& group) { return &group == &groups().back(); };
  add_counts(lines, works);
  add_times(lines, works);
  lines.section("Memory Bandwidth (GB/s)");
  for (auto const& work : works)
    for (auto const& group : groups())
      if (group.bandwidth)
        add_known(lines,
                  key(work.phase(), 0, group.bandwidth) +
                      (work.phase().scalars == Precision::fp64 ? "" : " (mxp)"),
                  is_total(group) ? work.total_gb_per_second() : work.gb_per_second(group));
  if (result.mixed)
    lines.add("Total for benchmark", penalty * *works.front().total_gb_per_second());
  lines.section("GFLOP/s Summary");
  for (auto const& work : works) {
    for (auto const& group : groups())
      if (group.flops)
        add_known(lines, key(work.phase(), 9, group.flops),
                  is_total(group) ? work.total_gflops() : work.gflops(group));
    bool const is_reference = work.phase().scalars == Precision::fp64;
    lines.add(is_reference ? key(work.phase(), 9, "Total") : "Total for benchmark",
              (is_reference ? 1 : penalty) * *work.total_gflops());
  }
}

// Not among the public codes' keys.
void add_rules(Lines& lines, HpgmxpOutcome const& outcome) {
  auto const rules = departures(outcome);
  lines.section("Rules");
  lines.add("Gram-Schmidt", orthogonalisation);
  lines.add("Columns", columns_in_words(outcome.result.columns));
  lines.add("Departures", rules.size());
  for (std::size_t k = 0; k < rules.size(); ++k)
    lines.add("Departure " + std::to_string(k + 1), rules[k]);
}

// "VALID" stands behind an official run alone.
std::string verdict(HpgmxpOutcome const& outcome) {
  if (!outcome.result.validation || !outcome.result.passed()) return "HPG-MxP result is INVALID";
  return departures(outcome).empty()
             ? "HPG-MxP result is VALID with a GFLOP/s rating of"
             : "HPG-MxP result is NOT OFFICIAL (see Rules) with a GFLOP/s rating of";
}

}  // namespace

std::string public_report(HpgmxpOutcome const& outcome) {
  auto const& result = outcome.result;
  Lines lines;
  lines.section("HPGMP-Benchmark");
  lines.add("version", "Strata " STRATA_VERSION_STRING);
  add_run(lines, outcome);
  add_machine(lines, result);
  double const penalty = result.validation ? result.validation->penalty() : 1;
  if (result.validation) add_validation(lines, *result.validation, outcome.options.restart);
  add_phases(lines, result, penalty);
  add_rules(lines, outcome);
  lines.section("Final Summary");
  bool const valid = result.validation && result.passed();
  lines.add(
      verdict(outcome),
      valid && result.mixed
          ? text("%.6g", penalty * result.flop_per_second(*result.mixed, FlopCount::Ornl) / 1e9)
          : std::string());
  return lines.text();
}

}  // namespace strata::apps
