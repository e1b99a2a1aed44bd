// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_KOKKOS_NAMES_HPP
#define STRATA_KOKKOS_NAMES_HPP

#include <core/Strata_Errors.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/recursion/Strata_TreePotrf.hpp>
#include <dense/recursion/Strata_TreeSyrk.hpp>
#include <dense/recursion/Strata_TreeTrsm.hpp>
#include <dense/tree/detail/Strata_ColumnMajor.hpp>

#include <initializer_list>
#include <string_view>

// Calls with the arguments of KokkosBlas' (of LAPACK's where Kokkos Kernels has none), in layers of
// precision: a program changes one line. The characters mean what they mean there, in either case;
// the layers are in the type.

namespace strata::dense {

namespace detail {

/// The value whose character begins `text`. Throws ValueError with the characters that are allowed.
template <class Value>
Value by_letter(char const* call, char const* argument, char const* text, std::string_view letters,
                std::initializer_list<Value> values) {
  char const given = text != nullptr ? text[0] : '\0';
  char const upper = given >= 'a' && given <= 'z' ? static_cast<char>(given - 'a' + 'A') : given;
  auto const at = upper == '\0' ? std::string_view::npos : letters.find(upper);
  STRATA_REQUIRE(ValueError, at != std::string_view::npos, call, ": ", argument, " is '",
                 text != nullptr ? text : "", "', must begin with one of ", letters);
  return values.begin()[at];
}
inline Uplo uplo_of(char const* call, char const* text) {
  return by_letter(call, "uplo", text, "LU", {Uplo::Lower, Uplo::Upper});
}
inline Op op_of(char const* call, char const* argument, char const* text) {
  return by_letter(call, argument, text, "NTC", {Op::NoTrans, Op::Trans, Op::Trans});
}

}  // namespace detail

/// LAPACK's potrf: the triangle `uplo` of A becomes L ("L") or U = L^T ("U"); the other is neither
/// read nor written.
///
/// Shape, Sync, Throws   as `tree_potrf` on Views; also ValueError for another character.
template <class LayersT = Layers<fp64>, class ExecutionSpace, class MatrixView>
Info potrf(ExecutionSpace const& exec, char const uplo[], MatrixView const& A) {
  auto const n = static_cast<std::int64_t>(A.extent(0));
  return tree_potrf<LayersT>(exec, detail::uplo_of("potrf", uplo), A,
                             automatic_leaf_size<ExecutionSpace>(n, LayersT::list()));
}

/// KokkosBlas::trsm: op(A) X = alpha B (side "L") or X op(A) = alpha B ("R"); X overwrites B.
///
/// Shape, Sync, Throws   as `tree_trsm` on Views; also ValueError for another character.
template <class LayersT = Layers<fp64>, class ExecutionSpace, class TriangleView, class MatrixView>
void trsm(ExecutionSpace const& exec, char const side[], char const uplo[], char const trans[],
          char const diag[], double alpha, TriangleView const& A, MatrixView const& B) {
  auto const n = static_cast<std::int64_t>(A.extent(0));
  tree_trsm<LayersT>(exec, detail::by_letter("trsm", "side", side, "LR", {Side::Left, Side::Right}),
                     detail::uplo_of("trsm", uplo), detail::op_of("trsm", "trans", trans),
                     detail::by_letter("trsm", "diag", diag, "NU", {Diag::NonUnit, Diag::Unit}),
                     alpha, A, B, automatic_leaf_size<ExecutionSpace>(n, LayersT::list()));
}

/// BLAS's syrk, which Kokkos Kernels lacks: C = alpha op(A) op(A)^T + beta C, the triangle `uplo`
/// alone.
///
/// Shape, Sync, Throws   as `tree_syrk` on Views; also ValueError for another character.
template <class LayersT = Layers<fp64>, class ExecutionSpace, class MatrixView, class ResultView>
void syrk(ExecutionSpace const& exec, char const uplo[], char const trans[], double alpha,
          MatrixView const& A, double beta, ResultView const& C) {
  auto const n = static_cast<std::int64_t>(C.extent(0));
  tree_syrk<LayersT>(exec, detail::uplo_of("syrk", uplo), detail::op_of("syrk", "trans", trans),
                     alpha, A, beta, C, automatic_leaf_size<ExecutionSpace>(n, LayersT::list()));
}

/// KokkosBlas::gemm: C = alpha op(A) op(B) + beta C, each View of any of Strata's types, in any
/// layout with one stride of 1; sums as `LeafBlas` makes them.
///
/// Sync     fences `exec` when its workspace is freed. Throws ShapeError, ValueError for another
///          character.
template <class ExecutionSpace, class AView, class BView, class CView>
void gemm(ExecutionSpace const& exec, char const transA[], char const transB[], double alpha,
          AView const& A, BView const& B, double beta, CView const& C) {
  auto const a = detail::column_major<ExecutionSpace>(A),
             b = detail::column_major<ExecutionSpace>(B),
             c = detail::column_major<ExecutionSpace>(C);
  Op const op_a = a.of(detail::op_of("gemm", "transA", transA)),
           op_b = b.of(detail::op_of("gemm", "transB", transB));
  LeafBlas<ExecutionSpace> blas(exec);
  if (c.transposed)  // C^T = op(B)^T op(A)^T
    blas.gemm(transposed(op_b), transposed(op_a), alpha, b.matrix, a.matrix, beta, c.matrix);
  else
    blas.gemm(op_a, op_b, alpha, a.matrix, b.matrix, beta, c.matrix);
  exec.fence("strata::dense::gemm: free the workspace");
}

}  // namespace strata::dense

#endif
