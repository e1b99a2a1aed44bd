// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/schedule/Strata_TilePlan.hpp>

#include <core/Strata_Errors.hpp>

#include <algorithm>
#include <utility>

namespace strata::ooc {

TilePlan::TilePlan(std::int64_t n, std::int64_t tile_size, PrecisionMap const& map)
    : n_(n), tile_size_(tile_size), map_(map) {
  auto const count = map.histogram();
  bool const has_forms = map.is_mixed() || map.moduli() > 0;
  units_ = !has_forms ? 1 : map.moduli() > 8 ? 16 : 8;
  items_ = !has_forms ? 3 : count[2] + count[3] == 0 ? 4 : 5;
  std::int64_t const edge = std::min(n, tile_size);
  unit_bytes_ = has_forms ? tile_bytes(Precision::fp8_e4m3, edge, edge)
                          : tile_bytes(Precision::fp64, edge, edge);
  if (map.moduli() == 0) return;
  std::size_t const bytes = squares_offset() + static_cast<std::size_t>(edge + 1) * sizeof(double);
  std::size_t const part = bytes / static_cast<std::size_t>(units_) + 1;
  unit_bytes_ = std::max(unit_bytes_, (part + 255) / 256 * 256);
}

TilePlan::KeyedTile TilePlan::tile_of(std::int64_t key) const {
  std::int64_t const number = key / forms, tiles = map_.tiles();
  std::int64_t low = 0, high = tiles;  // the last column that begins at the number or before
  while (high - low > 1) {
    std::int64_t const middle = (low + high) / 2;
    bool const is_before = static_cast<std::int64_t>(tile_number(middle, middle, tiles)) <= number;
    (is_before ? low : high) = middle;
  }
  std::int64_t const first = static_cast<std::int64_t>(tile_number(low, low, tiles));
  return {low + number - first, low, static_cast<int>(key % forms)};
}

Precision TilePlan::product(std::int64_t i, std::int64_t j, std::int64_t k) const {
  Precision const sums = in_place(i, j) ? map_.at(i, j) : working(i, j);
  Precision const lowest =
      std::max({map_.at(i, k), map_.at(j, k), sums}, [](Precision a, Precision b) {
        return std::pair(precision_rank(a), is_product_format(a)) <
               std::pair(precision_rank(b), is_product_format(b));
      });
  if (moduli_of(lowest) == 0) return lowest;
  return moduli_of(map_.at(i, j)) > 0 ? map_.at(i, j) : integer_precision(map_.moduli());
}

std::size_t smallest_budget_bytes(std::int64_t n, std::int64_t tile_size, PrecisionMap const& map,
                                  int streams) {
  STRATA_REQUIRE(ValueError, streams >= 1, "cholesky: ", streams, " streams, must be at least 1");
  TilePlan const plan(n, tile_size, map);
  return (plan.block_bytes() * static_cast<std::size_t>(plan.items()) + plan.integer_sum_bytes()) *
         static_cast<std::size_t>(streams);
}

}  // namespace strata::ooc
