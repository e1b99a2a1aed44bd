// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/factor/detail/Strata_LowerTriangle.hpp>

#include <core/blas/basics/Strata_SetIdentity.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <dense/recursion/detail/Strata_ProductBatch.hpp>

#include <algorithm>
#include <type_traits>
#include <vector>

namespace strata::dense::detail {

namespace {

// Half of n in whole small blocks, n > small.
std::int64_t half_of(std::int64_t n, std::int64_t small) { return half_of_leaves(n, small); }

// Clears a batch of triangles, `stride_a` apart, above their diagonals.
template <class ExecutionSpace>
void clear_above(ExecutionSpace const& exec, double* L, std::int64_t ld, std::int64_t n,
                 Batch const& batch) {
  std::int64_t const stride = batch.stride_a;
  for_each_element(
      "strata::dense::triangle::clear_above", exec, n, n * batch.count,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t c) {
        if (i < c % n) L[c / n * stride + i + c % n * ld] = 0;
      });
}

// The products of a lower triangle with Z, those with triangles of at most `most` rows apart.
template <class Product, class ConstMatrix, class Matrix>
void cut(ConstMatrix const& L, ConstMatrix const& Z, Matrix const& X, std::int64_t most,
         std::vector<Product>& triangles, std::vector<Product>& below) {
  std::int64_t const n = L.rows;
  if (n <= most) return triangles.push_back({L, Z, X});
  std::int64_t const n1 = half_of(n, most), n2 = n - n1;
  ConstMatrix const Z1 = Z.block(0, 0, n1, Z.cols);
  Matrix const X2 = X.block(n1, 0, n2, X.cols);
  below.push_back({L.block(n1, 0, n2, n1), Z1, X2});
  cut(L.block(0, 0, n1, n1), Z1, X.block(0, 0, n1, X.cols), most, triangles, below);
  cut(L.block(n1, n1, n2, n2), Z.block(n1, 0, n2, Z.cols), X2, most, triangles, below);
}

}  // namespace

template <class ExecutionSpace>
void multiply_by_tree(LeafBlas<ExecutionSpace>& blas, BlockTree<LayerList, ExecutionSpace> const& L,
                      ConstMatrixRef<typename ExecutionSpace::memory_space> const& Z,
                      MatrixRef<typename ExecutionSpace::memory_space> const& X) {
  constexpr std::int64_t most = runs_on_host<ExecutionSpace> ? 64 : 1024;
  std::vector<Product<typename ExecutionSpace::memory_space>> triangles, below;
  if (X.rows == 0 || X.cols == 0) return;
  for (auto const& node : L.nodes()) {
    ConstMatrixRef<typename ExecutionSpace::memory_space> const block = node.stored.as_stored();
    auto const z = Z.block(node.begin, 0, block.cols, Z.cols);
    auto const x = X.block(node.begin + node.first_size, 0, block.rows, X.cols);
    if (node.is_leaf())
      cut(block, z, x, most, triangles, below);
    else
      below.push_back({block, z, x});
  }
  for_each_batch(triangles, [&](auto first, auto last) {
    Batch const batch = batch_of(first, last);
    clear_above(blas.exec(), static_cast<double*>(const_cast<void*>(first->A.data)), first->A.ld,
                first->A.rows, batch);
    blas.gemm(Op::NoTrans, Op::NoTrans, 1, first->A, first->B, 0, first->C, batch);
  });
  for_each_batch(below, [&](auto first, auto last) {
    blas.gemm(Op::NoTrans, Op::NoTrans, 1, first->A, first->B, 1, first->C, batch_of(first, last));
  });
}

template <class ExecutionSpace, class Scalar>
void copy_triangle(ExecutionSpace const& exec, Scalar const* L, std::int64_t ldl, Scalar* T,
                   std::int64_t ldt, std::int64_t n) {
  for_each_element(
      "strata::dense::triangle::copy", exec, n, n, KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        T[i + j * ldt] = i >= j ? L[i + j * ldl] : Scalar(0);
      });
}

template <class ExecutionSpace, class Scalar>
void write_triangle(ExecutionSpace const& exec, Scalar const* T, std::int64_t ldt, Scalar* L,
                    std::int64_t ldl, std::int64_t n) {
  for_each_element(
      "strata::dense::triangle::write", exec, n, n, KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        if (i >= j) L[i + j * ldl] = T[i + j * ldt];
      });
}

template <class ExecutionSpace, class Scalar>
LowerTriangle<ExecutionSpace, Scalar>::LowerTriangle(LeafBlas<ExecutionSpace>& blas,
                                                     std::int64_t cols, Precision format)
    : blas_(blas),
      format_(format),
      triangle_(
          strata::allocate<Block>(blas.exec(), "strata::dense::triangle::small", small, small)),
      rows_(strata::allocate<Block>(blas.exec(), "strata::dense::triangle::rows", small, cols)) {}

template <class ExecutionSpace, class Scalar>
auto LowerTriangle<ExecutionSpace, Scalar>::small_triangle(ConstMatrix const& L) -> Matrix {
  copy_triangle(blas_.exec(), L.template as<Scalar>(), L.ld, triangle_.data(), small, L.rows);
  return matrix_ref(triangle_).block(0, 0, L.rows, L.rows);
}

// C += alpha op(A) op(B).
template <class ExecutionSpace, class Scalar>
void LowerTriangle<ExecutionSpace, Scalar>::product(Op op_a, Op op_b, double alpha,
                                                    ConstMatrix const& A, ConstMatrix const& B,
                                                    Matrix const& C) {
  blas_.gemm(op_a, op_b, alpha, A.in_format(format_), B.in_format(format_), 1, C);
}

template <class ExecutionSpace, class Scalar>
void LowerTriangle<ExecutionSpace, Scalar>::multiply(Op op, ConstMatrix const& L, Matrix const& B,
                                                     double alpha) {
  std::int64_t const n = L.rows;
  if (n <= small) {
    Matrix const T = small_triangle(L), rows = matrix_ref(rows_).block(0, 0, n, B.cols);
    blas_.convert(Op::NoTrans, B, rows);
    return blas_.gemm(op, Op::NoTrans, alpha, T, rows, 0, B);
  }
  std::int64_t const n1 = half_of(n, small), n2 = n - n1;
  Matrix const B1 = B.block(0, 0, n1, B.cols), B2 = B.block(n1, 0, n2, B.cols);
  ConstMatrix const L11 = L.block(0, 0, n1, n1), L21 = L.block(n1, 0, n2, n1),
                    L22 = L.block(n1, n1, n2, n2);
  bool const as_it_is = op == Op::NoTrans;
  multiply(op, as_it_is ? L22 : L11, as_it_is ? B2 : B1, alpha);
  product(op, Op::NoTrans, alpha, L21, as_it_is ? B1 : B2, as_it_is ? B2 : B1);
  multiply(op, as_it_is ? L11 : L22, as_it_is ? B1 : B2, alpha);
}

template <class ExecutionSpace, class Scalar>
void LowerTriangle<ExecutionSpace, Scalar>::multiply_right(ConstMatrix const& L, Matrix const& B) {
  std::int64_t const n = L.rows, m = B.rows;
  if (n <= small) {
    Matrix const T = small_triangle(L),
                 cols{rows_.data(), m, n, std::max<std::int64_t>(m, 1), precision_of<Scalar>};
    blas_.convert(Op::NoTrans, B, cols);
    return blas_.gemm(Op::NoTrans, Op::NoTrans, 1, cols, T, 0, B);
  }
  std::int64_t const n1 = half_of(n, small), n2 = n - n1;
  Matrix const B1 = B.block(0, 0, m, n1), B2 = B.block(0, n1, m, n2);
  multiply_right(L.block(0, 0, n1, n1), B1);  // B1 = B1 L11 + B2 L21
  product(Op::NoTrans, Op::NoTrans, 1, B2, L.block(n1, 0, n2, n1), B1);
  multiply_right(L.block(n1, n1, n2, n2), B2);
}

template <class ExecutionSpace, class Scalar>
void LowerTriangle<ExecutionSpace, Scalar>::invert(Matrix const& L) {
  std::int64_t const n = L.rows;
  if (n <= small) {
    Matrix const X = matrix_ref(triangle_).block(0, 0, n, n);
    set_identity(blas_.exec(), X);
    blas_.trsm(Side::Left, Uplo::Lower, Op::NoTrans, Diag::NonUnit, 1, L, X);
    return write_triangle(blas_.exec(), triangle_.data(), small, L.template as<Scalar>(), L.ld, n);
  }
  std::int64_t const n1 = half_of(n, small), n2 = n - n1;
  Matrix const L11 = L.block(0, 0, n1, n1), L21 = L.block(n1, 0, n2, n1),
               L22 = L.block(n1, n1, n2, n2);
  // X21 = -L22^-1 L21 L11^-1
  constexpr bool by_products = !std::is_same_v<Scalar, double>;
  if (!by_products) {
    blas_.trsm(Side::Right, Uplo::Lower, Op::NoTrans, Diag::NonUnit, -1, L11, L21);
    blas_.trsm(Side::Left, Uplo::Lower, Op::NoTrans, Diag::NonUnit, 1, L22, L21);
  }
  invert(L11);
  invert(L22);
  if (by_products) {
    multiply(Op::NoTrans, L22, L21, -1);
    multiply_right(L11, L21);
  }
}

template <class ExecutionSpace, class Scalar>
void LowerTriangle<ExecutionSpace, Scalar>::square(Matrix const& L) {
  std::int64_t const n = L.rows;
  if (n <= small) {
    Matrix const T = small_triangle(L);
    return blas_.syrk(Uplo::Lower, Op::Trans, 1, T, 0, L);
  }
  std::int64_t const n1 = half_of(n, small), n2 = n - n1;
  Matrix const L11 = L.block(0, 0, n1, n1), L21 = L.block(n1, 0, n2, n1),
               L22 = L.block(n1, n1, n2, n2);
  square(L11);
  blas_.syrk(Uplo::Lower, Op::Trans, 1, L21.in_format(format_), 1, L11);  // + L21^T L21
  multiply(Op::Trans, L22, L21);                                          // L22^T L21
  square(L22);
}

#define STRATA_INSTANTIATE_SCALAR(Exec, Scalar)                                                 \
  template class LowerTriangle<Exec, Scalar>;                                                   \
  template void copy_triangle(Exec const&, Scalar const*, std::int64_t, Scalar*, std::int64_t,  \
                              std::int64_t);                                                    \
  template void write_triangle(Exec const&, Scalar const*, std::int64_t, Scalar*, std::int64_t, \
                               std::int64_t);
#define STRATA_INSTANTIATE(Exec)                                                     \
  STRATA_INSTANTIATE_SCALAR(Exec, double)                                            \
  STRATA_INSTANTIATE_SCALAR(Exec, float)                                             \
  template void multiply_by_tree(LeafBlas<Exec>&, BlockTree<LayerList, Exec> const&, \
                                 ConstMatrixRef<Exec::memory_space> const&,          \
                                 MatrixRef<Exec::memory_space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE
#undef STRATA_INSTANTIATE_SCALAR

}  // namespace strata::dense::detail
