// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_FGMRES_HPP
#define STRATA_SPARSE_FGMRES_HPP

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

/// Restarted flexible GMRES. Matrix, basis and x are fp64. The preconditioner is in Scalar and may
/// be another one, or round differently, each time. What it gave is kept in Scalar.
///
/// Against GMRES-IR: a preconditioner in 16 bits costs no digits of the matrix, so that a cycle's
/// residual estimate holds; the memory of a cycle is restart (8 + sizeof(Scalar)) bytes a row.
///
/// Source   Y. Saad, A flexible inner-outer preconditioned GMRES algorithm, SISC 14(2), 1993,
///          doi:10.1137/0914028, algorithm 2.2, with classical Gram-Schmidt, twice.
template <class Exec, class Scalar>
class Fgmres {
 public:
  using MemorySpace = typename Exec::memory_space;  ///< memory of the vectors

  /// Throws ValueError for options outside their ranges, MemoryError; on all ranks.
  Fgmres(Exec const& exec, DistributedMatrix<Exec> const& A,
         Preconditioner<Exec, Scalar> const& preconditioner, KrylovOptions const& options = {});
  ~Fgmres();
  Fgmres(Fgmres&&) noexcept;
  Fgmres& operator=(Fgmres&&) noexcept;

  /// Bytes of the bases and the work vectors.
  std::int64_t bytes() const;

  /// Solve A x = b from x as given; b and x in the matrix' order, as A.allocate makes them.
  /// With `norms` it is judged by them, too, and estimates its error.
  ///
  /// Sync     fences `exec`. Throws ShapeError for vectors of other lengths, on all ranks.
  KrylovReport solve(Exec const& exec, Vector<double, MemorySpace> const& b,
                     Vector<double, MemorySpace> const& x,
                     detail::ResidualNorms<Exec> const* norms = nullptr);

 private:
  struct Impl;
  Pimpl<Impl> impl_;
};

}  // namespace strata::sparse

#endif
