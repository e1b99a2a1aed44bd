// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TILE_POTRF_HPP
#define STRATA_TILE_POTRF_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/kokkos_ext/detail/Strata_Workspace.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>

namespace strata::vendor {

/// A = L L^T in place and, if `inverse` is given, inverse = L^-T with zeros below its diagonal: a Cholesky
/// factorisation by tiles of 64 in one kernel, for orders up to 2048, and up to 1024 with the inverse.
///
/// A block takes the tasks in an order in which each needs earlier ones alone: a tile's products with finished tiles,
/// and its solve. They wait for one another's numbers, so that the kernel goes on with however few of its blocks the
/// device runs, if these are two. The first block factors the tiles on the diagonal and eliminates the tile below each,
/// for all else waits for them.
///
/// Shape    A, inverse: n x n of one arithmetic type, without scale. Cost n^3/3 flops and as many for the inverse.
/// Result   *info and, if given, *largest as for `LeafBlas::potrf_invert`. False, with nothing done, if the operands are others, or on other devices
///          than NVIDIA's from compute capability 9.0 on with 153 KiB of shared memory a block (fp32: 81), or if the program
///          was compiled for older ones.
/// Sync     enqueued; fences where the workspace grows.
/// Blocks   `most_blocks` at most; their number changes no bit.
/// Memory   workspace, of which nothing is taken, and with the inverse one that nobody else uses, also in a replay of captured work:
///          it stays as the next call needs it. It holds n^2/2 numbers and 12288 for each tile on the diagonal; n^2 with the inverse.
/// Throws   MemoryError where they can't be had: another factorisation would have other bits.
/// Error    as for a Cholesky factorisation in the type, |A - L L^T| <= c n eps |L| |L^T|, whatever the condition of A:
///          products with the inverse of a tile on the diagonal are corrected once by what they leave (in fp32 by one product of
///          tf32, to 2^-10 of a correction that is below eps cond). Of the inverse V,
///          |V L^T - 1| is as small, |L^T V - 1| need not be. Products of fp32 are made on the matrix units from operands in two
///          parts of tf32, each with an error of at most 8 unit roundoffs more, in sums of eight that are cut off instead
///          of rounded.
template <class Exec>
bool tile_potrf(Exec const& exec, detail::Workspace<Exec>& workspace,
                MatrixRef<typename Exec::memory_space> const& A,
                MatrixRef<typename Exec::memory_space> const* inverse, std::int64_t offset,
                Kokkos::View<std::int64_t, typename Exec::memory_space> const& info,
                double* largest = nullptr, int most_blocks = std::numeric_limits<int>::max());

}  // namespace strata::vendor

#endif
