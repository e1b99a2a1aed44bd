// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_TILES_DETAIL_TILE_CHECKPOINT_HPP
#define STRATA_OOC_TILES_DETAIL_TILE_CHECKPOINT_HPP

#include <ooc/tiles/Strata_TileMatrix.hpp>
#include <ooc/tiles/detail/Strata_Checkpoint.hpp>

#include <cstdint>
#include <string>
#include <vector>

// What a checkpoint holds of a matrix in tiles.
namespace strata::ooc::detail {

/// The tiles in a part of a column of a factor, nullptr for those on other ranks.
template <class ExecutionSpace>
std::vector<TileBytes> tiles_of(TileMatrix<ExecutionSpace> const& matrix, ColumnPart const& part);

/// How they are copied to and from the host; empty: they are there.
template <class ExecutionSpace>
CopyTile copy_of(TileMatrix<ExecutionSpace> const& matrix);

/// The parts of a column with tiles that this rank has.
template <class ExecutionSpace>
std::vector<ColumnPart> own_parts(TileMatrix<ExecutionSpace> const& matrix, std::int64_t column);

/// Whose tiles they are.
template <class ExecutionSpace>
CheckpointHeader header_of(TileMatrix<ExecutionSpace> const& matrix, ColumnPart const& part);

/// Reads the columns that a checkpoint holds into the matrix. They are the columns, from the first
/// on, of which each rank sees files with its tiles, in whatever parts. How many there are; of the
/// folder "" none. Collective.
///
/// Throws   what `check_column` throws of these, and of later ones that this rank will write again;
///          IoError if a later one has tiles of a rank that does not see it; what `read_column`
///          throws. What is refused leaves the matrix as it was.
template <class ExecutionSpace>
std::int64_t resume(TileMatrix<ExecutionSpace>& matrix, CheckpointFolder const& folder);

}  // namespace strata::ooc::detail

#endif
