// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_MINRES_HPP
#define STRATA_SPARSE_MINRES_HPP

#include <sparse/krylov/Strata_KrylovMethod.hpp>

namespace strata::sparse {

/// MINRES for a symmetric matrix, definite or not, with a symmetric positive definite
/// preconditioner, all in fp64. The residual is brought up to date beside x, so that its own norm
/// counts, and not the preconditioner's.
///
/// Of the iterates of a run one is kept whose residual was within 10 of the least. It ends as
/// NotPositiveDefinite where r' M^-1 r is not positive.
///
/// Source   C. Paige, M. Saunders, Solution of sparse indefinite systems of linear equations, SINUM
///          12(4), 1975, doi:10.1137/0712047; preconditioned as by H. Elman, D. Silvester, A.
///          Wathen, Finite elements and fast iterative solvers, 2014, algorithm 4.1,
///          doi:10.1093/acprof:oso/9780199678792.001.0001.
template <class Exec>
class Minres : public KrylovMethod<Exec> {
 public:
  /// Throws ValueError for options outside their ranges, MemoryError; on all ranks.
  Minres(Exec const& exec, DistributedMatrix<Exec> const& A,
         Preconditioner<Exec, fp64> const& preconditioner, KrylovOptions const& options = {});

 private:
  struct Impl;
};

}  // namespace strata::sparse

#endif
