// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_LOW_SOLVE_HPP
#define STRATA_DETAIL_LOW_SOLVE_HPP

#include <core/blas/Strata_LeafBlas.hpp>
#include <core/instances/Strata_Replay.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <dense/recursion/Strata_TreeTrsm.hpp>
#include <dense/recursion/detail/Strata_ThinSolve.hpp>
#include <dense/tree/Strata_BlockTree.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace strata::dense::detail {

/// The solve that preconditions a refinement: R = (L L^T)^-1 R in the arithmetic of the leaves.
///
/// Products with one column wait for the factor to be read, whose own precision suffices; many
/// columns are worth its matrix units. A solve of few columns is a kernel for each (`ThinSolve`),
/// or many short ones, always the same: a device replays them.
///
/// Sync     enqueued; fences where its memory grows or the number of columns changes. Memory: a
///          copy of R, and the workspace and scratch of its own LeafBlas, which a replay refers to;
///          a tree of one leaf in fp64 needs none of these.
template <class ExecutionSpace>
class LowSolve {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using Matrix = MatrixRef<memory_space>;
  using Tree = BlockTree<LayerList, ExecutionSpace>;

  /// `blas` and `tree` must outlive this object, and the tree keep its factor.
  LowSolve(LeafBlas<ExecutionSpace>& blas, Tree const& tree)
      : tree_(tree), blas_(is_whole_leaf(tree) ? blas : own_.emplace(blas.exec())) {
    if (ThinSolve<ExecutionSpace>::takes(tree)) thin_.emplace(blas.exec(), tree);
  }
  LowSolve(LowSolve const&) = delete;
  LowSolve& operator=(LowSolve const&) = delete;

  void operator()(Matrix const& R) {
    constexpr std::int64_t many = 16;
    bool const in_place = strata::runs_on_host<ExecutionSpace> || tree_.root().is_leaf();
    if (in_place && R.precision == accumulator(tree_.layers().leaf()))
      return solve(R, Products::AsStored);
    Matrix const F = copy(R.rows, R.cols);
    blas_.convert(Op::NoTrans, R, F);
    bool const has_units = !strata::runs_on_host<ExecutionSpace> && F.precision == Precision::fp32;
    if (R.cols >= many)
      solve(F, has_units ? Products::Layered : Products::AsStored);
    else
      replay_.run(blas_.exec(), [&] { solve(F, Products::AsStored); });
    blas_.convert(Op::NoTrans, F, R);
  }

 private:
  /// Whether a vector in fp64 is solved by two substitutions with the one leaf.
  static bool is_whole_leaf(Tree const& tree) {
    auto const& root = tree.root();
    return root.is_leaf() && root.inverse.data == nullptr &&
           root.stored.precision == Precision::fp64;
  }

  void solve(Matrix const& F, Products products) {
    auto const& root = tree_.root();
    if (root.is_leaf() && root.inverse.data == nullptr && root.stored.precision == F.precision)
      return blas_.potrs(root.stored, F);
    constexpr std::int64_t few = 4;  // more are better served by products with all of them
    if (thin_ && F.cols <= few) {
      for (std::int64_t j = 0; j < F.cols; ++j) (*thin_)(F.block(0, j, F.rows, 1));
      return;
    }
    for (Op const op : {Op::NoTrans, Op::Trans})
      tree_trsm(blas_, Side::Left, op, Diag::NonUnit, 1, tree_, F, products);
  }

  // What was captured is for the memory and the number of columns that it was captured with.
  Matrix copy(std::int64_t rows, std::int64_t cols) {
    constexpr int slot = LeafBlas<ExecutionSpace>::scratch_slots - 1;
    Precision const precision = accumulator(tree_.layers().leaf());
    std::int64_t const ld = (rows + 15) / 16 * 16;
    std::byte* const memory =
        blas_.scratch(slot, static_cast<std::size_t>(ld * cols) * traits(precision).bytes);
    if (cols != cols_ || memory != memory_) {
      blas_.exec().fence("strata::dense::LowSolve: capture anew");
      replay_ = {};
      cols_ = cols, memory_ = memory;
    }
    return {memory, rows, cols, ld, precision, nullptr};
  }

  Tree const& tree_;
  std::optional<LeafBlas<ExecutionSpace>> own_;
  LeafBlas<ExecutionSpace>& blas_;
  std::optional<ThinSolve<ExecutionSpace>> thin_;
  std::int64_t cols_ = -1;
  std::byte* memory_ = nullptr;
  strata::Replay<ExecutionSpace> replay_;
};

}  // namespace strata::dense::detail

#endif
