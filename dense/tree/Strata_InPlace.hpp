// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_IN_PLACE_HPP
#define STRATA_IN_PLACE_HPP

#include <core/Strata_Errors.hpp>
#include <core/Strata_MatrixRef.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <dense/tree/detail/Strata_ColumnMajor.hpp>

#include <cstdint>

namespace strata::dense {

/// A = L L^T (Lower) or U^T U (Upper) in place, in A's own precision: LAPACK's potrf.
///
/// Shape    A: n x n in fp64 or fp32, unscaled; the other triangle is neither read nor written.
///          leaf_size: order of the blocks that the leaf BLAS factors, >= 1; 0: chosen for n.
/// Result   the factor; or the order of the first leading minor that is not positive, or NaN: the
///          triangle then holds no defined numbers.
/// Sync     on the instance of `blas`, which it fences to read the pivot status. Cost n^3/3 flops.
/// Memory   8 bytes in slot 0 of `blas`' scratch, where the status is.
/// Throws   ShapeError if A is not square; ValueError if leaf_size < 0; MemoryError, VendorError.
/// Error    ||A - L L^T||_F <= c n u ||A||_F (tested).
/// Source   Paper A, algorithm 1 with one layer; deviation: no tree, so that nothing is copied.
template <class ExecutionSpace>
[[nodiscard]] Info potrf_in_place(LeafBlas<ExecutionSpace>& blas, Uplo uplo,
                                  MatrixRef<typename ExecutionSpace::memory_space> const& A,
                                  std::int64_t leaf_size = 0);

/// B = A^-1 B with the factor that `potrf_in_place` has left: LAPACK's potrs.
///
/// Shape    B: n x m in the factor's precision. Sync: enqueued on the instance of `blas`. Cost 2
///          n^2 m flops.
/// Throws   ShapeError if B does not fit.
template <class ExecutionSpace>
void potrs_in_place(LeafBlas<ExecutionSpace>& blas, Uplo uplo,
                    ConstMatrixRef<typename ExecutionSpace::memory_space> const& factor,
                    MatrixRef<typename ExecutionSpace::memory_space> const& B);

/// `potrf_in_place` of a View of double or float, LayoutLeft or LayoutRight.
template <class ExecutionSpace, class MatrixView>
[[nodiscard]] Info potrf_in_place(ExecutionSpace const& exec, Uplo uplo, MatrixView const& A,
                                  std::int64_t leaf_size = 0) {
  auto const columns = detail::column_major<ExecutionSpace>(A);
  LeafBlas<ExecutionSpace> blas(exec);
  return potrf_in_place(blas, columns.of(uplo), columns.matrix, leaf_size);
}

}  // namespace strata::dense

#endif
