// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_TILES_TILE_SOURCES_HPP
#define STRATA_OOC_TILES_TILE_SOURCES_HPP

#include <ooc/tiles/Strata_TileStore.hpp>

#include <cstdint>
#include <functional>
#include <memory>

namespace strata {
class Communicator;
class MatrixBlocks;
}  // namespace strata

namespace strata::ooc {

/// A tile in host memory: a `HostBlock`.
using HostTileView = TileView<Kokkos::DefaultHostExecutionSpace>;

/// Tiles that a function writes to host memory, by columns without gaps, as a file or another
/// program's arrays have them. The generator runs on any device. If several threads may call the
/// function at once, it runs in any thread.
///
/// Sync     fences the instance that fills the tile, before it reads and, where tiles are not in
///          host memory, after it copied.
/// Memory   where tiles are not in host memory, one of them on the host for each thread that reads.
/// Throws   ValueError if there is no function; when a tile is filled, what the function throws.
template <class ExecutionSpace>
TileGenerator<ExecutionSpace> host_tiles(
    std::function<void(std::int64_t row, std::int64_t col, HostTileView const& block)> read);

/// Tiles of a matrix in a file; every tile is read when it is asked for, on any device and from any
/// thread.
///
/// Sync     as of `host_tiles`, and Memory.
/// Throws   ValueError if there is no file; when a tile is filled, what `MatrixBlocks::read`
///          throws.
/// I/O      TileMatrix asks for every tile once, or twice where precisions may be mixed, and once
///          more for each residual; for the diagonal ones once more where it equilibrates.
template <class ExecutionSpace>
TileGenerator<ExecutionSpace> file_tiles(std::shared_ptr<MatrixBlocks const> file);

/// Check that a file that all ranks see holds a symmetric matrix: each rank reads its share of the
/// blocks, and all throw the same.
///
/// Memory   as of `MatrixBlocks::find_asymmetry`.
/// Throws   IoError with the first pair that differs, of the order of one rank; ValueError if
///          block_size < 1; what `MatrixBlocks::read` throws.
void require_symmetric(Communicator const& comm, MatrixBlocks const& file,
                       std::int64_t block_size = 1024);

/// Tiles of the n x n matrix of MatrixKind::Dominant, on any device and from any thread.
template <class ExecutionSpace>
TileGenerator<ExecutionSpace> dominant_tiles(std::int64_t n, std::uint64_t seed = 1);

}  // namespace strata::ooc

#endif
