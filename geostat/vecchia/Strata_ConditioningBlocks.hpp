// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_CONDITIONING_BLOCKS_HPP
#define STRATA_CONDITIONING_BLOCKS_HPP

#include <geostat/vecchia/Strata_OrderedNeighbours.hpp>

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
ConditioningBlocks blocks_of_neighbours(NeighbourLists const& neighbours,
                                        std::span<std::int64_t const> order);

/// Blocks of locations whose neighbours are nearly the same, so that one factor serves them all.
///
/// Two blocks of a and b members become one of c where c^2 <= a^2 + b^2 and c <= `most`, which
/// costs no more. Each response is conditioned on all members before it, its own neighbours among
/// them. So the likelihood is no worse an approximation.
///
/// Cost     m n unions of two sorted lists for m neighbours.
/// Source   Guinness, Technometrics 60 (2018), doi:10.1080/00401706.2018.1437476, section 3.
ConditioningBlocks grouped_blocks(NeighbourLists const& neighbours,
                                  std::span<std::int64_t const> order, std::int64_t most);

}  // namespace strata::geostat

#endif
