// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/recursion/detail/Strata_PanelPotrf.hpp>

#include <core/Strata_Errors.hpp>
#include <core/instances/Strata_SecondInstance.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <dense/recursion/detail/Strata_IntegerPotrf.hpp>

#include <algorithm>

namespace strata::dense::detail {

constexpr int slots_of_bulk = 4;  // on a host both use the same scratch

// Part of the n^3/3 flops below a node of n columns that is done once this leaf is.
template <class Tree>
double done_of(Tree const& tree, typename Tree::Node const& node, typename Tree::Node const& leaf) {
  auto const first = static_cast<double>(node.is_leaf() ? node.size : node.first_size);
  if (node.is_leaf()) return first * first * first / 3;
  if (leaf.begin < node.begin + node.first_size) return done_of(tree, tree.left(node), leaf);
  auto const second = static_cast<double>(node.size) - first;
  return first * first * first / 3 + first * second * (first + second) +
         done_of(tree, tree.right(node), leaf);
}

template <class Tree>
typename Tree::Node const& last_leaf(Tree const& tree, typename Tree::Node const& node) {
  return node.is_leaf() ? node : last_leaf(tree, tree.right(node));
}

template <class ExecutionSpace>
PanelPotrf<ExecutionSpace>::PanelPotrf(LeafBlas<ExecutionSpace>& blas, Tree const& tree,
                                       InfoView const& info,
                                       std::function<void(double)> const& on_progress,
                                       FirstColumns<ExecutionSpace> const& first_columns)
    : tree_(tree),
      info_(info),
      watch_(blas.exec(), tree.order(), info, on_progress, first_columns),
      bulk_(blas),
      diagonal_(tree.panels().size() > 1 ? blas.urgent() : blas, slots_of_bulk) {
  std::int64_t const n = tree.order();
  bool const splits = tree.splits_panels() && std::ranges::all_of(tree.panels(), [&](int p) {
                        return tree.nodes()[static_cast<std::size_t>(p)].is_leaf();
                      });
  for (Precision const layer : splits ? LayerList{tree.layers().leaf()} : tree.layers())
    for (TreeRecursion<ExecutionSpace> const* part : {&bulk_, &diagonal_})
      part->blas().reserve_product(layer, n, n, n);
  for (TreeRecursion<ExecutionSpace> const* part : {&bulk_, &diagonal_})
    part->blas().set_fixed_scales(tree.bounds());
  if (!watch_.is_wanted()) return;
  bulk_.on_leaf = [this](Node const& leaf) {
    look(bulk_.blas().exec(), leaf);
    reach(leaf);
  };
  if (runs_on_host<ExecutionSpace>)
    diagonal_.on_leaf = bulk_.on_leaf;  // else the bulk runs beside it
}

template <class ExecutionSpace>
PanelPotrf<ExecutionSpace>::~PanelPotrf() {
  for (TreeRecursion<ExecutionSpace> const* part : {&bulk_, &diagonal_})
    part->blas().set_fixed_scales({});
}

// Of n^3/3 flops, once this leaf is done and panels before its own have updated all that
// follows.
template <class ExecutionSpace>
double PanelPotrf<ExecutionSpace>::part_done(Node const& leaf) const {
  std::size_t p = tree_.panels().size() - 1;
  while (panel(p).begin > leaf.begin) --p;
  auto const n = static_cast<double>(tree_.order()), rest = n - static_cast<double>(panel(p).begin);
  return 1 - (rest * rest * rest - 3 * done_of(tree_, panel(p), leaf)) / (n * n * n);
}

// All up to the end of this node is on `exec`; what is left follows on the bulk's instance.
template <class ExecutionSpace>
void PanelPotrf<ExecutionSpace>::look(ExecutionSpace const& exec, Node const& done) {
  watch_.look(exec, done.begin + done.size);
}

// All up to this leaf is in the bulk's queue, or is waited for there.
template <class ExecutionSpace>
void PanelPotrf<ExecutionSpace>::reach(Node const& leaf) {
  watch_.reach(part_done(leaf));
}

template <class ExecutionSpace>
void PanelPotrf<ExecutionSpace>::operator()() {
  using strata::enqueue_wait;
  ExecutionSpace const &bulk = bulk_.blas().exec(), &diagonal = diagonal_.blas().exec();
  std::size_t const count = tree_.panels().size();
  std::vector<Piece> blocks;
  if (panel(0).is_leaf()) blocks = begin_panel(0);
  bulk_.potrf(tree_, panel(0), info_);
  if (!panel(0).is_leaf()) blocks = begin_panel(0);  // whose scratch the recursion takes
  for (std::size_t p = 0; p + 1 < count && !watch_.ends() && !bulk_.broke_down(info_); ++p) {
    reach_next(panel(p), panel(p + 1), blocks.front());
    enqueue_wait(diagonal, bulk);
    diagonal_.potrf(tree_, panel(p + 1), info_);
    for (Piece& block : blocks) {  // L21 = A21 L11^-T
      std::int64_t const rows = block.panel.working.rows - block.urgent;
      if (rows == 0) continue;
      solve(panel(p), block, block.urgent, rows);
    }
    update(blocks, &panel(p + 1));  // A22 -= L21 L21^T
    blocks = begin_panel(p + 1);
    enqueue_wait(bulk, diagonal);
    if (runs_on_host<ExecutionSpace>) continue;
    look(diagonal, panel(p + 1));
    reach(last_leaf(tree_, panel(p + 1)));
  }
  watch_.tell_the_rest();
}

template <class ExecutionSpace>
auto PanelPotrf<ExecutionSpace>::panel(std::size_t p) const -> Node const& {
  return tree_.nodes()[static_cast<std::size_t>(tree_.panels()[p])];
}

// The blocks below a panel, from its own rows downwards.
template <class ExecutionSpace>
auto PanelPotrf<ExecutionSpace>::pieces(Node const& panel) -> std::vector<Piece> {
  std::vector<Piece> found;
  std::int64_t most_rows = 0;
  for (Node const* node = &tree_.root(); node != &panel;) {
    bool const in_left = panel.begin < node->begin + node->first_size;
    if (in_left) {
      std::int64_t const begin = panel.begin - node->begin;
      for (auto const& [first, strip] : tree_.strips(*node))
        if (begin >= first && begin < first + strip.cols)
          found.push_back({node, strip.block(0, begin - first, strip.rows, panel.size), {}});
      most_rows = std::max(most_rows, node->stored.rows);
    }
    node = in_left ? &tree_.left(*node) : &tree_.right(*node);
  }
  bool const has_measured = std::ranges::any_of(found, [](Piece const& piece) {
    Precision const stored = piece.stored.precision;
    return solve_precision(stored) != stored;
  });
  if (has_measured)
    bulk_.reserve_panel(most_rows, panel.size);  // of one memory, which must not move
  for (Piece& piece : found)
    piece.panel = bulk_.panel(*piece.node, panel.begin - piece.node->begin, panel.size);
  std::reverse(found.begin(), found.end());
  std::vector<Panel<memory_space>*> panels;
  for (Piece& piece : found) panels.push_back(&piece.panel);
  if (tree_.splits_panels()) bulk_.make_room_for_split(panels);
  bulk_.reserve_operands(tree_, panels);
  return found;
}

// The blocks below panel p, and for the rows of the next one what need not wait for its first leaf.
template <class ExecutionSpace>
auto PanelPotrf<ExecutionSpace>::begin_panel(std::size_t p) -> std::vector<Piece> {
  auto blocks = pieces(panel(p));
  if (blocks.empty()) return blocks;
  Piece& nearest = blocks.front();
  bool const is_measured = nearest.panel.solution.precision != nearest.stored.precision;
  nearest.urgent = is_measured ? nearest.panel.working.rows : panel(p + 1).size;
  nearest.panel.operand =
      bulk_.first_operand(tree_, panel(p), nearest.panel.rows(0, nearest.urgent));
  return blocks;
}

// The rows of the next panel, and its update: all that its factorisation waits for.
template <class ExecutionSpace>
void PanelPotrf<ExecutionSpace>::reach_next(Node const& panel, Node const& next, Piece& nearest) {
  solve(panel, nearest, 0, nearest.urgent);
  nearest.panel.operand = {};
  auto const rows = nearest.panel.rows(0, next.size);
  bulk_.syrk(tree_, next, -1, rows.left(), rows.right());
}

// Rows of L21, as products take them.
template <class ExecutionSpace>
void PanelPotrf<ExecutionSpace>::solve(Node const& panel, Piece& piece, std::int64_t begin,
                                       std::int64_t count) {
  auto rows = piece.panel.rows(begin, count);
  bulk_.solve(tree_, panel, rows);
  bulk_.finish(tree_, rows.split.data ? rows : piece.panel, piece.stored);
}

template <class ExecutionSpace>
void PanelPotrf<ExecutionSpace>::update(std::vector<Piece> const& pieces, Node const* next) {
  for (auto source = pieces.begin(); source != pieces.end(); ++source) {
    Node const& node = *source->node;
    std::int64_t const rows = node.begin + node.first_size;  // also the columns that it updates
    bulk_.syrk(tree_, tree_.right(node), -1, source->panel.left(), source->panel.right(), next);
    for (auto below = source + 1; below != pieces.end(); ++below) {
      Matrix const& C = below->node->working;
      bulk_.update(tree_, -1, below->panel.left(), source->panel.right(),
                   C.block(0, rows - below->node->begin, C.rows, source->panel.solution.rows));
    }
  }
}

template <class ExecutionSpace>
void tree_potrf(LeafBlas<ExecutionSpace>& blas, BlockTree<LayerList, ExecutionSpace> const& tree,
                typename LeafBlas<ExecutionSpace>::InfoView const& info,
                std::function<void(double)> const& on_progress,
                FirstColumns<ExecutionSpace> const& first_columns) {
  if (tree.order() == 0) return;
  STRATA_REQUIRE(ValueError, tree.root().working.data != nullptr, "tree_potrf: the tree of order ",
                 tree.order(), " has not been loaded");
  Region const region(blas.exec(), "strata::dense::tree_potrf");
  if (moduli_of_products(tree) > 0)
    return IntegerPotrf<ExecutionSpace>(blas, tree, info, on_progress, first_columns)();
  PanelPotrf<ExecutionSpace>(blas, tree, info, on_progress, first_columns)();
}

#define STRATA_INSTANTIATE(Exec)                                                     \
  template class PanelPotrf<Exec>;                                                   \
  template void tree_potrf<Exec>(LeafBlas<Exec>&, BlockTree<LayerList, Exec> const&, \
                                 LeafBlas<Exec>::InfoView const&,                    \
                                 std::function<void(double)> const&, FirstColumns<Exec> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense::detail
