// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_COARSENING_HPP
#define STRATA_SPARSE_DETAIL_COARSENING_HPP

#include <sparse/matrix/Strata_DistributedMatrix.hpp>
#include <sparse/matrix/detail/Strata_HashProduct.hpp>
#include <sparse/multigrid/detail/Strata_Aggregates.hpp>

#include <optional>

namespace strata::sparse::detail {

/// A level of smoothed aggregation on one rank, in natural order.
template <class Exec>
struct WholeLevel {
  LocalCsr<Exec> A;
  Components<Exec> component;  ///< of its rows
};

/// What a level leads to.
template <class Exec>
struct Coarsening {
  LocalCsr<Exec> P;
  TransposedIndex<Exec> R;  ///< P'
  WholeLevel<Exec> coarse;  ///< R A P
};

/// The finest level: A of one rank, with `block_size` unknowns a node. Fences. Throws MemoryError.
template <class Exec>
WholeLevel<Exec> finest_level(Exec const& exec, DistributedMatrix<Exec> const& A, int block_size);

/// Everything on the execution space: nothing but counts comes back. None where there would be more than `most_rows` rows or no row.
/// Where R A P has more entries than A, as in graphs without geometry, P is not smoothed. Fences. Throws MemoryError.
template <class Exec>
std::optional<Coarsening<Exec>> coarsened(Exec const& exec, WholeLevel<Exec> const& level,
                                          double strength, double most_rows);

}  // namespace strata::sparse::detail

#endif
