// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_AGGREGATES_HPP
#define STRATA_SPARSE_DETAIL_AGGREGATES_HPP

#include <sparse/coarsening/detail/Strata_Strength.hpp>

#include <cstdint>

namespace strata::sparse::detail {

/// Which rows make a coarse row together, numbered in the order of their roots.
template <class Exec>
struct RowAggregates {
  std::int64_t count = 0;
  PooledVector<std::int32_t, Exec> of;  ///< each row's, -1: none
  Components<Exec> component;           ///< components of the aggregates; empty where the rows' are
};

/// The roots of an `independent_set` with their strong neighbours; Then each of the other rows goes
/// to the aggregate around it to which it is coupled most. Among equals, whose sizes differ by less
/// than 2^-12, it goes to the first. Rows without a strong coupling have none. Fences.
///
/// Throws   MemoryError.
template <class Exec>
RowAggregates<Exec> aggregates_of(Exec const& exec, LocalCsr<Exec> const& A,
                                  StrongGraph<Exec> const& F, Components<Exec> const& component);

}  // namespace strata::sparse::detail

#endif
