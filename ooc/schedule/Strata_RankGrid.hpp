// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_SCHEDULE_RANK_GRID_HPP
#define STRATA_OOC_SCHEDULE_RANK_GRID_HPP

#include <cstdint>
#include <string>

namespace strata::ooc {

/// Ranks in rows and columns.
struct RankGrid {
  int rows = 1, cols = 1;  ///< rows and columns of ranks

  /// The number of ranks.
  int ranks() const { return rows * cols; }
  /// The rank in a row and a column of the grid. Numbers beyond the last one begin again at 0.
  int rank_at(std::int64_t row, std::int64_t col) const {
    return static_cast<int>((row % rows) * cols + col % cols);
  }
  /// Whether both have as many rows and columns.
  bool operator==(RankGrid const&) const = default;
};

/// Where a row of tiles comes to lie, if rows are dealt to the ranks of a column.
struct DealtRow {
  std::int64_t rank = 0;   ///< rank in the column
  std::int64_t round = 0;  ///< round of the dealing; each rank gets at most one row in a round
};
/// Deals row i of a matrix with `tiles` tile rows. With super-panels the rows go round the ranks:
/// 0, 1, 2, 0, 1, 2, ... Without super-panels they go there and back, so that the last rounds are
/// whole: ..., 0, 1, 2, 2, 1, 0. A row has more work than the row before. If rows went round, the
/// last rank would get the longest row of each round.
inline DealtRow dealt_row(RankGrid const& grid, std::int64_t super_panel, std::int64_t tiles,
                          std::int64_t i) {
  std::int64_t const P = grid.rows;
  if (super_panel > 0 || P == 1) return {i % P, i / P};
  std::int64_t const turn = i + (2 * P - tiles % (2 * P)) % (2 * P);
  std::int64_t const round = turn / P, rank = turn % P;
  return {round % 2 == 0 ? rank : P - 1 - rank, round};
}
/// The rank that has a tile.
inline int owner_of(RankGrid const& grid, std::int64_t super_panel, std::int64_t tiles,
                    std::int64_t i, std::int64_t j) {
  return grid.rank_at(dealt_row(grid, super_panel, tiles, i).rank, j);
}

/// A grid of all ranks. Up to four ranks are a column, whose whole tasks need the least room. More
/// ranks get the grid that is nearest to a square, with no more columns than rows.
RankGrid automatic_grid(int ranks);

/// Columns of tiles in a super-panel of a factorisation on a grid (see `RankOrder`); 0: whole
/// tasks, for up to four ranks in a column.
std::int64_t automatic_super_panel(RankGrid const& grid);

/// A grid as it is written, "4x8": rows, then columns.
///
/// Throws   ValueError for any other text.
RankGrid grid_from(std::string const& text);

}  // namespace strata::ooc

#endif
