// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DEFINITENESS_HPP
#define STRATA_DEFINITENESS_HPP

#include <core/Strata_Errors.hpp>
#include <core/Strata_MatrixRef.hpp>
#include <dense/tree/detail/Strata_ColumnMajor.hpp>

#include <type_traits>

namespace strata::dense {

namespace detail {

template <class ExecutionSpace>
[[nodiscard]] Info is_positive_definite(
    ExecutionSpace const& exec, Uplo uplo,
    ConstMatrixRef<typename ExecutionSpace::memory_space> const& A);

}  // namespace detail

/// Whether a symmetric matrix is positive definite, where its factor is not wanted.
///
/// Shape    A: n x n View of double, n >= 0, one of its strides 1. Its lower triangle is read, up
///          to four times the rows of the minor that answers, and not written.
/// Result   Info::ok(), or Info::breakdown(j): in fp64 arithmetic the leading minor of order j is
///          the first that is not positive, NaN or Inf among the entries of its last row. The
///          answer of `cholesky` in fp64, by the same arithmetic.
/// Sync     fences `exec`, which has all the work. Cost n^3/3 flops where A is, else hardly more
///          than potrf's up to minor j, and a look at the triangle.
/// Memory   as `cholesky` in fp64, about n^2/2 numbers.
/// Throws   ShapeError if A is not square, or has no stride 1; MemoryError, VendorError.
template <class ExecutionSpace, class MatrixView>
[[nodiscard]] Info is_positive_definite(ExecutionSpace const& exec, MatrixView const& A) {
  static_assert(std::is_same_v<typename MatrixView::non_const_value_type, double>,
                "is_positive_definite: the matrix must be a View of double");
  auto const columns = detail::column_major<ExecutionSpace>(A);
  return detail::is_positive_definite(exec, columns.of(Uplo::Lower), columns.matrix);
}

}  // namespace strata::dense

#endif
