// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SYSTEM_RESULT_HPP
#define STRATA_APPS_SYSTEM_RESULT_HPP

#include <apps/shared/Strata_Progress.hpp>
#include <apps/system/Strata_SolveProblem.hpp>
#include <dense/refine/Strata_Condition.hpp>
#include <dense/refine/Strata_SpdSolve.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace strata::apps {

/// Wall time of what the program did.
struct Seconds {
  double read = 0;      ///< time to read or generate, and to make the right-hand sides
  double transfer = 0;  ///< time to the device and back
  double fill = 0;      ///< tiles
  double factor = 0;    ///< the call of `cholesky`
  double solve = 0;     ///< the call of `solve`, with the factorisations of rungs climbed there
  double condition = 0, log_determinant = 0, compare = 0, total = 0;
};

/// What solves of a dense matrix tell alike, by whichever factor.
struct SystemResult {
  ProblemSummary problem;
  std::string refine_asked;
  std::optional<dense::SolveReport> solve;  ///< none without a factor
  std::optional<double> forward_error;      ///< max_j ||x_j - known_j||_inf / ||known_j||_inf
  Seconds seconds;
  HostMatrix X;  ///< the solution, rows as in the user's files

  SystemResult(Problem const& of, SolveOptions const& options)
      : problem(of.summary), refine_asked(name_of(options.refinement.refine)) {}
  /// Whether X is as accurate as was asked for.
  bool has_converged() const { return solve && solve->converged; }
};

/// Time of the factorisation and the solve.
inline double seconds_of_solve(SystemResult const& result) {
  return result.seconds.factor + result.seconds.solve;
}

/// The error of X by condition times backward error, relative, in the largest magnitude.
struct ExpectedError {
  double error = 0;
  double shown = 0;  ///< rounded up to one digit
  int digits = 0;    ///< decimal ones that are right
};
ExpectedError expected_error(dense::SolveReport const& solve,
                             dense::ConditionEstimate const& condition);

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
                   DeviceMatrix const& X, SystemResult& result);

/// max_j ||x_j - known_j||_inf / ||known_j||_inf; NaN if a number of X is.
double forward_error(ConstHostMatrix const& X, ConstHostMatrix const& known);

}  // namespace strata::apps

#endif
