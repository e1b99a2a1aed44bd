// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_NEIGHBOUR_TREE_HPP
#define STRATA_NEIGHBOUR_TREE_HPP

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <geostat/neighbours/detail/Strata_NearestHeap.hpp>
#include <geostat/neighbours/detail/Strata_PlacesInSpace.hpp>

#include <Kokkos_BitManipulation.hpp>
#include <Kokkos_Core.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace strata::geostat::detail {

/// Boxes around stretches of places along a curve, two by two: a tree in which the nearest are
/// found.
template <class Space, int D>
struct NeighbourTree {
  static constexpr std::int64_t leaf = 16;  ///< places in one
  struct Node {
    Place<D> low, high;
    std::int32_t least;  // rank
  };
  struct Leaves {};

  Kokkos::View<Place<D>*, Space> places;
  Kokkos::View<std::int32_t*, Space> ranks;  ///< positions of the places in an order
  std::int64_t count = 0;                    ///< places
  std::int64_t leaves = 1;                   ///< a power of two
  Kokkos::View<Node*, Space> nodes;          ///< children of k: 2 k + 1 and 2 k + 2

  /// Offers the places whose rank is below the limit, but such as are farther than all it takes.
  template <bool dense>
  KOKKOS_FUNCTION void search(Place<D> const& here, std::int32_t limit,
                              NearestHeap<dense>& nearest) const {
    struct Visit {
      double distance;
      std::int32_t node;
    };
    Visit later[33];  // the farther of each pair, at most one a generation
    int depth = 0;
    Visit now{0, 0};
    for (;;) {
      if (now.distance <= nearest.reach()) {
        std::int64_t const left = 2 * static_cast<std::int64_t>(now.node) + 1;
        if (now.node + 1 >= leaves) {
          see_leaf(now.node + 1 - leaves, here, limit, nearest);
        } else {
          double const a = distance_to(left, here, limit), b = distance_to(left + 1, here, limit);
          auto const second = static_cast<std::int32_t>(a <= b ? 1 : 0);  // the farther one
          auto const from = static_cast<std::int32_t>(left);
          double const farther = Kokkos::max(a, b);
          now = {Kokkos::min(a, b), from + 1 - second};
          later[depth] = {farther, from + second};
          depth += farther <= nearest.reach() ? 1 : 0;
          continue;
        }
      }
      if (depth == 0) return;
      now = later[--depth];
    }
  }

  /// The box of a leaf.
  KOKKOS_FUNCTION void operator()(Leaves, std::int64_t number) const {
    Node node = nowhere();
    std::int64_t const begin = number * leaf, end = Kokkos::min(begin + leaf, count);
    for (std::int64_t i = begin; i < end; ++i) widen(node, {places(i), places(i), ranks(i)});
    nodes(leaves - 1 + number) = node;
  }
  /// The box around two children.
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    Node node = nodes(2 * k + 1);
    widen(node, nodes(2 * k + 2));
    nodes(k) = node;
  }

 private:
  KOKKOS_FUNCTION static Node nowhere() {
    constexpr double far = Kokkos::Experimental::infinity_v<double>;
    Node node;
    for (int d = 0; d < D; ++d) node.low.at[d] = far, node.high.at[d] = -far;
    node.least = Kokkos::Experimental::finite_max_v<std::int32_t>;
    return node;
  }
  KOKKOS_FUNCTION static void widen(Node& node, Node const& other) {
    for (int d = 0; d < D; ++d) {
      node.low.at[d] = Kokkos::min(node.low.at[d], other.low.at[d]);
      node.high.at[d] = Kokkos::max(node.high.at[d], other.high.at[d]);
    }
    node.least = Kokkos::min(node.least, other.least);
  }

  // The square to a box, 0 inside, and infinite where no place is before the limit.
  KOKKOS_FUNCTION double distance_to(std::int64_t k, Place<D> const& here,
                                     std::int32_t limit) const {
    Node const& node = nodes(k);
    double sum = 0;
    for (int d = 0; d < D; ++d) {
      double const below = node.low.at[d] - here.at[d], above = here.at[d] - node.high.at[d];
      sum = vendor::add_square(sum, Kokkos::max(Kokkos::max(below, above), 0.0));
    }
    return node.least < limit ? sum : Kokkos::Experimental::infinity_v<double>;
  }

  template <bool dense>
  KOKKOS_FUNCTION void see_leaf(std::int64_t number, Place<D> const& here, std::int32_t limit,
                                NearestHeap<dense>& nearest) const {
    std::int64_t const begin = number * leaf, rest = count - begin;
    int const size = static_cast<int>(rest < leaf ? rest : leaf);
    double distances[leaf];
    unsigned near = 0;  // bits of those that may be among them: branches on each cost more
    for (int k = 0; k < size; ++k) {
      distances[k] = squared_distance(places(begin + k), here);
      bool const is_near = (distances[k] <= nearest.reach()) & (ranks(begin + k) < limit);
      near |= (is_near ? 1u : 0u) << k;
    }
    for (; near != 0; near &= near - 1) {
      int const k = Kokkos::countr_zero(near);
      nearest.offer(distances[k], ranks(begin + k));
    }
  }
};

/// The tree of places along a curve, with their ranks. Its first `count` are taken.
template <class Exec, int D>
NeighbourTree<typename Exec::memory_space, D> tree_of(
    Exec const& exec, Kokkos::View<Place<D>*, typename Exec::memory_space> const& places,
    Kokkos::View<std::int32_t*, typename Exec::memory_space> const& ranks, std::int64_t count) {
  using Tree = NeighbourTree<typename Exec::memory_space, D>;
  Tree tree{places, ranks, count};
  auto const leaves = static_cast<std::uint64_t>((count + Tree::leaf - 1) / Tree::leaf);
  tree.leaves = static_cast<std::int64_t>(std::bit_ceil(leaves));
  tree.nodes =
      allocate<decltype(tree.nodes)>(exec, "strata::geostat::vecchia::tree", 2 * tree.leaves - 1);
  Kokkos::parallel_for("strata::geostat::vecchia::leaves",
                       Kokkos::RangePolicy<Exec, typename Tree::Leaves>(exec, 0, tree.leaves),
                       tree);
  for (std::int64_t size = tree.leaves / 2; size > 0; size /= 2)
    Kokkos::parallel_for("strata::geostat::vecchia::boxes",
                         Kokkos::RangePolicy<Exec>(exec, size - 1, 2 * size - 1), tree);
  return tree;
}

}  // namespace strata::geostat::detail

#endif
