// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_BLOCK_CYCLIC_TILES_HPP
#define STRATA_OOC_BLOCK_CYCLIC_TILES_HPP

#include <comm/Strata_BlockCyclic.hpp>
#include <dense/refine/Strata_SpdSolve.hpp>
#include <ooc/tiles/Strata_TileMatrix.hpp>

#include <cstdint>

// Matrices, factors and vectors that ranks hold in ScaLAPACK's form
// (`comm/Strata_BlockCyclic.hpp`); all functions are collective.
namespace strata::ooc {

template <class ExecutionSpace>
class TileFactor;

/// The lower triangle of a symmetric matrix that the ranks hold block-cyclically, in tiles on the
/// same ranks.
///
/// Shape    A: n x n, any blocks. It is not changed, and must stay as it is while tiles or
///          residuals need A: until the last solve. What is above the diagonal is not read.
/// Result   the bits of the same matrix from anywhere else. The ranks are A's, whatever the options
///          say.
/// Memory   as `TileMatrix::generate`; on the host, the tiles of a column that this rank needs, and
///          two messages with parts of these. One rank in turn has the whole column, 8 n tile_size
///          bytes. No rank ever has A or its triangle.
/// I/O      each tile is sent up to three times whenever norms, tiles or residuals are made. It
///          goes to the rank that has it, and to the two ranks that make its row's and its column's
///          sums. On a column of ranks these are two ranks in all.
/// Throws   ShapeError if A is not square; as `TileMatrix::generate`, on all ranks.
template <class ExecutionSpace>
TileMatrix<ExecutionSpace> from_block_cyclic(ExecutionSpace const& exec, BlockCyclic const& A,
                                             std::int64_t tile_size,
                                             TileMatrixOptions const& options = {});

/// Solves A X = B with right-hand sides and solutions that the ranks hold block-cyclically. They
/// may be on rank 0 alone, in one block of a grid of one process.
///
/// Shape    B, X: n x m, each with blocks and a grid of its own. X may be B.
/// Result   as of `TileFactor::solve`, with the bits of the same B whole on each rank.
/// Memory   as there, B and X whole on each rank: 2 n m numbers.
/// Throws   as there, on all ranks; ShapeError if X or B has another shape; ValueError if they are
///          on other ranks than the factor, or X overlaps the A of `from_block_cyclic`. X is then
///          as it was.
template <class ExecutionSpace>
[[nodiscard]] dense::SolveReport solve(ExecutionSpace const& exec,
                                       TileFactor<ExecutionSpace>& factor, BlockCyclic const& B,
                                       BlockCyclic const& X,
                                       dense::RefinementOptions const& options = {});

/// The lower triangle of L with A = L L^T, as pdpotrf leaves it, in fp64 from the tiles'
/// precisions; what is above the diagonal is not touched.
///
/// Shape    L: n x n, any blocks. It must not overlap the A of `from_block_cyclic`.
/// Memory   on the host this rank's tiles of a column, and two messages with parts of these.
/// Throws   ShapeError if L has another shape; ValueError if there is no factor, or L is on other
///          ranks or overlaps A; MemoryError. All on all ranks, before anything is written but for
///          memory.
template <class ExecutionSpace>
void copy_factor(TileFactor<ExecutionSpace> const& factor, BlockCyclic const& L);
/// The same to where A may be, which no residual can be made of afterwards: the factor ends.
template <class ExecutionSpace>
void copy_factor(TileFactor<ExecutionSpace>&& factor, BlockCyclic const& L);

}  // namespace strata::ooc

#endif
