// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_POTRF_INVERT_HPP
#define STRATA_POTRF_INVERT_HPP

#include <core/blas/basics/Strata_SetIdentity.hpp>
#include <core/blas/portable/detail/Strata_DiagonalBlock.hpp>
#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/memory/detail/Strata_Workspace.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>

namespace strata::detail {

// S = [lower triangle of A; I]
template <class T, class Exec, class Matrix>
void stack_on_identity(Exec const& exec, Matrix const& A, Matrix const& S) {
  T const* const a = A.template as<T>();
  T* const s = S.template as<T>();
  std::int64_t const n = A.rows, lda = A.ld, lds = S.ld;
  for_each_element(
      "strata::core::potrf_invert::stack", exec, 2 * n, n,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        T value = T(i == j + n);
        if (i < n) value = i >= j ? a[i + j * lda] : T(0);
        s[i + j * lds] = value;
      });
}

// A below and `inverse` above the diagonal blocks, which are there already, from X; below them
// `inverse` = 0.
template <class T, class Exec, class Matrix>
void unstack(Exec const& exec, Matrix const& X, std::int64_t block, Matrix const& A,
             Matrix const& inverse) {
  T const* const x = X.template as<T>();
  T* const a = A.template as<T>();
  T* const inv = inverse.template as<T>();
  std::int64_t const n = A.rows, lda = A.ld, ldx = X.ld, ldi = inverse.ld;
  for_each_element(
      "strata::core::potrf_invert::unstack", exec, n, n,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        std::int64_t const row = i / block, col = j / block;
        if (row < col) inv[i + j * ldi] = x[n + i + j * ldx];
        if (row <= col) return;
        a[i + j * lda] = x[i + j * ldx];
        inv[i + j * ldi] = T(0);
      });
}

/// `LeafBlas::potrf_invert` on a device. What takes A to L takes the identity below it to L^-T. So
/// each step is one diagonal block and two products of n rows.
template <class Exec, class Gemm, class Matrix, class InfoView>
void potrf_invert(Exec const& exec, Workspace<Exec>& workspace, Gemm const& gemm, Matrix const& A,
                  Matrix const& inverse, std::int64_t offset, InfoView const& info) {
  std::int64_t const n = A.rows, block = diagonal_block_order(A.precision);
  using Frame = typename Workspace<Exec>::Frame;
  Frame frame(workspace, 2 * Workspace<Exec>::bytes(A.precision, 2 * n, n));
  Matrix const S = frame.take(A.precision, 2 * n, n), X = frame.take(A.precision, 2 * n, n);
  with_arithmetic_type(A.precision,
                       [&]<class T>(std::type_identity<T>) { stack_on_identity<T>(exec, A, S); });
  for (std::int64_t j = 0; j < n; j += block) {
    std::int64_t const k = std::min(block, n - j), next = j + k, left = n - next;
    Matrix const inverse_jj = inverse.block(j, j, k, k);
    factor_diagonal_block(exec, S.block(j, j, k, k), A.block(j, j, k, k), inverse_jj, offset + j,
                          info);
    Matrix const Xj = X.block(next, j, n, k);
    gemm(Op::NoTrans, Op::NoTrans, 1, S.block(next, j, n, k), inverse_jj, 0, Xj);  // X = S L^-T
    if (left > 0)
      gemm(Op::NoTrans, Op::Trans, -1, Xj, Xj.block(0, 0, left, k), 1,
           S.block(next, next, n, left));
  }
  with_arithmetic_type(
      A.precision, [&]<class T>(std::type_identity<T>) { unstack<T>(exec, X, block, A, inverse); });
}

}  // namespace strata::detail

#endif
