// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_LOG_DETERMINANT_HPP
#define STRATA_LOG_DETERMINANT_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <functional>

namespace strata::dense {

struct LogDeterminantOptions {
  int probes = 16;  ///< random vectors, >= 2; the standard error falls with their square root
  int steps = 30;   ///< of Lanczos at most, >= 1
  std::uint64_t seed = 1;  ///< of the probes; the same on every backend
};

/// log det A = log det M + trace log(L^-1 A L^-T), the second term estimated.
struct LogDeterminantEstimate {
  double value = 0;             ///< of log det A; NaN if L^-1 A L^-T is not positive definite
  double correction = 0;        ///< value - log det M
  double standard_error = 0;    ///< of the correction, over the probes; 0 if n <= probes (exact)
  double quadrature_error = 0;  ///< what the last Lanczos step changed in the correction
  int steps = 0;                ///< of Lanczos that were made
};

/// A and the two halves of M^-1 = L^-T L^-1, enqueued on the instance that `log_determinant` is
/// given.
///
/// The halves must be solved in fp64 arithmetic, however low the precision that L is stored in:
/// what they round is an error of the result.
template <class ExecutionSpace>
struct LogDeterminantOperators {
  using Block = Kokkos::View<double**, Kokkos::LayoutLeft, typename ExecutionSpace::memory_space>;
  std::function<void(Block const& X, Block const& Y)> apply;  ///< Y = A X
  std::function<void(Block const& V)> forward;                ///< V = L^-1 V
  std::function<void(Block const& V)> backward;               ///< V = L^-T V
};

/// Correct the log-determinant of a low-precision Cholesky factorisation M = L L^T.
///
/// Stochastic Lanczos quadrature with Rademacher probes and full reorthogonalisation, all probes at
/// once. If n <= probes the unit vectors take their place and only rounding is left.
///
/// Shape    n >= 0 is the order of A; log_det_M = 2 sum_i log l_ii.
/// Result   see LogDeterminantEstimate; bitwise the same for the same seed, backend and operators.
/// Sync     fences `exec` 3 times per Lanczos step.
/// Memory   (steps + 2) n probes numbers.
/// Throws   ValueError for options out of range or n < 0.
/// Error    |value - log det A| is about standard_error + quadrature_error (tested with 4 times it).
/// Source   Ubaru, Chen and Saad, SIAM J. Matrix Anal. Appl. 38 (2017), doi:10.1137/16M1104974;
///          quadrature: Golub and Welsch, Math. Comp. 23 (1969), doi:10.1090/S0025-5718-69-99647-1.
template <class ExecutionSpace>
[[nodiscard]] LogDeterminantEstimate log_determinant(
    ExecutionSpace const& exec, std::int64_t n, double log_det_M,
    LogDeterminantOperators<ExecutionSpace> const& operators,
    LogDeterminantOptions const& options = {});

}  // namespace strata::dense

#endif
