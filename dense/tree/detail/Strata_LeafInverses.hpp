// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_LEAF_INVERSES_HPP
#define STRATA_DETAIL_LEAF_INVERSES_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/blas/Strata_LeafBlas.hpp>

#include <vector>

namespace strata::dense::detail {

/// A lower triangle, and the place for its L^-T.
template <class MemorySpace>
struct LeafInverse {
  ConstMatrixRef<MemorySpace> L;  ///< n x n; above the diagonal it is not read
  MatrixRef<MemorySpace>
      inverse;  ///< matrix of the same arithmetic type; becomes 0 below the diagonal
};

/// L^-T of each leaf, in products of blocks of all leaves of one shape at a time. Those follow each
/// other, equally far apart. Enqueued.
///
/// Error    |L^-T L^T - I| <= c n eps |L^-T| |L^T|.
/// Source   Du Croz and Higham, IMA J. Numer. Anal. 12 (1992), doi:10.1093/imanum/12.1.1, method 2C
///          in halves.
template <class ExecutionSpace>
void invert_leaves(LeafBlas<ExecutionSpace>& blas,
                   std::vector<LeafInverse<typename ExecutionSpace::memory_space>> const& leaves);

}  // namespace strata::dense::detail

#endif
