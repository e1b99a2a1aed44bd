// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/factor/detail/Strata_RankSweep.hpp>

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace strata::dense::detail {

namespace {

constexpr std::int64_t panel_columns = sweep::Reflections<1, true>::most_columns;

// f of the number of columns, which kernels know, that k columns are filled up to.
template <class Function>
void with_columns(std::int64_t k, Function const& f) {
  if (k <= 1) return f.template operator()<1>();
  if (k <= 4) return f.template operator()<4>();
  if (k <= 16) return f.template operator()<16>();
  f.template operator()<64>();
}

// A leaf's pieces, from left to right.
template <class Tree>
void list_pieces(Tree const& tree, typename Tree::Node const& leaf,
                 std::vector<sweep::Piece>& pieces) {
  auto const* node = &tree.root();
  while (!node->is_leaf()) {
    std::int64_t const middle = node->begin + node->first_size;
    if (leaf.begin < middle) {
      node = &tree.left(*node);
      continue;
    }
    auto const block =
        node->stored.as_stored().block(leaf.begin - middle, 0, leaf.size, node->stored.cols);
    pieces.push_back({block.template as<double>(), block.ld, node->begin, block.cols});
    node = &tree.right(*node);
  }
  auto const block = leaf.stored.as_stored();
  pieces.push_back({block.template as<double>(), block.ld, leaf.begin, block.cols});
}

template <class Tree>
std::vector<typename Tree::Node const*> leaves_of(Tree const& tree) {
  std::vector<typename Tree::Node const*> leaves;
  for (auto const& node : tree.nodes())
    if (node.is_leaf()) leaves.push_back(&node);
  std::ranges::sort(leaves, {}, [](auto const* leaf) { return leaf->begin; });
  return leaves;
}

template <class ExecutionSpace, class T, class Table>
void copy_there(ExecutionSpace const& exec, std::vector<T> const& items, Table const& table) {
  Kokkos::deep_copy(exec, table,
                    Kokkos::View<T const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(
                        items.data(), items.size()));
}

// A team alone.
template <class ExecutionSpace, class Kernel>
void launch_one(char const* label, ExecutionSpace const& exec, Kernel const& kernel) {
  Kokkos::TeamPolicy<ExecutionSpace, Kokkos::LaunchBounds<Kernel::threads, 1>> policy(
      exec, 1, Kernel::threads);
  policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Kernel::scratch_bytes + 16)));
  Kokkos::parallel_for(label, policy, kernel);
}

// A thread for each number in [begin, end).
template <class ExecutionSpace, class Kernel>
void launch_rows(char const* label, ExecutionSpace const& exec, std::int64_t begin,
                 std::int64_t end, Kernel const& kernel) {
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::LaunchBounds<128, 1>,
                                     Kokkos::IndexType<std::int64_t>>;
  if (begin < end) Kokkos::parallel_for(label, Policy(exec, begin, end), kernel);
}

}  // namespace

template <class ExecutionSpace>
RankSweep<ExecutionSpace>::RankSweep(LeafBlas<ExecutionSpace>& blas, Tree const& tree,
                                     std::int64_t k)
    : blas_(blas), tree_(tree) {
  std::vector<sweep::Piece> pieces;
  std::vector<int> firsts{0};
  for (auto const* leaf : leaves_of(tree)) {
    list_pieces(tree, *leaf, pieces);
    firsts.push_back(static_cast<int>(pieces.size()));
  }
  auto const& exec = blas.exec();
  pieces_ =
      strata::allocate<decltype(pieces_)>(exec, "strata::dense::rank_sweep::pieces", pieces.size());
  firsts_ =
      strata::allocate<decltype(firsts_)>(exec, "strata::dense::rank_sweep::firsts", firsts.size());
  with_columns(std::min(k, most_columns), [&]<int K>() {
    reflections_ = strata::allocate<decltype(reflections_)>(
        exec, "strata::dense::rank_sweep::reflections",
        std::max(2 * K * tree.order(), (K + 1) * panel_columns));
  });
  copy_there(exec, pieces, pieces_);
  copy_there(exec, firsts, firsts_);
  exec.fence("strata::dense::rank_sweep: the list of pieces is copied");
}

// Rows from above: [0 l'] = [v l] H with l' = sqrt(l^2 + |v|^2).
template <class ExecutionSpace>
template <int K>
void RankSweep<ExecutionSpace>::update_columns(Block const& V, std::int64_t begin, int k,
                                               std::int64_t first) {
  using Reflections = sweep::Reflections<K, !runs_on_host<ExecutionSpace>>;
  auto const& exec = blas_.exec();
  std::int64_t const ld = static_cast<std::int64_t>(V.stride(1)), n = tree_.order();
  double* const v = V.data() + begin * ld;
  double* const y = reflections_.data();
  double* const t = y + panel_columns * K;
  for (auto const* leaf : leaves_of(tree_)) {
    auto const L = leaf->stored.as_stored();
    for (std::int64_t j = 0; j < leaf->size; j += panel_columns) {
      std::int64_t const column = leaf->begin + j;
      auto const cols = static_cast<int>(std::min(panel_columns, leaf->size - j));
      if (column + cols <= first) continue;
      launch_one("strata::dense::rank_sweep::reflections", exec,
                 Reflections{v + column, ld, k, L.block(j, j, cols, cols).template as<double>(),
                             L.ld, cols, y, t});
      launch_rows("strata::dense::rank_sweep::reflect", exec, column + cols, n,
                  sweep::Reflect<K>{rows(), v, ld, k, column, cols, y, t});
    }
  }
}

template <class ExecutionSpace>
void RankSweep<ExecutionSpace>::update(Block const& V, std::int64_t first) {
  auto const columns = static_cast<std::int64_t>(V.extent(1));
  for (std::int64_t c = 0; c < columns; c += most_columns) {
    std::int64_t const k = std::min(most_columns, columns - c);
    with_columns(k, [&]<int K>() { update_columns<K>(V, c, static_cast<int>(k), first); });
  }
}

// Rows from below: [C; P] becomes [C'; 0] with an orthogonal C', and [0 L] becomes [V C'^-1 L'].
template <class ExecutionSpace>
template <int K>
void RankSweep<ExecutionSpace>::downdate_columns(Block const& P, Block const& C) {
  using Rotations = sweep::Rotations<K, !runs_on_host<ExecutionSpace>>;
  auto const& exec = blas_.exec();
  std::int64_t const n = tree_.order();
  auto* const rotations = reinterpret_cast<sweep::Rotation*>(reflections_.data());
  launch_one(
      "strata::dense::rank_sweep::rotations", exec,
      Rotations{P.data(), C.data(), n, static_cast<std::int64_t>(P.stride(1)),
                static_cast<std::int64_t>(C.stride(1)), static_cast<int>(P.extent(1)), rotations});
  launch_rows("strata::dense::rank_sweep::rotate", exec, 0, n,
              sweep::Rotate<K>{rows(), n, rotations});
}

template <class ExecutionSpace>
void RankSweep<ExecutionSpace>::downdate(Block const& P, Block const& C) {
  auto const k = static_cast<std::int64_t>(P.extent(1));
  STRATA_REQUIRE(ShapeError, k <= most_columns, "rank_downdate: P has ", k, " columns, at most ",
                 most_columns, " fit in one sweep");
  if (k > 0) with_columns(k, [&]<int K>() { downdate_columns<K>(P, C); });
}

#define STRATA_INSTANTIATE(Exec) template class RankSweep<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense::detail
