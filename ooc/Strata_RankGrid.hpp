// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_RANK_GRID_HPP
#define STRATA_RANK_GRID_HPP

#include <cstdint>
#include <string>

namespace strata::ooc {

/// Ranks in rows and columns, tiles round both.
struct RankGrid {
  int rows = 1, cols = 1;  ///< of ranks

  /// How many there are.
  int ranks() const { return rows * cols; }
  /// The rank in a row and a column of the grid, both taken round it.
  int rank_at(std::int64_t row, std::int64_t col) const {
    return static_cast<int>((row % rows) * cols + col % cols);
  }
  /// The rank that has a tile.
  int owner(std::int64_t i, std::int64_t j) const { return rank_at(i, j); }
  /// As many rows and columns.
  bool operator==(RankGrid const&) const = default;
};

/// A grid of all ranks: a column of up to four, whose whole tasks need the least room; of more the one that is nearest to
/// a square, with no more columns than rows.
RankGrid automatic_grid(int ranks);

/// Columns of tiles in a super-panel of a factorisation on a grid (see `RankOrder`); 0: whole tasks, for up to four ranks in
/// a column.
std::int64_t automatic_super_panel(RankGrid const& grid);

/// A grid as it is written, "4x8": rows, then columns.
///
/// Throws   ValueError for any other text.
RankGrid grid_from(std::string const& text);

}  // namespace strata::ooc

#endif
