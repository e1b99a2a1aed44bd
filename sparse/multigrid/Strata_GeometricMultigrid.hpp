// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_GEOMETRIC_MULTIGRID_HPP
#define STRATA_SPARSE_GEOMETRIC_MULTIGRID_HPP

#include <core/kokkos_ext/Strata_Replay.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>
#include <sparse/matrix/Strata_StencilProblem.hpp>

#include <cstdint>
#include <vector>

namespace strata::sparse {

/// A matrix on coarser and coarser grids, each grid's points a part of the one before.
template <class Exec>
struct GridHierarchy {
  using MemorySpace = typename Exec::memory_space;  ///< of the matrices
  /// A grid's matrix.
  struct Level {
    DistributedMatrix<Exec> A;  ///< of this grid
    Injection<MemorySpace>
        injection;  ///< of the next level's rows into this one's; none on the last
  };
  std::vector<Level> levels;  ///< the finest first

  /// Of all matrices on this rank.
  std::int64_t bytes() const;
  /// Each matrix in `precision`; what is not a value is shared. Collective; fences.
  GridHierarchy stored_in(Exec const& exec, Precision precision) const;
};

/// The benchmark's hierarchy: the same stencil on every second point of each rank's box.
///
/// Collective; fences `exec`.
/// Throws   ShapeError on all ranks if levels < 1, a box is smaller than 2 points on the coarsest level
///          or not divisible by 2^(levels - 1), or the grid has not as many boxes as there are ranks;
///          also what DistributedMatrix throws.
template <class Exec>
GridHierarchy<Exec> make_grid_hierarchy(Exec const& exec, Communicator const& comm,
                                        StencilProblem const& problem, int levels,
                                        MatrixOptions const& options = {});

/// One V-cycle of geometric multigrid as a preconditioner, in Scalar, with matrices of any precision.
///
/// Forward Gauss-Seidel before and after the coarse correction, one sweep on the coarsest level;
/// injection down, its transpose up. The first sweep of a level starts from zero without reading or
/// sending it, and the residual is made at the injected points alone.
template <class Exec, class Scalar>
class GeometricMultigrid {
 public:
  using MemorySpace = typename Exec::memory_space;  ///< of the vectors

  /// Work vectors for every level but the finest. Throws MemoryError on all ranks.
  GeometricMultigrid(Exec const& exec, GridHierarchy<Exec> const& hierarchy);

  /// Of the finest grid.
  DistributedMatrix<Exec> const& matrix() const { return hierarchy_.levels.front().A; }
  /// Of all grids.
  GridHierarchy<Exec> const& hierarchy() const { return hierarchy_; }

  bool is_enqueued() const;  ///< see Preconditioner
  /// x = M^-1 r: the cycle for A x = r from x = 0; x needs no values, but room for the halo.
  ///
  /// Sync     enqueued on `exec`; waits for messages of other ranks on the way, unless they are too.
  void apply(Exec const& exec, Vector<Scalar, MemorySpace> const& r,
             Vector<Scalar, MemorySpace> const& x) const;

 private:
  void cycle(Exec const& exec, std::size_t level, Vector<Scalar, MemorySpace> const& r,
             Vector<Scalar, MemorySpace> const& x) const;
  // A sweep of a level, coarse ones replayed where the whole cycle can't be.
  void smooth(Exec const& exec, std::size_t level, Vector<Scalar, MemorySpace> const& r,
              Vector<Scalar, MemorySpace> const& x, Guess guess) const;

  using Replay = strata::Replay<Exec>;
  struct Work {
    Vector<Scalar, MemorySpace> r, x;
    std::shared_ptr<Replay> before, after;  // the two sweeps
  };
  GridHierarchy<Exec> hierarchy_;
  std::vector<Work> work_;  // of levels 1, 2, ...
};

}  // namespace strata::sparse

#endif
