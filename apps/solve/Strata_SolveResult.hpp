// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SOLVE_RESULT_HPP
#define STRATA_APPS_SOLVE_RESULT_HPP

#include <apps/shared/Strata_Exit.hpp>
#include <apps/system/Strata_SystemResult.hpp>
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

/// What solves of a positive definite matrix tell alike, in memory and in tiles.
struct DenseResult : SystemResult {
  using SystemResult::SystemResult;
  std::int64_t info = 0;  ///< 0, or the order of the leading minor that is not positive
  std::string refusal;    ///< then: what is known of the refusal
  std::optional<dense::LogDeterminantEstimate> log_determinant;

  Exit exit() const {
    if (info != 0) return Exit::NotPositiveDefinite;
    return has_converged() ? Exit::Solved : Exit::NotConverged;
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
/// The error to expect of X. Precondition: result.solve.
ExpectedError expected_error(SolveResult const& result);
/// What X is worth, for the last line on the screen.
std::string verdict(SolveResult const& result);
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
/// What X is worth, for the last line on the screen.
std::string verdict(OutOfCoreResult const& result);
/// As schema/solve_out_of_core.schema.json describes it.
Report report(OutOfCoreResult const& result);

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
