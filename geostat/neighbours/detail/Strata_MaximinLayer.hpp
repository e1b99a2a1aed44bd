// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_MAXIMIN_LAYER_HPP
#define STRATA_MAXIMIN_LAYER_HPP

#include <geostat/neighbours/detail/Strata_PlacesInSpace.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::geostat::detail {

/// One layer of a maximin order: the places, in the order of a hash, that have nothing taken
/// within a radius, as if they were seen one after the other.
///
/// They are seen in batches, each as large as all before it. In a batch those that none of before
/// covers ask; the first of them within the radius is taken, and another one waits until it knows
/// about those before it. In a random order few are near each other in one batch, wherever the
/// places are.
///
/// Source   Blelloch, Fineman & Shun, Greedy sequential maximal independent set and matching are
///          parallel on average, SPAA 2012, doi:10.1145/2312005.2312058.
template <class Space, int D>
struct MaximinLayer {
  enum State : std::int32_t { Left, Asks, Taken };
  static constexpr int bits_of_each = D == 2 ? 2 : 1, bits_of_cells = D * bits_of_each;
  struct Insert {};
  struct Ask {};
  struct Enter {};
  struct Decide {};
  struct Split {};

  /// A place, and the next one in a list.
  struct Entry {
    Place<D> place;
    std::int32_t next, state;
  };

  Kokkos::View<Entry*, Space> entries;
  Kokkos::View<double*, Space> covered;  ///< squared distance to one that is taken, or infinite
  /// Lists of the places in cells that are as wide as the radius, 4 x 4 or 2 x 2 x 2 cells side by
  /// side. Cells share a list by chance: only distances count.
  Kokkos::View<std::int32_t*, Space> heads;
  Kokkos::View<std::int32_t*, Space> order, left, still_left;  ///< taken, and others
  std::int64_t taken = 0, count = 0;                           ///< how many of both
  int shift = 0;  ///< takes a hash to the first list of some cells
  double squared_radius = 0, cells_by_length = 0;

  KOKKOS_FUNCTION void operator()(Insert, std::int64_t k) const { insert(order(k)); }

  KOKKOS_FUNCTION void operator()(Ask, std::int64_t k) const {
    std::int32_t const here = left(k);
    if (covered(here) < squared_radius) return;
    double const distance = nearest_taken(here);
    covered(here) = distance;
    if (distance >= squared_radius) entries(here).state = Asks;
  }

  KOKKOS_FUNCTION void operator()(Enter, std::int64_t k) const {
    if (entries(left(k)).state == Asks) insert(left(k));
  }

  /// Counts those that wait.
  KOKKOS_FUNCTION void operator()(Decide, std::int64_t k, std::int64_t& waiting) const {
    std::int32_t const here = left(k);
    if (Kokkos::atomic_load(&entries(here).state) != Asks) return;
    bool waits = false;
    double distance = squared_radius;
    for_each_near(here, [&](std::int32_t other) {
      if (other >= here) return true;
      std::int32_t const its = Kokkos::atomic_load(&entries(other).state);
      if (its == Left) return true;
      double const to_it = squared_distance(entries(here).place, entries(other).place);
      if (to_it >= squared_radius) return true;
      if (its == Taken) distance = to_it;
      waits = true;
      return its != Taken;
    });
    if (distance < squared_radius) {
      covered(here) = distance;
      Kokkos::atomic_store(&entries(here).state, static_cast<std::int32_t>(Left));
    } else if (waits) {
      ++waiting;
    } else {
      Kokkos::atomic_store(&entries(here).state, static_cast<std::int32_t>(Taken));
    }
  }

  /// Those that were taken come to the order's end.
  KOKKOS_FUNCTION void operator()(Split, std::int64_t k, std::int64_t& before, bool is_last) const {
    std::int32_t const here = left(k);
    bool const is_taken = entries(here).state == Taken;
    if (is_last) {
      if (is_taken)
        order(taken + before) = here;
      else
        still_left(k - before) = here;
    }
    if (is_taken) ++before;
  }

 private:
  struct Cell {
    std::int64_t at[D];
  };

  KOKKOS_FUNCTION Cell cell_of(std::int32_t place) const {
    Cell cell;
    for (int d = 0; d < D; ++d)
      cell.at[d] = static_cast<std::int64_t>(entries(place).place.at[d] * cells_by_length);
    return cell;
  }
  KOKKOS_FUNCTION std::int64_t list_of(Cell const& cell) const {
    constexpr std::uint64_t odd[3] = {0x9e3779b97f4a7c15ull, 0xc2b2ae3d27d4eb4full,
                                      0x165667b19e3779f9ull};
    std::uint64_t hash = 0;
    std::int64_t within = 0;
    for (int d = 0; d < D; ++d) {
      hash += odd[d] * static_cast<std::uint64_t>(cell.at[d] >> bits_of_each);
      within = within << bits_of_each | (cell.at[d] & ((1 << bits_of_each) - 1));
    }
    hash = (hash ^ hash >> 32) * odd[0];
    return static_cast<std::int64_t>(hash >> shift) << bits_of_cells | within;
  }

  KOKKOS_FUNCTION void insert(std::int32_t place) const {
    entries(place).next = Kokkos::atomic_exchange(&heads(list_of(cell_of(place))), place);
  }

  // f of each in the cells around, as long as it is true.
  template <class Function>
  KOKKOS_FUNCTION void for_each_near(std::int32_t here, Function const& f) const {
    constexpr int cells = D == 2 ? 9 : 27;
    Cell const centre = cell_of(here);
    for (int c = 0; c < cells; ++c) {
      Cell cell = centre;
      for (int d = 0, rest = c; d < D; ++d, rest /= 3) cell.at[d] += rest % 3 - 1;
      for (auto other = heads(list_of(cell)); other >= 0; other = entries(other).next)
        if (!f(other)) return;
    }
  }

  // The least squared distance to one that is taken in the cells around, or the first that is
  // within the radius.
  KOKKOS_FUNCTION double nearest_taken(std::int32_t here) const {
    double least = Kokkos::Experimental::infinity_v<double>;
    for_each_near(here, [&](std::int32_t other) {
      double const distance = squared_distance(entries(here).place, entries(other).place);
      if (distance < least && entries(other).state == Taken) least = distance;
      return least >= squared_radius;
    });
    return least;
  }
};

}  // namespace strata::geostat::detail

#endif
