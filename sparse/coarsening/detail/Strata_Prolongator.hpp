// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_PROLONGATOR_HPP
#define STRATA_SPARSE_DETAIL_PROLONGATOR_HPP

#include <sparse/coarsening/detail/Strata_Aggregates.hpp>
#include <sparse/coarsening/detail/Strata_Modes.hpp>

namespace strata::sparse::detail {

/// P0 of constants: 1 in the column of a row's aggregate. Fences. Throws MemoryError.
template <class Exec>
LocalCsr<Exec> tentative_prolongator(Exec const& exec, LocalCsr<Exec> const& A,
                                     RowAggregates<Exec> const& aggregates);

/// P = (I - 4/3 D^-1 A_F) P0: A_F has the strong entries of A, the others of a row's component
/// being added to its diagonal; D is A_F's rows' absolute sums. A row whose diagonal would change
/// its sign keeps P0's. Fences. Throws MemoryError.
template <class Exec>
LocalCsr<Exec> smoothed_prolongator(Exec const& exec, LocalCsr<Exec> const& A,
                                    StrongGraph<Exec> const& F, Components<Exec> const& component,
                                    RowAggregates<Exec> const& aggregates);

/// Its values anew, in its pattern. Fences. Throws MemoryError.
template <class Exec>
void refill_smoothed(Exec const& exec, LocalCsr<Exec> const& A, StrongGraph<Exec> const& F,
                     Components<Exec> const& component, RowAggregates<Exec> const& aggregates,
                     LocalCsr<Exec> const& P);

/// P0 of modes, in blocks. Fences. Throws MemoryError.
template <class Exec>
BlockCsr<Exec> tentative_prolongator(Exec const& exec, BlockCsr<Exec> const& A,
                                     RowAggregates<Exec> const& aggregates, Modes<Exec> const& P0);

/// P = (I - w D^-1 A_F) P0 by blocks. A_F has the strong blocks of A; the others are taken as if
/// their nodes were in the row's own aggregate. So P, as P0, leaves the modes as they are where A
/// maps them to 0. D is A's diagonal and w = 4/3 / `largest`, an eigenvalue of D^-1 A. Where
/// `largest` is 0, D has A's rows' absolute sums, and w = 4/3. Fences. Throws MemoryError.
template <class Exec>
BlockCsr<Exec> smoothed_prolongator(Exec const& exec, BlockCsr<Exec> const& A,
                                    StrongGraph<Exec> const& F,
                                    RowAggregates<Exec> const& aggregates, Modes<Exec> const& modes,
                                    Tentative<Exec> const& tentative, double largest);
/// P0 of other modes in the pattern of the first. Enqueued.
template <class Exec>
void fill_tentative(Exec const& exec, BlockCsr<Exec> const& P, Modes<Exec> const& P0);
/// Its values in its pattern. Enqueued.
template <class Exec>
void fill_smoothed(Exec const& exec, BlockCsr<Exec> const& A, StrongGraph<Exec> const& F,
                   RowAggregates<Exec> const& aggregates, Modes<Exec> const& modes,
                   Tentative<Exec> const& tentative, double largest, BlockCsr<Exec> const& P);

}  // namespace strata::sparse::detail

#endif
