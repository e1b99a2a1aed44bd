// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_SCHEDULE_RANK_ORDER_HPP
#define STRATA_OOC_SCHEDULE_RANK_ORDER_HPP

#include <ooc/schedule/Strata_Messages.hpp>
#include <ooc/schedule/Strata_RankGrid.hpp>
#include <ooc/schedule/Strata_Schedule.hpp>

#include <cstdint>
#include <vector>

namespace strata::ooc {

/// A stay of a tile on its device: its updates by the columns [first, last), in order.
struct Visit {
  std::int32_t row = 0, col = 0;     ///< row and column of the tile
  std::int32_t first = 0, last = 0;  ///< columns to its left
  bool is_last = false;              ///< POTRF or TRSM follows, and the tile is final
  /// The same updates of the same tile.
  bool operator==(Visit const&) const = default;
};

/// Who does what when, and who sends what to whom. Visits and messages follow from these numbers.
///
/// Without super-panels there are whole tasks (`cholesky_schedule`), by columns from left to right.
/// The ranks are a column (P x 1), and rows of tiles are dealt there and back. The owner of a tile
/// sends it to all ranks that need it. Row i of L depends on rows before it alone. A rank needs the
/// whole row when it comes to its tiles of column i, not before, and not after. So tiles travel row
/// by row. A rank has room for some rows ahead, and gives the room of a row to others when its part
/// of the column is done.
///
/// With super-panels of w columns of tiles the grid may be P x Q. Within a super-panel a tile has
/// its updates by the columns of the super-panel to its left, and is final. Then each rank updates
/// its tiles to the right of the super-panel once with the whole super-panel. The tiles of the next
/// super-panel come first, in a stream of their own. That stream goes on with the next super-panel
/// while the other streams update the rest. So each tile has its updates in the order of the
/// columns, as in whole tasks. A rank gets only those tiles of the super-panel that are in its rows
/// and columns. It needs them until it is done with the super-panel, no longer. From its owner on,
/// a final tile goes from rank to rank along the row of the grid. From the rank that has the
/// diagonal tile of the same row, it goes along that rank's column. Each rank passes the tile on to
/// the next, so that no rank sends a tile more than twice.
struct RankOrder {
  std::int64_t tiles = 0;  ///< tile rows of the matrix
  RankGrid grid;           ///< rows and columns of the ranks
  /// devices of each rank; a rank's rows of tiles go round its devices
  int devices = 1;
  int streams = 1;                ///< streams of each device
  std::int64_t super_panel = 0;   ///< columns of tiles; 0: none, whole tasks
  std::int64_t column_block = 1;  ///< columns of a block of whole tasks, see `cholesky_schedule`
  /// Columns of tiles before this one are factored already. Their tiles are not sent any more in
  /// rows before this one, but they are in the rows below, as all tiles.
  std::int64_t first_column = 0;

  /// Throws   ShapeError if tiles < 0 or the first column is not in [0, tiles]; ValueError for
  ///          anything else out of range, or for a grid of several columns without super-panels.
  void check() const;

  /// The rank that has a tile.
  int owner(std::int64_t i, std::int64_t j) const {
    return owner_of(grid, super_panel, tiles, i, j);
  }
  /// The device of a rank that has this row of tiles.
  int device_of(std::int64_t row) const {
    return static_cast<int>(dealt_row(grid, super_panel, tiles, row).round % devices);
  }
  /// Position of a stream in `visits_of`, as `Schedule` has it.
  std::size_t lane(int rank, int device, int stream) const {
    return static_cast<std::size_t>((device * grid.ranks() + rank) * streams + stream);
  }
  /// Steps by whose end a rank gives up what it got for them: super-panels, or columns.
  std::int64_t steps() const {
    return super_panel > 0 ? (tiles + super_panel - 1) / super_panel : tiles;
  }
  /// The step that a rank gets a tile for, if it needs it.
  std::int64_t step_of_tile(std::int64_t i, std::int64_t k) const {
    return super_panel > 0 ? k / super_panel : i;
  }
  /// The step of a visit.
  std::int64_t step_of(Visit const& visit) const {
    return super_panel > 0 ? visit.first / super_panel : visit.col;
  }
  /// How many visits a rank makes in a step.
  std::int64_t visits_in(int rank, std::int64_t step) const;
  /// Whether a device needs tile (i, k), which its rank or another has made.
  bool needs_on(int rank, int device, std::int64_t i, std::int64_t k) const;
};

/// What one stream does in one step of an order with super-panels.
std::vector<Visit> visits_of(RankOrder const& order, int rank, int device, int stream,
                             std::int64_t step);
/// All that all streams do, by `RankOrder::lane`.
std::vector<std::vector<Visit>> visits_of(RankOrder const& order);
/// All that the streams of one rank do: stream s of device d is number d * streams + s.
std::vector<std::vector<Visit>> visits_of(RankOrder const& order, int rank);

/// The rank from which a rank gets tile (i, k); -1: it gets none.
int source_of(RankOrder const& order, int rank, std::int64_t i, std::int64_t k);
/// What a rank gets for a step, in its order.
std::vector<Message> receives_of(RankOrder const& order, int rank, std::int64_t step);
/// The ranks to which a rank sends tile (i, k) once it has the tile.
void targets_of(RankOrder const& order, int rank, std::int64_t i, std::int64_t k,
                std::vector<int>& targets);
/// All that a rank sends and gets, in its order: plain data for the engine and a check.
///
/// Throws   ValueError if the rank is none of the grid.
RankMessages messages_of(RankOrder const& order, int rank);

/// The number of others' tiles for which a rank has room. With super-panels it is what the rank
/// gets of two super-panels, so that the tiles of the next one arrive while one is used. Without
/// super-panels it is the longest rows that it gets, as many as two blocks have columns, for the
/// same reason.
std::int64_t room_of(RankOrder const& order, int rank);
/// The largest `room_of` of any rank.
std::int64_t room_of(RankOrder const& order);

/// Plays all ranks together, as `check_messages` does, each with the room of `room_of`. Checks that
/// each tile has each of its updates once and in the order of the columns.
RankCheck check_order(RankOrder const& order);

}  // namespace strata::ooc

#endif
