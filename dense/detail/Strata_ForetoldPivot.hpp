// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_FORETOLD_PIVOT_HPP
#define STRATA_DETAIL_FORETOLD_PIVOT_HPP

#include <core/Strata_Precision.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <dense/detail/Strata_FactorKernels.hpp>
#include <dense/tree/Strata_BlockTree.hpp>
#include <dense/tree/Strata_Layers.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace strata::dense::detail {

/// A part of the largest pivot, below which one tells little: rounding to these layers makes errors
/// that are not much smaller.
///
/// Measured with geometric spectra: a factorisation over fp16 breaks down after pivots of 4 to 5
/// unit roundoffs. And fp32 still pays at a condition of 1e7, with a last pivot of 1e-5, and costs
/// more than fp64 at 1e8 and 1e-6.
inline double small_pivot(LayerList const& layers) {
  constexpr double roundoffs = 64;
  return roundoffs * layers.unit_roundoff();
}

/// How many of the first columns tell whether a factorisation will serve. On a host it is the left
/// half of the root, an eighth of the flops. On a device, which works from left to right, it is a
/// sixth of all columns.
template <class ExecutionSpace, class Tree>
std::int64_t telling_columns(Tree const& tree) {
  return strata::runs_on_host<ExecutionSpace> ? tree.root().first_size : tree.order() / 6;
}

/// What part of the largest pivot the last one will be, by the first columns of a factor, of which
/// there are at least 4. The largest one is the first, or the geometric mean of a quarter of these
/// columns.
///
/// room     a number for each leaf, and 4 more
/// Result   from a straight line through the means of the pivots' logarithms in the third and in
///          the last quarter of these columns. NaN where a pivot is.
/// Sync     fences `exec`.
template <class ExecutionSpace, class Tree>
double foretold_pivot(ExecutionSpace const& exec, Tree const& tree, std::int64_t columns,
                      double* room) {
  std::int64_t const ends[] = {1, columns / 4, columns / 2, columns - columns / 4, columns};
  std::vector<int> parts;  // of each sum in `room`
  std::vector<ConstMatrixRef<typename ExecutionSpace::memory_space>> blocks;
  for (auto const& leaf : tree.nodes()) {
    if (!leaf.is_leaf()) continue;
    for (int part = 0; part < 5; ++part) {
      std::int64_t const first = std::max<std::int64_t>(
                             0, (part < 2 ? 0 : ends[part - 1]) - leaf.begin),
                         size = std::min(leaf.size, ends[part] - leaf.begin) - first;
      if (size <= 0) continue;
      blocks.push_back(leaf.stored.block(first, first, size, size));
      parts.push_back(part);
    }
  }
  log_diagonals<ExecutionSpace>(exec, blocks, room);
  using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
  std::vector<double> sums(parts.size());
  Kokkos::deep_copy(
      exec, Kokkos::View<double*, Kokkos::HostSpace, Unmanaged>(sums.data(), sums.size()),
      Kokkos::View<double*, typename ExecutionSpace::memory_space, Unmanaged>(room, sums.size()));
  exec.fence("strata::dense::cholesky: look at the first pivots");
  double means[5] = {};
  for (std::size_t i = 0; i < sums.size(); ++i) {
    int const part = parts[i];
    means[part] += 2 * sums[i] / static_cast<double>(ends[part] - (part < 2 ? 0 : ends[part - 1]));
  }
  double const largest = *std::ranges::max_element(means), width = static_cast<double>(columns) / 4,
               left = static_cast<double>(tree.order()) - 3.5 * width;
  return std::exp(means[4] + left * std::min(0.0, means[4] - means[3]) / width - largest);
}

/// Whether a breakdown at this order tells nothing of A: the pivots before it were so small that
/// rounding may make the next one negative.
///
/// leaves   the sums of log l_ii, leaf by leaf in the tree's order; the forecast goes by the last
///          whole leaf before the breakdown, and by the geometric means of pivots
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
