// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/neighbours/Strata_MaximinOrder.hpp>

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/problems/Strata_Random.hpp>
#include <geostat/detail/Strata_MaternKernel.hpp>
#include <geostat/neighbours/detail/Strata_CopyBack.hpp>
#include <geostat/neighbours/detail/Strata_MaximinLayer.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace strata::geostat {

namespace {

using Numbers = std::vector<std::int32_t>;

constexpr std::uint64_t least_lists = 1024;

// In the order of a hash.
Numbers hashed(std::int64_t n) {
  std::vector<std::pair<std::uint64_t, std::int32_t>> hashes(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < hashes.size(); ++i)
    hashes[i] = {random_bits(0, i), static_cast<std::int32_t>(i)};
  std::ranges::sort(hashes);
  Numbers result;
  result.reserve(hashes.size());
  for (auto const& [hash, number] : hashes) result.push_back(number);
  return result;
}

template <int D>
std::vector<detail::Place<D>> places_along(Numbers const& along, Locations const& locations) {
  auto const places = detail::places_in_space<D>(locations);
  std::vector<detail::Place<D>> result;
  result.reserve(along.size());
  for (auto const i : along) result.push_back(places[static_cast<std::size_t>(i)]);
  return result;
}

// One kernel of a layer over some of its places.
template <class Tag, class Exec, class Layer>
void each(Exec const& exec, Layer const& layer, std::int64_t begin, std::int64_t end) {
  Kokkos::parallel_for("strata::geostat::maximin_order",
                       Kokkos::RangePolicy<Exec, Tag>(exec, begin, end), layer);
}

// Takes a layer's places into the order. Fences `exec`.
template <class Exec, int D>
void take(Exec const& exec, double radius,
          detail::MaximinLayer<typename Exec::memory_space, D>& layer) {
  using Layer = detail::MaximinLayer<typename Exec::memory_space, D>;
  using Decisions = Kokkos::RangePolicy<Exec, typename Layer::Decide>;
  constexpr double margin = 1.001;  // cells are wider than rounding takes places away
  // Few places fit between those taken before and this radius.
  std::uint64_t const lists = std::min<std::uint64_t>(
      layer.heads.extent(0),
      std::bit_ceil(4 * static_cast<std::uint64_t>(layer.taken) + least_lists));
  layer.shift = 64 - (std::bit_width(lists) - 1) + Layer::bits_of_cells;
  layer.squared_radius = radius * radius;
  layer.cells_by_length = 1 / (margin * radius);
  Kokkos::deep_copy(exec, Kokkos::subview(layer.heads, std::pair(std::uint64_t{0}, lists)), -1);
  each<typename Layer::Insert>(exec, layer, 0, layer.taken);
  std::int64_t size = 32;
  for (std::int64_t begin = 0; begin < layer.count; begin += size, size = begin) {
    std::int64_t const end = std::min(begin + size, layer.count);
    each<typename Layer::Ask>(exec, layer, begin, end);
    each<typename Layer::Enter>(exec, layer, begin, end);
    for (std::int64_t waiting = 1; waiting > 0;)
      Kokkos::parallel_reduce("strata::geostat::maximin_order::decide", Decisions(exec, begin, end),
                              layer, waiting);
  }
  std::int64_t taken = 0;
  Kokkos::parallel_scan("strata::geostat::maximin_order::split",
                        Kokkos::RangePolicy<Exec, typename Layer::Split>(exec, 0, layer.count),
                        layer, taken);
  layer.taken += taken;
  layer.count -= taken;
  std::swap(layer.left, layer.still_left);
}

// Places none of which is taken yet. Fences `exec`.
template <class Exec, int D>
auto entries_of(Exec const& exec, std::vector<detail::Place<D>> const& places) {
  using Layer = detail::MaximinLayer<typename Exec::memory_space, D>;
  std::vector<typename Layer::Entry> entries;
  entries.reserve(places.size());
  for (auto const& place : places) entries.push_back({place, -1, Layer::Left});
  auto const copy = detail::copy_of<typename Exec::memory_space>(
      exec, entries, "strata::geostat::maximin_order::entries");
  exec.fence("strata::geostat::maximin_order::entries");
  return copy;
}

// Places of a hash's order in the order by layers, those too near each other last.
template <class Exec, int D>
Numbers by_layers(Exec const& exec, std::vector<detail::Place<D>> places) {
  using Space = typename Exec::memory_space;
  using Layer = detail::MaximinLayer<Space, D>;
  constexpr double least_radius = 0x1p-40;
  auto const size = detail::move_to_origin(places);
  double const extent = std::sqrt(detail::squared_distance(size, detail::Place<D>{}));
  auto const n = places.size();
  auto const allocated = [&exec](char const* label, std::size_t count) {
    return allocate<Kokkos::View<std::int32_t*, Space>>(exec, label, count);
  };
  Layer layer;
  layer.entries = entries_of<Exec>(exec, places);
  layer.covered =
      allocate<Kokkos::View<double*, Space>>(exec, "strata::geostat::maximin_order::covered", n);
  Kokkos::deep_copy(exec, layer.covered, std::numeric_limits<double>::infinity());
  layer.heads = allocated("strata::geostat::maximin_order::heads",
                          std::max<std::size_t>(std::bit_ceil(2 * n), least_lists));
  layer.order = allocated("strata::geostat::maximin_order::order", n);
  layer.still_left = allocated("strata::geostat::maximin_order::left", n);
  Numbers order(n);
  for (std::size_t k = 0; k < n; ++k) order[k] = static_cast<std::int32_t>(k);
  layer.left = detail::copy_of<Space>(exec, order, "strata::geostat::maximin_order::left");
  layer.count = static_cast<std::int64_t>(n);
  exec.fence("strata::geostat::maximin_order::copied");
  for (double r = 1.01 * extent; layer.count > 0 && r > least_radius * extent; r /= std::sqrt(2.0))
    take(exec, r, layer);
  order.clear();
  detail::append_back(exec, layer.order, static_cast<std::size_t>(layer.taken), order);
  detail::append_back(exec, layer.left, static_cast<std::size_t>(layer.count), order);
  // Marks where those begin that are too near.
  order.push_back(static_cast<std::int32_t>(layer.taken));
  return order;
}

}  // namespace

template <class Exec>
std::vector<std::int64_t> maximin_order(Exec const& exec, Locations const& locations) {
  Region const region(exec, "strata::geostat::maximin_order");
  check_locations(locations);
  STRATA_REQUIRE(ValueError, locations.size() <= std::numeric_limits<std::int32_t>::max(),
                 "maximin_order: ", locations.size(), " locations, more than 2147483647");
  auto const hash = hashed(locations.size());
  if (locations.coordinates() > 3 || locations.size() < 2) return {hash.begin(), hash.end()};
  auto const ordered = [&]<int D>(std::integral_constant<int, D>) {
    return by_layers<Exec, D>(exec, places_along<D>(hash, locations));
  };
  bool const is_plane = detail::dimension_of_places(locations) == 2;
  auto const by_hash = is_plane ? ordered(std::integral_constant<int, 2>())
                                : ordered(std::integral_constant<int, 3>());
  std::vector<std::int64_t> order;
  order.reserve(hash.size());
  for (std::size_t k = 0; k + 1 < by_hash.size(); ++k)
    order.push_back(hash[static_cast<std::size_t>(by_hash[k])]);
  std::sort(order.begin() + by_hash.back(), order.end());
  return order;
}

#define STRATA_INSTANTIATE(Exec) \
  template std::vector<std::int64_t> maximin_order<Exec>(Exec const&, Locations const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
