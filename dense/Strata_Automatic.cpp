// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What a caller who says nothing gets; measured on the machines that the README names.
#include <dense/detail/Strata_Automatic.hpp>

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <dense/Strata_Automatic.hpp>
#include <dense/Strata_BlockTree.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/Strata_LeafSizes.hpp>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

namespace strata::dense {

namespace {

// Layers pay from order `least` on, for up to n / `divisor` right-hand sides: each step of a refinement is a product in
// fp64 and a solve with all columns, and fp16 layers of an ill-conditioned matrix need some 28 of them, fp32 three.
struct Layering {
  std::string_view architecture;
  std::int64_t least, divisor;
};

constexpr Layering layerings[] = {
    {"host", 768, 64},
    {"sm_90", 10240, 256},
    {"device", 10240, 256},
};

Layering const& layering(std::string_view architecture) {
  auto const row = std::ranges::find(layerings, architecture, &Layering::architecture);
  return row == std::end(layerings) ? std::end(layerings)[-1] : *row;
}

// All but the leaves in fp16: where a layer is fp16 at all, deeper ones add nothing to the error.
template <class ExecutionSpace>
LayerList layers_below_fp64(std::int64_t n) {
  using enum Precision;
  if constexpr (strata::runs_on_host<ExecutionSpace>) return {fp32};
  std::vector<Precision> layers;
  std::int64_t const leaf = automatic_leaf_size<ExecutionSpace>(n, {fp16, fp32});
  for (std::int64_t size = n; size > leaf; size = half_of_leaves(size, leaf))
    layers.push_back(fp16);
  layers.push_back(fp32);
  return LayerList(layers);
}

}  // namespace

template <class ExecutionSpace>
AutomaticChoice automatic_choice(std::int64_t n, std::int64_t columns) {
  auto const [architecture, least, divisor] = layering(leaf_architecture<ExecutionSpace>());
  LayerList const fp64{Precision::fp64};
  using strata::detail::message;
  if (n < least)
    return {fp64, message("fp64: below n = ", least, " refinement costs more than layers save")};
  if (columns > n / divisor)
    return {fp64, message("fp64: with more than n / ", divisor,
                          " right-hand sides refinement costs more than layers save")};
  return {layers_below_fp64<ExecutionSpace>(n),
          message("layers: from n = ", least, " on they save more than refinement costs")};
}

template <class ExecutionSpace>
LayerList automatic_layers(std::int64_t n) {
  return automatic_choice<ExecutionSpace>(n).layers;
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
  template AutomaticChoice automatic_choice<Exec>(std::int64_t, std::int64_t);         \
  template LayerList automatic_layers<Exec>(std::int64_t n);                           \
  template std::int64_t detail::automatic_panel_size<Exec>(std::int64_t, std::int64_t, \
                                                           std::int64_t);              \
  template std::int64_t automatic_leaf_size<Exec>(std::int64_t, LayerList const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
