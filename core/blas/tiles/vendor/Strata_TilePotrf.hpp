// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TILE_POTRF_HPP
#define STRATA_TILE_POTRF_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/memory/detail/Strata_Workspace.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>

namespace strata::vendor {

/// A = L L^T in place and, if `inverse` is given, inverse = L^-T with zeros below its diagonal. One
/// kernel factors tiles of 64, for orders up to 2048, and up to 1024 with the inverse.
///
/// A task is a tile's products with finished tiles, and its solve. Blocks take tasks in an order in
/// which each task needs earlier ones alone. So the kernel goes on even if the device runs two
/// blocks alone. The first block factors the tiles on the diagonal and eliminates the tile below
/// each, for all else waits for them.
///
/// Shape    A, inverse: n x n of one arithmetic type, without scale. Cost n^3/3 flops and as many
///          for the inverse.
/// Result   *info and, if given, *largest as for `LeafBlas::potrf_invert`. False, with nothing
///          done, if the operands are others or the device can't run it. It needs NVIDIA's compute
///          capability 9.0, 153 KiB of shared memory a block (fp32: 81), and a program that was not
///          compiled for older devices alone.
/// Sync     enqueued; fences where the workspace grows.
/// Blocks   `most_blocks` at most; their number changes no bit.
/// Memory   workspace, of which nothing is taken. With the inverse nobody else may use the
///          workspace, also in a replay of captured work: it stays as the next call needs it. It
///          holds n^2/2 numbers and 12288 for each tile on the diagonal; n^2 with the inverse.
/// Throws   MemoryError where they can't be had: another factorisation would have other bits.
/// Error    |A - L L^T| <= c n eps |L| |L^T| as for any Cholesky factorisation in the type,
///          whatever the condition of A. Products with the inverse of a diagonal tile are corrected
///          once by their residual. In fp32 the correction is one product of tf32, to 2^-10 of a
///          correction that is below eps cond. For the inverse V, |V L^T - 1| is as small, but |L^T
///          V - 1| need not be. In fp32 the matrix units multiply operands in two parts of tf32.
///          Each product has an additional error of at most 8 unit roundoffs. Sums of eight are cut
///          off instead of rounded.
template <class Exec>
bool tile_potrf(Exec const& exec, detail::Workspace<Exec>& workspace,
                MatrixRef<typename Exec::memory_space> const& A,
                MatrixRef<typename Exec::memory_space> const* inverse, std::int64_t offset,
                Kokkos::View<std::int64_t, typename Exec::memory_space> const& info,
                double* largest = nullptr, int most_blocks = std::numeric_limits<int>::max());

}  // namespace strata::vendor

#endif
