// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_TILE_REPORT_HPP
#define STRATA_APPS_TILE_REPORT_HPP

#include <apps/shared/Strata_Report.hpp>
#include <ooc/Strata_Cholesky.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace strata::apps {

/// What reports tell of a matrix in tiles.
struct Tiles {
  std::array<std::int64_t, 4> count;  ///< in fp64, fp32, fp16 and fp8_e4m3
  std::int64_t size;                  ///< order of a tile
  ooc::Rung rung;                     ///< of the ladder that held, or was the last
  std::vector<ooc::CholeskyAttempt> const& attempts;
};

/// Add the keys tile_size, tiles, rung and attempts under `prefix`.
void add_tiles(Report& report, std::string const& prefix, Tiles const& tiles);

/// Names of the precisions that tiles may have: of a rule without an accuracy fp64 alone.
std::vector<std::string> allowed_precisions(ooc::PrecisionRule const& rule);

/// "factored" or "broke down at minor 7".
std::string outcome_of(std::int64_t info);

}  // namespace strata::apps

#endif
