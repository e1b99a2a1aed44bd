// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_CONDITIONING_BLOCKS_HPP
#define STRATA_CONDITIONING_BLOCKS_HPP

#include <geostat/neighbours/Strata_OrderedNeighbours.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strata::geostat {

/// Sets of locations whose small covariance matrices make up an approximate likelihood. Each
/// location is the response of one block, and is conditioned on the block's members before it.
struct ConditioningBlocks {
  std::vector<std::int64_t> offsets = {0};           ///< where each block's members begin
  std::vector<std::int32_t> members;                 ///< locations, in the order that conditions
  std::vector<std::int64_t> response_offsets = {0};  ///< where each block's responses begin
  /// positions among the block's members, ascending
  std::vector<std::int32_t> responses;

  /// How many blocks there are.
  std::int64_t size() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  /// Members of the largest block.
  std::int64_t largest() const;
  /// Entries of the blocks' lower triangles.
  std::int64_t pairs() const;
};

/// A block for each location: itself, and its neighbours.
///
/// Shape    `neighbours` of the locations in this order, as of `ordered_neighbours`.
/// Sync     fences `exec`.
/// Memory   as of `grouped_blocks`.
/// Throws   ValueError if `order` is no permutation, or neighbours are not before their location in
///          it; ShapeError if the lists are not as many.
template <class ExecutionSpace>
ConditioningBlocks blocks_of_neighbours(ExecutionSpace const& exec, Locations const& locations,
                                        NeighbourLists const& neighbours,
                                        std::span<std::int64_t const> order);

/// Blocks of locations whose neighbours are nearly the same, so that one factor serves them all.
/// Contract as above.
///
/// Two blocks of a and b members become one of c where c^2 <= a^2 + b^2 and c <= `most`, which
/// costs no more. Each response is conditioned on all members before it, its own neighbours among
/// them. So the likelihood is no worse an approximation.
///
/// Windows of 128 locations are joined by themselves: stretches of Hilbert's curve through the
/// locations of ranks 2^k - 1 to 2^(k+1) - 2, which have much the same neighbours. Pairs of nearest
/// neighbours come first.
///
/// Result   the same on all backends.
/// Memory   where `exec` computes 4 m n bytes for m neighbours, 24 n, what is found of some
///          windows, and at most 512 MiB; on the host the result of 16 to 20 n for each tenth
///          member, and 40 n.
/// Cost     about 5 n unions of two sorted lists.
/// Source   Guinness, Technometrics 60 (2018), doi:10.1080/00401706.2018.1437476, section 3.
///          Deviation: by windows, where he looks at all pairs one after the other.
template <class ExecutionSpace>
ConditioningBlocks grouped_blocks(ExecutionSpace const& exec, Locations const& locations,
                                  NeighbourLists const& neighbours,
                                  std::span<std::int64_t const> order, std::int64_t most);

}  // namespace strata::geostat

#endif
