// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_FGMRES_HPP
#define STRATA_SPARSE_FGMRES_HPP

#include <sparse/krylov/Strata_KrylovMethod.hpp>

namespace strata::sparse {

/// Restarted flexible GMRES. Matrix, basis and x are fp64. The preconditioner is in Scalar and may
/// be another one, or round differently, each time. What it gave is kept in Scalar.
///
/// Against GMRES-IR: a preconditioner in 16 bits costs no digits of the matrix, so that a cycle's
/// residual estimate holds; the memory of a cycle is restart (8 + sizeof(Scalar)) bytes a row.
///
/// Source   Y. Saad, A flexible inner-outer preconditioned GMRES algorithm, SISC 14(2), 1993,
///          doi:10.1137/0914028, algorithm 2.2, with classical Gram-Schmidt, twice.
template <class Exec, class Scalar>
class Fgmres : public KrylovMethod<Exec> {
 public:
  /// Throws ValueError for options outside their ranges, MemoryError; on all ranks.
  Fgmres(Exec const& exec, DistributedMatrix<Exec> const& A,
         Preconditioner<Exec, Scalar> const& preconditioner, KrylovOptions const& options = {});

 private:
  struct Impl;
};

}  // namespace strata::sparse

#endif
