// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PLACES_IN_SPACE_HPP
#define STRATA_PLACES_IN_SPACE_HPP

#include <geostat/Strata_Locations.hpp>
#include <geostat/neighbours/vendor/Strata_RoundedSquare.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>
#include <vector>

namespace strata::geostat::detail {

/// A location in a space whose Euclidean distances grow with the metric's.
template <int D>
struct Place {
  double at[D];
};

/// The square of their distance: the same bits on all backends, so that ties are the same ones.
template <int D>
KOKKOS_INLINE_FUNCTION double squared_distance(Place<D> const& a, Place<D> const& b) {
  double sum = 0;
  for (int d = 0; d < D; ++d) sum = vendor::add_square(sum, a.at[d] - b.at[d]);
  return sum;
}

/// Their own coordinates, and zeros, or on the sphere coordinates in space, of radius 1.
template <int D>
std::vector<Place<D>> places_in_space(Locations const& locations);

/// The sides of the box around places, whose least corner becomes the origin.
template <int D>
Place<D> move_to_origin(std::vector<Place<D>>& places);

/// How many coordinates the places of locations have: 2 in the plane, 3 in space or on the sphere,
/// else 8.
inline int dimension_of_places(Locations const& locations) {
  if (is_on_sphere(locations.metric) || locations.coordinates() == 3) return 3;
  return locations.coordinates() == 2 ? 2 : static_cast<int>(most_coordinates);
}

/// f(D) for that number as a constant.
template <class Function>
auto with_dimension(Locations const& locations, Function const& f) {
  switch (dimension_of_places(locations)) {
    case 2:
      return f(std::integral_constant<int, 2>());
    case 3:
      return f(std::integral_constant<int, 3>());
    default:
      return f(std::integral_constant<int, static_cast<int>(most_coordinates)>());
  }
}

/// The order of places along Hilbert's curve through all their coordinates; of places in one cell
/// the first first.
///
/// Source   Skilling, Programming the Hilbert curve, AIP Conf. Proc. 707 (2004),
///          doi:10.1063/1.1751381.
template <int D>
std::vector<std::int32_t> curve_through(std::vector<Place<D>> places);

}  // namespace strata::geostat::detail

#endif
