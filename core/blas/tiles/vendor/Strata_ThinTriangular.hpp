// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_THIN_TRIANGULAR_HPP
#define STRATA_THIN_TRIANGULAR_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/memory/detail/Strata_Workspace.hpp>

#include <Kokkos_Core.hpp>

namespace strata::vendor {

/// X = alpha op(L)^-1 X by substitution for a lower triangular L of order 8192 at most
/// and an X of at most four columns, in one kernel.
///
/// A team takes 64 rows. It waits, number by number, for the solutions of the teams before it, and
/// updates its own rows meanwhile. Teams are numbered as they start, so each waits only for teams
/// that run already.
///
/// L and X are both fp64 or both fp32, without scales; sums have that type, in an order that
/// depends on the shape alone.
/// Sync     enqueued; fences where the workspace grows.
/// Memory   workspace for the solutions, n numbers a column.
/// Result   false, with nothing done, if the operands are others, there is no room for the
///          workspace, or on another backend than CUDA.
template <class Exec>
bool thin_triangular(Exec const& exec, detail::Workspace<Exec>& workspace, Side side, Uplo uplo,
                     Op op, Diag diag, double alpha,
                     ConstMatrixRef<typename Exec::memory_space> const& L,
                     MatrixRef<typename Exec::memory_space> const& X);

/// X = L^-T L^-1 X, both substitutions in one kernel.
///
/// All as `thin_triangular`, with twice its workspace and for at most 8192 numbers in X.
template <class Exec>
bool thin_potrs(Exec const& exec, detail::Workspace<Exec>& workspace,
                ConstMatrixRef<typename Exec::memory_space> const& L,
                MatrixRef<typename Exec::memory_space> const& X);

}  // namespace strata::vendor

#endif
