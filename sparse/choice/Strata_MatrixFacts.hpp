// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_MATRIX_FACTS_HPP
#define STRATA_SPARSE_MATRIX_FACTS_HPP

#include <cstdint>
#include <span>
#include <tuple>

namespace strata::sparse {

namespace detail {
struct HostCsr;
}  // namespace detail

/// What of a matrix tells how many iterations it will take.
struct MatrixFacts {
  std::int64_t rows = 0, entries = 0;  ///< numbers on all ranks
  bool symmetric = false;              ///< equal values above and below the diagonal
  bool positive = false;               ///< all of the diagonal is
  std::int64_t zero_diagonal = 0;      ///< rows
  std::int64_t floating_parts = 0;     ///< constants on these are mapped to 0
  int spread_bits = 0;  ///< log2 of a positive diagonal's largest entry over its least
  /// Ranks that share the rows; threads of a host, 0: on a device.
  int ranks = 1, threads = 1;
  int block_size = 1;      ///< unknowns of a node that multigrid is told of
  bool has_modes = false;  ///< multigrid was given a near-null space
  /// Steps from a row at the rim to the farthest one, along the entries; 0: not looked for. A few
  /// rows with a quarter of all columns are left out.
  std::int64_t hops = 0;
  std::int64_t widest = 0;   ///< most rows within one step more, a separator: of a grid n / hops
  std::int64_t padding = 0;  ///< zeros that 32 rows of one width hold
  double dominance = 0;      ///< least of (|a_ii| - sum of the row's others) / |a_ii|
  /// Share of the off-diagonal entries, by size, with the diagonal's sign.
  double positive_share = 0;
  double spread = 1;  ///< mean ratio of a row's largest coupling to its mean one

  double jumps = 0;  ///< jumps of coefficients, in decades: `jumps_of`

  /// Whether all that is known without a look at the rows agrees.
  bool is_like(MatrixFacts const& other) const {
    auto const known = [](MatrixFacts const& facts) {
      return std::tuple(facts.rows, facts.entries, facts.symmetric, facts.positive,
                        facts.zero_diagonal, facts.floating_parts, facts.ranks, facts.threads,
                        facts.block_size, facts.has_modes);
    };
    return known(*this) == known(other);
  }
};

/// Adds what one pass over the rows and two searches through the graph find: hops, widest,
/// padding, dominance, positive_share, spread.
void look_at_rows(detail::HostCsr const& A, MatrixFacts& facts);

/// The jumps of what `scale` makes A of, the numbers that A's unknowns are divided by: twice the
/// decades by which they are off their mean. 0 where A maps constants nearer to 0 as it is: then
/// they are units, and slow no method.
double jumps_of(detail::HostCsr const& A, std::span<double const> scale);

}  // namespace strata::sparse

#endif
