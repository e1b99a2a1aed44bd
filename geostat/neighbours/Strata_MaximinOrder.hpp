// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_MAXIMIN_ORDER_HPP
#define STRATA_MAXIMIN_ORDER_HPP

#include <geostat/Strata_Locations.hpp>

#include <cstdint>
#include <vector>

namespace strata::geostat {

/// An order in which each location is far from all before it: coarse grids come first and are
/// refined.
///
/// Layers of a radius r, each 2^(-1/2) times the one before, take locations with nothing taken
/// within r, in the order of a hash of their position. So each location is at least 2^(-1/2) times
/// as far from those before it as the farthest that was left.
///
/// With more than three coordinates the order is the hash's: neighbours are many there anyway.
///
/// Result   a permutation of 0 ... n-1: position k of the order belongs to location order[k]. It is
///          the same on all backends. Locations nearer than 2^-40 times the extent to one before,
///          copies among them, come last as they are.
/// Sync     fences `exec`.
/// Memory   where `exec` computes 60 n bytes, in space 68 n; on the host 44 n, in space 60 n. Cost:
///          O(n) for each layer, of which there are 2 log2 of the extent by the least distance.
/// Throws   ValueError for more than 2147483647 locations; what `check_locations` throws.
/// Source   Guinness, Technometrics 60 (2018), doi:10.1080/00401706.2018.1437476. Deviation: by
///          layers, where he takes the farthest each time.
template <class ExecutionSpace>
std::vector<std::int64_t> maximin_order(ExecutionSpace const& exec, Locations const& locations);

}  // namespace strata::geostat

#endif
