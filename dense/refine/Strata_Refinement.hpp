// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_REFINEMENT_HPP
#define STRATA_REFINEMENT_HPP

#include <core/Strata_EnumNames.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace strata::dense {

/// How the correction equation A d = r is solved with the preconditioner M ~ A.
enum class Refine {
  None,       ///< not at all: X = M^-1 B, and its error is reported
  Classical,  ///< d = M^-1 r; contracts while the spectral radius of I - M^-1 A is below one
  Cg,         ///< preconditioned conjugate gradients; A and M symmetric positive definite
  Gmres,      ///< restarted GMRES, which asks nothing of A and M but that they are not singular
  /// Classical while a step gains a factor of 8, then CG, then GMRES; per column. CG at once where
  /// the first correction M^-1 r of each column says that no step would gain so much.
  Automatic,
};

/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(Refine) {
  return enum_names<Refine>("refinement", {{Refine::None, "none"},
                                           {Refine::Classical, "classical"},
                                           {Refine::Cg, "cg"},
                                           {Refine::Gmres, "gmres"},
                                           {Refine::Automatic, "auto"}});
}
using strata::name_of;

/// What to stop at, and the sizes of the inner solvers.
struct RefinementOptions {
  Refine refine = Refine::Automatic;  ///< the method
  /// On the normwise backward error, and nothing else. 0: sqrt(n) 2^-52, and HPL's and SLATE's
  /// thresholds as well.
  double tolerance = 0;
  /// Applications of M^-1 to a column. 0: 100 classical, 2000 CG and GMRES, 4000 automatic, which
  /// leaves half to GMRES.
  int max_iterations = 0;
  int restart = 30;               ///< GMRES basis; grows to 8 times this while cycles gain little
  double inner_tolerance = 1e-8;  ///< least ||A d - r||_2 / ||r||_2 that CG and GMRES go for
  int stagnation_steps = 5;       ///< outer steps that may pass without halving the error
  /// most bytes of the basis of GMRES: columns are taken in chunks
  std::size_t max_basis_bytes = std::size_t(1) << 30;
  /// Called after each outer step with the worst column's backward error; what it throws ends the
  /// call, over ranks on all.
  std::function<void(double)> on_step = {};
};

inline constexpr double hpl_threshold = 16;              ///< HPL-MxP's rules
inline constexpr double slate_threshold = 50 * 0x1p-53;  ///< SLATE's tester of posv

/// What the refinement did. The errors are for the X that was returned.
struct RefinementReport {
  /// Each column meets the tolerance; for the default tolerance also both thresholds above. Of a
  /// system that was scaled, the system as given must, too: the tolerance where one was asked for,
  /// else the thresholds.
  bool converged = true;
  bool indefinite = false;  ///< CG met a direction p with p'A p < 0: A is not positive definite
  /// no number of X is beyond the range of fp64, nor one of X_G where the system was scaled
  bool in_range = true;
  bool stagnated = false;        ///< a column stopped because its error no longer fell
  Refine method = Refine::None;  ///< the last method that ran; None: M^-1 B was good enough
  /// Applications of M^-1 to the column that took most, the first solve included.
  std::int64_t iterations = 0;
  std::int64_t outer_iterations = 0;     ///< fp64 residuals after the one of M^-1 B
  std::int64_t unconverged_columns = 0;  ///< columns that don't meet the tolerance
  double tolerance = 0;                  ///< tolerance that was applied
  /// max_j ||r_j||_inf / (||A||_inf ||x_j||_inf + ||b_j||_inf), of the system as given
  double backward_error = 0;
  double equilibrated_error = 0;  ///< the same of the system that was refined
  /// max_j ||r_j||_inf / (||A||_inf ||x_j||_inf) of that system: the error of x is seldom above
  /// that times the condition. ||r_j||_inf is no smaller than rounding leaves it. That is 2^-53
  /// ||A||_inf ||x_j||_inf, or, where the largest entry of A is known, sqrt(2) times what
  /// independent roundings come to, if that is less.
  double relative_residual = 0;
  double hpl_scaled_residual = 0;  ///< backward_error / (n 2^-52)
  double slate_error = 0;          ///< ||B - A X||_1 / (n ||A||_1 ||X||_1)
  std::vector<double> history;     ///< the worst column's backward error after each outer step
};

/// The two linear operators, enqueued on the instance that `refine` is given.
template <class ExecutionSpace>
struct RefinementOperators {
  /// Some vectors, column by column.
  using Block = Kokkos::View<double**, Kokkos::LayoutLeft, typename ExecutionSpace::memory_space>;
  /// Y = A X in fp64. Both have the same columns, any number from 1 to B's.
  std::function<void(Block const& X, Block const& Y)> apply;
  /// R = M^-1 R in place. The largest magnitude of each column is below 1 and at least 1/2, or 0.
  std::function<void(Block const& R)> precondition;
  double norm_inf = 0;  ///< ||A||_inf = ||A||_1
  double largest = 0;   ///< largest magnitude of an entry of A; 0: not known
  /// The diagonal of D, powers of two, and ||G||_inf, where A = D G D is a matrix G that was
  /// scaled. B and X are then D B_G and D^-1 X_G. Errors and convergence are then judged for G X_G
  /// = B_G as well. Empty: A is as given.
  Kokkos::View<double const*, typename ExecutionSpace::memory_space> scaling;
  /// ||G||_inf, where there is a scaling.
  double given_norm_inf = 0;
  /// Y = G X in fp64, where there is a scaling: residuals and CG take it, which spares passes over
  /// vectors that `apply` makes for D. May be empty.
  std::function<void(Block const& X, Block const& Y)> apply_given;
};

/// Solve A X = B to fp64 backward error with the low-precision preconditioner M ~ A.
///
/// The outer loop computes R = B - A X in fp64 for all unfinished columns at once, solves A D = R
/// by the method chosen and adds D. Columns that are done, or can't be helped, leave. Each column
/// of B is scaled by a power of two, so neither huge nor tiny columns matter. A column that has
/// converged goes on only while a step halves what is above the tolerance.
///
/// Shape    B, X: n x m, n >= 0, m >= 0, any leading dimension; X must not overlap B.
/// Result   X is each column's best iterate, always finite (0 where nothing better was found). A
///          zero column of B gives an exactly zero column of X. NaN or Inf in A, M or B: not
///          converged.
/// Sync     fences `exec` once per outer step, the first solve included, and once more before it
///          where n > 8192; once where CG, or a cycle of GMRES, begins and once per iteration of
///          CG, 4 times of GMRES; once where it chooses after the first solve, and up to twice
///          where columns leave. X is enqueued.
/// Memory   3 n m numbers; CG 6 n m, or 7 n m with `apply_given`; GMRES 3 n m and its basis of 2
///          restart + 1 vectors a column.
/// Throws   ShapeError if B and X differ in shape; ValueError for options or norms out of range.
/// Source   CG: Golub and Ye, SIAM J. Sci. Comput. 21 (1999), doi:10.1137/S1064827597323415.
///          GMRES: Carson and Higham, SIAM J. Sci. Comput. 40 (2018), doi:10.1137/17M1140819, and
///          Saad, SIAM J. Sci. Comput. 14 (1993), doi:10.1137/0914028; deviation: preconditioned
///          from the right and flexible, so that M^-1 may be a low-precision process and not a
///          fixed matrix.
template <class ExecutionSpace>
[[nodiscard]] RefinementReport refine(ExecutionSpace const& exec,
                                      RefinementOperators<ExecutionSpace> const& operators,
                                      typename RefinementOperators<ExecutionSpace>::Block const& B,
                                      typename RefinementOperators<ExecutionSpace>::Block const& X,
                                      RefinementOptions const& options = {});

}  // namespace strata::dense

#endif
