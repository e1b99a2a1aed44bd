// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SOLVE_RESULT_HPP
#define STRATA_APPS_SOLVE_RESULT_HPP

#include <apps/shared/Strata_Exit.hpp>
#include <apps/solve/Strata_SolveProblem.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/refine/Strata_LogDeterminant.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace strata::apps {

/// The vendor's fp64 Cholesky on the same matrix in the same run.
struct Comparison {
  std::string library;  ///< "LAPACK dpotrf + dpotrs", ...
  std::int64_t info = 0;
  double copy_seconds = 0;    ///< of A, which the vendor's routine overwrites and Strata's keeps
  double factor_seconds = 0;  ///< the factorisation alone
  double solve_seconds = 0;
  double backward_error = 0;

  double seconds() const { return copy_seconds + factor_seconds + solve_seconds; }
};

/// Wall time of what the program did, in this order.
struct Seconds {
  double read = 0;      ///< or generate, and make the right-hand sides
  double transfer = 0;  ///< to the device and back
  double factor = 0;    ///< the call of `cholesky`
  double solve = 0;     ///< the call of `solve`, with the factorisations of rungs climbed there
  double condition = 0, log_determinant = 0, compare = 0, total = 0;
};

/// All that the report tells, on screen and in JSON.
struct SolveResult {
  ProblemSummary problem;
  std::string layers_asked, refine_asked;
  int repeat = 1;
  std::int64_t info = 0;  ///< 0, or the order of the leading minor that is not positive
  dense::CholeskyReport factor;
  std::optional<dense::SolveReport> solve;  ///< none without a factor
  std::optional<double> forward_error;      ///< max_j ||x_j - known_j||_inf / ||known_j||_inf
  std::optional<dense::LogDeterminantEstimate> log_determinant;
  std::optional<Comparison> comparison;
  Seconds seconds;
  HostMatrix X;  ///< the solution, rows as in the user's files

  Exit exit() const {
    if (info != 0) return Exit::NotPositiveDefinite;
    return solve && solve->converged ? Exit::Solved : Exit::NotConverged;
  }
};

}  // namespace strata::apps

#endif
