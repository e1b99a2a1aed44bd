// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SOLVE_RESULT_HPP
#define STRATA_APPS_SOLVE_RESULT_HPP

#include <apps/shared/Strata_Exit.hpp>
#include <apps/solve/Strata_SolveProblem.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/log_determinant/Strata_LogDeterminant.hpp>
#include <ooc/Strata_Cholesky.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strata::apps {

class Report;

/// Wall time of what the program did.
struct Seconds {
  double read = 0;      ///< time to read or generate, and to make the right-hand sides
  double transfer = 0;  ///< time to the device and back
  double fill = 0;      ///< tiles
  double factor = 0;    ///< the call of `cholesky`
  double solve = 0;     ///< the call of `solve`, with the factorisations of rungs climbed there
  double condition = 0, log_determinant = 0, compare = 0, total = 0;
};

/// What solves of a dense matrix tell alike, in memory and in tiles.
struct DenseResult {
  ProblemSummary problem;
  std::string refine_asked;
  std::int64_t info = 0;  ///< 0, or the order of the leading minor that is not positive
  std::string refusal;    ///< then: what is known of the refusal
  std::optional<dense::SolveReport> solve;  ///< none without a factor
  std::optional<double> forward_error;      ///< max_j ||x_j - known_j||_inf / ||known_j||_inf
  std::optional<dense::LogDeterminantEstimate> log_determinant;
  Seconds seconds;
  HostMatrix X;  ///< the solution, rows as in the user's files

  DenseResult(Problem const& of, SolveOptions const& options)
      : problem(of.summary), refine_asked(name_of(options.refinement.refine)) {}
  Exit exit() const {
    if (info != 0) return Exit::NotPositiveDefinite;
    return solve && solve->converged ? Exit::Solved : Exit::NotConverged;
  }
};

/// The vendor's fp64 Cholesky on the same matrix in the same run.
struct Comparison {
  std::string library;  ///< "LAPACK dpotrf + dpotrs", ...
  std::int64_t info = 0;
  /// time to copy A, which the vendor's routine overwrites and Strata's keeps
  double copy_seconds = 0;
  double factor_seconds = 0;  ///< the factorisation alone
  double solve_seconds = 0;
  double backward_error = 0;

  double seconds() const { return copy_seconds + factor_seconds + solve_seconds; }
};

/// In memory, by layers.
struct SolveResult : DenseResult {
  using DenseResult::DenseResult;
  std::string layers_asked;
  std::string layers_reason;  ///< why the first attempt had its layers
  int repeat = 1;
  dense::CholeskyReport factor;
  std::optional<Comparison> comparison;
};

/// Factor and solve `problem` on the default device, `options.repeat` times; the run of median time
/// counts.
///
/// Memory   the problem's matrix stays; see `require_memory`.
/// Throws   UsageError for numbers in the input that the library refuses; VendorError.
SolveResult run(Problem const& problem, SolveOptions const& options, Progress& progress);
/// The error of X by condition times backward error, relative, in the largest magnitude.
struct ExpectedError {
  double error = 0;
  double shown = 0;  ///< rounded up to one digit
  int digits = 0;    ///< decimal ones that are right
};
/// Precondition   result.solve.
ExpectedError expected_error(SolveResult const& result);
/// As schema/solve.schema.json describes it, HPL-MxP's line on the screen included.
Report report(SolveResult const& result);

/// A solve with the matrix in tiles.
struct OutOfCoreResult : DenseResult {
  using DenseResult::DenseResult;
  std::string checkpoint;  ///< folder
  ooc::PrecisionRule rule;
  ooc::CholeskyReport factor;
  /// map of the tiles' precisions, as `PrecisionMap::to_text`
  std::string map;
  int ranks = 1;                                      ///< bytes and devices are rank 0's
  std::map<int, std::size_t> node_bytes;              ///< bytes of tiles by NUMA node
  ooc::TileStorage storage = ooc::TileStorage::Host;  ///< where the tiles lie
  std::string no_room;                                ///< why devices do not hold them that were to
  std::size_t tile_bytes = 0;                         ///< there
};

/// Fill the tiles of `problem`, factor them and solve on the devices asked for. Throws as `run`.
OutOfCoreResult run_in_tiles(Problem const& problem, SolveOptions const& options,
                             Progress& progress);
/// As schema/solve_out_of_core.schema.json describes it.
Report report(OutOfCoreResult const& result);

/// The refinement that was asked for, which tells how far it is.
dense::RefinementOptions watched(SolveOptions const& options, std::int64_t n, Progress& progress);

/// A matrix where the program computes.
using DeviceMatrix =
    Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::DefaultExecutionSpace::memory_space>;

/// The same View where `exec` can read it, else a copy there. Fences `exec`.
DeviceMatrix on_device(Kokkos::DefaultExecutionSpace const& exec, HostMatrix const& host);
/// The given B, or `apply`(X, B) of the known X.
template <class Apply>
DeviceMatrix right_hand_side(Kokkos::DefaultExecutionSpace const& exec, Problem const& problem,
                             Apply const& apply) {
  if (!problem.knows_solution) return on_device(exec, problem.B);
  DeviceMatrix const X = on_device(exec, problem.X);
  DeviceMatrix const B("strata::solve::B", X.extent(0), X.extent(1));
  apply(X, B);
  exec.fence("strata::solve::right_hand_side");
  return B;
}
/// Copy X to the host, and to `result` in the order of the user's files, with its error where the
/// solution is known. Fences `exec`.
void take_solution(Kokkos::DefaultExecutionSpace const& exec, Problem const& problem,
                   DeviceMatrix const& X, DenseResult& result);

/// max_j ||x_j - known_j||_inf / ||known_j||_inf; NaN if a number of X is.
double forward_error(ConstHostMatrix const& X, ConstHostMatrix const& known);

/// The fp64 Cholesky that --compare runs: "LAPACK dpotrf + dpotrs", "cuSOLVER ..."; empty if the
/// build has none.
std::string_view vendor_cholesky();

/// Factor a copy of A and solve with it, `repeat` times; the run of median time counts.
///
/// Shape    A: n x n, lower triangle read; B: n x m. Neither is changed.
/// Result   the seconds, without the copy of A; the backward error of A X = B, for which `norm_inf`
///          is ||A||_inf.
/// Memory   one n x n and two n x m matrices.
/// Throws   VendorError.
Comparison compare(Kokkos::DefaultExecutionSpace const& exec, DeviceMatrix const& A,
                   DeviceMatrix const& B, double norm_inf, int repeat, Progress& progress);

}  // namespace strata::apps

#endif
