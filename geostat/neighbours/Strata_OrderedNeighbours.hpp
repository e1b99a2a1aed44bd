// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_ORDERED_NEIGHBOURS_HPP
#define STRATA_ORDERED_NEIGHBOURS_HPP

#include <geostat/Strata_Locations.hpp>

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

/// The m nearest of the locations that come before each in an order, by the metric's distance, or
/// all where there are fewer.
///
/// The first half of the order has a tree of its own, its first half too, and so on, so that a
/// location looks at few that come after it.
///
/// Shape    `order` a permutation of the locations, as of `maximin_order`.
/// Result   of those as far as each other the ones earlier in the order. The same on all backends.
/// Sync     fences `exec`.
/// Memory   4 m n bytes on the host, the result, and there 60 n in the plane, up to 156 n with more
///          coordinates. Where `exec` computes 4 m n, 80 n in the plane, up to 300 n with more
///          coordinates, and at most 256 MiB.
/// Cost     O(n (m + log n)) for locations that are spread out.
/// Throws   ValueError if m < 0, or `order` is no permutation; what `check_locations` throws.
///          `nearest_neighbours` also if the locations differ in metric or coordinates.
template <class ExecutionSpace>
NeighbourLists ordered_neighbours(ExecutionSpace const& exec, Locations const& locations,
                                  std::span<std::int64_t const> order, std::int64_t m);

/// The m nearest of the locations to each of others, or all where there are fewer. Contract as
/// above.
template <class ExecutionSpace>
NeighbourLists nearest_neighbours(ExecutionSpace const& exec, Locations const& locations,
                                  Locations const& of, std::int64_t m);

namespace detail {

/// The position of each location in an order.
///
/// Throws   ValueError with the function's name if it is no permutation of n locations.
std::vector<std::int32_t> ranks_of(char const* function, std::span<std::int64_t const> order,
                                   std::int64_t n);

}  // namespace detail

}  // namespace strata::geostat

#endif
