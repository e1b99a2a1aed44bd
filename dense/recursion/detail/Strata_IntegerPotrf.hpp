// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_INTEGER_POTRF_HPP
#define STRATA_DETAIL_INTEGER_POTRF_HPP

#include <core/integers/Strata_IntegerBlas.hpp>
#include <dense/recursion/detail/Strata_PotrfWatch.hpp>
#include <dense/recursion/detail/Strata_ResidueCells.hpp>
#include <dense/tree/Strata_BlockTree.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace strata::dense::detail {

/// S of a tree whose blocks off the diagonal are all in int8xS over leaves stored as fp64; 0 for
/// others.
template <class Tree>
int moduli_of_products(Tree const& tree) {
  int moduli = 0;
  for (auto const& node : tree.nodes()) {
    Precision const precision = node.stored.precision;
    if (node.is_leaf()) {
      if (storage(precision) != Precision::fp64) return 0;
      continue;
    }
    int const found = moduli_of(precision);
    if (found == 0 || (moduli > 0 && found != moduli)) return 0;
    moduli = found;
  }
  return moduli;
}

/// The factorisation whose products are made of integers modulo S numbers: left-looking, panel by
/// panel.
///
/// Row i of L has the norm sqrt(h_ii) for H = L L^T, whatever H is. So its unit is known before the
/// first column, and bounds the sum over any columns. L's rows become integers once, block by block
/// as they are final. A panel's update over all columns to its left is one sum modulo S numbers,
/// and each entry of the sum is made a number once. Leaves and the solves with them are in fp64:
/// those by 256 columns of inverses, in an error of which the condition of 256 columns stands for a
/// leaf's.
///
/// Result   *info as for `tree_potrf`. A row whose integers outgrow its bound, as no row of a
///          positive definite matrix does but by rounding, is told as that row's minor.
/// Memory   0.31 S n^2 bytes from n = 32768 on, 0.36 from 20480 on, S n^2 below; sums of 4 S bytes
///          for up to 8192 rows of a panel; a copy of 256 columns.
/// Error    |H - L L^T|_ij <= sqrt(n) theta (1 + sqrt(n) theta / 4) sqrt(h_ii h_jj) + (w + 3) u
///          (|L| |L|^T)_ij, where a leaf has w columns. Solves by inverses add c 256 u (|C|
///          |L_b^-T| |L_b|^T)_ij of the blocks b of 256 columns. `IntegerBlas` has theta and the
///          derivation of the first term; the other terms are errors of fp64's leaves.
/// Source   Ozaki, Uchino, Imamura, arXiv:2504.08009, for the products; their place in a
///          left-looking factorisation, whose units need no measuring, is this library's.
template <class ExecutionSpace>
class IntegerPotrf {
 public:
  using Tree = BlockTree<LayerList, ExecutionSpace>;
  using InfoView = typename LeafBlas<ExecutionSpace>::InfoView;

  /// `groups`: of panels, for `ResidueCells`; 0: chosen. It changes no bit.
  IntegerPotrf(LeafBlas<ExecutionSpace>& blas, Tree const& tree, InfoView const& info,
               std::function<void(double)> const& on_progress = {},
               FirstColumns<ExecutionSpace> const& first_columns = {}, std::int64_t groups = 0,
               std::int64_t most_rows = 8192);

  void operator()();

 private:
  using memory_space = typename ExecutionSpace::memory_space;
  using Matrix = MatrixRef<memory_space>;
  using Node = typename Tree::Node;
  enum Slot { cells_slot, sums_slot, columns_slot, rows_slot };

  /// Rows of a panel's columns in one block of the tree.
  struct Piece {
    std::int64_t begin;
    Matrix block;
  };

  void take_scratch();
  std::vector<Piece> pieces(Node const& leaf) const;
  void update(std::int64_t begin, std::int64_t count, std::size_t p, std::vector<Piece> const& of,
              Triangle part);
  void factor(Node const& leaf);
  void solve(Node const& leaf, Matrix const& X);
  void keep(std::size_t p, Piece const& piece);
  bool broke_down() const;

  LeafBlas<ExecutionSpace>& blas_;
  Tree const& tree_;
  InfoView info_;
  int moduli_;
  std::int64_t most_rows_;
  PotrfWatch<ExecutionSpace> watch_;
  std::vector<Node const*> leaves_;
  ResidueCells<memory_space> cells_;
  RowUnit* units_ = nullptr;
  double* squares_ = nullptr;
  std::int32_t* sums_ = nullptr;
};

}  // namespace strata::dense::detail

#endif
