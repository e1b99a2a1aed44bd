// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_TREE_RECURSION_HPP
#define STRATA_DETAIL_TREE_RECURSION_HPP

#include <core/blas/Strata_LeafBlas.hpp>
#include <dense/recursion/detail/Strata_ProductBatch.hpp>
#include <dense/tree/Strata_BlockTree.hpp>
#include <dense/tree/detail/Strata_BandedCopy.hpp>
#include <dense/tree/detail/Strata_SplitCopy.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace strata::dense::detail {

/// Rows of an off-diagonal block in the columns of a diagonal block L, while L X^T is solved for.
template <class MemorySpace>
struct Panel {
  MatrixRef<MemorySpace> working;   ///< the right-hand side, which is used up
  MatrixRef<MemorySpace> solution;  ///< X; the same matrix if the precision is
  double const* operand_scale;      ///< bound of the right-hand side, see `BlockTree`
  double const* solution_scale;     ///< bound of X

  MatrixRef<MemorySpace> split = {};  ///< X split once for products with it, or without data
  /// what the first leaf's product takes of the rows that are solved for next, or without data
  MatrixRef<MemorySpace> operand = {};

  Panel rows(std::int64_t begin, std::int64_t count) const {
    return {working.block(begin, 0, count, working.cols),
            solution.block(begin, 0, count, solution.cols),
            operand_scale,
            solution_scale,
            split.data ? split.block(begin, 0, count, split.cols) : split,
            operand.data ? operand.block(begin, 0, count, operand.cols) : operand};
  }
  /// Without what is split, which is the whole panel's.
  Panel columns(std::int64_t begin, std::int64_t count) const {
    return {working.block(0, begin, working.rows, count),
            solution.block(0, begin, solution.rows, count),
            operand_scale,
            solution_scale,
            {},
            begin == 0 ? operand : MatrixRef<MemorySpace>{}};
  }
  /// What products X Y^T take for X, and for Y.
  ConstMatrixRef<MemorySpace> left() const { return split.data ? left_of(split) : solution; }
  ConstMatrixRef<MemorySpace> right() const { return split.data ? right_of(split) : solution; }
};

/// Paper A's algorithms 1 to 3 on the nodes of a block tree, each compiled once per execution
/// space.
///
/// A product has the precision of the coarser of its two blocks: both operands are quantised to it
/// and accumulated in the result's working type.
template <class ExecutionSpace>
class TreeRecursion {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using Matrix = MatrixRef<memory_space>;
  using ConstMatrix = ConstMatrixRef<memory_space>;
  using Tree = BlockTree<LayerList, ExecutionSpace>;
  using Node = typename Tree::Node;
  using InfoView = typename LeafBlas<ExecutionSpace>::InfoView;

  /// Its operands take four of the scratch slots of `blas`, from `first_slot` on.
  explicit TreeRecursion(LeafBlas<ExecutionSpace>& blas, int first_slot = 0)
      : blas_(blas), first_slot_(first_slot) {}

  /// Algorithm 1: working A = L L^T, finished blocks in their stored copies. A host ends where it
  /// breaks down.
  void potrf(Tree const& tree, Node const& A, InfoView const& info);

  /// Whether the factorisation has failed, as far as a host may look at it; a device goes on
  /// without a fence.
  bool broke_down([[maybe_unused]] InfoView const& info) const;

  /// Algorithm 2 within the factorisation: X = B L^-T for rows B below the diagonal block L.
  void solve(Tree const& tree, Node const& L, Panel<memory_space> const& B);

  /// What `solve` takes for columns [begin, begin + cols) of A's block. The solution is the stored
  /// block. If the block is quantised when its largest entry is known, it is a copy in scratch.
  Panel<memory_space> panel(Node const& A, std::int64_t begin, std::int64_t cols);
  /// Room for the solutions in scratch of blocks of up to so many rows and columns, which are
  /// quantised when their largest entries are known.
  void reserve_panel(std::int64_t rows, std::int64_t cols);
  /// Each panel's place for its solution when it is split, for `finish`.
  void make_room_for_split(std::vector<Panel<memory_space>*> const& panels);
  /// Room for what `solve` rounds of the largest of these, so that memory need not grow while
  /// kernels use it.
  void reserve_operands(Tree const& tree, std::vector<Panel<memory_space>*> const& panels);
  /// What the product with the inverse of L's first leaf takes of B, rounded or split:
  /// `Panel::operand`, which need not wait for that leaf then. It lies in scratch until `solve` has
  /// taken it, if nothing else is solved for or updated before. Without data where leaves are
  /// solved by substitution.
  Matrix first_operand(Tree const& tree, Node const& L, Panel<memory_space> const& B);
  /// Quantise the solution of such a block into `stored`, its columns of the stored block, or split
  /// it.
  void finish(Tree const& tree, Panel<memory_space>& X, Matrix const& stored);

  /// Algorithm 2 for all sides and transposes: B = op(L)^-1 B or B op(L)^-1, with the stored blocks
  /// of L, where `Layered` says so on B in their precision.
  void trsm(Tree const& tree, Side side, Op op, Diag diag, Matrix const& B, Products products);

  /// The lower triangle of X = L^-1 in fp64 of a tree in fp64, by products with the inverses of its
  /// leaves, which it must have. X gets zeros above the diagonals of leaves; above those it is not
  /// written. Cost n^3/3 flops.
  void invert(Tree const& tree, Matrix const& X);

  /// Algorithm 3: working C += alpha A B^T, rows of C x k, in the precision that A and B have. B =
  /// A but for how they are split. It leaves out the diagonal block `skip`.
  void syrk(Tree const& tree, Node const& C, double alpha, ConstMatrix const& A,
            ConstMatrix const& B, Node const* skip = nullptr);

  /// C += alpha A B^T in the precision of the coarser one.
  void update(Tree const& tree, double alpha, ConstMatrix const& A, ConstMatrix const& B,
              Matrix const& C);

  LeafBlas<ExecutionSpace>& blas() const { return blas_; }

  /// `potrf` calls this with each diagonal leaf that it has factored, on a device once that is
  /// enqueued.
  std::function<void(Node const&)> on_leaf;

 private:
  using Copy = BandedCopy<ExecutionSpace>;
  enum Slot { left_operand, right_operand, block_solution, copies_slot };

  struct Trsm {
    Side side;
    Op op;
    Diag diag;
    Products products;
  };

  void collect(Tree const& tree, Node const& C, ConstMatrix const& A, ConstMatrix const& B,
               Node const* skip, std::vector<Product<memory_space>>& products) const;
  /// A range of the terms of a sum.
  struct Terms {
    std::int64_t begin, count;
  };
  /// The terms of products with `count` columns of L from `begin` on, as they are summed one range
  /// after the other.
  ///
  /// On a host in fp64 the first columns of a matrix have their own sum. In a covariance they are
  /// so large that what follows is lost beside them, all to one side.
  static std::vector<Terms> terms(std::int64_t begin, std::int64_t count, Precision precision);
  void factor_leaf(Tree const& tree, Node const& A, InfoView const& info);
  void solve_leaf(Tree const& tree, Node const& L, Panel<memory_space> const& B);
  void solve_columns(Node const& L, ConstMatrix const& A, Matrix const& B);
  Matrix operand_of(Tree const& tree, Panel<memory_space> const& B);
  ConstMatrix split_inverse(Node const& L);
  void trsm(Tree const& tree, Node const& L, Trsm const& kind, Matrix const& B,
            std::vector<Copy>& copies);
  void invert(Tree const& tree, Node const& L, Matrix const& X);
  void trsm_leaf(Tree const& tree, Node const& L, Trsm const& kind, Matrix const& B);
  Matrix scratch_matrix(Slot slot, std::int64_t rows, std::int64_t cols, Precision precision);
  ConstMatrix in_precision(Precision precision, ConstMatrix const& A, Slot slot,
                           BlockScaling scaling = BlockScaling::TwoWay);

  LeafBlas<ExecutionSpace>& blas_;
  int first_slot_;
  Node const* split_leaf_ = nullptr;  // whose inverse the scratch holds, split
};

}  // namespace strata::dense::detail

#endif
