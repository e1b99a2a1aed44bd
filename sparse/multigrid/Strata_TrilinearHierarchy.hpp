// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_TRILINEAR_HIERARCHY_HPP
#define STRATA_SPARSE_TRILINEAR_HIERARCHY_HPP

#include <sparse/multigrid/Strata_TransferHierarchy.hpp>

#include <array>
#include <cstdint>

namespace strata::sparse {

/// The benchmark's 27-point matrix on a whole grid: 26 and -1, but -1 -+ beta at z -+ 1.
struct StencilGrid {
  std::array<std::int64_t, 3> points{1, 1, 1};  ///< x fastest; any numbers
  /// 0: symmetric.
  double beta = 0;
};

/// The grid's matrix, spread over the ranks in consecutive blocks of rows, on ever coarser grids
/// with trilinear transfers, R = P', and Galerkin products as coarse matrices.
///
/// The stencil is 27 I - S x S x S with S the tridiagonal matrix of ones (and beta I x I x N). So R
/// A P is 27 M x M x M - K x K x K with tridiagonal M = p' p and K = p' S p. Coarse matrices are
/// exact products, at the boundary too, and are made row by row from numbers of one dimension. A
/// dimension is halved (n / 2 points) as long as it has three points, whatever the others do.
/// Coarsening ends at `coarse_rows` rows, solved directly.
///
/// Collective; fences `exec`.
/// Throws   ShapeError if a number of points is below 1, or all are 2^40 or more; ValueError if
///          coarse_rows is not 1 to 10000; also what DistributedMatrix throws; on all ranks.
template <class Exec>
TransferHierarchy<Exec> make_trilinear_hierarchy(Exec const& exec, Communicator const& comm,
                                                 StencilGrid const& grid,
                                                 MatrixOptions const& options = {},
                                                 std::int64_t coarse_rows = 300);

}  // namespace strata::sparse

#endif
