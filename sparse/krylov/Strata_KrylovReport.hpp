// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_KRYLOV_REPORT_HPP
#define STRATA_SPARSE_KRYLOV_REPORT_HPP

#include <core/Strata_EnumNames.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace strata::sparse {

/// How the length of a Krylov vector is found once those before it are subtracted twice (CGS2).
enum class BasisNorm {
  /// the sums of the second subtraction give it (Pythagoras): two sums over ranks in an iteration
  Derived,
  Summed,  ///< a third sum over the resulting vector gives it, as HPG-MxP's rules write
};

/// What a tolerance bounds.
enum class StopNorm {
  Residual,  ///< ||b - A x|| / ||b||
  /// CG: the norm of r in M^-1 over the first r's; M the preconditioner.
  Preconditioned,
  /// CG: an estimate of the error's norm in A over the first error's. It comes eight iterations
  /// late.
  Energy,
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(StopNorm) {
  return enum_names<StopNorm>("norm", {{StopNorm::Residual, "residual"},
                                       {StopNorm::Preconditioned, "preconditioned"},
                                       {StopNorm::Energy, "energy"}});
}

/// The `cycle_floor` for vectors in fp32: 128 unit roundoffs, what a cycle in fp32 can gain.
constexpr double cycle_floor_of_fp32 = 0x1p-17;

/// What to stop at, and the size of the basis.
struct KrylovOptions {
  int restart = 30;         ///< basis vectors per cycle; 1 to 10^6
  double tolerance = 1e-9;  ///< bound of ||b - A x|| / ||b||; 0: as many iterations as allowed
  std::int64_t max_iterations = 10000;  ///< most iterations of all cycles
  /// A cycle that does not make the residual smaller by this factor ends the solve; 0: none does.
  /// In CG, whose residual may stay where x improves, a window of `restart` iterations, at least
  /// 50, that has less than a tenth of the gain in the error's A-norm, too.
  double stall_factor = 0;
  /// GMRES-IR: a cycle ends once it estimates no more than this part of its first residual, since
  /// vectors in few bits have no more digits to gain. 0: it goes on to the tolerance. 0 to below 1.
  double cycle_floor = 0;
  /// ||A||_oo, for a solve that also ends where rounding leaves no better residual
  /// (`RoundingLimit`); 0: none does.
  double norm_A = 0;
  /// Called after each iteration with its number and the ||b - A x|| / ||b|| that the cycle
  /// estimates, on each rank the same. What it throws on one rank all ranks throw.
  std::function<void(std::int64_t, double)> monitor = {};
  /// Asked after each iteration as `monitor` is told, with the same answer on each rank: true ends
  /// the solve as Stalled, unless it has converged.
  std::function<bool(std::int64_t, double)> gives_up = {};
  /// Norms of GMRES-IR. With Summed ones the preconditioner gets vectors that are not scaled to 1,
  /// and must be linear. FGMRES derives norms, CG needs none.
  BasisNorm norm = BasisNorm::Derived;
  /// What of CG the tolerance bounds; the other methods know the residual alone.
  StopNorm stop = StopNorm::Residual;
};

/// How a solve ended. Whatever it says, x is the best of the iterates whose true residuals were
/// made, between cycles, and never worse than x as given.
enum class KrylovStatus {
  Converged,  ///< the true residual meets the tolerance
  /// It does not, but is what rounding in fp64 leaves, as a direct solver's. The normwise backward
  /// error is at most max(10, sqrt(n)) 2^-52, and the residual at most 1e-3 of b.
  RoundingLimit,
  IterationLimit,       ///< the iterations were used up
  Breakdown,            ///< a number that is not finite
  Stalled,              ///< the residual no longer falls as `stall_factor` asks
  NotPositiveDefinite,  ///< CG found p' A p <= 0 or r' M^-1 r <= 0
  /// `SparseSolver` alone: A is singular, b is not in its range, and x has the least residual, or
  /// one within twice that.
  LeastSquares,
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(KrylovStatus) {
  return enum_names<KrylovStatus>("status",
                                  {{KrylovStatus::Converged, "converged"},
                                   {KrylovStatus::RoundingLimit, "rounding_limit"},
                                   {KrylovStatus::IterationLimit, "iteration_limit"},
                                   {KrylovStatus::Breakdown, "breakdown"},
                                   {KrylovStatus::Stalled, "stalled"},
                                   {KrylovStatus::NotPositiveDefinite, "not_positive_definite"},
                                   {KrylovStatus::LeastSquares, "least_squares"}});
}
using strata::name_of;

/// What a solve did.
struct KrylovReport {
  KrylovStatus status = KrylovStatus::IterationLimit;  ///< how it ended
  std::int64_t iterations = 0, cycles = 0;             ///< iterations and cycles of the solve
  double initial_residual = 0;                         ///< ||b||
  /// ||b - A x|| / ||b||, computed in fp64 at the end; of several norms the largest.
  double relative_residual = 0;
  /// ||b - A x||_oo / (||A||_oo ||x||_oo + ||b||_oo), if `norm_A` was given, else infinity; of
  /// several norms the largest.
  double backward_error = 0;
  /// ||A||_oo ||d||_oo / ||A d||_oo of the steps d that were made, the largest: the condition is at
  /// least this. 1 unless the solve was to estimate errors.
  double condition = 1;
  /// An estimate of ||x - A^-1 b||_oo / ||x||_oo, by how far x moved while its residual fell, and
  /// more likely too small than too large; NaN: nothing is known.
  double forward_error = std::numeric_limits<double>::quiet_NaN();
  /// ||b - A x|| / ||b|| after each iteration, as the method estimates it, if it estimates errors.
  std::vector<double> history;
  double seconds = 0;  ///< time of the solve
};

namespace detail {

/// The same options. Throws ValueError, begun with the method's name, for those outside their
/// ranges.
KrylovOptions checked(KrylovOptions const& options, char const* method);

}  // namespace detail
}  // namespace strata::sparse

#endif
