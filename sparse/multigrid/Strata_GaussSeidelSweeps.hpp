// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_GAUSS_SEIDEL_SWEEPS_HPP
#define STRATA_SPARSE_GAUSS_SEIDEL_SWEEPS_HPP

#include <core/Strata_Pimpl.hpp>
#include <core/Strata_Precision.hpp>
#include <sparse/formats/Strata_EllMatrix.hpp>
#include <sparse/formats/Strata_MatrixOptions.hpp>

#include <cstdint>
#include <memory>

namespace strata::sparse {

template <class Exec>
class DistributedMatrix;

/// Sweeps of multicolour Gauss-Seidel from zero as a preconditioner: vectors in Scalar, the matrix
/// in any precision.
///
/// Other ranks' values are those before the sweep, as in Ifpack2's and Kokkos Kernels' relaxation:
/// on several ranks M need not be positive definite, as CG wants it. The matrix is scaled to a
/// diagonal near 1 by powers of two, which changes no sweep and lets 16 bits hold it. A copy refers
/// to the same vectors: one `apply` at a time.
template <class Exec, class Scalar>
class GaussSeidelSweeps {
 public:
  using MemorySpace = typename Exec::memory_space;  ///< memory of the vectors

  /// `sweep`: the direction of each, Symmetric being two. `precision`: see
  /// `DistributedMatrix::stored_in`; the matrix is scaled by its diagonal first. Collective;
  /// fences.
  ///
  /// Throws   ValueError for sweeps < 1, another precision or a row whose diagonal entry is 0, with
  ///          the row; MemoryError; on all ranks.
  GaussSeidelSweeps(Exec const& exec, DistributedMatrix<Exec> const& A, Precision precision,
                    int sweeps = 1, Sweep sweep = Sweep::Symmetric);

  /// Bytes of this rank's matrix and vectors.
  std::int64_t bytes() const;

  bool is_enqueued() const;  ///< see Preconditioner
  /// z = M^-1 r; z needs no values, but room for the halo.
  ///
  /// Sync     enqueued on `exec`; waits for messages of other ranks on the way, unless they are
  ///          too.
  void apply(Exec const& exec, Vector<Scalar, MemorySpace> const& r,
             Vector<Scalar, MemorySpace> const& z) const;

 private:
  struct Impl;
  Pimpl<Impl const, std::shared_ptr<Impl const>> impl_;
};

}  // namespace strata::sparse

#endif
