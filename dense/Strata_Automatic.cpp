// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What a caller who says nothing gets; measured on the machines that the README names.
#include <dense/detail/Strata_Automatic.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <dense/Strata_BlockTree.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/Strata_LeafSizes.hpp>

#include <algorithm>
#include <vector>

namespace strata::dense {

template <class ExecutionSpace>
LayerList automatic_layers(std::int64_t n) {
  using enum Precision;
  constexpr bool host = Kokkos::SpaceAccessibility<ExecutionSpace, Kokkos::HostSpace>::accessible;
  if (n < 1024) return {fp64};
  if constexpr (host) return {fp32};
  // All but the leaves: where a layer is fp16 at all, deeper ones add nothing to the error.
  std::vector<Precision> layers;
  std::int64_t const leaf = automatic_leaf_size<ExecutionSpace>(n, {fp16, fp32});
  for (std::int64_t size = n; size > leaf; size = half_of_leaves(size, leaf))
    layers.push_back(fp16);
  layers.push_back(fp32);
  return LayerList(layers);
}

template <class ExecutionSpace>
std::int64_t automatic_leaf_size(std::int64_t n, LayerList const& layers) {
  return leaf_size_rule(leaf_architecture<ExecutionSpace>(), leaf_kind(layers))(n);
}

// On a host the recursion's larger products are worth more than the order of updates. On a device a
// wide panel makes the products of the updates deep, but only where these last longer than the
// chain of leaves of the next panel; the first panel has nothing to hide behind.
template <class ExecutionSpace>
std::int64_t detail::automatic_panel_size(std::int64_t n, std::int64_t leaf_size,
                                          std::int64_t begin) {
  constexpr bool host = Kokkos::SpaceAccessibility<ExecutionSpace, Kokkos::HostSpace>::accessible;
  if (host) return n;
  std::int64_t const left = (n - begin) / leaf_size;
  std::int64_t const leaves = left >= 32 ? 8 : left >= 16 ? 4 : left >= 8 ? 2 : 1;
  return leaf_size * (begin == 0 ? std::min<std::int64_t>(leaves, 4) : leaves);
}

#define STRATA_INSTANTIATE(Exec)                                                       \
  template LayerList automatic_layers<Exec>(std::int64_t n);                           \
  template std::int64_t detail::automatic_panel_size<Exec>(std::int64_t, std::int64_t, \
                                                           std::int64_t);              \
  template std::int64_t automatic_leaf_size<Exec>(std::int64_t, LayerList const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
