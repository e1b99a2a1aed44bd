// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/detail/Strata_Instantiate.hpp>
#include <ooc/Strata_MaternTiles.hpp>

namespace strata::ooc {

template <class Exec>
TileGenerator<Exec> matern_tiles(Exec const& exec, MaternCovariance const& covariance,
                                 Locations const& locations) {
  CovarianceEntries<typename Exec::memory_space> const entries(exec, covariance, locations);
  return [entries](Exec const& instance, std::int64_t row, std::int64_t col,
                   TileView<Exec> const& tile) { entries.fill(instance, row, col, tile); };
}

#define STRATA_INSTANTIATE(Exec)                                                        \
  template TileGenerator<Exec> matern_tiles<Exec>(Exec const&, MaternCovariance const&, \
                                                  Locations const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc
