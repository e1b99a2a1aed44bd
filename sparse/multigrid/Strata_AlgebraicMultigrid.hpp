// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_ALGEBRAIC_MULTIGRID_HPP
#define STRATA_SPARSE_ALGEBRAIC_MULTIGRID_HPP

#include <core/Strata_Pimpl.hpp>
#include <core/Strata_Precision.hpp>
#include <sparse/formats/Strata_EllMatrix.hpp>

#include <cstdint>
#include <memory>

namespace strata::sparse {

template <class Exec>
struct TransferHierarchy;

/// One V-cycle over a TransferHierarchy as a preconditioner: vectors in Scalar, matrices in any
/// precision. It knows matrices alone, of which the coarse ones and the transfers may come from a
/// grid or from the entries.
///
/// Steps of the hierarchy's smoother before and after the coarse correction, or forward
/// Gauss-Seidel before and backward after it, so that the cycle is symmetric where A is. On any
/// ranks it is positive definite where A is: rows that are swept add half of what they have in
/// other ranks' columns to their diagonal meanwhile. Every level is scaled to a diagonal near 1 by
/// powers of two, which is exact: 16 bits hold any matrix whose diagonal is not far from dominant.
/// A copy refers to the same vectors: one `apply` at a time.
///
/// Source   A. Baker, R. Falgout, T. Kolev, U. M. Yang, GeometricMultigrid smoothers for
///          ultraparallel computing, SISC 33(5), 2011, doi:10.1137/100798806 (l1 Gauss-Seidel, with
///          one half).
template <class Exec, class Scalar>
class AlgebraicMultigrid {
 public:
  using MemorySpace = typename Exec::memory_space;  ///< memory of the vectors

  /// Matrices and transfers are rounded to `precision`: fp64, fp32, bf16 or fp16. Collective;
  /// fences.
  ///
  /// Throws   ValueError for another precision or a row whose diagonal entry is 0, with the row;
  ///          MemoryError; on all ranks.
  AlgebraicMultigrid(Exec const& exec, TransferHierarchy<Exec> const& hierarchy,
                     Precision precision);
  /// The same cycle with vectors in Scalar, Abreast too where nothing is swept, and with `other`'s
  /// matrices and transfers, which are not copied. Collective; fences. Throws MemoryError on all
  /// ranks.
  AlgebraicMultigrid(Exec const& exec, AlgebraicMultigrid<Exec, fp64> const& other);

  /// Bytes of this rank's matrices, transfers and vectors; of vectors alone if the others are
  /// another cycle's.
  std::int64_t bytes() const;

  /// z = M^-1 r: the cycle for A z = r from z = 0; z needs no values, but room for the halo.
  ///
  /// Sync     enqueued on `exec`; waits for messages of other ranks on the way.
  void apply(Exec const& exec, Vector<Scalar, MemorySpace> const& r,
             Vector<Scalar, MemorySpace> const& z) const;

 private:
  template <class, class>
  friend class AlgebraicMultigrid;
  struct Impl;
  Pimpl<Impl const, std::shared_ptr<Impl const>> impl_;
};

}  // namespace strata::sparse

#endif
