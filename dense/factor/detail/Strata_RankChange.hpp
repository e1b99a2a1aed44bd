// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_RANK_CHANGE_HPP
#define STRATA_DETAIL_RANK_CHANGE_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <dense/tree/Strata_BlockTree.hpp>
#include <dense/tree/Strata_Layers.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <vector>

namespace strata::dense::detail {

/// L L^T +- V V^T = L' L'^T in the blocks of a tree in fp64, by rotations of the columns of [V L].
///
/// The rotations of a panel of columns are found on the host, from the panel's diagonal block. They
/// are gathered in an orthogonal matrix of a small order. The rows below are multiplied by this
/// matrix.
/// Columns of V are taken `most_columns` at a time.
///
/// Memory   n numbers for each of those columns and of a panel's.
template <class ExecutionSpace>
class RankChange {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using Tree = BlockTree<LayerList, ExecutionSpace>;
  using Matrix = MatrixRef<memory_space>;
  using Block = Kokkos::View<double**, Kokkos::LayoutLeft, memory_space>;
  using HostBlock = Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::HostSpace>;

  /// For changes by k columns.
  ///
  /// Throws   MemoryError.
  RankChange(LeafBlas<ExecutionSpace>& blas, Tree const& tree, std::int64_t k);

  /// L L^T + V V^T; V, whose rows before `first` are 0, is used up. Fences.
  void update(Block const& V, std::int64_t first = 0);
  /// L L^T - V V^T with L P = V and the upper triangular C, C^T C = I - P^T P. Both are used up.
  /// Fences.
  void downdate(Block const& P, Block const& C);

 private:
  static constexpr std::int64_t most_columns = 64;

  /// Columns [begin, begin + cols) of L, which lie in one leaf.
  struct Panel {
    std::int64_t begin, cols;
    Matrix diagonal;
  };
  /// What is below a panel's diagonal block in one block of the tree.
  struct Piece {
    std::int64_t row;  ///< its first
    Matrix block;
  };

  std::vector<Panel> panels() const;
  std::vector<Piece> below(Panel const& panel) const;
  void bring(Panel const& panel, Matrix const& V, bool is_zero);
  void turn(Panel const& panel, Matrix const& V);

  LeafBlas<ExecutionSpace>& blas_;
  Tree const& tree_;
  std::int64_t width_;  // columns of a panel
  // The diagonal block's rows of [V L], and below them the rotations; results of products.
  Block small_, product_, zeros_;
  HostBlock host_;
};

/// The rows of a tree's blocks times q_i. Enqueued.
template <class ExecutionSpace>
void scale_tree_rows(ExecutionSpace const& exec, BlockTree<LayerList, ExecutionSpace> const& tree,
                     Kokkos::View<double const*, typename ExecutionSpace::memory_space> const& q);

}  // namespace strata::dense::detail

#endif
