// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_JACOBI_HPP
#define STRATA_SPARSE_JACOBI_HPP

#include <sparse/formats/Strata_EllMatrix.hpp>

namespace strata::sparse {

template <class Exec>
class DistributedMatrix;

/// The inverse of the diagonal as a preconditioner, in Scalar, which may be Abreast.
template <class Exec, class Scalar>
class Jacobi {
 public:
  using MemorySpace = typename Exec::memory_space;  ///< memory of the vectors

  /// Collective; fences. Throws ValueError for a row whose diagonal entry is 0, MemoryError; on all
  /// ranks.
  Jacobi(Exec const& exec, DistributedMatrix<Exec> const& A);

  /// z = D^-1 r. Sync: enqueued on `exec`.
  void apply(Exec const& exec, Vector<Scalar, MemorySpace> const& r,
             Vector<Scalar, MemorySpace> const& z) const;

 private:
  Vector<LaneOf<Scalar>, MemorySpace> inverse_;
};

}  // namespace strata::sparse

#endif
