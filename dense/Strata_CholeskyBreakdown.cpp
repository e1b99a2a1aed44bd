// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Matrices without a factor: what refuses them, why, and with what on the diagonal they have one.
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/detail/Strata_CholeskyState.hpp>
#include <dense/detail/Strata_FactorKernels.hpp>
#include <dense/refine/detail/Strata_Breakdown.hpp>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace strata::dense {

namespace {

detail::Step fp64_step() {
  return {Rung::Fp64, LayerList{Precision::fp64}, 0, LeafSolve::Substitution};
}

}  // namespace

// A is not positive definite, by this step.
template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::give_up(detail::Step const& step, Info found) {
  info = found;
  describe(step);
  if (tree && report.breakdown.order != found.order())
    report.breakdown = look_into(*tree, found.order());
  report.factor_flop_per_s = 0;
  if (report.breakdown.numerical) detail::find_twins(exec, uplo, A, report.breakdown);
  drop_tree();
}

template <class ExecutionSpace>
std::pair<double, double> CholeskyFactor<ExecutionSpace>::State::pivots(Tree const& of,
                                                                        std::int64_t end) {
  std::vector<ConstMatrixRef<memory_space>> leaves;
  for (auto const& node : of.nodes()) {
    if (!node.is_leaf() || node.begin >= end) continue;
    std::int64_t const size = std::min(node.size, end - node.begin);
    leaves.push_back(node.stored.block(0, 0, size, size));
  }
  if (leaves.empty()) return {1, 1};
  auto const range = strata::allocate<Kokkos::View<double*, memory_space>>(
      exec, "strata::dense::cholesky::range", 2 * leaves.size());
  detail::range_of_diagonals<ExecutionSpace>(exec, leaves, range.data());
  std::vector<double> found(range.size());
  Kokkos::deep_copy(
      exec,
      Kokkos::View<double*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
          found.data(), found.size()),
      range);
  exec.fence("strata::dense::cholesky: read the range of the pivots");
  auto const [low, high] = std::ranges::minmax(found);
  return {low * low, high * high};
}

// From a factor in which the diagonal entry of that column is larger by `lift`. NaN where there is
// none, or no memory.
template <class ExecutionSpace>
double CholeskyFactor<ExecutionSpace>::State::pivot_of(std::int64_t order, double lift) try {
  auto const step = fp64_step();
  Tree lifted(exec, order, step.layers, automatic_leaf_size<ExecutionSpace>(order, step.layers),
              tree_options(step));
  load(lifted, 0);
  auto const& leaf = *std::ranges::find_if(lifted.nodes(), [order](auto const& node) {
    return node.is_leaf() && node.begin + node.size == order;
  });
  Kokkos::View<double, memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const corner(
      leaf.stored.template as<double>() + (leaf.size - 1) * (leaf.stored.ld + 1));
  double value = 0;
  auto const read = [&] {
    Kokkos::deep_copy(exec, value, corner);
    exec.fence("strata::dense::cholesky: read a pivot");
  };
  read();
  Kokkos::deep_copy(exec, corner, value + lift);
  if (!factor(lifted, {}).ok()) return std::nan("");
  read();
  return value * value - lift;
} catch (MemoryError const&) {
  return std::nan("");
}

// On a host a leaf keeps the pivot that was not positive in its place on the diagonal. Devices'
// libraries leave there what they like.
template <class ExecutionSpace>
Breakdown CholeskyFactor<ExecutionSpace>::State::look_into(Tree const& failed, std::int64_t order) {
  Breakdown result;
  result.order = order;
  if (!failed.layers().is_fp64()) return result;
  auto const [low, high] = pivots(failed, order - 1);
  double const size = options.equilibrate ? 1 : high;
  double pivot = std::nan("");
  if constexpr (runs_on_host<ExecutionSpace>) {
    for (auto const& node : failed.nodes()) {
      std::int64_t const i = order - 1 - node.begin;
      if (node.is_leaf() && i >= 0 && i < node.size)
        pivot = node.stored.template as<double>()[i * (node.stored.ld + 1)];
    }
    if (pivot > 0) pivot = std::nan("");
  } else {
    pivot = std::min(pivot_of(order, high), 0.0);
  }
  result.pivot = pivot / size;
  result.least_pivot = order > 1 ? low / size : 1;
  detail::judge(n, options.equilibrate ? analysis.scaled_norm : analysis.scaled_norm / high,
                result);
  result.numerical = result.numerical && analysis.bad_diagonal == 0;
  return result;
}

// The leading block of this order in fp64: if it breaks down beyond rounding, no rung can hold;
// else the last one decides.
template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::find_minor(std::int64_t order) {
  auto const step = fp64_step();
  if (ladder.next() > 0) drop_tree();  // of a rung that broke down
  Breakdown breakdown;
  Info const found = note_attempt(step, [&] {
    Tree block(exec, order, step.layers, automatic_leaf_size<ExecutionSpace>(order, step.layers),
               tree_options(step));
    load(block, 0);
    Info const of_block = factor(block, {});
    if (!of_block.ok()) breakdown = look_into(block, of_block.order());
    return of_block;
  });
  if (found.ok() || breakdown.numerical) {
    report.attempts.pop_back();  // it was of a part
    if (found.ok())
      minors = order;
    else
      ladder.go_to(ladder.steps().size() - 1);
    return;
  }
  end_ladder();
  report.breakdown = breakdown;
  give_up(step, found);
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::take_with_jitter(MatrixView const& matrix,
                                                             LayerList const& layers) {
  constexpr int first = -15, last = -2;  // powers of ten
  if (analysis.bad_diagonal != 0) return;
  copy = block(n, "strata::dense::cholesky::copy");
  Kokkos::deep_copy(exec, copy, matrix);
  double const mean = detail::mean_diagonal(exec, copy);
  for (int power = first; power <= last && !info.ok(); ++power) {
    double const jitter = std::pow(10, power);
    detail::set_diagonal(exec, matrix, jitter * mean, copy);
    take_as_it_is(copy, layers);
    report.jitter = jitter;
  }
  if (info.ok()) return;
  take_as_it_is(matrix, layers);
  copy = {};
}

#define STRATA_INSTANTIATE(Exec)                                                             \
  template void CholeskyFactor<Exec>::State::take_with_jitter(MatrixView const&,             \
                                                              LayerList const&);             \
  template void CholeskyFactor<Exec>::State::give_up(detail::Step const&, Info);             \
  template void CholeskyFactor<Exec>::State::find_minor(std::int64_t);                       \
  template std::pair<double, double> CholeskyFactor<Exec>::State::pivots(State::Tree const&, \
                                                                         std::int64_t);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
