// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/factor/detail/Strata_RankChange.hpp>

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>

#include <algorithm>
#include <cmath>

namespace strata::dense::detail {

namespace {

/// S = [V L; I], the lower triangle of L, V = 0 where it is null. Enqueued.
template <class ExecutionSpace, class Block>
void bring_panel(ExecutionSpace const& exec, double const* V, std::int64_t ldv, double const* L,
                 std::int64_t ldl, std::int64_t k, std::int64_t cols, Block const& S) {
  for_each_element(
      "strata::dense::rank_change::bring", exec, cols + k + cols, k + cols,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        if (i >= cols)
          S(i, j) = i - cols == j ? 1 : 0;
        else if (j < k)
          S(i, j) = V != nullptr ? V[i + j * ldv] : 0;
        else
          S(i, j) = i >= j - k ? L[i + (j - k) * ldl] : 0;
      });
}

/// [V L] = S. V may be null; of L with `lower` the lower triangle alone. Enqueued.
template <class ExecutionSpace>
void hand_back(ExecutionSpace const& exec, double const* S, std::int64_t lds, std::int64_t rows,
               std::int64_t k, std::int64_t cols, bool lower, double* V, std::int64_t ldv,
               double* L, std::int64_t ldl) {
  for_each_element(
      "strata::dense::rank_change::hand_back", exec, rows, k + cols,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        if (j < k)
          V[i + j * ldv] = S[i + j * lds];
        else if (!lower || i >= j - k)
          L[i + (j - k) * ldl] = S[i + j * lds];
      });
}

template <class ExecutionSpace>
void scale_block_rows(ExecutionSpace const& exec, double* L, std::int64_t rows, std::int64_t cols,
                      std::int64_t ld, double const* q) {
  for_each_element(
      "strata::dense::rank_change::scale_rows", exec, rows, cols,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) { L[i + j * ld] *= q[i]; });
}

// x = c x + s y, y = c y - s x
void rotate(double c, double s, std::int64_t n, double* x, double* y) {
  for (std::int64_t i = 0; i < n; ++i) {
    double const t = c * x[i] + s * y[i];
    y[i] = c * y[i] - s * x[i];
    x[i] = t;
  }
}

}  // namespace

template <class ExecutionSpace>
void scale_tree_rows(ExecutionSpace const& exec, BlockTree<LayerList, ExecutionSpace> const& tree,
                     Kokkos::View<double const*, typename ExecutionSpace::memory_space> const& q) {
  for (auto const& node : tree.nodes()) {
    auto const block = node.stored.as_stored();
    scale_block_rows(exec, block.template as<double>(), block.rows, block.cols, block.ld,
                     q.data() + node.begin + node.first_size);
  }
}

template <class ExecutionSpace>
RankChange<ExecutionSpace>::RankChange(LeafBlas<ExecutionSpace>& blas, Tree const& tree,
                                       std::int64_t k)
    : blas_(blas), tree_(tree) {
  std::int64_t const columns = std::min(k, most_columns);
  width_ = std::clamp((columns + 7) / 8 * 8, most_columns / 2, most_columns);
  auto const& exec = blas.exec();
  std::int64_t const both = columns + width_, n = tree.order();
  small_ = strata::allocate<Block>(exec, "strata::dense::rank_change::small", width_ + both, both);
  product_ = strata::allocate<Block>(exec, "strata::dense::rank_change::product", n, both);
  zeros_ = strata::allocate<Block>(exec, "strata::dense::rank_change::V", n, columns);
  host_ = strata::allocate_on_host<HostBlock>("strata::dense::rank_change::host", small_.extent(0),
                                              small_.extent(1));
}

template <class ExecutionSpace>
auto RankChange<ExecutionSpace>::panels() const -> std::vector<Panel> {
  std::vector<Panel> all;
  for (auto const& node : tree_.nodes()) {
    if (!node.is_leaf()) continue;
    for (std::int64_t j = 0; j < node.size; j += width_) {
      std::int64_t const cols = std::min(width_, node.size - j);
      all.push_back({node.begin + j, cols, node.stored.as_stored().block(j, j, cols, cols)});
    }
  }
  std::ranges::sort(all, {}, &Panel::begin);
  return all;
}

template <class ExecutionSpace>
auto RankChange<ExecutionSpace>::below(Panel const& panel) const -> std::vector<Piece> {
  std::vector<Piece> pieces;
  auto const* node = &tree_.root();
  while (!node->is_leaf()) {
    std::int64_t const middle = node->begin + node->first_size;
    if (panel.begin < middle) {
      Matrix const block = node->stored.as_stored();
      pieces.push_back({middle, block.block(0, panel.begin - node->begin, block.rows, panel.cols)});
      node = &tree_.left(*node);
    } else {
      node = &tree_.right(*node);
    }
  }
  std::int64_t const column = panel.begin - node->begin, row = column + panel.cols;
  if (row < node->size)
    pieces.push_back({node->begin + row,
                      node->stored.as_stored().block(row, column, node->size - row, panel.cols)});
  return pieces;
}

// The panel's diagonal block is on the host.
template <class ExecutionSpace>
void RankChange<ExecutionSpace>::bring(Panel const& panel, Matrix const& V, bool is_zero) {
  auto const& exec = blas_.exec();
  double const* const v =
      is_zero ? nullptr : V.block(panel.begin, 0, panel.cols, V.cols).template as<double>();
  bring_panel(exec, v, V.ld, panel.diagonal.template as<double>(), panel.diagonal.ld, V.cols,
              panel.cols, small_);
  Kokkos::deep_copy(exec, host_, small_);
  exec.fence("strata::dense::rank_change: the diagonal block is on the host");
}

// [V L] = [V L] Q, of the diagonal block and of all that is below it.
template <class ExecutionSpace>
void RankChange<ExecutionSpace>::turn(Panel const& panel, Matrix const& V) {
  auto const& exec = blas_.exec();
  std::int64_t const k = V.cols, cols = panel.cols;
  Kokkos::deep_copy(exec, small_, host_);
  Matrix const small = matrix_ref(small_), Q = small.block(cols, 0, k + cols, k + cols);
  hand_back(exec, small_.data(), small.ld, cols, k, cols, true,
            V.block(panel.begin, 0, cols, k).template as<double>(), V.ld,
            panel.diagonal.template as<double>(), panel.diagonal.ld);
  for (auto const& [row, block] : below(panel)) {
    Matrix const product = matrix_ref(product_).block(0, 0, block.rows, k + cols),
                 v = V.block(row, 0, block.rows, k);
    blas_.gemm(Op::NoTrans, Op::NoTrans, 1, v, Q.block(0, 0, k, k + cols), 0, product);
    blas_.gemm(Op::NoTrans, Op::NoTrans, 1, block, Q.block(k, 0, cols, k + cols), 1, product);
    hand_back(exec, product.template as<double>(), product.ld, block.rows, k, cols, false,
              v.template as<double>(), v.ld, block.template as<double>(), block.ld);
  }
}

// Rows from above: [0 l'] = [v l] Q with l' = sqrt(l^2 + |v|^2).
template <class ExecutionSpace>
void RankChange<ExecutionSpace>::update(Block const& V, std::int64_t first) {
  auto const all = panels();
  Matrix const columns = matrix_ref(V);
  for (std::int64_t c = 0; c < columns.cols; c += most_columns) {
    Matrix const part = columns.block(0, c, columns.rows, std::min(most_columns, columns.cols - c));
    std::int64_t const k = part.cols;
    for (Panel const& panel : all) {
      if (panel.begin + panel.cols <= first) continue;
      bring(panel, part, false);
      for (std::int64_t i = 0; i < panel.cols; ++i)
        for (std::int64_t j = 0; j < k; ++j) {
          double const l = host_(i, k + i), v = host_(i, j);
          if (v == 0) continue;
          double const r = std::hypot(l, v);
          // rows from i of L, all of V's part of Q, and up to i of L's
          rotate(l / r, v / r, panel.cols + k + 1, &host_(i, k + i), &host_(i, j));
        }
      turn(panel, part);
    }
  }
  blas_.exec().fence("strata::dense::rank_change: L is updated");
}

// Rows from below: [C; P] becomes [C'; 0] with an orthogonal C', and [0 L] becomes [V C'^-1 L'].
template <class ExecutionSpace>
void RankChange<ExecutionSpace>::downdate(Block const& P, Block const& C) {
  auto const& exec = blas_.exec();
  auto const n = static_cast<std::int64_t>(P.extent(0)), k = static_cast<std::int64_t>(P.extent(1));
  auto const of_P = strata::allocate_on_host<HostBlock>("strata::dense::rank_change::P", n, k),
             of_C = strata::allocate_on_host<HostBlock>("strata::dense::rank_change::C", k, k);
  Kokkos::deep_copy(exec, of_P, P);
  Kokkos::deep_copy(exec, of_C, C);
  exec.fence("strata::dense::rank_change: P and C are on the host");
  std::vector<double> p(static_cast<std::size_t>(n * k)), c(static_cast<std::size_t>(k * k));
  for (std::int64_t j = 0; j < k; ++j) {  // by rows
    for (std::int64_t i = 0; i < n; ++i) p[static_cast<std::size_t>(i * k + j)] = of_P(i, j);
    for (std::int64_t i = 0; i <= j; ++i) c[static_cast<std::size_t>(i * k + j)] = of_C(i, j);
  }
  auto all = panels();
  std::ranges::reverse(all);
  for (std::int64_t first = 0; first < k; first += most_columns) {
    std::int64_t const columns = std::min(most_columns, k - first);
    Matrix const Z = matrix_ref(zeros_).block(0, 0, n, columns);
    Kokkos::deep_copy(exec, zeros_, 0.0);
    for (Panel const& panel : all) {
      bring(panel, Z, true);
      for (std::int64_t i = panel.cols; i-- > 0;)
        for (std::int64_t j = 0; j < columns; ++j) {
          std::int64_t const at = first + j;
          double *const row = p.data() + (panel.begin + i) * k + at, *const above =
                                                                         c.data() + at * k + at;
          if (*row == 0) continue;
          double const r = std::hypot(*above, *row), cosine = *above / r, sine = *row / r;
          rotate(cosine, sine, k - at, above, row);
          // rows from i of L, and all of Z's and from i of L's part of Q
          std::int64_t const of_L = panel.cols + columns + i;
          rotate(cosine, sine, panel.cols + columns - i, &host_(i, j), &host_(i, columns + i));
          rotate(cosine, sine, panel.cols - i, &host_(of_L, j), &host_(of_L, columns + i));
        }
      turn(panel, Z);
    }
  }
  exec.fence("strata::dense::rank_change: L is downdated");
}

#define STRATA_INSTANTIATE(Exec)                                                      \
  template class RankChange<Exec>;                                                    \
  template void scale_tree_rows<Exec>(Exec const&, BlockTree<LayerList, Exec> const&, \
                                      Kokkos::View<double const*, Exec::memory_space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense::detail
