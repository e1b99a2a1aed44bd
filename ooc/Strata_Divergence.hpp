// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DIVERGENCE_HPP
#define STRATA_DIVERGENCE_HPP

#include <cstdint>
#include <ooc/Strata_CovarianceFactor.hpp>

namespace strata::ooc {

/// How the trace of a divergence is found.
struct DivergenceOptions {
  std::int64_t exact_up_to = 2048;  ///< orders: exactly, with n solves; above by random probes
  int probes = 64;                  ///< >= 2; the standard error falls with their square root
  std::uint64_t seed = 1;           ///< of the probes; the same on every backend
};

/// How far the zero-mean Gaussian distribution with the covariance M = L_a L_a^T of a factor in low precision is
/// from that with S_0.
struct Divergence {
  double log_det_half =
      0;            ///< paper B's: l_0(theta; 0) - l_a(theta; 0) = 1/2 (log det M - log det S_0)
  double full = 0;  ///< 1/2 (||L_a^-1 L_0||_F^2 - n + log det M - log det S_0), never negative
  double standard_error = 0;  ///< of `full`, over the probes; 0 if it is exact
};

/// The Kullback-Leibler divergence of the distribution of an approximate factor from the exact one's.
///
/// Paper B takes the densities' difference at y = 0, which sees the determinants alone; the full divergence is
/// the expectation over S_0's distribution. ||L_a^-1 L_0||_F^2 is the trace of M^-1 S_0: exactly, column by column,
/// or as the mean of z' M^-1 S_0 z over Rademacher vectors z.
///
/// Shape    `approximate` factors S_0; log_det_exact = log det S_0 of an fp64 factor.
/// Sync     fences `exec`.
/// Memory   2 n min(n, 256) numbers where the trace is exact, 3 n probes numbers otherwise.
/// Throws   ValueError if there is no factor, or for options out of range.
/// Source   equation 3 of Ren et al. (paper B); Kullback and Leibler, Ann. Math. Statist. 22 (1951),
///          doi:10.1214/aoms/1177729694; Hutchinson, Commun. Stat. Simul. 19 (1990),
///          doi:10.1080/03610919008812866.
template <class ExecutionSpace>
[[nodiscard]] Divergence divergence(ExecutionSpace const& exec,
                                    CovarianceFactor<ExecutionSpace>& approximate,
                                    double log_det_exact, DivergenceOptions const& options = {});

}  // namespace strata::ooc

#endif
