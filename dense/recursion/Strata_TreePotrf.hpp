// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TREE_POTRF_HPP
#define STRATA_TREE_POTRF_HPP

#include <core/Strata_Errors.hpp>
#include <core/Strata_Pimpl.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <dense/tree/Strata_BlockTree.hpp>
#include <dense/tree/Strata_Layers.hpp>
#include <dense/tree/detail/Strata_ColumnMajor.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <functional>

namespace strata::dense {

/// Factor a symmetric positive definite matrix that is loaded in a block tree: A = L L^T.
///
/// Result   the stored blocks hold L, each quantised once, when it is final; updates accumulate in
///          the working blocks. If *info was 0 and the leading minor of order j is not positive or
///          is NaN, *info = j and the blocks hold no defined numbers. `on_progress` hears, on the
///          calling thread, what part of the flops is done, 0 to 1: on a host after each leaf, on a
///          device after panels. What it throws ends the call.
/// Sync     on the instance of `blas`; *info stays on the device. On a device, trees of several
///          panels also use `blas.urgent()`, which the instance waits for. No status is read on the
///          way; fences where scratch grows, so not in a second call for the sizes of the first. A
///          host looks at *info after each leaf and ends where it is not 0. With `on_progress` a
///          device's caller waits for the work, the device for nothing more. Cost n^3/3 flops.
/// Memory   scratch of `blas` for copies of operands, which it keeps. Each of two operands whose
///          precision isn't their product's takes at most the largest off-diagonal block: n^2/4
///          numbers, in a tree of several panels its columns of one panel. A block that is kept in
///          fp8 takes one more copy in fp16. Layers in tf32 and fp16_split take what
///          `LeafBlas::reserve_product` takes, before the start. Where the tree splits its panels
///          they take 8 bytes for each number of a panel, and 6 for each number of a leaf and of a
///          block's columns in the panel. int8xS takes S n^2 bytes, from n = 20480 on at most 0.36
///          S n^2, and 4 S for each of 8192 rows of a leaf's columns.
/// Throws   ValueError if the tree is not loaded; VendorError.
/// Error    ||A - L L^T||_F <= c (u_layer ||off-diagonal L||^2 + n u_leaf ||L||_F^2) (tested). In
///          int8xS alone an entry's error is within sqrt(n) 2^-b sqrt(a_ii a_jj) (1 + ...), b =
///          23.3 for S = 6 and 3.9 more for each further modulus (tested). Its standard deviation
///          is 0.41 2^-b sqrt(a_ii a_jj). The error of fp64 leaves comes on top.
/// Source   Ozaki, Uchino, Imamura, arXiv:2504.08009, for products of integers, panel by panel from
///          the left. Else paper A, algorithm 1 within each panel of the tree; deviations: products
///          accumulate in fp32 or fp64 and are not rounded to the layer's type before the block is
///          final; panels are followed by their updates at once, which hides the next panel's
///          diagonal.
template <class ExecutionSpace>
void tree_potrf(LeafBlas<ExecutionSpace>& blas, BlockTree<LayerList, ExecutionSpace> const& tree,
                Kokkos::View<std::int64_t, typename ExecutionSpace::memory_space> const& info,
                std::function<void(double)> const& on_progress = {});

/// `tree_potrf` of one tree that is loaded and factored again and again, as in the search for a
/// likelihood's maximum. From the second time on a device gets it as one graph. So a chain of short
/// kernels does not wait for a host that launches them.
///
/// Result, Throws, Error   as `tree_potrf`. Sync: as that, and fences where blocks or *info have
///                         moved since
/// the last call, after which the next one is plain; a Kokkos tool that watches kernels sees plain
/// calls.
/// Memory   the scratch of a LeafBlas of its own, to which the graph refers.
template <class ExecutionSpace>
class RepeatedPotrf {
 public:
  /// What is factored.
  using Tree = BlockTree<LayerList, ExecutionSpace>;
  /// As of `tree_potrf`.
  using InfoView = Kokkos::View<std::int64_t, typename ExecutionSpace::memory_space>;

  /// Work is enqueued on `exec`; `tree` must outlive this object, which at its end fences `exec`.
  RepeatedPotrf(ExecutionSpace const& exec, Tree const& tree);
  ~RepeatedPotrf();
  RepeatedPotrf(RepeatedPotrf&&) noexcept;
  RepeatedPotrf& operator=(RepeatedPotrf&&) noexcept;

  /// Factor what is loaded in the tree now.
  void operator()(InfoView const& info);

 private:
  struct State;
  Pimpl<State> state_;
};

// The same on Kokkos Views of fp64 or fp32 in LayoutLeft or LayoutRight, with the layers in the
// type.

/// A's triangle `uplo` becomes its Cholesky factor (L, or U = L^T), computed in layers.
///
/// Shape    A: n x n; the other triangle is neither read nor written.
/// Sync     fences `exec` to read the pivot status. If it is not ok, A is as it was.
template <class LayersT, class ExecutionSpace, class MatrixView>
Info tree_potrf(ExecutionSpace const& exec, Uplo uplo, MatrixView const& A,
                std::int64_t leaf_size) {
  auto const [matrix, transposed] = detail::column_major<ExecutionSpace>(A);
  Uplo const triangle = transposed ? strata::transposed(uplo) : uplo;
  LeafBlas<ExecutionSpace> blas(exec);
  BlockTree<LayerList, ExecutionSpace> tree(exec, matrix.rows, LayersT::list(), leaf_size);
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

}  // namespace strata::dense

#endif
