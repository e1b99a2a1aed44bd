// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_LOG_DETERMINANT_HPP
#define STRATA_LOG_DETERMINANT_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <functional>

namespace strata::dense {

/// Choices of `log_determinant`.
struct LogDeterminantOptions {
  int probes = 16;  ///< random vectors, >= 2; the standard error falls with their square root
  int steps = 30;   ///< most steps of Lanczos, >= 1
  std::uint64_t seed = 1;  ///< seed of the probes, which are the same on every backend
  /// Called after each step of Lanczos with the part of the work that is done, 0 to 1, as if each
  /// step took as many digits off the quadrature error. An exception ends the call, on all ranks.
  std::function<void(double)> on_progress = {};
};

/// log det A = log det M + trace log(L^-1 A L^-T), the second term estimated.
struct LogDeterminantEstimate {
  /// estimate of log det A; log det M if L^-1 A L^-T is not positive definite
  double value = 0;
  double correction = 0;  ///< value - log det M
  /// standard error of the correction over its probes; 0 if n <= probes (exact)
  double standard_error = 0;
  double quadrature_error = 0;  ///< bound of what Lanczos left out; infinite: there is none
  /// error of fp64 arithmetic, which the caller of the operators knows
  double rounding_error = 0;
  double lowest = 1;  ///< least eigenvalue of L^-1 A L^-T that was seen, 1 at most
  int steps = 0;      ///< steps of Lanczos that were made

  /// The error to state: |value - log det A| is less, but for about one case in a thousand.
  /// Infinite where the steps don't suffice for a statement.
  double error() const { return 4 * standard_error + quadrature_error + rounding_error; }
};

/// A and the two halves of M^-1 = L^-T L^-1, enqueued on the instance that `log_determinant` is
/// given.
///
/// The halves must be solved in fp64 arithmetic, however low the precision that L is stored in:
/// what they round is an error of the result.
template <class ExecutionSpace>
struct LogDeterminantOperators {
  /// Some vectors, column by column.
  using Block = Kokkos::View<double**, Kokkos::LayoutLeft, typename ExecutionSpace::memory_space>;
  std::function<void(Block const& X, Block const& Y)> apply;  ///< Y = A X
  std::function<void(Block const& V)> forward;                ///< V = L^-1 V
  std::function<void(Block const& V)> backward;               ///< V = L^-T V
  double diagonal = 1;  ///< about the largest entry of A's diagonal
  /// How large the entries of A - L L^T are that fp64 arithmetic made: 3 times their root mean
  /// square, in units of 2^-53 of the diagonal. It holds where log_det_M was summed as
  /// `CholeskyFactor` does; 0: not known.
  double rounding_units = 0;
};

/// Correct the log-determinant of a low-precision Cholesky factorisation M = L L^T.
///
/// Stochastic Lanczos quadrature with Rademacher probes z and full reorthogonalisation, all probes
/// at once. If n <= probes the unit vectors take their place and only rounding is left.
///
/// With F = log(L^-1 A L^-T), the variance of z'F z is at most 2 ||F||_F^2, and z'F^2 z, whose mean
/// is ||F||_F^2, comes from the same Lanczos steps. The Gauss rule lies above z'F z, the
/// Gauss-Radau rule with a node below the least eigenvalue under it. That node follows from the
/// extreme Ritz values of all probes. Or it follows from 10 ||E||_F^2 where that is small, E = L^-1
/// A L^-T - I. Either fails in 1e-4 of the draws at most. Steps end where the two rules are close
/// beside the standard error.
///
/// Shape    n >= 0 is the order of A; log_det_M = 2 sum_i log l_ii.
/// Result   see LogDeterminantEstimate; bitwise the same for the same seed, backend and operators.
/// Sync     fences `exec` 3 times per Lanczos step.
/// Memory   (steps + 2) n probes numbers.
/// Throws   ValueError for options out of range or n < 0; MemoryError.
/// Error    |value - log det A| <= error() in 999 of 1000 cases, and what the operators round.
/// Source   Ubaru, Chen and Saad, SIAM J. Matrix Anal. Appl. 38 (2017), doi:10.1137/16M1104974;
///          quadrature: Golub and Welsch, Math. Comp. 23 (1969), doi:10.1090/S0025-5718-69-99647-1;
///          its bounds: Golub and Meurant, Matrices, Moments and Quadrature, 2010, chapters 6 and
///          7; extreme eigenvalues: Kuczynski and Wozniakowski, SIAM J. Matrix Anal. Appl. 13
///          (1992), theorem 4.2, doi:10.1137/0613066.
template <class ExecutionSpace>
[[nodiscard]] LogDeterminantEstimate log_determinant(
    ExecutionSpace const& exec, std::int64_t n, double log_det_M,
    LogDeterminantOperators<ExecutionSpace> const& operators,
    LogDeterminantOptions const& options = {});

/// The error of a log-determinant that fp64 arithmetic alone leaves, for M = L L^T = A + E, where
/// rounding makes E. log det M - log det A is about trace(A^-1 E). The entries of E are as good as
/// random, but for rows that are alike.
///
/// Result   2^-53 (rounding_units ||M^-1||_F diagonal + 4 |log_det_M| + n^(3/2) / 4); where these
///          units are not known 2^-52 (2 (sqrt(n) + 8) ||M^-1||_F diagonal + sqrt(n) |log_det_M|).
///          The norm comes from u = v' M^-1 z, whose mean square it is for independent signs v and
///          z, of all pairs of probes; exact if n <= probes.
/// Sync     fences `exec` once. Memory: n probes numbers. Of `operators` only `forward` is used.
/// Throws   ValueError for options out of range or n < 0; MemoryError.
template <class ExecutionSpace>
[[nodiscard]] double log_determinant_rounding(
    ExecutionSpace const& exec, std::int64_t n, double log_det_M,
    LogDeterminantOperators<ExecutionSpace> const& operators,
    LogDeterminantOptions const& options = {});

}  // namespace strata::dense

#endif
