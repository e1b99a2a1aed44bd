// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/hpgmxp/Strata_HpgmxpReport.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <core/Strata_Config.hpp>

#include <initializer_list>
#include <sstream>
#include <string>
#include <utility>

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
  // Of the mixed phase, or of the fp64 phase, whose keys are as wide as `width` and marked.
  void add(bool is_reference, int width,
           std::initializer_list<std::pair<char const*, double>> values) {
    for (auto const& [key, value] : values)
      add(is_reference ? apps::text(" - %-*s (reference)", width, key) : key, value);
  }
  std::string text() const { return text_.str(); }

 private:
  std::string section_;
  std::ostringstream text_;
};

/// The motifs as the public codes group them; seconds of the timed solves by the breakdown's shares.
struct Grouped {
  double ortho = 0, spmv = 0, sweep = 0, restrict = 0, prolong = 0, update = 0;

  Grouped(sparse::PerMotif const& values)
      : ortho(values[Motif::Orthogonalise]),
        spmv(values[Motif::Multiply]),
        sweep(values[Motif::GaussSeidel]),
        restrict(values[Motif::Restrict]),
        prolong(values[Motif::Prolong]),
        update(values[Motif::Update]) {}

  double multigrid() const { return sweep + restrict + prolong; }
  double total() const { return ortho + spmv + multigrid() + update; }
};

Grouped seconds_of(HpgmxpPhase const& phase) {
  sparse::PerMotif seconds;
  for (auto const& [motif, name] : named_motifs)
    seconds[motif] = phase.seconds * phase.times.seconds(motif) / phase.times.total();
  return seconds;
}

sparse::PerMotif scaled(sparse::PerMotif work, HpgmxpPhase const& phase) {
  double const cycles = static_cast<double>(phase.iterations) / phase.cycle_iterations;
  for (auto const& [motif, name] : named_motifs) work[motif] *= cycles;
  return work;
}
Grouped flops_of(HpgmxpResult const& result, HpgmxpPhase const& phase) {
  return scaled(cycle_flops(result.levels, phase.cycle_iterations, FlopCount::Ornl), phase);
}
Grouped bytes_of(HpgmxpResult const& result, HpgmxpPhase const& phase) {
  return scaled(cycle_bytes(result.levels, phase.cycle_iterations, phase.storage), phase);
}

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

void add_times(Lines& lines, HpgmxpPhase const& phase, bool is_reference) {
  auto const seconds = seconds_of(phase);
  lines.add(is_reference, 7,
            {{"Ortho", seconds.ortho},
             {"SpMV", seconds.spmv},
             {"MG", seconds.multigrid()},
             {" SpTRSV", seconds.sweep},
             {" Restic", seconds.restrict},
             {" Prlong", seconds.prolong},
             {"VecUpdate", seconds.update},
             {"Total", phase.seconds}});
}

void add_bandwidth(Lines& lines, HpgmxpResult const& result, HpgmxpPhase const& phase,
                   bool is_reference) {
  auto const bytes = bytes_of(result, phase), seconds = seconds_of(phase);
  auto const add = [&](std::string const& key, double work, double time) {
    lines.add((is_reference ? " - " : "") + key + (is_reference ? " (reference)" : " (mxp)"),
              work / time / 1e9);
  };
  add("Raw Ortho", bytes.ortho, seconds.ortho);
  add("Raw SpMV", bytes.spmv, seconds.spmv);
  add("Raw MG", bytes.multigrid(), seconds.multigrid());
  add("  GS", bytes.sweep, seconds.sweep);
  add("  RestrPro", bytes.restrict + bytes.prolong, seconds.restrict + seconds.prolong);
  add("Raw vecupd", bytes.update, seconds.update);
  add("Raw Total", bytes.total(), phase.seconds);
}

void add_flops(Lines& lines, HpgmxpResult const& result, HpgmxpPhase const& phase,
               bool is_reference, double penalty) {
  auto const flops = flops_of(result, phase), seconds = seconds_of(phase);
  double const raw = flops.total() / phase.seconds / 1e9;
  lines.add(is_reference, 9,
            {{"Raw Orho", flops.ortho / seconds.ortho / 1e9},
             {"Raw SpMV", flops.spmv / seconds.spmv / 1e9},
             {"Raw MG", flops.multigrid() / seconds.multigrid() / 1e9},
             {"Raw Total", raw},
             {is_reference ? "Total" : "Total for benchmark", penalty * raw}});
}

void add_phases(Lines& lines, HpgmxpResult const& result, double penalty) {
  auto const& mixed = result.mixed;
  auto const& fp64 = result.fp64;
  lines.section("Benchmark Time Summary");
  if (mixed) add_times(lines, *mixed, false);
  if (fp64) add_times(lines, *fp64, true);
  lines.section("Memory Bandwidth (GB/s)");
  if (mixed) add_bandwidth(lines, result, *mixed, false);
  if (fp64) add_bandwidth(lines, result, *fp64, true);
  if (mixed)
    lines.add("Total for benchmark",
              penalty * bytes_of(result, *mixed).total() / mixed->seconds / 1e9);
  lines.section("GFLOP/s Summary");
  if (mixed) add_flops(lines, result, *mixed, false, penalty);
  if (fp64) add_flops(lines, result, *fp64, true, 1);
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
