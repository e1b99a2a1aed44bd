// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_LOCATIONS_HPP
#define STRATA_LOCATIONS_HPP

#include <core/Strata_EnumNames.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strata::geostat {

/// How two locations' distance is measured.
enum class Metric : std::uint8_t {
  Euclidean,    ///< sqrt(dx^2 + dy^2 + ...), in the unit of the coordinates
  GreatCircle,  ///< kilometres on a sphere; x is the longitude, y the latitude, both in degrees
  Chordal,      ///< kilometres through the sphere, straight; x and y as for GreatCircle
};

/// Whether x and y are degrees of longitude and latitude.
constexpr bool is_on_sphere(Metric metric) { return metric != Metric::Euclidean; }

/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(Metric) {
  return enum_names<Metric>("metric", {{Metric::Euclidean, "euclidean"},
                                       {Metric::GreatCircle, "great-circle"},
                                       {Metric::Chordal, "chordal"}});
}

namespace detail {

inline constexpr double earth_radius_km = 6371.0088;  // mean radius (2a + b)/3 of WGS 84, IUGG
inline constexpr double radians_per_degree = 0.017453292519943295769;

/// A location, and what its distances to others have in common.
struct Location {
  double x, y;
  double cosine;  ///< cosine of the latitude; on the sphere only
  /// Coordinates beyond y, and how many there are.
  double const* further = nullptr;
  int further_count = 0;
};

KOKKOS_INLINE_FUNCTION double cosine_of_latitude(Metric metric, double y) {
  return metric == Metric::Euclidean ? 0 : Kokkos::cos(radians_per_degree * y);
}

// The same to the last bit for the two locations exchanged.
KOKKOS_INLINE_FUNCTION double distance(Metric metric, Location const& a, Location const& b) {
  double const dx = b.x - a.x, dy = b.y - a.y;
  if (metric == Metric::Euclidean) {
    double sum = dx * dx + dy * dy;
    for (int k = 0; k < a.further_count; ++k) {
      double const d = b.further[k] - a.further[k];
      sum += d * d;
    }
    return Kokkos::sqrt(sum);
  }
  // Haversine: well conditioned for small distances.
  double const half = radians_per_degree / 2;
  double const dlat = Kokkos::sin(half * dy), dlon = Kokkos::sin(half * dx);
  double const squared = dlat * dlat + a.cosine * b.cosine * (dlon * dlon);
  double const half_chord = Kokkos::sqrt(Kokkos::min(1.0, squared));
  return 2 * earth_radius_km * (metric == Metric::Chordal ? half_chord : Kokkos::asin(half_chord));
}

}  // namespace detail

/// Most coordinates that a location may have.
inline constexpr std::size_t most_coordinates = 8;

/// Where observations were made.
struct Locations {
  std::vector<double> x;              ///< x, or degrees of longitude
  std::vector<double> y;              ///< y, or degrees of latitude
  Metric metric = Metric::Euclidean;  ///< how their distance is measured
  /// The number, from 0, that each had before it was `permuted`, by which messages name it; empty:
  /// its position here.
  std::vector<std::int64_t> numbers = {};
  /// Variances of the observations' errors that are known, added to the diagonal; empty: none.
  std::vector<double> error_variances = {};
  /// Coordinates beyond y, such as a depth, one list for each: Euclidean distances alone have them.
  std::vector<std::vector<double>> further = {};

  /// Number of coordinates.
  std::size_t coordinates() const { return 2 + further.size(); }
  /// How many there are.
  std::int64_t size() const { return static_cast<std::int64_t>(x.size()); }
  /// Distance of locations i and j: Euclidean, or in kilometres on or through the sphere of the
  /// Earth's mean radius, 6371.0088 km.
  double distance(std::int64_t i, std::int64_t j) const;
  /// Location order[k] comes to position k, and keeps its number.
  ///
  /// Throws   ShapeError or ValueError if the order is no permutation of 0 to size() - 1.
  Locations permuted(std::span<std::int64_t const> order) const;
};

/// Refuse coordinates that are no locations.
///
/// Throws   ShapeError if coordinates differ in length; ValueError that names the first location
///          that is not finite or, not on the sphere, beyond 1e150, or whose latitude is outside
///          [-90, 90] on the sphere. The same for an error variance that is negative or not finite,
///          and ShapeError if they are not as many as the locations. ValueError for more than 8
///          coordinates, or on the sphere 2.
void check_locations(Locations const& locations);

/// Whether no two of the locations without a known error variance above 0 coincide.
bool are_distinct(Locations const& locations);

/// Refuse locations of which two without a known error variance above 0 coincide.
///
/// Throws   ValueError that names both.
void check_distinct(Locations const& locations);

/// Places at which there is more than one observation.
struct Copies {
  std::int64_t places = 0;        ///< places with more than one observation
  std::int64_t observations = 0;  ///< beyond the first of each place
  /// members of `observations` that have the value of another one at the place
  std::int64_t of_same_value = 0;
  /// The first two at one place, by their numbers from 0; of one value if there are such.
  std::int64_t first = -1, second = -1;
};

/// Which observations repeat a place.
///
/// Where a place has the same value twice, each such pair adds -1/2 log nugget to a log-likelihood,
/// which then has no maximum. A fit ends at the lower bound of the nugget, whatever that is.
///
/// Throws   ShapeError if the values are not as many as the locations.
Copies find_copies(Locations const& locations, std::span<double const> values);

/// The positions, in ascending order, of observations whose place and value none before them has.
///
/// Throws   ShapeError if the values are not as many as the locations.
std::vector<std::int64_t> without_copies(Locations const& locations,
                                         std::span<double const> values);

namespace detail {

/// The distance from each place that differs from all others to the nearest of them, in ascending
/// order, copies counted once; empty where there are fewer than two.
std::vector<double> nearest_distances(Locations const& locations);

}  // namespace detail

/// The order of the points along Morton's space-filling curve, which brings neighbours in space
/// close in the matrix, so that blocks far from its diagonal are small and smooth.
///
/// Result   a permutation of 0 ... n-1: position k of the order belongs to point order[k]. Cells
///          are squares, 2^32 along the longer side of the bounding box; points of one cell keep
///          their order.
/// Throws   ShapeError if x and y differ in length; ValueError if a coordinate is not finite.
std::vector<std::int64_t> morton_order(std::span<double const> x, std::span<double const> y);

/// The order along Hilbert's curve, of which successive cells always touch. Contract of
/// `morton_order`.
///
/// Source   Hilbert, Mathematische Annalen 38 (1891), doi:10.1007/BF01199431.
std::vector<std::int64_t> hilbert_order(std::span<double const> x, std::span<double const> y);

/// An order of locations before they become rows of a matrix.
enum class Ordering : std::uint8_t {
  Given,    ///< the order that they have
  Morton,   ///< `morton_order`
  Hilbert,  ///< `hilbert_order`
};

/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(Ordering) {
  return enum_names<Ordering>(
      "ordering",
      {{Ordering::Given, "given"}, {Ordering::Morton, "morton"}, {Ordering::Hilbert, "hilbert"}});
}
using strata::name_of;

/// The permutation of `locations`, as of `morton_order`.
std::vector<std::int64_t> order_of(Ordering ordering, Locations const& locations);

/// n seeded locations in the unit square, in Morton order. Each of n cells of a ceil(sqrt(n))^2
/// grid has one (the empty cells are random). It is uniform in the middle 80 % of the cell in x and
/// in y, so that no two coincide.
///
/// Throws   ShapeError if n < 0.
/// Source   the jittered grid of Abdulah et al., ExaGeoStat, TPDS 29, 2018.
Locations synthetic_locations(std::int64_t n, std::uint64_t seed = 1);

}  // namespace strata::geostat

#endif
