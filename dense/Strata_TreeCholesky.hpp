// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TREE_CHOLESKY_HPP
#define STRATA_TREE_CHOLESKY_HPP

#include <core/Strata_Errors.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <dense/Strata_BlockTree.hpp>
#include <dense/Strata_Layers.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <memory>

namespace strata::dense {

/// Factor a symmetric positive definite matrix that is loaded in a block tree: A = L L^T.
///
/// Result   the stored blocks hold L, each quantised once, when it is final; updates accumulate in
///          the working blocks. If *info was 0 and the leading minor of order j is not positive or is NaN,
///          *info = j and the blocks hold no defined numbers.
/// Sync     on the instance of `blas`; *info stays on the device. On a device, trees of several
///          panels also use `blas.urgent()`, which the instance waits for. No status is read on the
///          way; fences where scratch grows, so not in a second call for the sizes of the first. A host
///          looks at *info after each leaf and ends where it is not 0. Cost n^3/3 flops.
/// Memory   scratch of `blas` for copies of operands, which it keeps: at most the largest off-diagonal block (n^2/4 numbers, in
///          a tree of several panels its columns of one panel) for each of two operands whose
///          precision isn't their product's, and one more in fp16 for a block that is kept in fp8;
///          for layers in tf32 and fp16_split what `LeafBlas::reserve_product` takes, before the start.
/// Throws   ValueError if the tree is not loaded; VendorError.
/// Error    ||A - L L^T||_F <= c (u_layer ||off-diagonal L||^2 + n u_leaf ||L||_F^2) (tested).
/// Source   Paper A, algorithm 1 within each panel of the tree; deviations: products accumulate in
///          fp32 or fp64 and are not rounded to the layer's type before the block is final; panels
///          are followed by their updates at once, which hides the next panel's diagonal.
template <class ExecutionSpace>
void tree_potrf(LeafBlas<ExecutionSpace>& blas, BlockTree<LayerList, ExecutionSpace> const& tree,
                Kokkos::View<std::int64_t, typename ExecutionSpace::memory_space> const& info);

/// `tree_potrf` of one tree that is loaded and factored again and again, as in the search for a
/// likelihood's maximum: from the second time on a device gets it as one graph, so that a chain of
/// short kernels does not wait for a host that launches them.
///
/// Result, Throws, Error   as `tree_potrf`. Sync: as that, and fences where blocks or *info have moved since
/// the last call, after which the next one is plain; a Kokkos tool that watches kernels sees plain calls.
/// Memory   the scratch of a LeafBlas of its own, to which the graph refers.
template <class ExecutionSpace>
class RepeatedPotrf {
 public:
  using Tree = BlockTree<LayerList, ExecutionSpace>;
  using InfoView = Kokkos::View<std::int64_t, typename ExecutionSpace::memory_space>;

  /// Work is enqueued on `exec`; `tree` must outlive this object, which at its end fences `exec`.
  RepeatedPotrf(ExecutionSpace const& exec, Tree const& tree);
  ~RepeatedPotrf();
  RepeatedPotrf(RepeatedPotrf&&) noexcept;
  RepeatedPotrf& operator=(RepeatedPotrf&&) noexcept;

  void operator()(InfoView const& info);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Solve op(L) X = alpha B (Left) or X op(L) = alpha B (Right), the triangular L in a block tree; X
/// overwrites B.
///
/// Shape    B: n x m (Left) or m x n (Right), fp64 or fp32, unscaled.
/// Result   alpha = 0: zeros, whatever L and B hold. `Layered`: both operands of each product are quantised to the layer of the block of L, as
///          in the factorisation; otherwise B enters as it is, and only the rounding that L already
///          has remains.
/// Sync     as `tree_potrf`, on the instance of `blas` alone. Cost n^2 m flops.
/// Memory   scratch of `blas`, which it keeps: `Layered`, a copy of B in each low layer's precision and
///          of a block of L whose precision isn't its product's; a leaf's rows or columns of B.
/// Throws   ShapeError if B does not fit.
/// Source   Paper A, algorithm 2, which is Right with Trans.
enum class Products { AsStored, Layered };
template <class ExecutionSpace>
void tree_trsm(LeafBlas<ExecutionSpace>& blas, Side side, Op op, Diag diag, double alpha,
               BlockTree<LayerList, ExecutionSpace> const& L,
               MatrixRef<typename ExecutionSpace::memory_space> const& B, Products products);

/// C = alpha op(A) op(A)^T + beta C by layers: the off-diagonal block of C at depth d is one
/// product with operands quantised to the d-th layer, a diagonal leaf a SYRK in the last.
///
/// Shape    C: n x n, of which the triangle `uplo` is read and written; op(A): n x k. fp64 or fp32,
///          unscaled.
/// Sync     as `tree_potrf`, on the instance of `blas` alone. Cost n^2 k flops.
/// Memory   scratch of `blas`, which it keeps: n k numbers of the widest layer that A is not in, and
///          on devices up to 256 MiB for results.
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

/// A's triangle `uplo` becomes its Cholesky factor (L, or U = L^T), computed in layers.
///
/// Shape    A: n x n; the other triangle is neither read nor written.
/// Sync     fences `exec` to read the pivot status. If it is not ok, A is as it was.
template <class LayersT, class ExecutionSpace, class MatrixView>
Info tree_potrf(ExecutionSpace const& exec, Uplo uplo, MatrixView const& A, std::int64_t leaf_size);

/// BLAS's trsm in layers: the arguments of `LeafBlas::trsm`, then the leaf size.
///
/// Sync     fences `exec` when its scratch is freed.
template <class LayersT, class ExecutionSpace, class TriangleView, class MatrixView>
void tree_trsm(ExecutionSpace const& exec, Side side, Uplo uplo, Op op, Diag diag, double alpha,
               TriangleView const& A, MatrixView const& B, std::int64_t leaf_size);

/// BLAS's syrk in layers: the arguments of `LeafBlas::syrk`, then the leaf size.
///
/// Sync     fences `exec` when its scratch is freed.
template <class LayersT, class ExecutionSpace, class MatrixView, class ResultView>
void tree_syrk(ExecutionSpace const& exec, Uplo uplo, Op op, double alpha, MatrixView const& A,
               double beta, ResultView const& C, std::int64_t leaf_size);

}  // namespace strata::dense

#include <dense/detail/Strata_TreeCholeskyViews.hpp>

#endif
