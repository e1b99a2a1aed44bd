// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_GMRES_IR_HPP
#define STRATA_SPARSE_GMRES_IR_HPP

#include <sparse/krylov/Strata_KrylovMethod.hpp>

namespace strata::sparse {

template <class Exec, class Scalar>
class GeometricMultigrid;

/// Restarted GMRES, preconditioned on the right, inside iterative refinement: residuals and x are
/// fp64, all else is Scalar (fp64: plain GMRES). The basis may be stored narrower, fp16 for fp32:
/// half the bytes of orthogonalisation, for a cycle that gains no more than about 1e3.
///
/// Source   A. Kashi et al., Scaling the memory wall using mixed-precision, SC'25,
///          doi:10.1145/3712285.3759877, algorithm 3. Deviations: sums of products are fp64, and
///          convergence is declared by the true residual only.
template <class Exec, class Scalar, class Stored = Scalar>
class GmresIr : public KrylovMethod<Exec> {
 public:
  /// `A` gives the residuals, `inner` is multiplied by inside. Both must have the same rows in the
  /// same order (ShapeError for another number). Throws ValueError for options out of range,
  /// MemoryError; on all ranks.
  GmresIr(Exec const& exec, DistributedMatrix<Exec> const& A, DistributedMatrix<Exec> const& inner,
          Preconditioner<Exec, Scalar> const& preconditioner, KrylovOptions const& options = {});
  /// The same with a multigrid whose finest matrix is the inner one.
  GmresIr(Exec const& exec, DistributedMatrix<Exec> const& A,
          GeometricMultigrid<Exec, Scalar> const& preconditioner,
          KrylovOptions const& options = {});

 private:
  struct Impl;
};

}  // namespace strata::sparse

#endif
