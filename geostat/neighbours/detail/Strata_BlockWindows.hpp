// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_BLOCK_WINDOWS_HPP
#define STRATA_BLOCK_WINDOWS_HPP

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::geostat::detail {

/// Blocks of conditioning within windows, stretches of a sequence of ranks: a window at a time,
/// whose blocks become fewer by joining two and two.
///
/// Where lists are scratch, entries are [window, block, k], so that the windows' entries lie side
/// by side on a device.
template <class Exec>
struct BlockWindows {
  using Space = typename Exec::memory_space;
  using Numbers = Kokkos::View<std::int32_t*, Space>;
  using Offsets = Kokkos::View<std::int64_t*, Space>;
  static constexpr int width = 128;  ///< ranks of a window
  static constexpr int digits = 40;  ///< binary, for members in one word with blocks
  static constexpr std::int64_t most_windows = 1 << 15;  ///< at a time
  static_assert(most_windows * width < std::int64_t{1} << (63 - digits), "blocks fit their digits");
  struct Join {};
  struct Check {};
  struct Count {};
  struct Write {};

  Numbers order, rank;      ///< location of each rank, rank of each location
  Numbers sequence, place;  ///< rank of each place in the sequence, place of each rank
  Offsets offsets;          ///< where each location's neighbours begin
  Numbers neighbours;       ///< locations, the nearest first
  std::int64_t most;        ///< members that a joined block may have
  std::int64_t first;       ///< window that the scratch begins with
  Kokkos::View<std::int32_t***, Space> members;  ///< ascending ranks, by window and block
  Kokkos::View<std::int32_t**, Space> joined;    ///< room for the members of two blocks
  /// The block of each place in a window. A block has the number of one of its places.
  Kokkos::View<std::int32_t**, Space> block;
  Kokkos::View<std::int32_t**, Space> size;  ///< members of the block with that number; 0: no block
  Offsets blocks, entries;  ///< blocks and members of each window, then of all before it
  Offsets block_offsets, response_offsets;
  Numbers block_members, responses;

  /// Bytes of a window's scratch, its blocks of at most `depth` members.
  static std::int64_t scratch_bytes(std::int64_t depth) {
    return 4 * ((depth + 2) * width + depth + 4);
  }
  /// Room for so many windows, of blocks of at most `depth` members.
  void allocate_scratch(Exec const& exec, std::int64_t count, std::int64_t depth) {
    members = allocate<decltype(members)>(exec, "strata::geostat::vecchia::window_members", count,
                                          width, depth);
    joined = allocate<decltype(joined)>(exec, "strata::geostat::vecchia::joined", count, depth);
    block = allocate<decltype(block)>(exec, "strata::geostat::vecchia::block", count, width);
    size = allocate<decltype(size)>(exec, "strata::geostat::vecchia::size", count, width);
    blocks = allocate<Offsets>(exec, "strata::geostat::vecchia::blocks", count);
    entries = allocate<Offsets>(exec, "strata::geostat::vecchia::entries", count);
  }

  /// Each place with its neighbours, then joined by Guinness' rule, the pairs of nearest neighbours
  /// first. Where neighbours are not before their place, `blocks` is minus their number.
  KOKKOS_FUNCTION void operator()(Join, std::int64_t window) const {
    int const places = count_of(window);
    int longest = 0;
    std::int64_t wrong = 0;
    for (int t = 0; t < places; ++t) longest = Kokkos::max(longest, begin_block(window, t, wrong));
    blocks(window) = -wrong;
    if (wrong > 0) return;
    for (int l = 0; most > 0 && l < longest; ++l)
      for (int t = 0; t < places; ++t) {
        std::int64_t const location = location_of(window, t), from = offsets(location) + l;
        if (from >= offsets(location + 1)) continue;
        std::int64_t const other = place(rank(neighbours(from))) - (first + window) * width;
        if (other >= 0 && other < places)
          join_if_cheap(window, block(window, t), block(window, static_cast<int>(other)));
      }
    std::int64_t count = 0, sum = 0;
    for (int t = 0; t < places; ++t) {
      count += size(window, t) > 0 ? 1 : 0;
      sum += size(window, t);
    }
    blocks(window) = count;
    entries(window) = sum;
  }

  /// Neighbours that are not before their place.
  KOKKOS_FUNCTION void operator()(Check, std::int64_t window, std::int64_t& wrong) const {
    wrong += blocks(window) < 0 ? -blocks(window) : 0;
  }

  /// From numbers of blocks and members to those before each window.
  KOKKOS_FUNCTION void operator()(Count, std::int64_t window, std::int64_t& before,
                                  bool is_last) const {
    std::int64_t const packed = blocks(window) << digits | entries(window);
    if (is_last) {
      blocks(window) = before >> digits;
      entries(window) = before & ((std::int64_t{1} << digits) - 1);
    }
    before += packed;
  }

  /// A window's blocks, behind all before. Offsets are where blocks end.
  KOKKOS_FUNCTION void operator()(Write, std::int64_t window) const {
    std::int64_t number = blocks(window), entry = entries(window), response = window * width;
    int const places = count_of(window);
    for (int t = 0; t < places; ++t) {
      if (size(window, t) == 0) continue;
      for (int k = 0; k < size(window, t); ++k) {
        std::int32_t const its = members(window, t, k);
        block_members(entry + k) = order(its);
        std::int64_t const other = place(its) - (first + window) * width;
        if (other >= 0 && other < places && block(window, static_cast<int>(other)) == t)
          responses(response++) = k;
      }
      entry += size(window, t);
      block_offsets(number) = entry;
      response_offsets(number) = response;
      ++number;
    }
  }

  /// Places of a window.
  KOKKOS_FUNCTION int count_of(std::int64_t window) const {
    auto const n = static_cast<std::int64_t>(sequence.extent(0));
    return static_cast<int>(Kokkos::min<std::int64_t>(width, n - (first + window) * width));
  }

 private:
  // Ascending numbers, 1 apart on hosts.
  struct List {
    std::int32_t* data;
    std::int64_t stride;
    KOKKOS_FUNCTION std::int32_t& operator[](int k) const {
      return data[runs_on_host<Exec> ? k : k * stride];
    }
  };

  KOKKOS_FUNCTION List list_of(std::int64_t window, int number) const {
    return {&members(window, number, 0), static_cast<std::int64_t>(members.stride(2))};
  }
  KOKKOS_FUNCTION std::int64_t location_of(std::int64_t window, int t) const {
    return order(sequence((first + window) * width + t));
  }

  // The block of one place, and how many neighbours that has; counts those not before it.
  KOKKOS_FUNCTION int begin_block(std::int64_t window, int t, std::int64_t& wrong) const {
    std::int64_t const location = location_of(window, t), from = offsets(location);
    auto const count = static_cast<int>(offsets(location + 1) - from);
    List const list = list_of(window, t);
    std::int32_t const own = rank(location);
    for (int k = 0; k < count; ++k) {
      std::int64_t const other = neighbours(from + k);
      bool const is_inside = other >= 0 && other < static_cast<std::int64_t>(rank.extent(0));
      list[k] = is_inside ? rank(other) : own;
      wrong += list[k] < own ? 0 : 1;
    }
    list[count] = own;
    sort(list, count);
    block(window, t) = t;
    size(window, t) = count + 1;
    return count;
  }

  // Shell's, with the gaps of Ciura.
  KOKKOS_FUNCTION static void sort(List const& list, int n) {
    constexpr int gaps[] = {701, 301, 132, 57, 23, 10, 4, 1};
    for (int g = 0; g < 8; ++g)
      for (int i = gaps[g]; i < n; ++i) {
        std::int32_t const value = list[i];
        int k = i;
        for (; k >= gaps[g] && list[k - gaps[g]] > value; k -= gaps[g]) list[k] = list[k - gaps[g]];
        list[k] = value;
      }
  }

  // How many members two blocks have together, which may be found to be above `limit` early.
  KOKKOS_FUNCTION static int size_of_both(List const& a, int na, List const& b, int nb, int limit) {
    int i = 0, j = 0, sum = 0;
    // Of a and b together at least so many are missing yet as the longer rest has.
    while (i < na && j < nb && sum + Kokkos::max(na - i, nb - j) <= limit) {
      std::int32_t const x = a[i], y = b[j];
      i += x <= y ? 1 : 0;
      j += y <= x ? 1 : 0;
      ++sum;
    }
    return sum + (na - i) + (nb - j);
  }

  KOKKOS_FUNCTION void join_if_cheap(std::int64_t window, int a, int b) const {
    if (a == b) return;
    if (b < a) Kokkos::kokkos_swap(a, b);
    std::int64_t const na = size(window, a), nb = size(window, b),
                       limit = Kokkos::min(most * most, na * na + nb * nb);
    List const to = list_of(window, a), from = list_of(window, b);
    // The largest size whose square is within the limit.
    auto largest = static_cast<std::int64_t>(Kokkos::sqrt(static_cast<double>(limit)));
    while (largest * largest > limit) --largest;
    int const both = size_of_both(to, static_cast<int>(na), from, static_cast<int>(nb),
                                  static_cast<int>(largest));
    if (both > largest) return;
    List const room{&joined(window, 0), static_cast<std::int64_t>(joined.stride(1))};
    for (int i = 0, j = 0, k = 0; k < both; ++k) {
      bool const is_first = j >= nb || (i < na && to[i] <= from[j]),
                 is_second = i >= na || (j < nb && from[j] <= to[i]);
      room[k] = is_first ? to[i] : from[j];
      i += is_first ? 1 : 0;
      j += is_second ? 1 : 0;
    }
    for (int k = 0; k < both; ++k) to[k] = room[k];
    size(window, a) = both;
    size(window, b) = 0;
    int const places = count_of(window);
    for (int t = 0; t < places; ++t)
      if (block(window, t) == b) block(window, t) = a;
  }
};

}  // namespace strata::geostat::detail

#endif
