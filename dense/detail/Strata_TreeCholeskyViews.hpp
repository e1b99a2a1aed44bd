// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_TREE_CHOLESKY_VIEWS_HPP
#define STRATA_DETAIL_TREE_CHOLESKY_VIEWS_HPP

#include <core/Strata_MatrixRef.hpp>
#include <dense/Strata_TreeCholesky.hpp>

namespace strata::dense {

namespace detail {

/// A View as a column-major matrix: itself, or its transpose if its columns are contiguous instead.
template <class MemorySpace, class Data>
struct ColumnMajor {
  MatrixRef<MemorySpace, Data> matrix;
  bool transposed = false;

  Uplo of(Uplo uplo) const { return transposed ? strata::transposed(uplo) : uplo; }
  Op of(Op op) const { return transposed ? strata::transposed(op) : op; }
  Side of(Side side) const { return transposed ? strata::transposed(side) : side; }
};

template <class ExecutionSpace, class ViewType>
auto column_major(ViewType const& A) {
  static_assert(ViewType::rank() == 2, "a matrix is a View of rank 2");
  static_assert(
      Kokkos::SpaceAccessibility<ExecutionSpace, typename ViewType::memory_space>::accessible,
      "the execution space cannot access the View's memory");
  using Scalar = typename ViewType::value_type;
  using Data = ConstLike<void, Scalar>;
  auto const rows = static_cast<std::int64_t>(A.extent(0)),
             cols = static_cast<std::int64_t>(A.extent(1));
  auto const row_stride = static_cast<std::int64_t>(A.stride(0)),
             col_stride = static_cast<std::int64_t>(A.stride(1));
  bool const left = row_stride == 1 || rows <= 1, right = col_stride == 1 || cols <= 1;
  STRATA_REQUIRE(ShapeError, left || right, "a ", rows, " x ", cols, " View with strides ",
                 row_stride, " and ", col_stride, ": one of them must be 1");
  bool const direct = left && (col_stride >= rows || cols <= 1);
  std::int64_t const m = direct ? rows : cols, n = direct ? cols : rows;
  std::int64_t const stride = direct ? col_stride : row_stride, least = m > 1 ? m : 1;
  std::int64_t const ld = n > 1 && stride > least ? stride : least;
  return ColumnMajor<typename ExecutionSpace::memory_space, Data>{
      {A.data(), m, n, ld, precision_of<Scalar>, nullptr}, !direct};
}

}  // namespace detail

template <class LayersT, class ExecutionSpace, class MatrixView>
Info tree_potrf(ExecutionSpace const& exec, Uplo uplo, MatrixView const& A,
                std::int64_t leaf_size) {
  auto const [matrix, transposed] = detail::column_major<ExecutionSpace>(A);
  Uplo const triangle = transposed ? strata::transposed(uplo) : uplo;
  LeafBlas<ExecutionSpace> blas(exec);
  BlockTree<LayersT, ExecutionSpace> tree(exec, matrix.rows, leaf_size);
  tree.load(exec, triangle, matrix);
  typename LeafBlas<ExecutionSpace>::InfoView const info(
      Kokkos::view_alloc(exec, "strata::dense::tree_potrf::info"));
  tree_potrf(blas, tree, info);
  std::int64_t order = 0;
  Kokkos::deep_copy(exec, order, info);
  exec.fence("strata::dense::tree_potrf: read the pivot status");
  if (order != 0) return Info::breakdown(order);
  tree.store(exec, triangle, matrix);
  return Info::success();
}

template <class LayersT, class ExecutionSpace, class TriangleView, class MatrixView>
void tree_trsm(ExecutionSpace const& exec, Side side, Uplo uplo, Op op, Diag diag, double alpha,
               TriangleView const& A, MatrixView const& B, std::int64_t leaf_size) {
  auto const triangle = detail::column_major<ExecutionSpace>(A);
  auto const right_hand_side = detail::column_major<ExecutionSpace>(B);
  LeafBlas<ExecutionSpace> blas(exec);
  BlockTreeOptions options;
  if (diag == Diag::Unit) options.leaf_solve = LeafSolve::Substitution;
  BlockTree<LayerList, ExecutionSpace> L(exec, triangle.matrix.rows, LayersT::list(), leaf_size,
                                         options);
  Uplo const stored = triangle.of(uplo);
  L.load(exec, stored, triangle.matrix, {}, 0, diag);
  L.quantise_all(blas);
  // The tree is lower: of an upper triangle it holds the transpose, and so the side of a transposed
  // B changes op.
  Op op_L = triangle.of(op);
  if (stored == Uplo::Upper) op_L = transposed(op_L);
  op_L = right_hand_side.of(op_L);
  tree_trsm(blas, right_hand_side.of(side), op_L, diag, alpha, L, right_hand_side.matrix,
            Products::Layered);
  exec.fence("strata::dense::tree_trsm: free the scratch");
}

template <class LayersT, class ExecutionSpace, class MatrixView, class ResultView>
void tree_syrk(ExecutionSpace const& exec, Uplo uplo, Op op, double alpha, MatrixView const& A,
               double beta, ResultView const& C, std::int64_t leaf_size) {
  auto const operand = detail::column_major<ExecutionSpace>(A);
  auto const result = detail::column_major<ExecutionSpace>(C);
  LeafBlas<ExecutionSpace> blas(exec);
  tree_syrk(blas, LayersT::list(), leaf_size, result.of(uplo), operand.of(op), alpha,
            operand.matrix, beta, result.matrix);
  exec.fence("strata::dense::tree_syrk: free the scratch");
}

}  // namespace strata::dense

#endif
