// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/recursion/detail/Strata_ThinSolve.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Published.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <core/kokkos_ext/Strata_TeamsThatFit.hpp>
#include <core/memory/Strata_Pieces.hpp>
#include <dense/recursion/detail/Strata_ThinKernel.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace strata::dense::detail {

namespace {

using thin::most_parts;

template <class Matrix>
bool is_aligned(Matrix const& A) {
  auto const bytes = static_cast<std::int64_t>(traits(A.precision).bytes);
  return reinterpret_cast<std::uintptr_t>(A.data) % 16 == 0 && A.ld * bytes % 16 == 0;
}

/// Columns of a chunk of a block row, and rows of one of a block column.
std::int64_t chunk_width(Precision precision) {
  return thin::chunk_width<std::byte> / static_cast<std::int64_t>(traits(precision).bytes);
}

/// A leaf's strips in its block row, in the order of columns, and in its block column, from the
/// last row on.
template <class Tree>
std::pair<std::vector<FactorStrip>, std::vector<FactorStrip>> strips_of(
    Tree const& tree, typename Tree::Node const& leaf) {
  std::vector<FactorStrip> before, after;
  for (auto const* node = &tree.root(); !node->is_leaf();) {
    std::int64_t const middle = node->begin + node->first_size;
    bool const in_left = leaf.begin < middle;
    for (auto const& [begin, stored] : tree.strips(*node)) {
      std::int64_t const column = node->begin + begin;
      bool const holds = leaf.begin >= column && leaf.begin < column + stored.cols;
      Precision const precision = storage(stored.precision);
      if (!in_left) {
        auto const rows = stored.block(leaf.begin - middle, 0, leaf.size, stored.cols);
        before.push_back({rows.data, rows.scale, rows.ld, column, rows.cols, precision});
      } else if (holds) {
        auto const columns = stored.block(0, leaf.begin - column, stored.rows, leaf.size);
        after.push_back({columns.data, columns.scale, columns.ld, middle, columns.rows, precision});
      }
    }
    node = in_left ? &tree.left(*node) : &tree.right(*node);
  }
  return {std::move(before), std::move(after)};
}

template <class ExecutionSpace, class T, class Table>
void copy(ExecutionSpace const& exec, std::vector<T> const& items, Table const& table) {
  Kokkos::View<T const*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const host(
      items.data(), items.size());
  Kokkos::deep_copy(exec, table, host);
}

/// The strips into the table.
ThinSide list(std::vector<FactorStrip>& table, std::vector<FactorStrip> const& strips) {
  std::int64_t chunks = 0;
  for (FactorStrip const& strip : strips)
    chunks += (strip.count + chunk_width(strip.precision) - 1) / chunk_width(strip.precision);
  ThinSide const side{static_cast<int>(table.size()), static_cast<int>(strips.size()),
                      static_cast<int>(std::min<std::int64_t>(chunks, most_parts))};
  table.insert(table.end(), strips.begin(), strips.end());
  return side;
}

/// A leaf's tasks of one direction: its products, and then its solution, which waits for them.
template <class Kind>
void list(std::vector<ThinTask>& tasks, int leaf, int rows, int parts, Kind products, Kind solution,
          int solved_at_once) {
  for (int part = 0; part < parts; ++part)
    for (int first = 0; first < rows; first += thin::outputs)
      tasks.push_back({products, leaf, first, part});
  for (int first = 0; first < rows; first += solved_at_once)
    tasks.push_back({solution, leaf, first, 0});
}

}  // namespace

template <class ExecutionSpace>
bool ThinSolve<ExecutionSpace>::takes(Tree const& tree) {
  if (strata::runs_on_host<ExecutionSpace> || tree.order() == 0 || tree.root().is_leaf() ||
      tree.leaf_size() % 16 != 0 || tree.leaf_size() > thin::most_rows)
    return false;
  return std::all_of(tree.nodes().begin(), tree.nodes().end(), [&](Node const& node) {
    bool const is_narrow =
        traits(node.stored.precision).bytes <= traits(accumulator(tree.layers().leaf())).bytes;
    if (!node.is_leaf()) return is_narrow && is_aligned(node.stored);
    return node.inverse.data != nullptr && is_aligned(node.inverse) &&
           node.inverse.precision == accumulator(tree.layers().leaf());
  });
}

template <class ExecutionSpace>
ThinSolve<ExecutionSpace>::ThinSolve(ExecutionSpace const& exec, Tree const& tree)
    : exec_(exec), precision_(accumulator(tree.layers().leaf())), n_(tree.order()) {
  using enum ThinTask::Kind;
  int const at_once =
      precision_ == Precision::fp64 ? thin::solved_at_once<double> : thin::solved_at_once<float>;
  std::vector<FactorStrip> strips;
  std::vector<ThinLeaf> leaves;
  std::vector<ThinTask> tasks;
  for (Node const& node : tree.nodes()) {
    if (!node.is_leaf()) continue;
    auto const [before, after] = strips_of(tree, node);
    leaves.push_back({node.inverse.data, node.inverse.ld, node.begin, static_cast<int>(node.size),
                      list(strips, before), list(strips, after)});
  }
  auto const count = static_cast<int>(leaves.size());
  for (int i = 0; i < count; ++i)
    list(tasks, i, leaves[i].size, leaves[i].before.parts, RowProducts, Down, at_once);
  for (int i = count; i-- > 0;)
    list(tasks, i, leaves[i].size, leaves[i].after.parts, ColumnProducts, Up, at_once);
  bool const alike = std::ranges::all_of(
      strips, [&](FactorStrip const& strip) { return strip.precision == strips[0].precision; });
  if (alike && !strips.empty()) stored_ = strips[0].precision;
  auto const numbers = static_cast<std::size_t>(2 * (std::int64_t{most_parts} + 1) * n_ + 1);
  memory_ = allocate_pieces(exec, "strata::dense::ThinSolve", [&](Pieces& pieces) {
    pieces.lay_out(strips_, strips.size());
    pieces.lay_out(leaves_, leaves.size());
    pieces.lay_out(tasks_, tasks.size());
    pieces.lay_out(numbers_, numbers * traits(precision_).bytes);
  });
  copy(exec, strips, strips_);
  copy(exec, leaves, leaves_);
  copy(exec, tasks, tasks_);
  exec.fence("strata::dense::ThinSolve: tasks");
}

template <class ExecutionSpace>
void ThinSolve<ExecutionSpace>::operator()(Matrix const& b) {
  with_arithmetic_type(precision_, [&]<class S>(std::type_identity<S>) {
    S* const x = b.template as<S>();
    if (stored_ == Precision::fp16) return solve<S, fp16>(x);
    if (stored_ == precision_) return solve<S, S>(x);
    solve<S, void>(x);
  });
}

// x_i = L_ii^-1 (b_i - sum over j < i of L_ij x_j), and then x_i = L_ii^-T (x_i - sum over j > i of
// L_ji^T x_j)
template <class ExecutionSpace>
template <class S, class Stored>
void ThinSolve<ExecutionSpace>::solve(S* b) const {
  constexpr std::size_t scratch_bytes = sizeof(thin::Scratch<S>) + alignof(thin::Scratch<S>);
  constexpr unsigned teams = strata::teams_that_fit(2, scratch_bytes);
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::LaunchBounds<thin::threads, teams>>;
  auto* const bits = reinterpret_cast<typename Published<S>::Bits*>(numbers_.data());
  std::int64_t const counter = 2 * (std::int64_t{most_parts} + 1) * n_;
  strata::unset("strata::dense::ThinSolve::unset", exec_, bits, counter + 1);
  thin::Kernel<S, Stored> const kernel{strips_.data(),
                                       leaves_.data(),
                                       tasks_.data(),
                                       n_,
                                       b,
                                       {bits},
                                       {bits + most_parts * n_},
                                       {bits + (most_parts + 1) * n_},
                                       {bits + (2 * most_parts + 1) * n_},
                                       reinterpret_cast<unsigned*>(bits + counter)};
  Policy policy(exec_, static_cast<int>(tasks_.extent(0)), thin::threads);
  policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(scratch_bytes)));
  Kokkos::parallel_for("strata::dense::ThinSolve", policy, kernel);
}

#define STRATA_INSTANTIATE(Exec) template class ThinSolve<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense::detail
