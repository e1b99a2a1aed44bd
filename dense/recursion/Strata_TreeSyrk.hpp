// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TREE_SYRK_HPP
#define STRATA_TREE_SYRK_HPP

#include <core/Strata_Errors.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <dense/tree/Strata_Layers.hpp>
#include <dense/tree/detail/Strata_ColumnMajor.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::dense {

/// C = alpha op(A) op(A)^T + beta C by layers. The off-diagonal block of C at depth d is one
/// product with operands quantised to the d-th layer. A diagonal leaf is a SYRK in the last layer.
///
/// Shape    C: n x n, of which the triangle `uplo` is read and written; op(A): n x k. fp64 or fp32,
///          unscaled.
/// Result   what is not finite in row i of op(A) makes c_ii not finite. It also makes the rest of
///          row and column i not finite, but for its products with zeros, which a BLAS may leave
///          out.
/// Sync     as `tree_potrf`, on the instance of `blas` alone. Cost n^2 k flops.
/// Memory   scratch of `blas`, which it keeps: n k numbers of the widest layer that A is not in,
///          and on devices up to 256 MiB for results.
/// Throws   ShapeError if A does not fit C; ValueError if leaf_size < 1.
/// Source   Paper A, algorithm 3; deviation: by depths instead of depth first, so that A is brought
///          into each precision once.
template <class ExecutionSpace>
void tree_syrk(LeafBlas<ExecutionSpace>& blas, LayerList const& layers, std::int64_t leaf_size,
               Uplo uplo, Op op, double alpha,
               ConstMatrixRef<typename ExecutionSpace::memory_space> const& A, double beta,
               MatrixRef<typename ExecutionSpace::memory_space> const& C);

// The same on Kokkos Views of fp64 or fp32 in LayoutLeft or LayoutRight, with the layers in the
// type.

/// BLAS's syrk in layers: the arguments of `LeafBlas::syrk`, then the leaf size.
///
/// Sync     fences `exec` when its scratch is freed.
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
