// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_SCHEDULE_TILE_PLAN_HPP
#define STRATA_OOC_SCHEDULE_TILE_PLAN_HPP

#include <ooc/schedule/Strata_PrecisionMap.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace strata::ooc {

/// What a map of precisions means for sizes and operands: the same for a run and for a simulation.
///
/// A device has a pool of blocks, each as large as a tile in fp64. Where precisions are mixed, a
/// block has eight units of one byte a number. Where products are made of integers modulo more than
/// eight numbers, it has sixteen. A tile has a form for each precision that some product reads it
/// in, one for its integers, and one for its sums.
class TilePlan {
 public:
  /// The four precisions, integers, and the sums of a low tile.
  static constexpr std::int64_t forms = 6;
  static constexpr int integer_form = 4;  ///< number of the form of integers
  /// Number of a form: as `precision_rank` says, or of integers.
  static int form_of(Precision form) {
    return moduli_of(form) > 0 ? integer_form : precision_rank(form);
  }

  /// A matrix of order n. The plan refers to `map`.
  TilePlan(std::int64_t n, std::int64_t tile_size, PrecisionMap const& map);

  /// The precision of each tile.
  PrecisionMap const& map() const { return map_; }
  /// Rows of the tiles in tile row i.
  std::int64_t rows(std::int64_t i) const { return std::min(tile_size_, n_ - i * tile_size_); }
  /// Units in a block of the pool, which holds one tile in fp64.
  int units_per_block() const { return units_; }
  /// Bytes of a unit.
  std::size_t unit_bytes() const { return unit_bytes_; }
  /// Bytes of a block.
  std::size_t block_bytes() const { return unit_bytes_ * static_cast<std::size_t>(units_); }
  /// Tiles that a stream holds at once, at most.
  int items() const { return items_; }
  /// Blocks that a tile takes at most in all its forms.
  std::int64_t blocks_per_tile() const { return units_ > 1 ? 2 : 1; }
  /// Blocks that a pool can use whose device needs so many tiles at a time.
  std::int64_t useful_blocks(std::int64_t tiles, int streams) const {
    return tiles * blocks_per_tile() + std::int64_t{streams} * items_;
  }

  /// Units that a tile takes in a form; its integers take a power of two.
  int units(Precision form) const {
    if (moduli_of(form) > 0) return units_;
    return units_ == 1 ? 1 : static_cast<int>(traits(form).bytes);
  }
  /// Key of a tile in one of its forms.
  std::int64_t key(std::int64_t i, std::int64_t j, Precision form) const {
    return static_cast<std::int64_t>(tile_number(i, j, map_.tiles())) * forms + form_of(form);
  }
  /// Key of the sums of a tile that is not updated where it is stored.
  std::int64_t sums_key(std::int64_t i, std::int64_t j) const {
    return static_cast<std::int64_t>(tile_number(i, j, map_.tiles())) * forms + forms - 1;
  }
  /// The tile that a key is of, and the number of its form.
  struct KeyedTile {
    std::int64_t i;  ///< Tile row.
    std::int64_t j;  ///< Tile column.
    int form;        ///< Number of the form, as `form_of` says, or `forms` - 1 for sums.
  };
  /// The tile and the form that a key stands for.
  KeyedTile tile_of(std::int64_t key) const;
  /// One more than the largest key.
  std::size_t keys() const { return tile_count(map_.tiles()) * forms; }

  /// Precision that a tile is stored in: the map's, or fp64 for one that is multiplied as integers.
  Precision stored(std::int64_t i, std::int64_t j) const {
    return moduli_of(map_.at(i, j)) > 0 ? Precision::fp64 : map_.at(i, j);
  }
  /// Precision that the sums of a tile are made in.
  Precision working(std::int64_t i, std::int64_t j) const {
    return stored(i, j) == Precision::fp64 ? Precision::fp64 : Precision::fp32;
  }
  /// Whether the sums of a tile are made where the tile is stored.
  bool in_place(std::int64_t i, std::int64_t j) const { return is_stored(i, j, working(i, j)); }
  /// Whether the numbers of a tile are stored as numbers of `form`.
  bool is_stored(std::int64_t i, std::int64_t j, Precision form) const {
    return moduli_of(form) == 0 && storage(map_.at(i, j)) == storage(form);
  }
  /// The precision in which L_ik L_jk^T is made when tile (i, j) is updated. It is the lower of
  /// two: the operands' precision, for which the operand rule answers, and the format of the sums
  /// or of the tile itself. Integers have the moduli of the tile; on the diagonal and in fp64 all.
  Precision product(std::int64_t i, std::int64_t j, std::int64_t k) const;

  /// Rows and columns of a tile's integers, a multiple of 16.
  std::int64_t padded_edge() const { return (rows(0) + 15) / 16 * 16; }
  /// The first byte behind a tile's integers, where the squares are: one for each row, and then
  /// the largest one.
  std::size_t squares_offset() const {
    return static_cast<std::size_t>(map_.moduli() * padded_edge() * padded_edge());
  }
  /// Bytes of the sums of integers of one stream; 0: there are none.
  std::size_t integer_sum_bytes() const { return sizeof(std::int32_t) * squares_offset(); }

 private:
  std::int64_t n_, tile_size_;
  PrecisionMap const& map_;
  int units_, items_;
  std::size_t unit_bytes_;
};

/// The least bytes of tiles that each device needs.
///
/// Throws   ValueError if streams < 1.
std::size_t smallest_budget_bytes(std::int64_t n, std::int64_t tile_size, PrecisionMap const& map,
                                  int streams);

}  // namespace strata::ooc

#endif
