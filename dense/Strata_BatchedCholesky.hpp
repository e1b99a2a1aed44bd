// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_BATCHED_CHOLESKY_HPP
#define STRATA_BATCHED_CHOLESKY_HPP

#include <core/Strata_Errors.hpp>
#include <core/Strata_MatrixRef.hpp>
#include <core/blas/batched/Strata_BatchedBlas.hpp>
#include <dense/detail/Strata_BatchedViews.hpp>

#include <Kokkos_Core.hpp>

#include <type_traits>

namespace strata::dense {

/// Many small systems of one order in one call: A_b X_b = B_b for b = 0, ..., count - 1, as kriging
/// by neighbours and Gaussian processes by group have them. Make one and keep it: its workspace
/// stays.
///
///     BatchedCholesky<Exec> batch(exec);
///     batch.factor_and_solve(Uplo::Lower, A, B, info);  // A(i, j, b), B(i, c, b), info(b)
///
/// Shape    A: n x n x count, B: n x m x count, or n x count for one right-hand side each; Views of
///          double or of float, with the number of the system last. The rows of B are contiguous in
///          memory, and the rows or the columns of A: LayoutLeft, or a LayoutStride with padding.
///          info: one number a system. Only the triangle `uplo` of A is read and written; a GPU
///          vendor's routines, which do orders above 512, write to the other, too.
/// Sync     all are enqueued on the instance, and fence it only to let the workspace grow; a report
///          of the whole batch is the caller's to make, from info and the errors.
/// Memory   as `BatchedBlas`: the systems are solved where they are.
/// Throws   ShapeError with all extents before anything is written; MemoryError, VendorError.
/// Error    Cholesky's in the type of the Views, c n u a system; `backward_errors` measures it.
///          Nothing is scaled or refined: for systems too ill-conditioned for that there is
///          `cholesky`.
template <class ExecutionSpace>
class BatchedCholesky {
 public:
  using execution_space = ExecutionSpace;                      ///< type of the instance
  using memory_space = typename ExecutionSpace::memory_space;  ///< memory of the Views
  /// One number for each system.
  using InfoView = typename BatchedBlas<ExecutionSpace>::InfoView;
  /// The same in fp64.
  using ResultView = Kokkos::View<double*, memory_space>;

  /// Work is enqueued on `exec`, by the code that `path` says.
  explicit BatchedCholesky(ExecutionSpace const& exec = ExecutionSpace(),
                           BlasPath path = BlasPath::Automatic)
      : blas_(exec, path) {}

  /// The instance that it works on.
  ExecutionSpace const& exec() const { return blas_.exec(); }

  /// A_b = L L^T (Lower) or U^T U (Upper) in place. Cost n^3/3 flops a system.
  ///
  /// Result   info(b): 0, or the order of the first leading minor of A_b that is not positive, or
  ///          NaN; A_b then holds no defined numbers. The other systems are as if it were not
  ///          there, to the last bit.
  template <class MatrixView>
  void factor(Uplo uplo, MatrixView const& A, InfoView const& info) {
    auto const a = detail::batched_matrices<ExecutionSpace>("factor", A);
    blas_.potrf(a.of(uplo), a.matrix, {.count = a.count, .stride_a = a.stride}, info);
  }

  /// B_b = A_b^-1 B_b with the factors that `factor` has left. Cost 2 n^2 m flops a system.
  template <class MatrixView, class VectorView>
  void solve(Uplo uplo, MatrixView const& L, VectorView const& B) {
    auto const l = detail::batched_matrices<ExecutionSpace>("solve", L);
    auto const b = detail::batched_vectors<ExecutionSpace>("solve", B, l.count);
    blas_.potrs(l.of(uplo), l.matrix, b.matrix, detail::both(l, b));
  }

  /// Both in one pass over A, for the price of little more than `factor`.
  ///
  /// Result   where info(b) is not 0, B_b is as it was; a GPU vendor's routines leave no defined
  ///          numbers there.
  template <class MatrixView, class VectorView>
  void factor_and_solve(Uplo uplo, MatrixView const& A, VectorView const& B, InfoView const& info) {
    auto const a = detail::batched_matrices<ExecutionSpace>("factor_and_solve", A);
    auto const b = detail::batched_vectors<ExecutionSpace>("factor_and_solve", B, a.count);
    blas_.posv(a.of(uplo), a.matrix, b.matrix, detail::both(a, b), info);
  }

  /// result(b) = log det A_b, from the factor, in fp64; NaN where info(b) is not 0.
  template <class MatrixView>
  void log_determinants(MatrixView const& L, InfoView const& info, ResultView const& result) {
    auto const l = detail::batched_matrices<ExecutionSpace>("log_determinants", L);
    detail::require_numbers("log_determinants", "info", info.extent(0), l.count);
    detail::require_numbers("log_determinants", "the result", result.extent(0), l.count);
    detail::sum_logarithms<ExecutionSpace>(exec(), l.read(), info, result);
  }

  /// result(b) = ||B_b - A_b X_b|| / (||A_b|| ||X_b|| + ||B_b||) of its worst column, in maximum
  /// norms, with residuals in fp64.
  ///
  /// Shape    A: the matrices as they were before they were factored, X: the solutions, B: the
  ///          right-hand sides.
  /// Result   infinity where X_b holds an infinity or a NaN. Cost 2 n^2 m flops a system.
  template <class MatrixView, class SolutionView, class VectorView>
  void backward_errors(Uplo uplo, MatrixView const& A, SolutionView const& X, VectorView const& B,
                       ResultView const& result) {
    auto const a = detail::batched_matrices<ExecutionSpace>("backward_errors", A);
    auto const x = detail::batched_vectors<ExecutionSpace>("backward_errors", X, a.count);
    auto const b = detail::batched_vectors<ExecutionSpace>("backward_errors", B, a.count);
    detail::require_numbers("backward_errors", "the result", result.extent(0), a.count);
    STRATA_REQUIRE(ShapeError,
                   x.matrix.rows == a.matrix.rows && b.matrix.rows == a.matrix.rows &&
                       x.matrix.cols == b.matrix.cols,
                   "backward_errors: A is of order ", a.matrix.rows, ", X ", x.matrix.rows, " x ",
                   x.matrix.cols, ", B ", b.matrix.rows, " x ", b.matrix.cols);
    static_assert(std::is_same_v<typename MatrixView::non_const_value_type,
                                 typename SolutionView::non_const_value_type> &&
                      std::is_same_v<typename MatrixView::non_const_value_type,
                                     typename VectorView::non_const_value_type>,
                  "A, X and B are of one type");
    detail::measure_errors<ExecutionSpace>(exec(), a.of(uplo), a.read(), x.read(), b.read(),
                                           result);
  }

 private:
  BatchedBlas<ExecutionSpace> blas_;
};

}  // namespace strata::dense

#endif
