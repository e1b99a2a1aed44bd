// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_AGGREGATES_HPP
#define STRATA_SPARSE_DETAIL_AGGREGATES_HPP

#include <sparse/coarsening/detail/Strata_Strength.hpp>

#include <cstdint>
#include <vector>

namespace strata::sparse::detail {

/// Which rows make a coarse row together, numbered in the order of their roots.
template <class Exec>
struct RowAggregates {
  std::int64_t count = 0;               ///< aggregates of this rank
  PooledVector<std::int32_t, Exec> of;  ///< each row's, over the border too; -1: none
  Components<Exec> component;           ///< components of the aggregates; empty where the rows' are
  /// Aggregates of other ranks are numbered with this rank's in the order of the whole matrix:
  /// numbers of all, and of the first of this rank.
  std::int64_t numbers = 0, first = 0;
  /// The number of each in the whole matrix; empty of one rank.
  std::vector<std::int64_t> whole;
};

/// Rows that are numbered on each rank, -1 elsewhere, become aggregates of all ranks. Collective;
/// fences. Throws ShapeError for 2^31 aggregates, MemoryError, on all ranks.
template <class Exec>
void number_everywhere(Exec const& exec, Border<Exec> const& border, std::int64_t rows,
                       RowAggregates<Exec> const& result);
/// Then, of aggregates with numbers in the whole matrix, numbers of those that this rank knows.
template <class Exec>
void number_locally(Exec const& exec, Border<Exec> const& border, RowAggregates<Exec>& result);

/// The roots of an `independent_set` with their strong neighbours; Then each of the other rows goes
/// to the aggregate around it to which it is coupled most. Among equals, whose sizes differ by less
/// than 2^-12, it goes to the first. Rows without a strong coupling have none. An aggregate is of
/// its root's rank; its rows may be of others. Collective; fences.
///
/// Throws   MemoryError on all ranks.
template <class Exec>
RowAggregates<Exec> aggregates_of(Exec const& exec, LocalCsr<Exec> const& A,
                                  StrongGraph<Exec> const& F, Components<Exec> const& component,
                                  Border<Exec> const& border = {});

}  // namespace strata::sparse::detail

#endif
