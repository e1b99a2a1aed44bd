// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_HPGMXP_HPP
#define STRATA_SPARSE_HPGMXP_HPP

#include <core/Strata_EnumNames.hpp>
#include <core/Strata_Precision.hpp>
#include <core/io/files/Strata_Trace.hpp>
#include <sparse/comm/Strata_Communicator.hpp>
#include <sparse/formats/Strata_MatrixOptions.hpp>
#include <sparse/hpgmxp/Strata_HpgmxpModel.hpp>
#include <sparse/krylov/Strata_KrylovReport.hpp>
#include <sparse/matrix/Strata_MatrixProperties.hpp>
#include <sparse/matrix/Strata_StencilProblem.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace strata::sparse {

/// What of the benchmark is run.
enum class RunType {
  Benchmark,        ///< validation, mixed phase, fp64 phase
  BenchmarkNoRef,   ///< the benchmark without the fp64 phase
  StandaloneMixed,  ///< the mixed phase alone
  StandaloneRef,    ///< the fp64 phase alone
  Validation,       ///< the validation alone
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(RunType) {
  return enum_names<RunType>("run type", {{RunType::Benchmark, "benchmark"},
                                          {RunType::BenchmarkNoRef, "benchmark_no_ref"},
                                          {RunType::StandaloneMixed, "standalone_mxp"},
                                          {RunType::StandaloneRef, "standalone_ref"},
                                          {RunType::Validation, "validation"}});
}
using strata::name_of;
/// Whether a run validates the mixed solver.
constexpr bool has_validation(RunType run) {
  return run == RunType::Benchmark || run == RunType::BenchmarkNoRef || run == RunType::Validation;
}
/// Whether a run has the mixed phase.
constexpr bool has_mixed(RunType run) {
  return run == RunType::Benchmark || run == RunType::BenchmarkNoRef ||
         run == RunType::StandaloneMixed;
}
/// Whether a run has the fp64 phase.
constexpr bool has_fp64(RunType run) {
  return run == RunType::Benchmark || run == RunType::StandaloneRef;
}
inline constexpr std::int64_t timed_iterations = 300;  ///< least iterations of a timed solve
/// The ranks on which the mixed solver is validated.
enum class ValidationType {
  Standard,   ///< the first `validation_ranks` ranks
  FullScale,  ///< all ranks; where fp64 stops at its limit, what it reached is the tolerance
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(ValidationType) {
  return enum_names<ValidationType>("validation type", {{ValidationType::Standard, "standard"},
                                                        {ValidationType::FullScale, "fullscale"}});
}

/// Choices of a run.
struct HpgmxpOptions {
  std::int64_t nx = 104, ny = 104, nz = 104;  ///< points of each rank: multiples of 8, at least 16
  std::array<int, 3> grid{0, 0, 0};           ///< grid of ranks; 0: chosen by the benchmark's rule
  double seconds = 60;  ///< least time of the mixed phase, on every rank; an official run has 1800
  RunType run = RunType::Benchmark;                      ///< part of the benchmark that runs
  ValidationType validation = ValidationType::Standard;  ///< ranks that take part in the validation
  int validation_ranks = 8;                              ///< most ranks of a Standard validation
  double beta = 0;                                       ///< 0.5: the slides' nonsymmetric problem
  int restart = 30;                                      ///< basis vectors per cycle
  double tolerance = 1e-9;                               ///< tolerance of the validation's solves
  /// most iterations of fp64's validation; the mixed solver has ten times as many
  std::int64_t max_iterations = 10000;
  MatrixOptions matrix;             ///< choices of the matrices
  std::optional<Precision> values;  ///< precision of the mixed solver's matrices; none: chosen
  /// precision of the mixed solver's basis, fp32 or fp16; none: chosen
  std::optional<Precision> basis;
  /// iterations of the first phase that run once more and are traced, without replay of graphs
  int traced_iterations = 0;
  /// Called with a sentence at each step.
  std::function<void(std::string const&)> progress = [](std::string const&) {};
  /// Called after each iteration of the validation's solves, and of the solve without rules. Gets
  /// their estimate of ||b - A x|| / ||b||, the same on each rank.
  std::function<void(double)> on_validation_residual = {};
  /// Called in the warm-up of a timed phase and before each of its solves, never within a timed
  /// solve. Gets the seconds that are left of the warm-up, or of all solves, if they go on as fast
  /// as so far.
  std::function<void(double)> on_time_left = {};
  /// Asked on each rank in the validation, before each phase and between timed solves, never within
  /// one. If it is true on any rank, the run ends. In the validation that is an error of all ranks.
  /// Later, what is done by then is the result.
  std::function<bool()> ends = {};
};

/// What the validation found.
struct HpgmxpValidation {
  int ranks = 0;                      ///< ranks that took part
  double tolerance = 0;               ///< tolerance of both solves
  Precision basis = Precision::fp32;  ///< basis of the mixed solver
  KrylovReport fp64, mixed;           ///< reports of the two solvers

  /// Whether the mixed solver reached the tolerance.
  bool passed() const {
    return mixed.status == KrylovStatus::Converged && fp64.status != KrylovStatus::Breakdown;
  }
  /// The factor of the rating: n_d / n_ir, at most 1.
  double penalty() const;
};

/// Solves from zero with a fixed number of iterations, and one more for the breakdown.
struct HpgmxpPhase {
  Precision values, scalars, basis;  ///< precisions of the solver's matrices, vectors and basis
  StorageBytes storage;              ///< bytes of a stored number
  /// Solves, and the iterations and cycles of all of them; bytes of the matrices and vectors.
  std::int64_t solves = 0, iterations = 0, cycles = 0, bytes = 0;
  std::int64_t solve_iterations = 0;  ///< iterations that each solve must have
  double seconds = 0;                 ///< seconds of all solves on the slowest rank
  double least_seconds = 0;           ///< seconds of all solves on the fastest rank
  /// The breakdown of one more solve after them. It is recorded, and so runs without replay of
  /// graphs. None where the run ended before it.
  std::optional<Breakdown> breakdown;
  /// iterations of a restart cycle, by which flops and bytes are counted
  int cycle_iterations = 0;
  bool is_finite = true;  ///< no solve ended with KrylovStatus::Breakdown

  /// Counts one more solve.
  void count(KrylovReport const& report);
  /// The time of an iteration of the solves, in milliseconds.
  double ms_per_iteration() const { return 1e3 * seconds / static_cast<double>(iterations); }
  /// Whether every solve ran to its end. One that does not, or breaks down, ends the phase.
  bool completed() const { return is_finite && iterations == solves * solve_iterations; }
};

/// What a run found.
struct HpgmxpResult {
  StencilProblem problem;                   ///< problem of this rank
  std::vector<LevelSize> levels;            ///< levels over all ranks, the finest first
  int ranks = 1, colours = 0;               ///< ranks that took part; colours of the finest matrix
  ColumnForms columns;                      ///< forms of the finest matrix' columns
  Transport transport = Transport::Direct;  ///< transport of the halos
  double set_up_seconds = 0;                ///< time to make matrices and levels
  /// copy bandwidth of one rank, bytes read and written, while all ranks copy
  double copy_bytes_per_second = 0;
  /// bytes of this rank's matrices, fp64 and narrower values together
  std::int64_t matrix_bytes = 0;
  /// bytes of matrices, b, x and one solver, on the rank that has the least
  std::int64_t held_bytes = 0;
  std::optional<HpgmxpValidation> validation;  ///< validation on its ranks, if it ran
  std::optional<HpgmxpPhase> mixed, fp64;      ///< the phases that ran
  std::vector<TracedProcess> trace;  ///< spans of the traced iterations, rank by rank; on rank 0
  bool is_cut = false;  ///< `HpgmxpOptions::ends` ended it before all that was asked for had run

  /// Whether what ran validated and every timed solve ran to its end.
  bool passed() const;
  /// The rate of a phase over all ranks, by the count that is asked for, without the penalty.
  double flop_per_second(HpgmxpPhase const& phase, FlopCount count) const;
  /// The speedup of the mixed phase over fp64: time per iteration, and the penalty.
  std::optional<double> speedup() const;
};

/// The grid of the ranks: as asked for, or by the benchmark's rule.
std::array<int, 3> grid_of(HpgmxpOptions const& options, int ranks);

/// Refuse what the benchmark has no result for.
///
/// Throws   ShapeError with the nearest legal sizes; ValueError.
void check(HpgmxpOptions const& options, int ranks);

/// Bytes that each rank needs at most, at set-up and in the phases; before anything is allocated.
std::int64_t estimate_bytes(HpgmxpOptions const& options, int ranks);

/// Run the benchmark. Collective; the same result on all ranks but for the validation's, which only
/// its ranks have, and the trace, which rank 0 has.
///
/// All solvers sum the norms of their Krylov vectors (BasisNorm::Summed), as the rules write CGS2.
/// A timed phase goes on until every rank has solved for the seconds that are asked, fp64's for ten
/// solves at most.
/// Throws   what `check` and the parts throw, on all ranks.
template <class Exec>
HpgmxpResult run_hpgmxp(Exec const& exec, Communicator const& comm, HpgmxpOptions const& options);

}  // namespace strata::sparse

#endif
