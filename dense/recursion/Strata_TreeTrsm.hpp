// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TREE_TRSM_HPP
#define STRATA_TREE_TRSM_HPP

#include <core/Strata_Errors.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <dense/tree/Strata_BlockTree.hpp>
#include <dense/tree/Strata_Layers.hpp>
#include <dense/tree/detail/Strata_ColumnMajor.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::dense {

/// Solve op(L) X = alpha B (Left) or X op(L) = alpha B (Right), the triangular L in a block tree; X
/// overwrites B.
///
/// Shape    B: n x m (Left) or m x n (Right), fp64 or fp32, unscaled.
/// Result   alpha = 0: zeros, whatever L and B hold. `Layered`: both operands of each product are
///          quantised to the layer of the block of L, as in the factorisation; otherwise B enters
///          as it is, and only the rounding that L already has remains.
/// Sync     as `tree_potrf`, on the instance of `blas` alone. Cost n^2 m flops.
/// Memory   scratch of `blas`, which it keeps: `Layered`, a copy of B in each low layer's precision
///          and of a block of L whose precision isn't its product's; a leaf's rows or columns of B.
/// Throws   ShapeError if B does not fit.
/// Source   Paper A, algorithm 2, which is Right with Trans.
template <class ExecutionSpace>
void tree_trsm(LeafBlas<ExecutionSpace>& blas, Side side, Op op, Diag diag, double alpha,
               BlockTree<LayerList, ExecutionSpace> const& L,
               MatrixRef<typename ExecutionSpace::memory_space> const& B, Products products);

// The same on Kokkos Views of fp64 or fp32 in LayoutLeft or LayoutRight, with the layers in the
// type.

/// BLAS's trsm in layers: the arguments of `LeafBlas::trsm`, then the leaf size.
///
/// Sync     fences `exec` when its scratch is freed.
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

}  // namespace strata::dense

#endif
