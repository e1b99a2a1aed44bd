// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/vecchia/Strata_OrderedNeighbours.hpp>

#include <core/Strata_Errors.hpp>
#include <geostat/vecchia/Strata_MaximinOrder.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

namespace strata::geostat {

namespace detail {

namespace {

// 0 inside.
template <std::size_t D>
double squared_distance_to_box(std::array<double, D> const& here, std::array<double, D> const& low,
                               std::array<double, D> const& high) {
  double sum = 0;
  for (std::size_t d = 0; d < D; ++d) {
    double const beyond = std::max({low[d] - here[d], here[d] - high[d], 0.0});
    sum += beyond * beyond;
  }
  return sum;
}

}  // namespace

template <std::size_t D>
NeighbourTree<D>::NeighbourTree(std::vector<Place> places, std::vector<std::int32_t> rank)
    : places_(std::move(places)),
      rank_(std::move(rank)),
      leaves_(std::bit_ceil((places_.size() + leaf - 1) / leaf)),
      nodes_(2 * leaves_ - 1) {
  constexpr double far = std::numeric_limits<double>::infinity();
  for (std::size_t k = nodes_.size(); k-- > 0;) {
    Node& node = nodes_[k];
    node.low.fill(far), node.high.fill(-far);
    node.least = std::numeric_limits<std::int32_t>::max();
    auto const widen = [&node](Place const& low, Place const& high, std::int32_t least) {
      for (std::size_t d = 0; d < D; ++d) {
        node.low[d] = std::min(node.low[d], low[d]);
        node.high[d] = std::max(node.high[d], high[d]);
      }
      node.least = std::min(node.least, least);
    };
    if (k + 1 >= leaves_) {
      std::size_t const begin = (k + 1 - leaves_) * leaf,
                        end = std::min(begin + leaf, places_.size());
      for (std::size_t i = begin; i < end; ++i) widen(places_[i], places_[i], rank_[i]);
    } else {
      for (std::size_t const child : {2 * k + 1, 2 * k + 2})
        widen(nodes_[child].low, nodes_[child].high, nodes_[child].least);
    }
  }
}

template <std::size_t D>
void NeighbourTree<D>::see_leaf(std::size_t number, Place const& here, std::int32_t limit,
                                std::size_t m, std::vector<Candidate>& heap) const {
  std::size_t const begin = number * leaf, end = std::min(begin + leaf, places_.size());
  for (std::size_t i = begin; i < end; ++i) {
    if (rank_[i] >= limit) continue;
    double distance = 0;
    for (std::size_t d = 0; d < D; ++d)
      distance += (places_[i][d] - here[d]) * (places_[i][d] - here[d]);
    Candidate const candidate{distance, rank_[i], static_cast<std::int32_t>(i)};
    if (heap.size() == m) {
      if (!(candidate < heap.front())) continue;
      std::ranges::pop_heap(heap, std::less{});
      heap.pop_back();
    }
    heap.push_back(candidate);
    std::ranges::push_heap(heap, std::less{});
  }
}

template <std::size_t D>
void NeighbourTree<D>::nearest(Place const& here, std::int32_t limit, std::size_t m,
                               std::vector<std::int32_t>& found) const {
  found.clear();
  if (m == 0 || places_.empty()) return;
  std::vector<Candidate> heap;
  heap.reserve(m + 1);
  struct Visit {
    std::size_t node;
    double distance;
  };
  std::array<Visit, 2 * 64> stack;
  std::size_t depth = 0;
  stack[depth++] = {0, 0};
  while (depth > 0) {
    auto const [k, distance] = stack[--depth];
    if (heap.size() == m && distance > heap.front().distance) continue;
    if (k + 1 >= leaves_) {
      see_leaf(k + 1 - leaves_, here, limit, m, heap);
      continue;
    }
    Visit left{2 * k + 1, 0}, right{2 * k + 2, 0};
    for (auto* const child : {&left, &right})
      child->distance =
          nodes_[child->node].least < limit
              ? squared_distance_to_box(here, nodes_[child->node].low, nodes_[child->node].high)
              : std::numeric_limits<double>::infinity();
    if (left.distance < right.distance) std::swap(left, right);  // the nearer is seen first
    for (auto const& child : {left, right})
      if (child.distance < std::numeric_limits<double>::infinity()) stack[depth++] = child;
  }
  std::ranges::sort(heap, std::less{});
  for (auto const& candidate : heap) found.push_back(candidate.place);
}

namespace {

template <std::size_t D>
std::vector<std::array<double, D>> permuted(std::vector<std::array<double, D>> const& places,
                                            std::vector<std::int64_t> const& order) {
  std::vector<std::array<double, D>> result;
  for (auto const k : order) result.push_back(places[static_cast<std::size_t>(k)]);
  return result;
}

// The lists of places from `begin` to `end`, by one thread.
template <std::size_t D>
struct Query {
  NeighbourTree<D> const& tree;
  std::vector<std::array<double, D>> const& of;
  std::vector<std::int32_t> const& limits;   // in ranks
  std::vector<std::int64_t> const& along;    // the location of each place of the tree
  std::vector<std::int64_t> const& offsets;  // where lists begin
  std::vector<std::int32_t>& members;
  std::vector<std::int64_t> const& visited;  // which place is visited as the k-th

  static constexpr std::size_t chunk = 256;

  void operator()(std::int64_t number) const {
    std::vector<std::int32_t> found;
    auto const begin = static_cast<std::size_t>(number) * chunk,
               end = std::min(begin + chunk, of.size());
    for (std::size_t k = begin; k < end; ++k) {
      auto const i = static_cast<std::size_t>(visited[k]);
      tree.nearest(of[i], limits[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i]), found);
      for (std::size_t j = 0; j < found.size(); ++j)
        members[static_cast<std::size_t>(offsets[i]) + j] =
            static_cast<std::int32_t>(along[static_cast<std::size_t>(found[j])]);
    }
  }
};

template <std::size_t D>
void run(Query<D> const& query) {
  using Host = Kokkos::DefaultHostExecutionSpace;
  using Policy = Kokkos::RangePolicy<Host, Kokkos::Schedule<Kokkos::Dynamic>>;
  Host const exec;
  auto const chunks = static_cast<std::int64_t>((query.of.size() + query.chunk - 1) / query.chunk);
  Kokkos::parallel_for("strata::geostat::nearest_neighbours", Policy(exec, 0, chunks), query);
  exec.fence("strata::geostat::nearest_neighbours");
}

// The lists of the n nearest of all locations that come before each by its rank, along the curve.
template <std::size_t D>
void find_before(Locations const& locations, std::vector<std::int32_t> const& rank,
                 NeighbourLists& result) {
  auto const along = hilbert_order(locations.x, locations.y);
  auto const places = places_in_space<D>(locations);
  std::vector<std::int32_t> rank_along;
  for (auto const i : along) rank_along.push_back(rank[static_cast<std::size_t>(i)]);
  NeighbourTree<D> const tree(permuted(places, along), rank_along);
  run<D>({tree, places, rank, along, result.offsets, result.members, along});
}

// The same of all locations for each of others.
template <std::size_t D>
void find_nearest(Locations const& locations, Locations const& of, NeighbourLists& result) {
  auto const along = hilbert_order(locations.x, locations.y);
  std::vector<std::int32_t> const rank(along.begin(), along.end());
  NeighbourTree<D> const tree(permuted(places_in_space<D>(locations), along), rank);
  std::vector<std::int64_t> visited(of.x.size());
  std::iota(visited.begin(), visited.end(), 0);
  std::vector<std::int32_t> const limits(of.x.size(), std::numeric_limits<std::int32_t>::max());
  run<D>({tree, places_in_space<D>(of), limits, along, result.offsets, result.members, visited});
}

void check_count(char const* function, std::int64_t m, std::int64_t n) {
  STRATA_REQUIRE(ValueError, m >= 0, function, ": ", m, " neighbours, must not be negative");
  STRATA_REQUIRE(ValueError, n <= std::numeric_limits<std::int32_t>::max(), function, ": ", n,
                 " locations, more than 2147483647");
}

}  // namespace

}  // namespace detail

NeighbourLists ordered_neighbours(Locations const& locations, std::span<std::int64_t const> order,
                                  std::int64_t m) {
  check_locations(locations);
  detail::check_count("ordered_neighbours", m, locations.size());
  auto const n = static_cast<std::size_t>(locations.size());
  STRATA_REQUIRE(ValueError, order.size() == n, "ordered_neighbours: an order of ", order.size(),
                 " for ", n, " locations");
  std::vector<std::int32_t> rank(n, -1);
  for (std::size_t k = 0; k < n; ++k) {
    bool const is_new = order[k] >= 0 && order[k] < locations.size() &&
                        rank[static_cast<std::size_t>(order[k])] < 0;
    STRATA_REQUIRE(ValueError, is_new, "ordered_neighbours: the order has ", order[k],
                   " at position ", k, " and is no permutation");
    rank[static_cast<std::size_t>(order[k])] = static_cast<std::int32_t>(k);
  }
  NeighbourLists result;
  for (std::size_t i = 0; i < n; ++i)
    result.offsets.push_back(result.offsets.back() + std::min<std::int64_t>(m, rank[i]));
  result.members.resize(static_cast<std::size_t>(result.offsets.back()));
  if (locations.coordinates() <= 3)
    detail::find_before<3>(locations, rank, result);
  else
    detail::find_before<most_coordinates>(locations, rank, result);
  return result;
}

NeighbourLists nearest_neighbours(Locations const& locations, Locations const& of, std::int64_t m) {
  check_locations(locations);
  check_locations(of);
  detail::check_count("nearest_neighbours", m, std::max(locations.size(), of.size()));
  STRATA_REQUIRE(ValueError, locations.metric == of.metric,
                 "nearest_neighbours: the locations differ in their metric");
  STRATA_REQUIRE(ValueError, locations.coordinates() == of.coordinates(),
                 "nearest_neighbours: locations with ", locations.coordinates(),
                 " coordinates, of others with ", of.coordinates());
  auto const n = static_cast<std::size_t>(locations.size()),
             count = static_cast<std::size_t>(of.size());
  NeighbourLists result;
  for (std::size_t i = 0; i < count; ++i)
    result.offsets.push_back(result.offsets.back() + std::min(m, locations.size()));
  result.members.resize(static_cast<std::size_t>(result.offsets.back()));
  if (n == 0) return result;
  if (locations.coordinates() <= 3)
    detail::find_nearest<3>(locations, of, result);
  else
    detail::find_nearest<most_coordinates>(locations, of, result);
  return result;
}

}  // namespace strata::geostat
