// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPD_SOLVE_HPP
#define STRATA_SPD_SOLVE_HPP

#include <core/Strata_Ladder.hpp>
#include <dense/refine/Strata_Refinement.hpp>
#include <dense/vectors/Strata_StridedMatrix.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace strata::dense {

namespace detail {
template <class ExecutionSpace>
class RefinementMemory;
}

/// What a solve did. The errors are for A X = B as given.
struct SolveReport {
  RefinementReport refinement;  ///< report of the refinement of the returned X
  /// As the refinement says, but false where A turned out to be indefinite. It is also false where
  /// A seemed to be indefinite (refinement.indefinite) and there was no memory for the rung that
  /// tells, which is then the obstacle. Its errors are true whatever A is.
  bool converged = false;
  double backward_error = 0;       ///< max_j ||r_j||_inf / (||A||_inf ||x_j||_inf + ||b_j||_inf)
  double hpl_scaled_residual = 0;  ///< backward_error / (n 2^-52)
  double slate_error = 0;          ///< ||B - A X||_1 / (n ||A||_1 ||X||_1)
  std::int64_t iterations = 0;     ///< iterations on all rungs
  int climbs = 0;        ///< times the ladder was climbed because a refinement did not converge
  std::string obstacle;  ///< text of the MemoryError that ended the climb; empty: none
  double seconds = 0;    ///< time but for the factorisations of climbs, which the factor reports
};

/// How far to climb.
enum class Climb {
  Higher,    ///< the next rung of more accuracy that holds
  ToTheTop,  ///< the last rung: A seems to be indefinite, by less than the others can tell
};
/// What became of the attempt that is left so.
constexpr Outcome outcome_of(Climb how) {
  return how == Climb::ToTheTop ? Outcome::SeemsIndefinite : Outcome::NotConverged;
}

/// How long a refinement may go on below a rung.
struct Patience {
  int iterations = 0;  ///< iterations that cost about as much as a factorisation on the next rung
  /// The costs were measured. Then the refinement takes classical steps and CG alone where the
  /// method is automatic. CG and GMRES end as soon as their rate says that these iterations will
  /// not do.
  bool is_measured = false;
};

/// A factor of a symmetric positive definite matrix on a rung of a ladder of precisions: all that a
/// refined solve knows of the factor. H = D A D is what is factored.
template <class ExecutionSpace>
class SpdFactor {
 public:
  virtual ~SpdFactor() = default;

  /// Rows, and columns, of A.
  virtual std::int64_t order() const = 0;
  /// D, the same on all rungs; empty: 1.
  virtual Kokkos::View<double const*, typename ExecutionSpace::memory_space> scaling() const = 0;
  /// H, M^-1, D and the norms, on `exec`, of the rung that holds; its factor is made again if it
  /// was given up for a rung that then failed.
  ///
  /// Throws   MemoryError.
  virtual RefinementOperators<ExecutionSpace> operators(ExecutionSpace const& exec) = 0;
  /// Whether there is no rung above.
  virtual bool at_the_top() const = 0;
  /// The patience with a refinement by this rung's factor; not called at the top.
  virtual Patience patience() const = 0;
  /// Factor on a higher rung; false if A turns out not to be positive definite.
  ///
  /// Throws   MemoryError, which leaves the rung that held.
  virtual bool climb(Climb how) = 0;
  /// No rung above is tried any more.
  virtual void end_ladder() = 0;

  /// Memory of solves with a few columns, kept for the next one; `solve` and `refine` make it.
  std::shared_ptr<detail::RefinementMemory<ExecutionSpace>> memory;
};

/// Refine H Y = D B, X = D Y, with the factor of the rung that holds, cut short where the next rung
/// costs less.
///
/// Shape, Throws   as `refine`, whose B and X are D B and Y.
template <class ExecutionSpace>
[[nodiscard]] RefinementReport refine(ExecutionSpace const& exec, SpdFactor<ExecutionSpace>& factor,
                                      typename RefinementOperators<ExecutionSpace>::Block const& B,
                                      typename RefinementOperators<ExecutionSpace>::Block const& Y,
                                      RefinementOptions const& options);

/// Solve A X = B: scale, refine, judge for A as given, and where that does not converge climb and
/// do it again.
///
/// Shape    B, X: n x m; X may be B, or overlap it in any way.
/// Result   the best X found; the report says whether it converged. Without Refine::None the ladder
///          is climbed until one does. Where there is no memory for a rung, the report says so, and
///          the factor stays as it was. A column of X that is beyond the range of fp64, or whose D
///          B is, is 0: its backward error is 1.
/// Sync     fences `exec`: once where n <= 8192 and the first solution is good enough, and as often
///          as `refine` beyond.
/// Memory   2 n m numbers of fp64, `refine`'s memory, and what the factor takes; the factor keeps
///          them for the next solve if m <= 16.
/// Throws   ShapeError if B or X do not fit; ValueError naming the first non-finite number of B,
///          before anything is refined, or if elements of X share memory; MemoryError where there
///          is no memory for a first X.
template <class ExecutionSpace>
[[nodiscard]] SolveReport solve(ExecutionSpace const& exec, SpdFactor<ExecutionSpace>& factor,
                                StridedMatrix<double const> const& B,
                                StridedMatrix<double> const& X, RefinementOptions const& options);

}  // namespace strata::dense

#endif
