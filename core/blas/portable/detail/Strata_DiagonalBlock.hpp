// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DIAGONAL_BLOCK_HPP
#define STRATA_DIAGONAL_BLOCK_HPP

#include <core/Strata_MatrixRef.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::detail {

/// Largest order that `factor_diagonal_block` takes: what the registers of one team hold.
constexpr std::int64_t diagonal_block_order(Precision precision) {
  return precision == Precision::fp64 ? 64 : 128;
}

/// L = chol(S) and inverse = L^-T by one team of a device, the block in its registers throughout.
///
/// Shape    S, L, inverse: n x n, n <= diagonal_block_order, fp64 or fp32; S and L may be the same.
///          Of S and L the lower triangles are read and written, `inverse` whole.
/// Result   info as of `LeafBlas::potrf`.
/// Sync     enqueued, one kernel. Devices only.
/// Source   The elimination that turns S into L turns the rows of I into the rows of L^-T
///          (Gauss-Jordan); as a row of S is done with, a row of I takes its place.
template <class Exec>
void factor_diagonal_block(Exec const& exec, ConstMatrixRef<typename Exec::memory_space> const& S,
                           MatrixRef<typename Exec::memory_space> const& L,
                           MatrixRef<typename Exec::memory_space> const& inverse,
                           std::int64_t offset,
                           Kokkos::View<std::int64_t, typename Exec::memory_space> const& info);

}  // namespace strata::detail

#endif
