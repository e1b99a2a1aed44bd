// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_SCHEDULE_DETAIL_NEEDED_TILES_HPP
#define STRATA_OOC_SCHEDULE_DETAIL_NEEDED_TILES_HPP

#include <ooc/schedule/Strata_PrecisionMap.hpp>
#include <ooc/schedule/Strata_RankOrder.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strata::ooc::detail {

/// Whether some streams visit a tile or have it as an operand, by `tile_number`.
inline std::vector<bool> needed_tiles(std::int64_t tiles,
                                      std::span<std::vector<Visit> const> lanes) {
  std::vector<bool> needed(tile_count(tiles), false);
  // of each row how many visits begin to take its tiles as operands in a column, less those that
  // end before it
  std::vector<std::vector<std::int64_t>> changes(static_cast<std::size_t>(tiles));
  for (std::size_t i = 0; i < changes.size(); ++i) changes[i].assign(i + 2, 0);
  for (auto const& lane : lanes)
    for (auto const& [row, col, first, last, is_last] : lane) {
      needed[tile_number(row, col, tiles)] = true;
      if (is_last) needed[tile_number(col, col, tiles)] = true;
      for (auto const operand : {row, col}) {
        auto& of_row = changes[static_cast<std::size_t>(operand)];
        ++of_row[static_cast<std::size_t>(first)];
        --of_row[static_cast<std::size_t>(last)];
      }
    }
  for (std::int64_t i = 0; i < tiles; ++i) {
    std::int64_t taken = 0;
    for (std::int64_t k = 0; k <= i; ++k) {
      taken += changes[static_cast<std::size_t>(i)][static_cast<std::size_t>(k)];
      if (taken > 0) needed[tile_number(i, k, tiles)] = true;
    }
  }
  return needed;
}

}  // namespace strata::ooc::detail

#endif
