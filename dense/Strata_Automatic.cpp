// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What a caller who says nothing gets; measured on the machines that the README names.
#include <algorithm>
#include <core/detail/Strata_Instantiate.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/detail/Strata_Automatic.hpp>

namespace strata::dense {

template <class ExecutionSpace>
LayerList automatic_layers(std::int64_t n) {
  using enum Precision;
  constexpr bool host = Kokkos::SpaceAccessibility<ExecutionSpace, Kokkos::HostSpace>::accessible;
  if (n < 1024) return {fp64};
  if constexpr (host) return {fp32};
  return {fp16, fp16, fp16, fp32};
}

template <class ExecutionSpace>
std::int64_t automatic_leaf_size(std::int64_t n, LayerList const&) {
  constexpr bool host = Kokkos::SpaceAccessibility<ExecutionSpace, Kokkos::HostSpace>::accessible;
  std::int64_t const most = host ? 256 : 1024;
  return std::clamp<std::int64_t>((n + 7) / 8, 64, most);
}

// On a host the recursion's larger products are worth more than the order of updates.
template <class ExecutionSpace>
std::int64_t detail::automatic_panel_size(std::int64_t n, std::int64_t leaf_size) {
  constexpr bool host = Kokkos::SpaceAccessibility<ExecutionSpace, Kokkos::HostSpace>::accessible;
  if (host) return n;
  return n >= 32768 ? 4 * leaf_size : n >= 12288 ? 2 * leaf_size : leaf_size;
}

#define STRATA_INSTANTIATE(Exec)                             \
  template LayerList automatic_layers<Exec>(std::int64_t n); \
  template std::int64_t detail::automatic_panel_size<Exec>(std::int64_t, std::int64_t); \
  template std::int64_t automatic_leaf_size<Exec>(std::int64_t, LayerList const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
