// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DIVERGENCE_HPP
#define STRATA_DIVERGENCE_HPP

#include <geostat/Strata_CovarianceFactor.hpp>

#include <cstdint>
#include <functional>

namespace strata::geostat {

/// How the trace of a divergence is found.
struct DivergenceOptions {
  std::int64_t exact_up_to = 2048;  ///< orders: from all unit vectors; above from random probes
  int probes = 64;                  ///< >= 2; the standard error falls with their square root
  std::uint64_t seed = 1;           ///< seed of the probes, which are the same on every backend
  /// Called after each 256 unit vectors, or the probes, with the part that is done, 0 to 1.
  std::function<void(double)> on_progress = {};
};

/// How far the zero-mean Gaussian distribution with the covariance M = L L^T of a factor in low
/// precision is from that with S.
struct Divergence {
  double log_det_half =
      0;            ///< paper B's: l_S(theta; 0) - l_M(theta; 0) = 1/2 (log det M - log det S)
  double full = 0;  ///< 1/2 (trace(M^-1 S) - n + log det M - log det S), not negative
  /// Errors of `full`: the standard error over the probes, 0 for unit vectors; and the bound of the
  /// terms that the series leaves out.
  double standard_error = 0, truncation_error = 0;
};

/// The Kullback-Leibler divergence of the distribution of an approximate factor from the exact
/// one's.
///
/// Paper B takes the densities' difference at y = 0, which sees the determinants alone; the full
/// divergence is the expectation over S's distribution. In E = L^-1 S L^-T - I it is
///   1/2 trace(E - log(I + E)) = 1/2 trace(E^2/2 - E^3/3 + E^4/4 - ...).
/// Its terms come from w = E z and E w, for unit vectors or Rademacher vectors z. So no traces and
/// log-determinants cancel that differ by little.
///
/// Shape    log_det_exact = log det S of an fp64 factor.
/// Sync     fences `exec`.
/// Memory   3 n numbers for each of 256 unit vectors, or the probes.
/// Throws   ValueError if there is no factor, or for options out of range.
/// Error    about truncation_error, and for probes standard_error.
/// Source   equation 3 of Ren et al. (paper B); Kullback and Leibler, Ann. Math. Statist. 22
///          (1951), doi:10.1214/aoms/1177729694; Hutchinson, Commun. Stat. Simul. 19 (1990),
///          doi:10.1080/03610919008812866.
template <class ExecutionSpace>
[[nodiscard]] Divergence divergence(ExecutionSpace const& exec,
                                    ooc::TileFactor<ExecutionSpace> const& approximate,
                                    double log_det_exact, DivergenceOptions const& options = {});
/// The same of the factor of a covariance matrix. Throws   ValueError if it is whole.
template <class ExecutionSpace>
[[nodiscard]] Divergence divergence(ExecutionSpace const& exec,
                                    CovarianceFactor<ExecutionSpace> const& approximate,
                                    double log_det_exact, DivergenceOptions const& options = {}) {
  return divergence(exec, approximate.factor(), log_det_exact, options);
}

}  // namespace strata::geostat

#endif
