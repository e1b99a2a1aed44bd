// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_GEOMETRIC_MULTIGRID_HPP
#define STRATA_SPARSE_GEOMETRIC_MULTIGRID_HPP

#include <core/Strata_Pimpl.hpp>
#include <sparse/formats/Strata_EllMatrix.hpp>

#include <memory>

namespace strata::sparse {

template <class Exec>
class DistributedMatrix;
template <class Exec>
struct GridHierarchy;

/// One V-cycle of geometric multigrid as a preconditioner, in Scalar, with matrices of any
/// precision.
///
/// Forward Gauss-Seidel before and after the coarse correction, one sweep on the coarsest level;
/// injection down, its transpose up. The first sweep of a level starts from zero without reading or
/// sending it, and the residual is made at the injected points alone.
template <class Exec, class Scalar>
class GeometricMultigrid {
 public:
  using MemorySpace = typename Exec::memory_space;  ///< memory of the vectors

  /// Work vectors for every level but the finest. Throws MemoryError on all ranks.
  GeometricMultigrid(Exec const& exec, GridHierarchy<Exec> const& hierarchy);

  /// The matrix of the finest grid.
  DistributedMatrix<Exec> const& matrix() const;
  /// The matrices of all grids.
  GridHierarchy<Exec> const& hierarchy() const;

  bool is_enqueued() const;  ///< see Preconditioner
  /// x = M^-1 r: the cycle for A x = r from x = 0; x needs no values, but room for the halo.
  ///
  /// Sync     enqueued on `exec`; waits for messages of other ranks on the way, unless they are
  ///          too.
  void apply(Exec const& exec, Vector<Scalar, MemorySpace> const& r,
             Vector<Scalar, MemorySpace> const& x) const;

 private:
  struct Impl;
  Pimpl<Impl const, std::shared_ptr<Impl const>> impl_;
};

}  // namespace strata::sparse

#endif
