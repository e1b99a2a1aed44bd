// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_PROLONGATOR_HPP
#define STRATA_SPARSE_DETAIL_PROLONGATOR_HPP

#include <sparse/multigrid/detail/Strata_Aggregates.hpp>

namespace strata::sparse::detail {

/// P0 of constants: 1 in the column of a row's aggregate. Fences. Throws MemoryError.
template <class Exec>
LocalCsr<Exec> tentative_prolongator(Exec const& exec, LocalCsr<Exec> const& A,
                                     RowAggregates<Exec> const& aggregates);

/// P = (I - 4/3 D^-1 A_F) P0: A_F has the strong entries of A, the others of a row's component being added to its diagonal; D is
/// A_F's rows' absolute sums. A row whose diagonal would change its sign keeps P0's. Fences. Throws MemoryError.
template <class Exec>
LocalCsr<Exec> smoothed_prolongator(Exec const& exec, LocalCsr<Exec> const& A,
                                    StrongGraph<Exec> const& F, Components<Exec> const& component,
                                    RowAggregates<Exec> const& aggregates);

}  // namespace strata::sparse::detail

#endif
