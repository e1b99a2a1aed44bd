// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/hpgmxp/Strata_Hpgmxp.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <core/Strata_Config.hpp>

#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

// The keys are those of the public codes' output file, which their script reads. "Orho" and "Restic" are
// theirs, as are the blanks.

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

// Motifs as the public codes group them, and the names of each group in their three tables; none: not there.
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

// Of a phase's timed solves; the seconds by the breakdown's shares.
class Work {
 public:
  Work(HpgmxpResult const& result, HpgmxpPhase const& phase)
      : phase_(phase),
        flops_(cycle_flops(result.levels, phase.cycle_iterations, FlopCount::Ornl)),
        bytes_(cycle_bytes(result.levels, phase.cycle_iterations, phase.storage)) {}

  double seconds(Group const& group) const {
    double sum = 0;
    for (auto const motif : group.motifs) sum += phase_.motif_seconds[motif];
    return phase_.seconds * sum / phase_.motif_seconds.total();
  }
  double gflops(Group const& group) const { return rate(group, flops_); }
  double gb_per_second(Group const& group) const { return rate(group, bytes_); }

 private:
  double rate(Group const& group, sparse::PerMotif const& work) const {
    double const cycles = static_cast<double>(phase_.iterations) / phase_.cycle_iterations;
    double sum = 0;
    for (auto const motif : group.motifs) sum += cycles * work[motif];
    return sum / seconds(group) / 1e9;
  }
  HpgmxpPhase const& phase_;
  sparse::PerMotif flops_, bytes_;
};

void add_machine(Lines& lines, HpgmxpResult const& result) {
  auto const& problem = result.problem;
  lines.section("Machine Summary");
  lines.add("Distributed Processes", result.ranks);
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
}

void add_validation(Lines& lines, sparse::HpgmxpValidation const& validation, int restart) {
  lines.section("Iteration Count Information");
  lines.add("Number of processes (validation)", validation.ranks);
  lines.add("Restart length (validation)", restart);
  lines.add("Convergence tolerance (validation)", validation.tolerance);
  lines.add("Total number of reference iterations (validation)", validation.fp64.iterations);
  lines.add("Total number of optimized iterations (validation)", validation.mixed.iterations);
  lines.add("Final residual norm of reference (validation)", validation.fp64.relative_residual);
  lines.add("Final residual norm of optimized (validation)", validation.mixed.relative_residual);
  lines.add("Penalty factor (validation)", validation.penalty());
}

// What is told of both phases; the keys of fp64's are marked and as wide as `width`.
void add_phases(Lines& lines, HpgmxpResult const& result, double penalty) {
  struct Phase {
    Work work;
    bool is_reference;
  };
  std::vector<Phase> phases;
  if (result.mixed) phases.push_back({{result, *result.mixed}, false});
  if (result.fp64) phases.push_back({{result, *result.fp64}, true});
  auto const key = [](Phase const& phase, int width, char const* name) {
    return phase.is_reference ? apps::text(" - %-*s (reference)", width, name) : std::string(name);
  };
  auto const& total = groups().back();
  lines.section("Benchmark Time Summary");
  for (auto const& phase : phases)
    for (auto const& group : groups())
      if (group.time) lines.add(key(phase, 7, group.time), phase.work.seconds(group));
  lines.section("Memory Bandwidth (GB/s)");
  for (auto const& phase : phases)
    for (auto const& group : groups())
      if (group.bandwidth)
        lines.add(key(phase, 0, group.bandwidth) + (phase.is_reference ? "" : " (mxp)"),
                  phase.work.gb_per_second(group));
  if (result.mixed)
    lines.add("Total for benchmark", penalty * phases.front().work.gb_per_second(total));
  lines.section("GFLOP/s Summary");
  for (auto const& phase : phases) {
    for (auto const& group : groups())
      if (group.flops) lines.add(key(phase, 9, group.flops), phase.work.gflops(group));
    lines.add(phase.is_reference ? key(phase, 9, "Total") : "Total for benchmark",
              (phase.is_reference ? 1 : penalty) * phase.work.gflops(total));
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

}  // namespace

std::string public_report(HpgmxpOutcome const& outcome) {
  auto const& result = outcome.result;
  Lines lines;
  lines.section("HPGMP-Benchmark");
  lines.add("version", "Strata " STRATA_VERSION_STRING);
  add_machine(lines, result);
  double const penalty = result.validation ? result.validation->penalty() : 1;
  if (result.validation) add_validation(lines, *result.validation, outcome.options.restart);
  add_phases(lines, result, penalty);
  add_rules(lines, outcome);
  lines.section("Final Summary");
  bool const valid = result.validation && result.passed();
  std::string const verdict =
      valid ? "HPG-MxP result is VALID with a GFLOP/s rating of" : "HPG-MxP result is INVALID";
  lines.add(
      verdict,
      valid && result.mixed
          ? text("%.6g", penalty * result.flop_per_second(*result.mixed, FlopCount::Ornl) / 1e9)
          : std::string());
  return lines.text();
}

}  // namespace strata::apps
