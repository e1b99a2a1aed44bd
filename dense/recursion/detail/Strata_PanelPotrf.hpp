// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_PANEL_POTRF_HPP
#define STRATA_DETAIL_PANEL_POTRF_HPP

#include <dense/recursion/detail/Strata_PotrfWatch.hpp>
#include <dense/recursion/detail/Strata_TreeRecursion.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace strata::dense::detail {

/// The factorisation panel by panel, with a lookahead of one.
///
/// While the matrix is updated with one panel, the next diagonal block is factored on a second,
/// urgent instance. So the chain of leaves, which can't fill a device, costs no time of its own.
/// Where the tree is one panel, this is paper A's algorithm 1.
template <class ExecutionSpace>
class PanelPotrf {
 public:
  using Tree = BlockTree<LayerList, ExecutionSpace>;
  using InfoView = typename LeafBlas<ExecutionSpace>::InfoView;

  /// `on_progress`: hears what part of the flops is done, 0 to 1; of a device by milestones in its
  /// queue.
  PanelPotrf(LeafBlas<ExecutionSpace>& blas, Tree const& tree, InfoView const& info,
             std::function<void(double)> const& on_progress = {},
             FirstColumns<ExecutionSpace> const& first_columns = {});
  ~PanelPotrf();
  PanelPotrf(PanelPotrf const&) = delete;
  PanelPotrf& operator=(PanelPotrf const&) = delete;

  void operator()();

 private:
  using memory_space = typename ExecutionSpace::memory_space;
  using Matrix = MatrixRef<memory_space>;
  using Node = typename Tree::Node;

  /// A block to the left of whose columns end the panel's, and its rows in the panel's columns.
  struct Piece {
    Node const* node;
    Matrix stored;
    Panel<memory_space> panel;
    std::int64_t urgent = 0;  ///< rows that the next panel waits for, from the first
  };

  Node const& panel(std::size_t p) const;
  std::vector<Piece> pieces(Node const& panel);
  void solve(Node const& panel, Piece& piece, std::int64_t begin, std::int64_t count);
  std::vector<Piece> begin_panel(std::size_t p);
  void reach_next(Node const& panel, Node const& next, Piece& nearest);
  void update(std::vector<Piece> const& pieces, Node const* next);
  double part_done(Node const& leaf) const;
  void look(ExecutionSpace const& exec, Node const& done);
  void reach(Node const& leaf);

  Tree const& tree_;
  InfoView info_;
  PotrfWatch<ExecutionSpace> watch_;
  TreeRecursion<ExecutionSpace> bulk_, diagonal_;
};

/// `dense::tree_potrf` that may end after the first columns.
template <class ExecutionSpace>
void tree_potrf(LeafBlas<ExecutionSpace>& blas, BlockTree<LayerList, ExecutionSpace> const& tree,
                typename LeafBlas<ExecutionSpace>::InfoView const& info,
                std::function<void(double)> const& on_progress,
                FirstColumns<ExecutionSpace> const& first_columns);

}  // namespace strata::dense::detail

#endif
