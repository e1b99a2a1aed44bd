// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_ORDERED_NEIGHBOURS_HPP
#define STRATA_ORDERED_NEIGHBOURS_HPP

#include <geostat/Strata_Locations.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strata::geostat {

/// Some other locations for each location: from `offsets[i]` to `offsets[i + 1]` for location i,
/// the nearest first.
struct NeighbourLists {
  std::vector<std::int64_t> offsets = {0};  ///< one more than locations
  std::vector<std::int32_t> members;        ///< locations

  /// Those of location i.
  std::span<std::int32_t const> of(std::int64_t i) const {
    auto const k = static_cast<std::size_t>(i);
    return {members.data() + offsets[k], members.data() + offsets[k + 1]};
  }
};

namespace detail {

/// Boxes around stretches of Hilbert's curve, two by two: a tree in which the nearest places are
/// found. Places of D coordinates, 3 or 8, are given along the curve.
template <std::size_t D>
class NeighbourTree {
 public:
  /// `rank` is the position of each place in an order.
  NeighbourTree(std::vector<std::array<double, D>> places, std::vector<std::int32_t> rank);

  /// The m places nearest to `here` whose rank is below `limit`, the nearest first; of two as far
  /// the one of less rank. `found` has room for them.
  void nearest(std::array<double, D> const& here, std::int32_t limit, std::size_t m,
               std::vector<std::int32_t>& found) const;

 private:
  using Place = std::array<double, D>;
  struct Node {
    Place low, high;
    std::int32_t least;  // rank
  };
  struct Candidate {
    double distance;
    std::int32_t rank, place;
    bool operator<(Candidate const& other) const {
      return distance < other.distance || (distance == other.distance && rank < other.rank);
    }
  };
  static constexpr std::size_t leaf = 8;

  void see_leaf(std::size_t number, Place const& here, std::int32_t limit, std::size_t m,
                std::vector<Candidate>& heap) const;

  std::vector<Place> places_;
  std::vector<std::int32_t> rank_;
  std::size_t leaves_;       // a power of two
  std::vector<Node> nodes_;  // children of k: 2 k + 1 and 2 k + 2
};

}  // namespace detail

/// The m nearest of the locations that come before each in an order, by the metric's distance, or
/// all where there are fewer.
///
/// Shape    `order` a permutation of the locations, as of `maximin_order`.
/// Result   of those as far as each other the ones earlier in the order.
/// Memory   4 m n bytes, the result, and 200 n. Cost: O(n (m + log n)) for locations that are
///          spread out, by all threads of the host.
/// Throws   ValueError if m < 0, or `order` is no permutation; what `check_locations` throws.
///          `nearest_neighbours` also if the locations differ in metric or coordinates.
NeighbourLists ordered_neighbours(Locations const& locations, std::span<std::int64_t const> order,
                                  std::int64_t m);

/// The m nearest of the locations to each of others, or all where there are fewer. Contract as
/// above.
NeighbourLists nearest_neighbours(Locations const& locations, Locations const& of, std::int64_t m);

}  // namespace strata::geostat

#endif
