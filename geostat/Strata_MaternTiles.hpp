// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_MATERN_TILES_HPP
#define STRATA_MATERN_TILES_HPP

#include <geostat/Strata_Matern.hpp>
#include <ooc/tiles/Strata_TileMatrix.hpp>

namespace strata::geostat {

/// Tiles of the covariance matrix of observations at `locations`: the entries of `fill_covariance`,
/// evaluated by the instance that fills the tile.
///
/// Sync     copies the coordinates to `exec`'s device and fences it; every tile runs on the
///          instance it is given, of any device and from any thread: one that finds no free copy of
///          the coordinates makes one, which fences it.
/// Memory   24 n bytes for each thread that fills tiles at the same time, on its device, and on the
///          host.
/// Throws   what `check_covariance` throws.
template <class ExecutionSpace>
ooc::TileGenerator<ExecutionSpace> matern_tiles(ExecutionSpace const& exec,
                                                MaternCovariance const& covariance,
                                                Locations const& locations);

}  // namespace strata::geostat

#endif
