// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/hpgmxp/Strata_HpgmxpReport.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <core/Strata_Config.hpp>

#include <sstream>
#include <string>

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
    seconds[motif] = phase.seconds * phase.motif_seconds[motif] / phase.motif_seconds.total();
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

void add_times(Lines& lines, HpgmxpResult const& result) {
  lines.section("Benchmark Time Summary");
  if (result.mixed) {
    auto const seconds = seconds_of(*result.mixed);
    lines.add("Ortho", seconds.ortho);
    lines.add("SpMV", seconds.spmv);
    lines.add("MG", seconds.multigrid());
    lines.add(" SpTRSV", seconds.sweep);
    lines.add(" Restic", seconds.restrict);
    lines.add(" Prlong", seconds.prolong);
    lines.add("VecUpdate", seconds.update);
    lines.add("Total", result.mixed->seconds);
  }
  if (result.fp64) {
    auto const seconds = seconds_of(*result.fp64);
    lines.add(" - Ortho   (reference)", seconds.ortho);
    lines.add(" - SpMV    (reference)", seconds.spmv);
    lines.add(" - MG      (reference)", seconds.multigrid());
    lines.add(" -  SpTRSV (reference)", seconds.sweep);
    lines.add(" -  Restic (reference)", seconds.restrict);
    lines.add(" -  Prlong (reference)", seconds.prolong);
    lines.add(" - VecUpdate (reference)", seconds.update);
    lines.add(" - Total   (reference)", result.fp64->seconds);
  }
}

void add_bandwidth(Lines& lines, HpgmxpResult const& result, double penalty) {
  lines.section("Memory Bandwidth (GB/s)");
  auto const add = [&](HpgmxpPhase const& phase, std::string const& before,
                       std::string const& after) {
    auto const bytes = bytes_of(result, phase), seconds = seconds_of(phase);
    lines.add(before + "Raw Ortho" + after, bytes.ortho / seconds.ortho / 1e9);
    lines.add(before + "Raw SpMV" + after, bytes.spmv / seconds.spmv / 1e9);
    lines.add(before + "Raw MG" + after, bytes.multigrid() / seconds.multigrid() / 1e9);
    lines.add(before + "  GS" + after, bytes.sweep / seconds.sweep / 1e9);
    lines.add(before + "  RestrPro" + after,
              (bytes.restrict + bytes.prolong) / (seconds.restrict + seconds.prolong) / 1e9);
    lines.add(before + "Raw vecupd" + after, bytes.update / seconds.update / 1e9);
    lines.add(before + "Raw Total" + after, bytes.total() / phase.seconds / 1e9);
  };
  if (result.mixed) add(*result.mixed, "", " (mxp)");
  if (result.fp64) add(*result.fp64, " - ", " (reference)");
  if (result.mixed)
    lines.add("Total for benchmark",
              penalty * bytes_of(result, *result.mixed).total() / result.mixed->seconds / 1e9);
}

void add_flops(Lines& lines, HpgmxpResult const& result, double penalty) {
  lines.section("GFLOP/s Summary");
  if (result.mixed) {
    auto const flops = flops_of(result, *result.mixed), seconds = seconds_of(*result.mixed);
    double const raw = flops.total() / result.mixed->seconds / 1e9;
    lines.add("Raw Orho", flops.ortho / seconds.ortho / 1e9);
    lines.add("Raw SpMV", flops.spmv / seconds.spmv / 1e9);
    lines.add("Raw MG", flops.multigrid() / seconds.multigrid() / 1e9);
    lines.add("Raw Total", raw);
    lines.add("Total for benchmark", penalty * raw);
  }
  if (result.fp64) {
    auto const flops = flops_of(result, *result.fp64), seconds = seconds_of(*result.fp64);
    double const raw = flops.total() / result.fp64->seconds / 1e9;
    lines.add(" - Raw Orho  (reference)", flops.ortho / seconds.ortho / 1e9);
    lines.add(" - Raw SpMV  (reference)", flops.spmv / seconds.spmv / 1e9);
    lines.add(" - Raw MG    (reference)", flops.multigrid() / seconds.multigrid() / 1e9);
    lines.add(" - Raw Total (reference)", raw);
    lines.add(" - Total     (reference)", raw);
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
  add_times(lines, result);
  add_bandwidth(lines, result, penalty);
  add_flops(lines, result, penalty);
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
