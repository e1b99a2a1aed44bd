// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_CONJUGATE_GRADIENTS_HPP
#define STRATA_SPARSE_CONJUGATE_GRADIENTS_HPP

#include <sparse/krylov/Strata_KrylovMethod.hpp>

namespace strata::sparse {

/// Preconditioned conjugate gradients for a symmetric positive definite matrix: vectors and sums
/// are fp64, the preconditioner works in Scalar on residuals scaled to length 1.
///
/// Each direction p is made conjugate to the last one by z' A p_old, and the step along it is p' r
/// / p' A p. Both cost one sum more in the same pass than z' r alone, and forgive a preconditioner
/// that rounding makes slightly unsymmetric, and residuals that are rounding alone. Convergence is
/// declared by the true residual only. Where it falls short of the recurrence's, CG starts anew
/// from the true one. If that did not halve it the last time, the solve has stalled. Of the
/// iterates of a run that ends elsewhere one is kept whose residual was within 10 of the least.
///
/// Source   G. Golub & Q. Ye, Inexact preconditioned conjugate gradient method with inner-outer
///          iteration, SISC 21(4), 1999, doi:10.1137/S1064827597323415, algorithm IPCG.
template <class Exec, class Scalar>
class ConjugateGradients : public KrylovMethod<Exec> {
 public:
  /// Throws ValueError for options outside their ranges, MemoryError; on all ranks.
  ConjugateGradients(Exec const& exec, DistributedMatrix<Exec> const& A,
                     Preconditioner<Exec, Scalar> const& preconditioner,
                     KrylovOptions const& options = {});
  /// Takes `unrounded` as well, which is `preconditioner` but for its vectors in fp64. It is
  /// applied where rounding to Scalar would cost iterations: while ||r|| / ||b|| is above the
  /// tolerance over eight of Scalar's unit roundoffs. It is also applied for the rest of a cycle
  /// that, rounded, did not halve the residual in a window of `stall_factor`'s.
  ///
  /// Source   V. Simoncini & D. Szyld, Theory of inexact Krylov subspace methods and applications
  ///          to scientific computing, SISC 25(2), 2003, doi:10.1137/S1064827502406415: errors of
  ///          products may grow as r falls.
  ConjugateGradients(Exec const& exec, DistributedMatrix<Exec> const& A,
                     Preconditioner<Exec, Scalar> const& preconditioner,
                     KrylovOptions const& options, Preconditioner<Exec, fp64> const& unrounded);

 private:
  struct Impl;
};

}  // namespace strata::sparse

#endif
