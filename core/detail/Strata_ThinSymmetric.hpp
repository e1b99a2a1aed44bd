// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_THIN_SYMMETRIC_HPP
#define STRATA_THIN_SYMMETRIC_HPP

#include <Kokkos_Core.hpp>
#include <core/Strata_MatrixRef.hpp>
#include <core/detail/Strata_Workspace.hpp>

namespace strata::detail {

/// C = alpha A B + beta C for a symmetric A and a C of one or two columns, at the rate at which a
/// triangle of A can be read once.
///
/// A, B and C are all fp64 or all fp32, without scales; sums have that type, in an order that
/// depends on the shape alone.
/// Sync     enqueued. Memory: workspace for partial sums of C, at most a 16th of A's numbers (n >= 128).
/// Result   false, with nothing done, if the operands are others, or on a host.
template <class Exec>
bool thin_symmetric(Exec const& exec, Workspace<Exec>& workspace, Uplo uplo, double alpha,
                    MatrixRef<typename Exec::memory_space> const& A,
                    MatrixRef<typename Exec::memory_space> const& B, double beta,
                    MatrixRef<typename Exec::memory_space> const& C);

}  // namespace strata::detail

#endif
