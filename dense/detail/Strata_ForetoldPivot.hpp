// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_FORETOLD_PIVOT_HPP
#define STRATA_DETAIL_FORETOLD_PIVOT_HPP

#include <core/Strata_Precision.hpp>
#include <dense/Strata_BlockTree.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace strata::dense::detail {

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

}  // namespace strata::dense::detail

#endif
