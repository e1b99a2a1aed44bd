// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_IN_PLACE_HPP
#define STRATA_C_IN_PLACE_HPP

#include <c/detail/Strata_Workbench.hpp>
#include <core/Strata_MatrixRef.hpp>

#include <cstdint>

namespace strata::c::detail {

/// A = L L^T (Lower) or U^T U (Upper) in place, in A's own precision.
///
/// Shape    A: n x n, fp64 or fp32; the other triangle is not touched. leaf_size 0: automatic.
/// Result   0, or the order of the leading minor that is not positive.
/// Sync     fences the instance of `bench`, to read the pivot status.
/// Error    that of a Cholesky factorisation in A's precision.
/// Source   Paper A, algorithm 1 with one layer; deviation: no tree, so that nothing is copied.
std::int64_t potrf_in_place(Workbench const& bench, Uplo uplo, MatrixRef<Memory> const& A,
                            std::int64_t leaf_size);

/// B = A^-1 B with the factor that `potrf_in_place` leaves. Enqueued.
void potrs_in_place(Workbench const& bench, Uplo uplo, ConstMatrixRef<Memory> const& factor,
                    MatrixRef<Memory> const& B);

}  // namespace strata::c::detail

#endif
