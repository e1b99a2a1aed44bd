// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_RANK_TILES_HPP
#define STRATATEST_RANK_TILES_HPP

#include "ooc/StrataTest_Tiles.hpp"
#include "sparse/StrataTest_Ranks.hpp"
#include <geostat/Strata_MaternTiles.hpp>
#include <ooc/schedule/Strata_RankGrid.hpp>
#include <ooc/tiles/Strata_TileMatrix.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace strata::test {

/// Those that the test was started with.
inline std::shared_ptr<Communicator const> all_ranks() {
  return std::make_shared<Communicator const>(test_ranks());
}

/// How the text of what one rank has thrown begins.
inline std::string from(Communicator const& comm, int rank) {
  return comm.size() == 1 ? "" : "rank " + std::to_string(rank) + ": ";
}

/// How the ranks lie, and what they play.
struct Layout {
  ooc::RankGrid grid{0, 0};
  std::int64_t super_panel = -1;
};

/// For messages.
inline std::string name_of(Layout const& layout) {
  return std::to_string(layout.grid.rows) + " x " + std::to_string(layout.grid.cols) +
         ", super-panels of " + std::to_string(layout.super_panel);
}

/// The same with all that it leaves open.
inline Layout of_ranks(int ranks, Layout layout = {}) {
  if (layout.grid.ranks() == 0) layout.grid = ooc::automatic_grid(ranks);
  if (layout.super_panel < 0) layout.super_panel = ooc::automatic_super_panel(layout.grid);
  return layout;
}
/// The rank that has a tile.
inline int owner_in(Layout const& layout, std::int64_t tiles, std::int64_t i, std::int64_t j) {
  return ooc::owner_of(layout.grid, layout.super_panel, tiles, i, j);
}

/// All grids of all ranks, with some super-panels, and whole tasks on a column.
inline std::vector<Layout> layouts() {
  int const ranks = test_ranks().size();
  std::vector<Layout> all = {{}, {{ranks, 1}, 0}};
  for (int rows = 1; rows <= ranks; ++rows)
    for (std::int64_t const super_panel : {1, 3})
      if (ranks % rows == 0) all.push_back({{rows, ranks / rows}, super_panel});
  return all;
}

/// A covariance matrix in tiles on these ranks; nullptr: on this one alone.
template <class Exec>
ooc::TileMatrix<Exec> make(MaternCase const& c, std::shared_ptr<Communicator const> comm,
                           Layout const& layout = {}) {
  Exec const exec;
  auto const field =
      matern_tiles(exec, MaternCovariance{1, c.range, c.nu, 0}, synthetic_locations(c.n));
  ooc::TileMatrixOptions options(c.rule);
  options.anywhere = true;
  options.comm = std::move(comm);
  options.grid = layout.grid;
  options.super_panel = layout.super_panel;
  return ooc::TileMatrix<Exec>::generate(exec, c.n, c.tile, field, options);
}

}  // namespace strata::test

#endif
