// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_MINRES_HPP
#define STRATA_SPARSE_MINRES_HPP

#include <core/Strata_Pimpl.hpp>
#include <sparse/krylov/Strata_KrylovReport.hpp>
#include <sparse/krylov/Strata_Preconditioner.hpp>

#include <cstdint>

namespace strata::sparse {

template <class Exec>
class DistributedMatrix;
namespace detail {
template <class Exec>
struct ResidualNorms;
}  // namespace detail

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
class Minres {
 public:
  using MemorySpace = typename Exec::memory_space;  ///< memory of the vectors

  /// Throws ValueError for options outside their ranges, MemoryError; on all ranks.
  Minres(Exec const& exec, DistributedMatrix<Exec> const& A,
         Preconditioner<Exec, fp64> const& preconditioner, KrylovOptions const& options = {});
  ~Minres();
  Minres(Minres&&) noexcept;
  Minres& operator=(Minres&&) noexcept;

  /// Bytes of the work vectors.
  std::int64_t bytes() const;

  /// Solve A x = b from x as given; b and x in the matrix' order, as A.allocate makes them.
  /// With `norms` it is judged by them, too, and estimates its error.
  ///
  /// Sync     fences `exec` for the sums. Throws ShapeError for vectors of other lengths, on all
  ///          ranks.
  KrylovReport solve(Exec const& exec, Vector<double, MemorySpace> const& b,
                     Vector<double, MemorySpace> const& x,
                     detail::ResidualNorms<Exec> const* norms = nullptr);

 private:
  struct Impl;
  Pimpl<Impl> impl_;
};

}  // namespace strata::sparse

#endif
