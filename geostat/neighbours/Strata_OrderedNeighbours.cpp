// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/neighbours/Strata_OrderedNeighbours.hpp>

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <geostat/detail/Strata_MaternKernel.hpp>
#include <geostat/neighbours/detail/Strata_CopyBack.hpp>
#include <geostat/neighbours/detail/Strata_NeighbourTree.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace strata::geostat {

namespace detail {

// The lists of places, each with the nearest of a tree below a rank. A list's number is the rank's
// location, or the place's own where no order is given.
template <class Exec, int D>
struct NearestInTree {
  using Space = typename Exec::memory_space;

  NeighbourTree<Space, D> tree;
  Kokkos::View<Place<D>*, Space> of;
  Kokkos::View<std::int32_t*, Space> limits;  // ranks; none: all ranks are below
  Kokkos::View<std::int32_t*, Space> order;   // location of each rank; none: its number
  std::int32_t first_limit;                   // those below it are left to another tree
  std::int64_t most;
  Kokkos::View<std::int64_t*, Space> offsets;
  Kokkos::View<std::int32_t*, Space> members;
  Kokkos::View<double**, Space> distances;
  Kokkos::View<std::int32_t**, Space> ranks;
  std::int64_t begin;  // the place of the first of `distances` and `ranks`

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    bool const has_limit = limits.extent(0) > 0;
    std::int32_t const limit =
        has_limit ? limits(i) : Kokkos::Experimental::finite_max_v<std::int32_t>;
    if (limit < first_limit) return;
    std::int64_t const list = has_limit ? order(limit) : i;
    std::int64_t const offset = offsets(list);
    auto const count = static_cast<int>(offsets(list + 1) - offset);
    if (count == 0) return;
    constexpr bool dense = runs_on_host<Exec>;
    std::int64_t const slot = i - begin;
    NearestHeap<dense> nearest(&distances(slot, 0), &ranks(slot, 0),
                               static_cast<std::int64_t>(distances.stride(1)), count);
    tree.search(of(i), limit, nearest);
    nearest.sort();
    for (int k = 0; k < count; ++k) {
      std::int32_t const rank = nearest.rank(k);
      members(offset + k) = has_limit ? order(rank) : rank;
    }
  }
};

namespace {

// Fills `members` for the places of `query.of`, some at a time.
template <class Exec, int D>
void run(Exec const& exec, NearestInTree<Exec, D> query) {
  using Query = NearestInTree<Exec, D>;
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::Schedule<Kokkos::Dynamic>>;
  constexpr std::int64_t most_bytes = std::int64_t{1} << 28, per_thread = 1024;
  auto const count = static_cast<std::int64_t>(query.of.extent(0));
  if (count == 0 || query.most == 0) return;
  std::int64_t chunk = std::clamp<std::int64_t>(most_bytes / (12 * query.most), 1, count);
  if (runs_on_host<Exec>)
    chunk = std::min(chunk, per_thread * static_cast<std::int64_t>(exec.concurrency()));
  query.distances = allocate<decltype(Query::distances)>(
      exec, "strata::geostat::vecchia::distances", chunk, query.most);
  query.ranks =
      allocate<decltype(Query::ranks)>(exec, "strata::geostat::vecchia::ranks", chunk, query.most);
  for (query.begin = 0; query.begin < count; query.begin += chunk)
    Kokkos::parallel_for("strata::geostat::vecchia::nearest",
                         Policy(exec, query.begin, std::min(query.begin + chunk, count)), query);
}

// The places along a curve whose rank is below a limit, in the same order.
template <class Space, int D>
struct Earlier {
  Kokkos::View<Place<D>*, Space> places, earlier_places;
  Kokkos::View<std::int32_t*, Space> ranks, earlier_ranks;
  std::int32_t limit;

  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& kept, bool is_last) const {
    if (ranks(i) >= limit) return;
    if (is_last) {
      earlier_places(kept) = places(i);
      earlier_ranks(kept) = ranks(i);
    }
    ++kept;
  }
};

template <class Exec, int D>
void keep_earlier(Exec const& exec, Earlier<typename Exec::memory_space, D> const& earlier,
                  std::int64_t count) {
  Kokkos::parallel_scan("strata::geostat::vecchia::earlier",
                        Kokkos::RangePolicy<Exec>(exec, 0, count), earlier);
}

template <class Space, class Exec, class Value>
auto permuted_copy(Exec const& exec, std::vector<Value> const& values,
                   std::vector<std::int32_t> const& along, char const* label) {
  std::vector<Value> result(values.size());
  for (std::size_t k = 0; k < along.size(); ++k)
    result[k] = values[static_cast<std::size_t>(along[k])];
  auto const copy = copy_of<Space>(exec, result, label);
  exec.fence("strata::geostat::vecchia::copied");
  return copy;
}

template <class Exec, int D>
void find_before(Exec const& exec, Locations const& locations,
                 std::vector<std::int32_t> const& rank, std::span<std::int64_t const> order,
                 std::int64_t m, NeighbourLists& result) {
  using Space = typename Exec::memory_space;
  constexpr std::int64_t few = 64;
  auto const host_places = places_in_space<D>(locations);
  auto const along = curve_through(host_places);
  auto places = permuted_copy<Space>(exec, host_places, along, "strata::geostat::vecchia::places");
  auto ranks = permuted_copy<Space>(exec, rank, along, "strata::geostat::vecchia::rank");
  std::vector<std::int32_t> const locations_in_order(order.begin(), order.end());
  NearestInTree<Exec, D> query;
  query.order = copy_of<Space>(exec, locations_in_order, "strata::geostat::vecchia::order");
  query.offsets = copy_of<Space>(exec, result.offsets, "strata::geostat::vecchia::offsets");
  query.members = allocate<decltype(query.members)>(exec, "strata::geostat::vecchia::members",
                                                    result.members.size());
  query.most = std::min(m, locations.size());
  std::int64_t count = locations.size(), half = (count + 1) / 2;
  auto other_places = allocate<decltype(places)>(exec, "strata::geostat::vecchia::places", half);
  auto other_ranks = allocate<decltype(ranks)>(exec, "strata::geostat::vecchia::rank", half);
  while (count > 0) {
    half = count <= few ? 0 : (count + 1) / 2;
    query.tree = tree_of<Exec, D>(exec, places, ranks, count);
    query.of = Kokkos::subview(places, std::pair(std::int64_t{0}, count));
    query.limits = ranks;
    query.first_limit = static_cast<std::int32_t>(half);
    run(exec, query);
    if (half > 0)
      keep_earlier<Exec, D>(
          exec, {places, other_places, ranks, other_ranks, static_cast<std::int32_t>(half)}, count);
    std::swap(places, other_places);
    std::swap(ranks, other_ranks);
    count = half;
  }
  copy_back(exec, query.members, result.members);
}

// The same of all locations for each of others.
template <class Exec, int D>
void find_nearest(Exec const& exec, Locations const& locations, Locations const& of, std::int64_t m,
                  NeighbourLists& result) {
  using Space = typename Exec::memory_space;
  auto const host_places = places_in_space<D>(locations), host_of = places_in_space<D>(of);
  auto const along = curve_through(host_places);
  auto const places =
      permuted_copy<Space>(exec, host_places, along, "strata::geostat::vecchia::places");
  NearestInTree<Exec, D> query;
  query.tree =
      tree_of<Exec, D>(exec, places, copy_of<Space>(exec, along, "strata::geostat::vecchia::rank"),
                       locations.size());
  query.of = copy_of<Space>(exec, host_of, "strata::geostat::vecchia::of");
  query.offsets = copy_of<Space>(exec, result.offsets, "strata::geostat::vecchia::offsets");
  query.members = allocate<decltype(query.members)>(exec, "strata::geostat::vecchia::members",
                                                    result.members.size());
  query.first_limit = 0;
  query.most = std::min(m, locations.size());
  run(exec, query);
  copy_back(exec, query.members, result.members);
}

void check_count(char const* function, std::int64_t m, std::int64_t n) {
  STRATA_REQUIRE(ValueError, m >= 0, function, ": ", m, " neighbours, must not be negative");
  STRATA_REQUIRE(ValueError, n <= std::numeric_limits<std::int32_t>::max(), function, ": ", n,
                 " locations, more than 2147483647");
}

}  // namespace

std::vector<std::int32_t> ranks_of(char const* function, std::span<std::int64_t const> order,
                                   std::int64_t n) {
  STRATA_REQUIRE(ValueError, static_cast<std::int64_t>(order.size()) == n, function,
                 ": an order of ", order.size(), " for ", n, " locations");
  std::vector<std::int32_t> rank(order.size(), -1);
  for (std::size_t k = 0; k < order.size(); ++k) {
    bool const is_new =
        order[k] >= 0 && order[k] < n && rank[static_cast<std::size_t>(order[k])] < 0;
    STRATA_REQUIRE(ValueError, is_new, function, ": the order has ", order[k], " at position ", k,
                   " and is no permutation");
    rank[static_cast<std::size_t>(order[k])] = static_cast<std::int32_t>(k);
  }
  return rank;
}

}  // namespace detail

template <class Exec>
NeighbourLists ordered_neighbours(Exec const& exec, Locations const& locations,
                                  std::span<std::int64_t const> order, std::int64_t m) {
  Region const region(exec, "strata::geostat::ordered_neighbours");
  check_locations(locations);
  detail::check_count("ordered_neighbours", m, locations.size());
  auto const rank = detail::ranks_of("ordered_neighbours", order, locations.size());
  NeighbourLists result;
  result.offsets.reserve(rank.size() + 1);
  for (auto const before : rank)
    result.offsets.push_back(result.offsets.back() + std::min<std::int64_t>(m, before));
  result.members.resize(static_cast<std::size_t>(result.offsets.back()));
  detail::with_dimension(locations, [&]<int D>(std::integral_constant<int, D>) {
    detail::find_before<Exec, D>(exec, locations, rank, order, m, result);
  });
  return result;
}

template <class Exec>
NeighbourLists nearest_neighbours(Exec const& exec, Locations const& locations, Locations const& of,
                                  std::int64_t m) {
  Region const region(exec, "strata::geostat::nearest_neighbours");
  check_locations(locations);
  check_locations(of);
  detail::check_count("nearest_neighbours", m, std::max(locations.size(), of.size()));
  STRATA_REQUIRE(ValueError, locations.metric == of.metric,
                 "nearest_neighbours: the locations differ in their metric");
  STRATA_REQUIRE(ValueError, locations.coordinates() == of.coordinates(),
                 "nearest_neighbours: locations with ", locations.coordinates(),
                 " coordinates, of others with ", of.coordinates());
  NeighbourLists result;
  for (std::int64_t i = 0; i < of.size(); ++i)
    result.offsets.push_back(result.offsets.back() + std::min(m, locations.size()));
  result.members.resize(static_cast<std::size_t>(result.offsets.back()));
  if (locations.size() == 0) return result;
  detail::with_dimension(locations, [&]<int D>(std::integral_constant<int, D>) {
    detail::find_nearest<Exec, D>(exec, locations, of, m, result);
  });
  return result;
}

#define STRATA_INSTANTIATE(Exec)                                                                 \
  template NeighbourLists ordered_neighbours<Exec>(Exec const&, Locations const&,                \
                                                   std::span<std::int64_t const>, std::int64_t); \
  template NeighbourLists nearest_neighbours<Exec>(Exec const&, Locations const&,                \
                                                   Locations const&, std::int64_t);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
