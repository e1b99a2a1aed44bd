// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_FORETOLD_PIVOT_HPP
#define STRATA_DETAIL_FORETOLD_PIVOT_HPP

#include <core/Strata_Precision.hpp>
#include <dense/Strata_BlockTree.hpp>
#include <dense/Strata_Layers.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace strata::dense::detail {

/// A part of the largest pivot, below which one tells little: rounding to these layers makes errors that are not much smaller.
///
/// Measured with geometric spectra: a factorisation over fp16 breaks down after pivots of 4 to 5 unit roundoffs. And fp32 still
/// pays at a condition of 1e7, with a last pivot of 1e-5, and costs more than fp64 at 1e8 and 1e-6.
inline double small_pivot(LayerList const& layers) {
  constexpr double roundoffs = 64;
  return roundoffs * layers.unit_roundoff();
}

/// Columns of a tree whose order is at least 2: all before the right half of its root.
template <class Tree>
std::int64_t left_half(Tree const& tree) {
  return tree.root().first_size;
}

/// What part of the largest pivot the last one will be, by a factor whose left half is there, in the memory of the host.
///
/// Result   from a straight line through the means of the pivots' logarithms in the third and in the last quarter of the half.
template <class Tree>
double foretold_pivot(Tree const& tree) {
  std::int64_t const half = left_half(tree);
  double largest = -std::numeric_limits<double>::infinity(), sums[2] = {};
  for (auto const& leaf : tree.nodes()) {
    if (!leaf.is_leaf() || leaf.begin >= half) continue;
    with_type(leaf.stored.precision, [&]<class T>(std::type_identity<T>) {
      for (std::int64_t j = 0; j < leaf.size; ++j) {
        auto const l =
            static_cast<double>(static_cast<T const*>(leaf.stored.data)[j + j * leaf.stored.ld]);
        double const logarithm = 2 * std::log2(l);
        largest = std::max(largest, logarithm);
        std::int64_t const quarter = 4 * (leaf.begin + j) / half;
        if (quarter >= 2) sums[quarter - 2] += logarithm;
      }
    });
  }
  auto const columns = static_cast<double>(half) / 4;
  double const third = sums[0] / columns, fourth = sums[1] / columns,
               left = static_cast<double>(tree.order()) - 3.5 * columns;
  return std::exp2(fourth + left * std::min(0.0, fourth - third) / columns - largest);
}

/// Whether a breakdown at this order tells nothing of A: the pivots before it were so small that rounding may make the next one
/// negative.
///
/// leaves   the sums of log l_ii, of each leaf in the tree's order; what is said goes by the last whole leaf before the breakdown,
///          and by the geometric means of pivots
template <class Tree>
bool rounding_explains(Tree const& tree, std::vector<double> const& leaves, std::int64_t failed) {
  auto sum = leaves.begin();
  double largest = -std::numeric_limits<double>::infinity(), last = 0;
  for (auto const& node : tree.nodes()) {
    if (!node.is_leaf()) continue;
    double const mean = 2 * *sum++ / static_cast<double>(node.size);
    if (node.begin + node.size >= failed) continue;
    largest = std::max(largest, mean);
    last = mean;
  }
  return last - largest < std::log(small_pivot(tree.layers()));
}

}  // namespace strata::dense::detail

#endif
