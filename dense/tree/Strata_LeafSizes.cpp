// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/tree/Strata_LeafSizes.hpp>

#include <core/info/Strata_Version.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

namespace strata::dense {

namespace {

struct Row {
  std::string_view architecture, kind;
  LeafSizeRule rule;
};

constexpr Row rows[] = {
#include <dense/tree/detail/Strata_LeafSizes.inc>
};

Row const* find(std::string_view architecture, std::string_view kind) {
  auto const row = std::find_if(std::begin(rows), std::end(rows), [&](Row const& r) {
    return r.architecture == architecture && r.kind == kind;
  });
  return row == std::end(rows) ? nullptr : row;
}

std::string architecture_of_default_device() {
  auto const all = devices().accelerators;
  auto const device = std::find_if(all.begin(), all.end(),
                                   [](auto const& a) { return a.id == Kokkos::device_id(); });
  return device == all.end() ? "device" : device->architecture;
}

}  // namespace

std::string_view leaf_kind(LayerList const& layers) {
  if (layers.is_fp64()) return "fp64";
  if (moduli_of(*layers.begin()) > 0) return "int8";
  return std::all_of(layers.begin(), layers.end(), is_arithmetic) ? "fp32" : "low";
}

template <class ExecutionSpace>
std::string const& leaf_architecture() {
  static std::string const name =
      strata::runs_on_host<ExecutionSpace> ? "host" : architecture_of_default_device();
  return name;
}

LeafSizeRule leaf_size_rule(std::string_view architecture, std::string_view kind) {
  for (auto const& [name, layers] :
       {std::pair(architecture, kind), std::pair(architecture, std::string_view("any"))})
    if (Row const* const row = find(name, layers)) return row->rule;
  return find("device", "any")->rule;
}

#define STRATA_INSTANTIATE(Exec) template std::string const& leaf_architecture<Exec>();
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
