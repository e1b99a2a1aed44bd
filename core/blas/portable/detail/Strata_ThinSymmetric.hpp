// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_THIN_SYMMETRIC_HPP
#define STRATA_THIN_SYMMETRIC_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/memory/detail/Strata_Workspace.hpp>

#include <Kokkos_Core.hpp>

namespace strata::detail {

/// C = alpha A B + beta C, for a symmetric A and a C of one or two columns. It takes as long as to
/// read a triangle of A once for each column.
///
/// A, B and C are all fp64 or all fp32, without scales; sums have that type, in an order that
/// depends on the shape alone.
/// A tile has 512 rows and `tile_cols` columns: a multiple of 8 up to 128, or 0 for a choice.
/// Sync     enqueued; fences where the workspace grows.
/// Memory   workspace for partial sums: n numbers for each 512 rows and for each `tile_cols`
///          columns.
/// Result   false, with nothing done, if the operands are others, there is no room for the
///          workspace, or on a host.
template <class Exec>
bool thin_symmetric(Exec const& exec, Workspace<Exec>& workspace, Uplo uplo, double alpha,
                    ConstMatrixRef<typename Exec::memory_space> const& A,
                    ConstMatrixRef<typename Exec::memory_space> const& B, double beta,
                    MatrixRef<typename Exec::memory_space> const& C, std::int64_t tile_cols = 0);

}  // namespace strata::detail

#endif
