// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_BICGSTAB_HPP
#define STRATA_SPARSE_BICGSTAB_HPP

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

/// BiCGStab for any matrix, preconditioned from the right: vectors and sums are fp64, the
/// preconditioner works in Scalar on vectors scaled to length 1 and may round differently each
/// time.
///
/// An iteration has two products and two preconditionings, and eight vectors whatever their number.
/// Where a sum that it divides by is rounding alone it starts anew from the true residual. Of the
/// iterates of a run one is kept whose residual was within 10 of the least.
///
/// Source   H. van der Vorst, Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG for the
///          solution of nonsymmetric linear systems, SISSC 13(2), 1992, doi:10.1137/0913035.
template <class Exec, class Scalar>
class BiCgStab {
 public:
  using MemorySpace = typename Exec::memory_space;  ///< memory of the vectors

  /// Throws ValueError for options outside their ranges, MemoryError; on all ranks.
  BiCgStab(Exec const& exec, DistributedMatrix<Exec> const& A,
           Preconditioner<Exec, Scalar> const& preconditioner, KrylovOptions const& options = {});
  ~BiCgStab();
  BiCgStab(BiCgStab&&) noexcept;
  BiCgStab& operator=(BiCgStab&&) noexcept;

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
