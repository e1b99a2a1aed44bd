// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/factor/detail/Strata_LowerTriangle.hpp>

#include <core/blas/basics/Strata_SetIdentity.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>

#include <algorithm>
#include <type_traits>

namespace strata::dense::detail {

namespace {

// Half of n in whole small blocks, n > small.
std::int64_t half_of(std::int64_t n, std::int64_t small) { return half_of_leaves(n, small); }

}  // namespace

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

// The first matrix and those of a batch that lie `stride_a` apart.
template <class ExecutionSpace, class Scalar>
void clear_above(ExecutionSpace const& exec, Scalar* L, std::int64_t ld, std::int64_t n,
                 Batch const& batch) {
  std::int64_t const stride = batch.stride_a;
  for_each_element(
      "strata::dense::triangle::clear_above", exec, n, n * batch.count,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t c) {
        if (i < c % n) L[c / n * stride + i + c % n * ld] = Scalar(0);
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

// X = L11 Z of each leaf: on hosts in its place, on devices by full products, many at a time.
template <class ExecutionSpace, class Scalar>
void LowerTriangle<ExecutionSpace, Scalar>::multiply_leaves(
    std::vector<Product<memory_space>>& products) {
  if constexpr (runs_on_host<ExecutionSpace>) {
    for (auto const& [L, Z, X] : products) {
      blas_.convert(Op::NoTrans, Z, X);
      multiply(Op::NoTrans, L, X);
    }
  } else {
    for_each_batch(products, [&](auto first, auto last) {
      Batch const batch = batch_of(first, last);
      auto* const L =
          static_cast<Scalar*>(const_cast<void*>(static_cast<void const*>(first->A.data)));
      clear_above(blas_.exec(), L, first->A.ld, first->A.rows, batch);
      blas_.gemm(Op::NoTrans, Op::NoTrans, 1, first->A, first->B, 0, first->C, batch);
    });
  }
}

template <class ExecutionSpace, class Scalar>
void LowerTriangle<ExecutionSpace, Scalar>::multiply(Tree const& L, ConstMatrix const& Z,
                                                     Matrix const& X) {
  if (X.rows == 0 || X.cols == 0) return;
  std::vector<Product<memory_space>> leaves, below;
  for (auto const& node : L.nodes()) {
    auto const block = node.stored.as_stored();
    std::int64_t const row = node.begin + node.first_size;
    (node.is_leaf() ? leaves : below)
        .push_back({block, Z.block(node.begin, 0, block.cols, Z.cols),
                    X.block(row, 0, block.rows, X.cols)});
  }
  multiply_leaves(leaves);
  for_each_batch(below, [&](auto first, auto last) {
    blas_.gemm(Op::NoTrans, Op::NoTrans, 1, first->A, first->B, 1, first->C, batch_of(first, last));
  });
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
#define STRATA_INSTANTIATE(Exec)          \
  STRATA_INSTANTIATE_SCALAR(Exec, double) \
  STRATA_INSTANTIATE_SCALAR(Exec, float)
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE
#undef STRATA_INSTANTIATE_SCALAR

}  // namespace strata::dense::detail
