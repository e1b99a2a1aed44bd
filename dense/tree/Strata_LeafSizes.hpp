// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_LEAF_SIZES_HPP
#define STRATA_LEAF_SIZES_HPP

#include <dense/tree/Strata_Layers.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace strata::dense {

/// Leaves of an n x n matrix have n / divisor columns, in whole units, between least and most. Up
/// to order `whole` the matrix is one leaf, which one POTRF factors faster than the recursion does.
/// With `even`, a matrix of more than `most` columns has an even number of leaves that are alike,
/// as few as there can be. The left half of the tree is then half of the columns.
struct LeafSizeRule {
  std::int64_t divisor, unit, least, most, whole = 0;  ///< numbers of the formula above
  bool even = false;                                   ///< no divisor is above `most`

  /// The leaf size of an n x n matrix.
  std::int64_t operator()(std::int64_t n) const {
    if (0 < n && n <= whole) return n;
    if (even && n > most) {
      std::int64_t const leaves = 2 * ((n + 2 * most - 1) / (2 * most)), step = leaves * unit;
      return (n + step - 1) / step * unit;
    }
    std::int64_t const step = divisor * unit;
    return std::clamp((n + step - 1) / step * unit, least, most);
  }
  /// The same numbers.
  friend bool operator==(LeafSizeRule const&, LeafSizeRule const&) = default;
};

/// What layers mean to the choice of leaves. It is "fp64" if all are, "int8" if the largest
/// products are made of integers, "fp32" if they are stored as fp32 or wider, else "low".
std::string_view leaf_kind(LayerList const& layers);

/// What the space runs on: "sm_90" or "gfx942" of the device that is Kokkos' default, or "host".
template <class ExecutionSpace>
std::string const& leaf_architecture();

/// The rule of the table `dense/tree/detail/Strata_LeafSizes.inc` for an architecture and a kind of
/// layers; without a row of its own, the host's or any device's.
LeafSizeRule leaf_size_rule(std::string_view architecture, std::string_view kind);

}  // namespace strata::dense

#endif
