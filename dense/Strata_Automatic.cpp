// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What a caller who says nothing gets; measured on the machines that the README names.
#include <dense/tree/detail/Strata_Automatic.hpp>

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <dense/Strata_Automatic.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/detail/Strata_ForetoldPivot.hpp>
#include <dense/detail/Strata_Ladder.hpp>
#include <dense/tree/Strata_BlockTree.hpp>
#include <dense/tree/Strata_LeafSizes.hpp>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

namespace strata::dense {

namespace {

// From order `from` on, up to the next row's, layers `far` pay over fp32 leaves, for up to n /
// `divisor` right-hand sides. Each step of a refinement is a product in fp64 and a solve with all
// columns. For an ill-conditioned matrix fp16 layers need 11 to 28 steps, fp16_split and fp32 three
// or four. Of the rows of an architecture that hold, the last one is taken.
struct Layering {
  std::string_view architecture;
  std::int64_t from, divisor;
  Precision far;
};

constexpr Layering layerings[] = {
    {"host", 513, 64, Precision::fp32},          {"sm_90", 7168, 256, Precision::fp16_split},
    {"sm_90", 28672, 64, Precision::fp16_split}, {"sm_90", 20480, 256, Precision::fp16},
    {"device", 10240, 256, Precision::fp16},
};

// Iterations of a refinement, each of which reads the matrix and the factor, that take as long as a
// factorisation in `layers` of order `from` and more: constant + n / divisor. Measured where the
// automatic layers pay. Below the order of integers fp64 takes less time.
struct Worth {
  std::string_view architecture;
  Precision far;
  std::int64_t from, constant, divisor;
};

constexpr Worth worths[] = {
    {"host", Precision::fp64, 0, 8, 160},
    {"sm_90", Precision::fp16_split, 0, 0, 1000},
    {"sm_90", Precision::int8x9, 12288, 0, 800},
    {"sm_90", Precision::fp64, 0, 0, 400},
};

// The first row of the architecture, the one that allows most columns at order n, and the one for
// order n and these columns.
struct Layerings {
  Layering const *first = nullptr, *widest = nullptr, *found = nullptr;
};

Layerings layering(std::string_view architecture, std::int64_t n, std::int64_t columns = 1) {
  if (std::ranges::find(layerings, architecture, &Layering::architecture) == std::end(layerings))
    architecture = "device";
  Layerings result;
  for (Layering const& row : layerings) {
    if (row.architecture != architecture) continue;
    if (result.first == nullptr) result.first = &row;
    if (row.from > n) continue;
    if (result.widest == nullptr || row.divisor <= result.widest->divisor) result.widest = &row;
    if (columns <= n / row.divisor) result.found = &row;
  }
  return result;
}

// All but the leaves in one format: where a layer is coarse at all, finer ones inside add nothing
// to the solution.
template <class ExecutionSpace>
LayerList layers_of(Precision far, std::int64_t n) {
  using enum Precision;
  std::vector<Precision> layers;
  if (far != fp32) {
    std::int64_t const leaf = automatic_leaf_size<ExecutionSpace>(n, {far, fp32});
    for (std::int64_t size = n; size > leaf; size = half_of_leaves(size, leaf))
      layers.push_back(far);
  }
  layers.push_back(fp32);
  return LayerList(layers);
}

// What a factorisation of order n in these layers costs on the architecture, if it was measured.
Worth const* worth(std::string_view architecture, std::int64_t n, LayerList const& layers) {
  Precision const first = moduli_of(*layers.begin()) > 0
                              ? Precision::int8x9
                              : *layers.begin();  // whatever their number
  for (Worth const& row : worths)
    if (row.architecture == architecture && row.far == first && row.from <= n) return &row;
  return nullptr;
}

// Whether they are such as the automatic choice takes on this architecture, and n an order from
// which on it takes any.
template <class ExecutionSpace>
bool are_automatic(std::int64_t n, LayerList const& layers) {
  std::string_view const architecture = leaf_architecture<ExecutionSpace>();
  return std::ranges::any_of(layerings, [&](Layering const& row) {
    return row.architecture == architecture && layering(architecture, n).found != nullptr &&
           layers == layers_of<ExecutionSpace>(row.far, n);
  });
}

}  // namespace

template <class ExecutionSpace>
std::vector<detail::Step> detail::rungs(std::int64_t n, LayerList const& layers, double shift) {
  std::string_view const architecture = leaf_architecture<ExecutionSpace>();
  LayerList const fp64{Precision::fp64},
      split = layers_of<ExecutionSpace>(Precision::fp16_split, n);
  if (shift > 0 || !are_automatic<ExecutionSpace>(n, layers) || !worth(architecture, n, fp64))
    return ladder(layers, shift);
  std::vector<Step> steps{{Rung::AsAsked, layers, 0}};
  if (*layers.begin() == Precision::fp16 && worth(architecture, n, split))
    steps.push_back({Rung::HigherLayers, split, 0});
  LayerList const integers{Precision::int8x9};  // as many moduli as the first pivots ask for
  if (worth(architecture, n, integers)) steps.push_back({Rung::HigherLayers, integers, 0});
  steps.push_back({Rung::Fp64, fp64, 0});
  return steps;
}

template <class ExecutionSpace>
Patience detail::patience(std::int64_t n, LayerList const& layers, LayerList const& next,
                          std::int64_t columns) {
  Worth const* const row = worth(leaf_architecture<ExecutionSpace>(), n, next);
  if (row == nullptr || !are_automatic<ExecutionSpace>(n, layers))
    return {static_cast<int>(40 + n / 120)};
  auto const iterations = static_cast<int>(row->constant + n / row->divisor);
  return {strata::runs_on_host<ExecutionSpace> ? iterations : iterations_for(columns, iterations),
          true};
}

// Measured with geometric spectra. On an H100 fp16 holds down to pivots of 4 or 5 unit roundoffs.
// Where the first columns foretell a pivot p, a refinement with fp16_split and fp32 takes 0.15 /
// sqrt(p) iterations. From 0.6 of the patience on fp64 is faster, since most of the factorisation
// is still to be done. Integers got their moduli by a less accurate factor's pivots. With a
// smaller pivot a few more steps of refinement still take less time than fp64.
template <class ExecutionSpace>
double detail::least_pivot(std::int64_t n, LayerList const& layers, LayerList const& next,
                           std::int64_t columns) {
  if (strata::runs_on_host<ExecutionSpace>) return small_pivot(layers);
  Precision const first = *layers.begin();
  constexpr double spared = 0x1p-5;
  if (moduli_of(first) > 0) return spared * pivot_of_integers(n, first);
  if (!next.is_fp64() && moduli_of(*next.begin()) == 0) return 6 * layers.unit_roundoff();
  double const least_root =
      0.15 / (0.6 * patience<ExecutionSpace>(n, layers, next, columns).iterations);
  return least_root * least_root;
}

template <class ExecutionSpace>
AutomaticChoice automatic_choice(std::int64_t n, std::int64_t columns) {
  auto const [first, widest, row] = layering(leaf_architecture<ExecutionSpace>(), n, columns);
  LayerList const fp64{Precision::fp64};
  using strata::detail::message;
  if (widest == nullptr)
    return {fp64,
            message("fp64: below n = ", first->from, " refinement costs more than layers save")};
  if (row == nullptr)
    return {fp64, message("fp64: with more than n / ", widest->divisor,
                          " right-hand sides refinement costs more than layers save")};
  return {layers_of<ExecutionSpace>(row->far, n),
          message("layers: from n = ", row->from, " on they save more than refinement costs")};
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
// wide panel makes the products of the updates deep, and the first chain of leaves long, which
// nothing runs beside.
template <class ExecutionSpace>
std::int64_t detail::automatic_panel_size(std::int64_t n, std::int64_t leaf_size) {
  if (strata::runs_on_host<ExecutionSpace>) return n;
  std::int64_t const leaves = n / leaf_size;
  return leaf_size * (leaves >= 32 ? 8 : leaves >= 16 ? 4 : leaves >= 8 ? 2 : 1);
}

#define STRATA_INSTANTIATE(Exec)                                                                  \
  template AutomaticChoice automatic_choice<Exec>(std::int64_t, std::int64_t);                    \
  template LayerList automatic_layers<Exec>(std::int64_t n);                                      \
  template std::int64_t detail::automatic_panel_size<Exec>(std::int64_t, std::int64_t);           \
  template std::int64_t automatic_leaf_size<Exec>(std::int64_t, LayerList const&);                \
  template std::vector<detail::Step> detail::rungs<Exec>(std::int64_t, LayerList const&, double); \
  template Patience detail::patience<Exec>(std::int64_t, LayerList const&, LayerList const&,      \
                                           std::int64_t);                                         \
  template double detail::least_pivot<Exec>(std::int64_t, LayerList const&, LayerList const&,     \
                                            std::int64_t);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
