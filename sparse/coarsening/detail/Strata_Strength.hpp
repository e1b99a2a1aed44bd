// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_STRENGTH_HPP
#define STRATA_SPARSE_DETAIL_STRENGTH_HPP

#include <sparse/matrix/detail/Strata_LocalCsr.hpp>

#include <cstdint>

namespace strata::sparse::detail {

/// Strongly coupled rows: of each row the columns of its strong entries, in the matrix' order.
template <class Exec>
struct StrongGraph {
  PooledVector<std::int64_t, Exec> begin;   ///< begin of each row, and the end
  PooledVector<std::int32_t, Exec> column;  ///< column of each strong entry
};

/// The unknown of its node that each row is: rows of two are never coupled strongly. Empty: all are
/// of one.
template <class Exec>
using Components = PooledVector<std::int32_t, Exec>;

/// i and j are coupled strongly if a_ij^2 > strength^2 m_i m_j, m_i the largest |a_ij| off the
/// diagonal of row i. m_i is 0 where all of these together are less than a fifth of the diagonal:
/// smoothing alone reduces the error there.
///
/// Couplings that the bound meets within 2^-15 count as weak: the last bits of a backend decide
/// nothing. Fences.
/// Throws   MemoryError.
template <class Exec>
StrongGraph<Exec> strong_graph(Exec const& exec, LocalCsr<Exec> const& A,
                               Components<Exec> const& component, double strength);

}  // namespace strata::sparse::detail

#endif
