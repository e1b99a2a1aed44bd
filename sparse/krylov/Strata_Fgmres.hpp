// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_FGMRES_HPP
#define STRATA_SPARSE_FGMRES_HPP

#include <sparse/krylov/Strata_KrylovBasis.hpp>
#include <sparse/krylov/Strata_KrylovReport.hpp>
#include <sparse/krylov/Strata_Preconditioner.hpp>
#include <sparse/krylov/detail/Strata_OuterIteration.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>

#include <cstdint>

namespace strata::sparse {

/// Restarted flexible GMRES: matrix, basis and x are fp64, the preconditioner is in Scalar and may be another
/// one, or round differently, each time; what it gave is kept in Scalar.
///
/// Against GMRES-IR: a preconditioner in 16 bits costs no digits of the matrix, so that a cycle's
/// residual estimate holds; the memory of a cycle is restart (8 + sizeof(Scalar)) bytes a row.
///
/// Source   Y. Saad, A flexible inner-outer preconditioned GMRES algorithm, SISC 14(2), 1993,
///          doi:10.1137/0914028, algorithm 2.2, with classical Gram-Schmidt, twice.
template <class Exec, class Scalar>
class Fgmres {
 public:
  using MemorySpace = typename Exec::memory_space;  ///< of the vectors

  /// Throws ValueError for options outside their ranges, MemoryError; on all ranks.
  Fgmres(Exec const& exec, DistributedMatrix<Exec> const& A,
         Preconditioner<Exec, Scalar> const& preconditioner, KrylovOptions const& options = {});

  /// Bytes of the bases and the work vectors.
  std::int64_t bytes() const;

  /// Solve A x = b from x as given; b and x in the matrix' order, as A.allocate makes them.
  ///
  /// Sync     fences `exec`. Throws ShapeError for vectors of other lengths, on all ranks.
  KrylovReport solve(Exec const& exec, Vector<double, MemorySpace> const& b,
                     Vector<double, MemorySpace> const& x);

 private:
  // One cycle; Breakdown if x was not updated by finite numbers.
  std::optional<KrylovStatus> cycle(Exec const& exec, detail::OuterIteration<Exec>& outer,
                                    Vector<double, MemorySpace> const& x);

  DistributedMatrix<Exec> A_;
  Preconditioner<Exec, Scalar> preconditioner_;
  KrylovOptions options_;
  KrylovBasis<Exec, double> basis_;
  Vector<Scalar, MemorySpace> images_;  // z_1, z_2, ... one after the other
  typename detail::OuterIteration<Exec>::Work outer_;
  Vector<double, MemorySpace> wide_, coefficients_;
  Vector<Scalar, MemorySpace> q_, z_;
};

}  // namespace strata::sparse

#endif
