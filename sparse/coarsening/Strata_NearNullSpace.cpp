// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/coarsening/Strata_NearNullSpace.hpp>

#include <core/Strata_Errors.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

namespace strata::sparse {
namespace {

void require_rows(char const* what, std::span<double const> numbers, std::size_t width) {
  STRATA_REQUIRE(ShapeError, numbers.size() % width == 0, what, ": ", numbers.size(),
                 " numbers are no whole rows of ", width);
  for (std::size_t k = 0; k < numbers.size(); ++k)
    STRATA_REQUIRE(ValueError, std::isfinite(numbers[k]), what, ": ", numbers[k], " in row ",
                   k / width, ", column ", k % width, ", must be finite");
}

// The mean of each coordinate, and the largest distance from it.
std::pair<std::array<double, 3>, double> centre_and_size(std::span<double const> places,
                                                         std::size_t axes) {
  std::array<double, 3> centre{};
  double size = 0;
  auto const points = static_cast<double>(places.size() / axes);
  for (std::size_t k = 0; k < places.size(); ++k) centre[k % axes] += places[k] / points;
  for (std::size_t k = 0; k < places.size(); ++k)
    size = std::max(size, std::abs(places[k] - centre[k % axes]));
  return {centre, size > 0 ? size : 1};
}

}  // namespace

std::shared_ptr<NearNullSpace const> near_null_space(std::span<double const> values, int width) {
  constexpr int most = 16;
  STRATA_REQUIRE(ValueError, width >= 1 && width <= most, "near-null space: ", width,
                 " vectors, must be 1 to ", most);
  require_rows("near-null space", values, static_cast<std::size_t>(width));
  return std::make_shared<NearNullSpace const>(
      NearNullSpace{width, std::vector<double>(values.begin(), values.end())});
}

std::shared_ptr<NearNullSpace const> rigid_body_modes(std::span<double const> places,
                                                      int dimensions) {
  STRATA_REQUIRE(ShapeError, dimensions == 2 || dimensions == 3, "rigid-body modes: places of ",
                 dimensions, " coordinates, must be 2 or 3");
  auto const axes = static_cast<std::size_t>(dimensions),
             width = axes == 2 ? std::size_t{3} : std::size_t{6};
  require_rows("rigid-body modes", places, axes);
  auto const [centre, size] = centre_and_size(places, axes);
  NearNullSpace modes{static_cast<int>(width), std::vector<double>(places.size() * width, 0.0)};
  for (std::size_t row = 0; row < places.size(); row += axes) {
    auto const of = [&](std::size_t axis, std::size_t mode) -> double& {
      return modes.values[(row + axis) * width + mode];
    };
    for (std::size_t axis = 0; axis < axes; ++axis) of(axis, axis) = 1;
    std::size_t mode = axes;
    for (std::size_t from = 0; from < axes; ++from)  // rotations in the plane of two axes
      for (std::size_t to = from + 1; to < axes; ++to, ++mode) {
        of(from, mode) = -(places[row + to] - centre[to]) / size;
        of(to, mode) = (places[row + from] - centre[from]) / size;
      }
  }
  return std::make_shared<NearNullSpace const>(std::move(modes));
}

}  // namespace strata::sparse
