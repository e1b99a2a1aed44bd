// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_TREE_RECURSION_HPP
#define STRATA_DETAIL_TREE_RECURSION_HPP

#include <Kokkos_Core.hpp>
#include <array>
#include <core/Strata_LeafBlas.hpp>
#include <cstddef>
#include <dense/Strata_BlockTree.hpp>
#include <optional>

namespace strata::dense::detail {

/// Paper A's algorithms 1 to 3 on the nodes of a block tree, each compiled once per execution
/// space.
///
/// The precision of a product is that of the coarser of its two blocks: both operands are quantised
/// to it and accumulated in the result's working type.
template <class ExecutionSpace>
class TreeRecursion {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using Matrix = MatrixRef<memory_space>;
  using Tree = BlockTree<LayerList, ExecutionSpace>;
  using Node = typename Tree::Node;
  using InfoView = typename LeafBlas<ExecutionSpace>::InfoView;

  explicit TreeRecursion(LeafBlas<ExecutionSpace>& blas) : blas_(blas) {}

  /// Algorithm 1: working A = L L^T, finished blocks quantised into their stored copies.
  void potrf(Tree const& tree, Node const& A, InfoView const& info);

  /// Algorithm 2 for all sides and transposes: B = op(L)^-1 B or B op(L)^-1, with the stored blocks
  /// of L.
  ///
  /// `layer` is the precision that B will be kept in, which its products are then made in if it is
  /// the coarser one; without it B enters the products as it is.
  void trsm(Tree const& tree, Node const& L, Side side, Op op, Diag diag, Matrix const& B,
            std::optional<Precision> layer);

  /// Algorithm 3: working C += alpha A A^T, A: rows of C x k, in the precision it has.
  void syrk(Tree const& tree, Node const& C, double alpha, Matrix const& A);

  /// Algorithm 3 on an ordinary matrix: the triangle `uplo` of C += alpha op(A) op(A)^T by layers.
  void syrk(LayerList const& layers, std::int64_t leaf_size, std::size_t depth, Uplo uplo, Op op,
            double alpha, Matrix const& A, Matrix const& C);

 private:
  using Buffer = Kokkos::View<std::byte*, memory_space>;
  struct Operand {
    Buffer numbers;
    Kokkos::View<double, memory_space> scale;
  };

  void reserve(Tree const& tree);
  Matrix in_precision(Precision precision, Matrix const& A, Operand& scratch,
                      BlockScaling scaling = BlockScaling::TwoWay);

  LeafBlas<ExecutionSpace>& blas_;
  std::array<Operand, 2> scratch_;
};

}  // namespace strata::dense::detail

#endif
