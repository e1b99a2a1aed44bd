// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_TILES_DETAIL_TILE_DIAGONAL_HPP
#define STRATA_OOC_TILES_DETAIL_TILE_DIAGONAL_HPP

#include <comm/Strata_Together.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <ooc/tiles/Strata_TileMatrix.hpp>

#include <cstdint>
#include <vector>

namespace strata::ooc::detail {

/// The diagonal that the tiles have, from all ranks; collective. `function`: whose memory it is, in
/// words.
template <class ExecutionSpace>
std::vector<double> diagonal_of(TileMatrix<ExecutionSpace> const& matrix, char const* function) {
  std::vector<double> diagonal;
  together(matrix.comm(), [&] {
    name_bad_alloc(function, [&] { diagonal.assign(static_cast<std::size_t>(matrix.order()), 0); });
    for (std::int64_t k = 0; k < matrix.tiles(); ++k) {
      if (!matrix.has_tile(k, k)) continue;
      auto const A = matrix.tile(k, k);  // which a device may not give
      for (std::int64_t i = 0; i < A.rows; ++i)
        diagonal[static_cast<std::size_t>(k * matrix.tile_size() + i)] =
            A.template as<double>()[i * (A.ld + 1)];
    }
  });
  if (matrix.comm()) matrix.comm()->sum(diagonal);  // of one number and zeros
  return diagonal;
}

}  // namespace strata::ooc::detail

#endif
