// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_CONJUGATE_GRADIENTS_HPP
#define STRATA_SPARSE_CONJUGATE_GRADIENTS_HPP

#include <cstdint>
#include <sparse/Strata_DistributedMatrix.hpp>
#include <sparse/Strata_KrylovReport.hpp>
#include <sparse/Strata_Preconditioner.hpp>

namespace strata::sparse {

/// Preconditioned conjugate gradients for a symmetric positive definite matrix: vectors and sums are fp64,
/// the preconditioner works in Scalar on residuals scaled to length 1.
///
/// The direction is corrected by Polak and Ribiere's formula, which forgives a preconditioner that
/// rounding makes slightly unsymmetric and costs one sum more in the same pass. Convergence is
/// declared by the true residual only; where it falls short of the recurrence's, CG starts anew from it.
///
/// Source   G. Golub & Q. Ye, Inexact preconditioned conjugate gradient method with inner-outer
///          iteration, SISC 21(4), 1999, doi:10.1137/S1064827597323415, algorithm IPCG.
template <class Exec, class Scalar>
class ConjugateGradients {
 public:
  using MemorySpace = typename Exec::memory_space;

  /// Throws ValueError for options outside their ranges, MemoryError; on all ranks.
  ConjugateGradients(Exec const& exec, DistributedMatrix<Exec> const& A,
                     Preconditioner<Exec, Scalar> const& preconditioner,
                     KrylovOptions const& options = {});

  /// Bytes of the work vectors.
  std::int64_t bytes() const;

  /// Solve A x = b from x as given; b and x in the matrix' order, x with room for the halo.
  ///
  /// Sync     fences `exec` three times an iteration, for the sums.
  KrylovReport solve(Exec const& exec, Vector<double, MemorySpace> const& b,
                     Vector<double, MemorySpace> const& x);

 private:
  struct State;
  // One iteration; whether it went well. The status says why not.
  bool step(Exec const& exec, Vector<double, MemorySpace> const& x, State& state,
            KrylovReport& report);

  DistributedMatrix<Exec> A_;
  Preconditioner<Exec, Scalar> preconditioner_;
  KrylovOptions options_;
  Vector<double, MemorySpace> r_, p_, q_;
  Vector<Scalar, MemorySpace> s_, z_;
};

}  // namespace strata::sparse

#endif
