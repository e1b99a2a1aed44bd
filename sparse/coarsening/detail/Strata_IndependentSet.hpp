// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_INDEPENDENT_SET_HPP
#define STRATA_SPARSE_DETAIL_INDEPENDENT_SET_HPP

#include <sparse/coarsening/detail/Strata_Strength.hpp>

#include <cstdint>

namespace strata::sparse::detail {

/// A number of [0, 2^bits) for each number of [0, 2^bits), of which no two are alike, another for
/// each round.
KOKKOS_INLINE_FUNCTION std::uint32_t mixed(std::uint32_t x, int bits, int round) {
  std::uint32_t const mask = bits < 32 ? (std::uint32_t{1} << bits) - 1 : ~std::uint32_t{0};
  int const half = bits / 2 > 0 ? bits / 2 : 1;
  x = (x + 0x9e3779b9u * static_cast<std::uint32_t>(round + 1)) & mask;
  x = ((x ^ (x >> half)) * 0x85ebca6bu) & mask;
  x = ((x ^ (x >> half)) * 0xc2b2ae35u) & mask;
  return x ^ (x >> half);
}

/// The least `bits` of which `mixed` has a number for each row.
inline int bits_for(std::int64_t rows) {
  int bits = 2;
  while ((std::int64_t{1} << bits) < rows) ++bits;
  return bits;
}

/// root(i) = 1 for the rows of a maximal set of which no two lie within two strong couplings of
/// each other, else 0; rows without one are left out. For a graph that is not symmetric, couplings
/// are followed as their rows have them.
///
/// Result   also for the rows over the border; depends on the graph of all ranks alone: no backend,
///          no number of threads or ranks. Collective; fences once a round, of about log(rows).
/// Throws   MemoryError on all ranks.
/// Source   N. Bell, S. Dalton, L. Olson, Exposing fine-grained parallelism in algebraic multigrid
///          methods, SISC 34(4), 2012, doi:10.1137/110838844, algorithm 5; B. Kelley, S.
///          Rajamanickam, Parallel, portable algorithms for distance-2 maximal independent set and
///          graph coarsening, IPDPS 2022, doi:10.1109/IPDPS53621.2022.00035 (priorities anew in
///          each round).
template <class Exec>
PooledVector<std::int32_t, Exec> independent_set(Exec const& exec, StrongGraph<Exec> const& F,
                                                 Border<Exec> const& border = {});

}  // namespace strata::sparse::detail

#endif
