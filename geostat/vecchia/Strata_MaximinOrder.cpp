// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/vecchia/Strata_MaximinOrder.hpp>

#include <core/problems/Strata_Random.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

namespace strata::geostat {

namespace {

using Place = std::array<double, 3>;

double squared_distance(Place const& a, Place const& b) {
  double sum = 0;
  for (std::size_t d = 0; d < 3; ++d) sum += (a[d] - b[d]) * (a[d] - b[d]);
  return sum;
}

// The places that were taken, in cells of side r. Cells share a list by chance: only distances
// count.
class Taken {
 public:
  explicit Taken(std::vector<Place> const& places)
      : places_(places), next_(places.size()), heads_(std::bit_ceil(2 * places.size() + 1)) {}

  void begin(double side, std::vector<std::int64_t> const& taken) {
    side_ = side;
    std::ranges::fill(heads_, nobody);
    for (auto const place : taken) add(place);
  }
  void add(std::int64_t place) {
    auto& head = heads_[list_of(cell_of(place))];
    next_[static_cast<std::size_t>(place)] = head;
    head = static_cast<std::int32_t>(place);
  }
  // The least squared distance to one in the cells around, at most as soon as it is below the
  // side's.
  double nearest(std::int64_t place) const {
    auto const& here = places_[static_cast<std::size_t>(place)];
    auto const centre = cell_of(place);
    double least = std::numeric_limits<double>::infinity();
    bool const is_flat = here[2] == 0;
    for (int c = 0; c < (is_flat ? 9 : 27); ++c) {
      Cell const cell{centre[0] + c % 3 - 1, centre[1] + c / 3 % 3 - 1,
                      centre[2] + (is_flat ? 0 : c / 9 - 1)};
      for (auto k = heads_[list_of(cell)]; k != nobody; k = next_[static_cast<std::size_t>(k)])
        least = std::min(least, squared_distance(here, places_[static_cast<std::size_t>(k)]));
      if (least < side_ * side_) return least;
    }
    return least;
  }

 private:
  using Cell = std::array<std::int64_t, 3>;
  static constexpr std::int32_t nobody = -1;

  Cell cell_of(std::int64_t place) const {
    Cell cell;
    for (std::size_t d = 0; d < 3; ++d)
      cell[d] = static_cast<std::int64_t>(
          std::floor(places_[static_cast<std::size_t>(place)][d] / side_));
    return cell;
  }
  std::size_t list_of(Cell const& cell) const {
    auto const bits =
        random_bits(static_cast<std::uint64_t>(cell[0]), static_cast<std::uint64_t>(cell[1]),
                    static_cast<std::uint64_t>(cell[2]));
    return bits & (heads_.size() - 1);
  }

  std::vector<Place> const& places_;
  std::vector<std::int32_t> next_, heads_;
  double side_ = 1;
};

// The diagonal of the box around them, whose least corner becomes the origin of the plane.
double move_to_origin(std::vector<Place>& places) {
  Place low = places.front(), high = low;
  for (auto const& place : places)
    for (std::size_t d = 0; d < 3; ++d) {
      low[d] = std::min(low[d], place[d]);
      high[d] = std::max(high[d], place[d]);
    }
  bool const is_flat = low[2] == 0 && high[2] == 0;
  for (auto& place : places)
    for (std::size_t d = 0; d < 3; ++d)
      if (is_flat) place[d] -= low[d];
  return std::sqrt(squared_distance(low, high));
}

}  // namespace

template <std::size_t D>
std::vector<std::array<double, D>> detail::places_in_space(Locations const& locations) {
  std::vector<std::array<double, D>> places;
  bool const is_plane = locations.metric == Metric::Euclidean;
  for (std::size_t i = 0; i < locations.x.size(); ++i) {
    double const x = locations.x[i], y = locations.y[i];
    double const lon = radians_per_degree * x, lat = radians_per_degree * y;
    std::array<double, D> place{x, y};
    if (!is_plane)
      place = {std::cos(lat) * std::cos(lon), std::cos(lat) * std::sin(lon), std::sin(lat)};
    for (std::size_t k = 0; k < std::min(locations.further.size(), D - 2); ++k)
      place[k + 2] = locations.further[k][i];
    places.push_back(place);
  }
  return places;
}

template std::vector<std::array<double, 3>> detail::places_in_space<3>(Locations const&);
template std::vector<std::array<double, most_coordinates>>
detail::places_in_space<most_coordinates>(Locations const&);

std::vector<std::int64_t> maximin_order(Locations const& locations) {
  check_locations(locations);
  auto places = detail::places_in_space<3>(locations);
  auto const n = static_cast<std::size_t>(locations.size());
  std::vector<std::int64_t> left(n), order;
  std::iota(left.begin(), left.end(), 0);
  if (n < 2) return left;
  std::ranges::sort(left, {},
                    [](std::int64_t i) { return random_bits(0, static_cast<std::uint64_t>(i)); });
  if (locations.coordinates() > 3) return left;
  constexpr double least_side = 0x1p-40;
  double const extent = move_to_origin(places);
  // What is covered stays so until the radius is below the distance that was found.
  std::vector<double> covered(n, std::numeric_limits<double>::infinity());
  Taken taken(places);
  for (double r = 1.01 * extent; !left.empty() && r > least_side * extent; r /= std::sqrt(2.0)) {
    taken.begin(r, order);
    std::erase_if(left, [&](std::int64_t i) {
      auto& distance = covered[static_cast<std::size_t>(i)];
      if (distance < r * r) return false;
      distance = taken.nearest(i);
      if (distance < r * r) return false;
      taken.add(i);
      order.push_back(i);
      return true;
    });
  }
  std::ranges::sort(left);
  order.insert(order.end(), left.begin(), left.end());
  return order;
}

}  // namespace strata::geostat
