// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SYMMETRIC_HPP
#define STRATA_APPS_SYMMETRIC_HPP

#include <apps/shared/Strata_Exit.hpp>
#include <apps/system/Strata_SystemResult.hpp>
#include <dense/indefinite/Strata_SymmetricFactor.hpp>

#include <iosfwd>
#include <optional>
#include <string>

namespace strata::apps {

class Report;

/// L D L^T with pivoting in fp64, on the same matrix in the same run. The vendor's library factors;
/// the solve with its factor is Strata's, without refinement.
struct SymmetricComparison {
  std::string library;        ///< "LAPACK dsytrf" or "cuSOLVER Dsytrf"
  double factor_seconds = 0;  ///< the factorisation, with a scaled copy of A
  double solve_seconds = 0;   ///< Strata's solve with the library's factor
  double backward_error = 0;
  std::string refusal;  ///< what it says where A is singular

  double seconds() const { return factor_seconds + solve_seconds; }
};

/// A solve with a symmetric matrix that need not be definite.
struct SymmetricResult : SystemResult {
  using SystemResult::SystemResult;
  std::string layers_asked;
  dense::SymmetricReport factor;
  std::optional<dense::Inertia> inertia;  ///< none without a factor, or memory for it
  std::optional<dense::SignedLogDeterminant> log_determinant;  ///< where it was asked for
  double inertia_seconds = 0;
  int repeat = 1;
  std::optional<SymmetricComparison> comparison;  ///< where it was asked for, and had the memory

  /// Code 3 where A is singular.
  Exit exit() const {
    if (!factor.refusal.empty()) return Exit::NotPositiveDefinite;
    return has_converged() ? Exit::Solved : Exit::NotConverged;
  }
};

/// Factor and solve `problem` on the default device: L D L^T in layers, then in fp64, then with
/// pivoting. It is done `options.repeat` times; the run of median time counts.
///
/// Memory   the problem's matrix stays; see `require_memory`.
/// Throws   UsageError for numbers in the input that the library refuses, or a comparison with a
///          library that the build has not; VendorError.
SymmetricResult run_symmetric(Problem const& problem, SolveOptions const& options,
                              Progress& progress);

/// What X is worth, for the last line on the screen.
std::string verdict(SymmetricResult const& result);
/// As schema/solve_symmetric.schema.json describes it.
Report report(SymmetricResult const& result);
/// One line if there is no solution that was asked for.
void explain(std::ostream& out, SymmetricResult const& result);

}  // namespace strata::apps

#endif
