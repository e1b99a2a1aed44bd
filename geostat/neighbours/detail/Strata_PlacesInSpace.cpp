// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/neighbours/detail/Strata_PlacesInSpace.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

namespace strata::geostat::detail {

namespace {

// Coordinates of the same cells along a curve: its bits are dealt to them, highest first.
template <int D>
std::uint64_t code_along_curve(std::array<std::uint32_t, D> cell, int bits) {
  auto const last = static_cast<std::size_t>(D) - 1;
  // In each quadrant, from the largest on, the curve is turned and mirrored as in the whole.
  for (int bit = bits - 1; bit > 0; --bit) {
    std::uint32_t const below = (1u << bit) - 1;
    for (auto& one : cell) {
      std::uint32_t const mirrored = 0u - (one >> bit & 1),
                          turned = (cell[0] ^ one) & below & ~mirrored;
      cell[0] ^= (below & mirrored) ^ turned;
      one ^= turned;
    }
  }
  // Gray's code of the quadrants.
  for (std::size_t d = 1; d < cell.size(); ++d) cell[d] ^= cell[d - 1];
  std::uint32_t odd = 0;
  for (int bit = bits - 1; bit > 0; --bit)
    odd ^= ((1u << bit) - 1) & (0u - (cell[last] >> bit & 1));
  for (auto& one : cell) one ^= odd;
  std::uint64_t code = 0;
  for (int bit = bits - 1; bit >= 0; --bit)
    for (auto const one : cell) code = code << 1 | (one >> bit & 1);
  return code;
}

}  // namespace

template <int D>
std::vector<Place<D>> places_in_space(Locations const& locations) {
  std::vector<Place<D>> places(locations.x.size());
  if (is_on_sphere(locations.metric)) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      double const lon = radians_per_degree * locations.x[i],
                   lat = radians_per_degree * locations.y[i];
      std::array<double, 3> const on_sphere{std::cos(lat) * std::cos(lon),
                                            std::cos(lat) * std::sin(lon), std::sin(lat)};
      std::copy_n(on_sphere.begin(), std::min(3, D), places[i].at);
    }
    return places;
  }
  std::size_t const count = std::min<std::size_t>(locations.coordinates(), D);
  for (std::size_t d = 0; d < count; ++d) {
    auto const& from = d == 0 ? locations.x : d == 1 ? locations.y : locations.further[d - 2];
    for (std::size_t i = 0; i < places.size(); ++i) places[i].at[d] = from[i];
  }
  return places;
}

template <int D>
Place<D> move_to_origin(std::vector<Place<D>>& places) {
  Place<D> size{};
  for (int d = 0; d < D && !places.empty(); ++d) {
    auto const [low, high] =
        std::ranges::minmax(places, {}, [d](auto const& place) { return place.at[d]; });
    size.at[d] = high.at[d] - low.at[d];
    for (auto& place : places) place.at[d] -= low.at[d];
  }
  return size;
}

template <int D>
std::vector<std::int32_t> curve_through(std::vector<Place<D>> places) {
  constexpr int bits = std::min(31, 64 / D);
  Place<D> const box = move_to_origin(places);
  double const largest = *std::ranges::max_element(box.at),
               cells = static_cast<double>((1u << bits) - 1);
  std::vector<std::pair<std::uint64_t, std::int32_t>> codes(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::array<std::uint32_t, D> cell;
    for (std::size_t d = 0; d < cell.size(); ++d)
      cell[d] = largest > 0 ? static_cast<std::uint32_t>(places[i].at[d] / largest * cells) : 0;
    codes[i] = {code_along_curve<D>(cell, bits), static_cast<std::int32_t>(i)};
  }
  std::ranges::sort(codes);
  std::vector<std::int32_t> along(codes.size());
  for (std::size_t k = 0; k < codes.size(); ++k) along[k] = codes[k].second;
  return along;
}

#define STRATA_INSTANTIATE(D)                                          \
  template std::vector<Place<D>> places_in_space<D>(Locations const&); \
  template Place<D> move_to_origin<D>(std::vector<Place<D>>&);         \
  template std::vector<std::int32_t> curve_through<D>(std::vector<Place<D>>);
STRATA_INSTANTIATE(2)
STRATA_INSTANTIATE(3)
STRATA_INSTANTIATE(8)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat::detail
