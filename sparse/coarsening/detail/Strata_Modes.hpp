// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_MODES_HPP
#define STRATA_SPARSE_DETAIL_MODES_HPP

#include <sparse/coarsening/Strata_NearNullSpace.hpp>
#include <sparse/coarsening/detail/Strata_Aggregates.hpp>
#include <sparse/coarsening/detail/Strata_BlockCsr.hpp>

namespace strata::sparse::detail {

/// A level's near-null space: `width` vectors, of each row one number after the other.
template <class Exec>
struct Modes {
  int width = 0;
  PooledVector<double, Exec> value;  ///< rows x width
};

/// The given vectors; 0 in rows that their diagonal dominates, as those of unknowns with a given
/// value are. `scale`, of each row, divides them; empty: 1. Fences. Throws MemoryError.
template <class Exec>
Modes<Exec> modes_of(Exec const& exec, BlockCsr<Exec> const& A, NearNullSpace const& given,
                     Vector<double, typename Exec::memory_space> const& scale);

/// P0 and the coarse modes: modes = P0 coarse.
template <class Exec>
struct Tentative {
  Modes<Exec> P0;       ///< numbers of each row in the columns of its aggregate
  Modes<Exec> coarse;   ///< width x width for each aggregate of this rank
  Modes<Exec> reached;  ///< the same of all that the rank knows
  PooledVector<double, Exec>
      is_dead;  ///< 1 for each coarse unknown that nothing has part in, else 0
};

/// Columns of P0 are orthonormal: within each aggregate by Gram-Schmidt's method, twice. A mode of
/// which less than 1e-8 is left without those before it leads to a dead unknown. `modes` has the
/// rows over the border too, and so has P0. Collective; fences. Throws MemoryError on all ranks.
template <class Exec>
Tentative<Exec> tentative_of(Exec const& exec, int block_size,
                             RowAggregates<Exec> const& aggregates, Modes<Exec> const& modes,
                             Border<Exec> const& border = {});

}  // namespace strata::sparse::detail

#endif
