// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TILE_PLAN_HPP
#define STRATA_TILE_PLAN_HPP

#include <ooc/Strata_PrecisionMap.hpp>
#include <ooc/Strata_Schedule.hpp>
#include <ooc/Strata_TileMatrix.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace strata::ooc::detail {

/// What the precisions mean for sizes and operands: the same for the executor and the simulator.
class TilePlan {
 public:
  static constexpr std::int64_t forms = 5;  ///< the four precisions, and the sums of a low tile

  TilePlan(std::int64_t n, std::int64_t tile_size, PrecisionMap const& map)
      : n_(n), tile_size_(tile_size), map_(map) {
    auto const count = map.histogram();
    units_ = map.is_mixed() ? 8 : 1;
    items_ = !map.is_mixed() ? 3 : count[2] + count[3] == 0 ? 4 : 5;
    std::int64_t const edge = std::min(n, tile_size);
    unit_bytes_ = map.is_mixed() ? tile_bytes(Precision::fp8_e4m3, edge, edge)
                                 : tile_bytes(Precision::fp64, edge, edge);
  }

  PrecisionMap const& map() const { return map_; }
  std::int64_t rows(std::int64_t i) const { return std::min(tile_size_, n_ - i * tile_size_); }
  /// A block of the pool holds one tile in fp64.
  int units_per_block() const { return units_; }
  std::size_t unit_bytes() const { return unit_bytes_; }
  std::size_t block_bytes() const { return unit_bytes_ * static_cast<std::size_t>(units_); }
  /// Tiles that a stream holds at once, at most.
  int items() const { return items_; }
  /// Blocks that a tile takes at most in all its forms.
  std::int64_t blocks_per_tile() const { return map_.is_mixed() ? 2 : 1; }
  /// Blocks that a pool can use whose device needs so many tiles at a time.
  std::int64_t useful_blocks(std::int64_t tiles, int streams) const {
    return tiles * blocks_per_tile() + std::int64_t{streams} * items_;
  }

  int units(Precision precision) const {
    return units_ == 1 ? 1 : static_cast<int>(traits(precision).bytes);
  }
  std::int64_t key(std::int64_t i, std::int64_t j, Precision form) const {
    return static_cast<std::int64_t>(tile_number(i, j, map_.tiles())) * forms +
           precision_rank(form);
  }
  /// Key of the sums of a tile that is not updated where it is stored.
  std::int64_t sums_key(std::int64_t i, std::int64_t j) const {
    return static_cast<std::int64_t>(tile_number(i, j, map_.tiles())) * forms + forms - 1;
  }
  /// The tile that a key is of, and the number of its form.
  struct KeyedTile {
    std::int64_t i, j;
    int form;
  };
  KeyedTile tile_of(std::int64_t key) const {
    std::int64_t const number = key / forms, tiles = map_.tiles();
    std::int64_t low = 0, high = tiles;  // the last column that begins at the number or before
    while (high - low > 1) {
      std::int64_t const middle = (low + high) / 2;
      bool const is_before =
          static_cast<std::int64_t>(tile_number(middle, middle, tiles)) <= number;
      (is_before ? low : high) = middle;
    }
    std::int64_t const first = static_cast<std::int64_t>(tile_number(low, low, tiles));
    return {low + number - first, low, static_cast<int>(key % forms)};
  }
  std::size_t keys() const { return tile_count(map_.tiles()) * forms; }

  /// What the sums of a tile are made in.
  Precision working(std::int64_t i, std::int64_t j) const {
    return map_.at(i, j) == Precision::fp64 ? Precision::fp64 : Precision::fp32;
  }
  /// Whether they are made where the tile is stored.
  bool in_place(std::int64_t i, std::int64_t j) const { return is_stored(i, j, working(i, j)); }
  /// Whether the tile's numbers are stored as those of `form`.
  bool is_stored(std::int64_t i, std::int64_t j, Precision form) const {
    return storage(map_.at(i, j)) == storage(form);
  }
  /// What L_ik L_jk^T is made in when tile (i, j) is updated: the lower of the operands', which the
  /// operand rule answers for, and of the sums' or of the tile's own format.
  Precision product(std::int64_t i, std::int64_t j, std::int64_t k) const {
    Precision const sums = in_place(i, j) ? map_.at(i, j) : working(i, j);
    return std::max({map_.at(i, k), map_.at(j, k), sums}, [](Precision a, Precision b) {
      return std::pair(precision_rank(a), is_product_format(a)) <
             std::pair(precision_rank(b), is_product_format(b));
    });
  }

 private:
  std::int64_t n_, tile_size_;
  PrecisionMap const& map_;
  int units_, items_;
  std::size_t unit_bytes_;
};

}  // namespace strata::ooc::detail

#endif
