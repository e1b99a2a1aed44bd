// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_STRENGTH_HPP
#define STRATA_SPARSE_DETAIL_STRENGTH_HPP

#include <sparse/coarsening/detail/Strata_Border.hpp>
#include <sparse/formats/detail/Strata_LocalCsr.hpp>

#include <cstdint>

namespace strata::sparse::detail {

/// Strongly coupled rows: of each row the columns of its strong entries, in the matrix' order.
template <class Exec>
struct StrongGraph {
  PooledVector<std::int64_t, Exec> begin;   ///< begin of each row, and the end
  PooledVector<std::int32_t, Exec> column;  ///< column of each strong entry
};

/// The unknown of its node that each row is. Rows of different unknowns are never coupled strongly.
/// Empty: there is one unknown.
template <class Exec>
using Components = PooledVector<std::int32_t, Exec>;

/// The entries of A for which is_strong(i, j, a_ij) holds. Fences. Throws MemoryError.
template <class Exec, class IsStrong>
StrongGraph<Exec> graph_of(Exec const& exec, LocalCsr<Exec> const& A, IsStrong const& is_strong) {
  auto const rows = A.ref();
  StrongGraph<Exec> F;
  F.begin = {exec, "strata::sparse::StrongGraph::begin", A.rows + 1};
  auto const begin = F.begin.view();
  Kokkos::parallel_for(
      "strata::sparse::graph_of::count", RowPolicy<Exec>(exec, 0, A.rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        std::int64_t count = 0;
        rows(i, [&](std::int64_t j, double a) { count += is_strong(i, j, a) ? 1 : 0; });
        begin(i) = count;
      });
  F.column = {exec, "strata::sparse::StrongGraph::column", scan_lengths(exec, begin)};
  auto const column = F.column.view();
  Kokkos::parallel_for(
      "strata::sparse::graph_of::list", RowPolicy<Exec>(exec, 0, A.rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        std::int64_t at = begin(i);
        rows(i, [&](std::int64_t j, double a) {
          if (is_strong(i, j, a)) column(at++) = static_cast<std::int32_t>(j);
        });
      });
  exec.fence("strata::sparse::graph_of");  // what `is_strong` refers to may end here
  return F;
}

/// The size of a number to 12 bits, by its bits: a device would fuse the operations of Veltkamp's
/// splitting.
KOKKOS_INLINE_FUNCTION double rounded_size(double a) {
  constexpr std::uint64_t half = std::uint64_t{1} << 40, rest = 2 * half - 1;
  auto const bits = Kokkos::bit_cast<std::uint64_t>(Kokkos::abs(a));
  return Kokkos::bit_cast<double>((bits + half) & ~rest);
}

/// i and j are coupled strongly if a_ij^2 > strength^2 m_i m_j, m_i the largest |a_ij| off the
/// diagonal of row i. m_i is 0 where all of these together are less than a fifth of the diagonal:
/// smoothing alone reduces the error there.
///
/// Couplings that the bound meets within 2^-15 count as weak: the last bits of a backend decide
/// nothing. A's columns go over the border, and `component` too. Collective; fences.
/// Throws   MemoryError on all ranks.
template <class Exec>
StrongGraph<Exec> strong_graph(Exec const& exec, LocalCsr<Exec> const& A,
                               Components<Exec> const& component, double strength,
                               Border<Exec> const& border = {});

}  // namespace strata::sparse::detail

#endif
