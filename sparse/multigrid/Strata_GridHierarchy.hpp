// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_GRID_HIERARCHY_HPP
#define STRATA_SPARSE_GRID_HIERARCHY_HPP

#include <sparse/matrix/Strata_DistributedMatrix.hpp>
#include <sparse/matrix/Strata_StencilProblem.hpp>

#include <cstdint>
#include <vector>

namespace strata::sparse {

/// A matrix on coarser and coarser grids, each grid's points a part of the one before.
template <class Exec>
struct GridHierarchy {
  using MemorySpace = typename Exec::memory_space;  ///< memory of the matrices
  /// A grid's matrix.
  struct Level {
    DistributedMatrix<Exec> A;  ///< matrix of this grid
    Injection<MemorySpace>
        injection;  ///< injection of the next level's rows into this one's; none on the last
  };
  std::vector<Level> levels;  ///< the finest first

  /// Bytes of all matrices on this rank.
  std::int64_t bytes() const;
  /// Each matrix in `precision`; what is not a value is shared. Collective; fences.
  GridHierarchy stored_in(Exec const& exec, Precision precision) const;
};

/// The benchmark's hierarchy: the same stencil on every second point of each rank's box.
///
/// Collective; fences `exec`.
/// Throws   ShapeError on all ranks if levels < 1; if a box is smaller than 2 points on the
///          coarsest level or not divisible by 2^(levels - 1); if the grid has not as many boxes as
///          there are ranks; also what DistributedMatrix throws.
template <class Exec>
GridHierarchy<Exec> make_grid_hierarchy(Exec const& exec, Communicator const& comm,
                                        StencilProblem const& problem, int levels,
                                        MatrixOptions const& options = {});

}  // namespace strata::sparse

#endif
