// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/recursion/detail/Strata_IntegerPotrf.hpp>

#include <core/instances/Strata_SecondInstance.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <algorithm>

namespace strata::dense::detail {
namespace {

constexpr std::int64_t solved_at_once = 256;  // columns of a leaf, by the inverse of their block

// Cells of at least 4096 terms, below which an int8 product is slower; a small factor has room for
// one.
std::int64_t groups_of(std::int64_t n) {
  constexpr std::int64_t large = 20480, terms = 4096;
  return n < large ? 1 : std::min<std::int64_t>(8, n / terms);
}

std::int64_t padded(std::int64_t count) { return (count + 15) / 16 * 16; }

}  // namespace

template <class ExecutionSpace>
IntegerPotrf<ExecutionSpace>::IntegerPotrf(LeafBlas<ExecutionSpace>& blas, Tree const& tree,
                                           InfoView const& info,
                                           std::function<void(double)> const& on_progress,
                                           FirstColumns<ExecutionSpace> const& first_columns,
                                           std::int64_t groups, std::int64_t most_rows)
    : blas_(blas),
      tree_(tree),
      info_(info),
      moduli_(moduli_of_products(tree)),
      most_rows_(std::max(most_rows, tree.leaf_size())),
      watch_(blas.exec(), tree.order(), info, on_progress, first_columns),
      cells_(tree.order(), tree.leaf_size(), groups > 0 ? groups : groups_of(tree.order()),
             moduli_) {
  for (Node const& node : tree.nodes())
    if (node.is_leaf()) leaves_.push_back(&node);
  std::ranges::sort(leaves_, {}, &Node::begin);
}

// All memory is taken before the first kernel, which growing memory would wait for.
template <class ExecutionSpace>
void IntegerPotrf<ExecutionSpace>::take_scratch() {
  std::int64_t const n = tree_.order(), w = tree_.leaf_size(),
                     rows = padded(std::min(n, most_rows_));
  auto const bytes = [](std::int64_t count, std::size_t of_one) {
    return static_cast<std::size_t>(count) * of_one;
  };
  cells_.place(blas_.scratch(cells_slot, cells_.bytes()));
  sums_ = reinterpret_cast<std::int32_t*>(
      blas_.scratch(sums_slot, bytes(moduli_ * rows * padded(w), sizeof(std::int32_t))));
  std::int64_t const copied = std::min(w, solved_at_once);
  if (leaves_.front()->inverse.data != nullptr)
    (void)blas_.scratch(columns_slot, bytes(n * copied, sizeof(double)));
  std::byte* const of_rows =
      blas_.scratch(rows_slot, bytes(n, sizeof(RowUnit)) + bytes(n, sizeof(double)));
  units_ = reinterpret_cast<RowUnit*>(of_rows);
  squares_ = reinterpret_cast<double*>(of_rows + bytes(n, sizeof(RowUnit)));
  Kokkos::View<double*, memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const squares(
      squares_, static_cast<std::size_t>(n));
  Kokkos::deep_copy(blas_.exec(), squares, 0.0);
  for (Node const* leaf : leaves_)
    blas_.integers().bound_units(leaf->working, moduli_, units_ + leaf->begin);
}

template <class ExecutionSpace>
void IntegerPotrf<ExecutionSpace>::operator()() {
  take_scratch();
  LeafBlas<ExecutionSpace>& urgent = blas_.urgent();
  double const n = static_cast<double>(tree_.order());
  for (std::size_t p = 0; p < leaves_.size(); ++p) {
    Node const& leaf = *leaves_[p];
    auto const below = pieces(leaf);
    update(leaf.begin, leaf.size, p, {{leaf.begin, leaf.working}}, Triangle::Lower);
    strata::enqueue_wait(urgent.exec(), blas_.exec());
    factor(leaf);  // A11 = L11 L11^T
    if (broke_down()) break;
    for (std::int64_t row = leaf.begin + leaf.size; row < tree_.order();) {  // A21 -= L2 L1^T
      std::int64_t const end = std::min(cells_.end_of(cells_.group_of(row)), row + most_rows_);
      update(row, end - row, p, below, Triangle::Both);
      row = end;
    }
    strata::enqueue_wait(blas_.exec(), urgent.exec());
    watch_.look(blas_.exec(), leaf.begin + leaf.size);
    if (watch_.ends()) break;
    for (Piece const& piece : below) {
      solve(leaf, piece.block);  // L21 = A21 L11^-T
      keep(p, piece);
    }
    double const done = static_cast<double>(leaf.begin + leaf.size) / n;
    watch_.reach(done * done * (3 - 2 * done));
  }
  watch_.tell_the_rest();
}

template <class ExecutionSpace>
bool IntegerPotrf<ExecutionSpace>::broke_down() const {
  if constexpr (strata::runs_on_host<ExecutionSpace>) {
    blas_.exec().fence("strata::dense::tree_potrf: look at the pivot status");
    return info_() != 0;
  } else {
    return false;
  }
}

// From the leaf's own rows downwards.
template <class ExecutionSpace>
auto IntegerPotrf<ExecutionSpace>::pieces(Node const& leaf) const -> std::vector<Piece> {
  std::vector<Piece> found;
  for (Node const* node = &tree_.root(); node != &leaf;) {
    std::int64_t const middle = node->begin + node->first_size;
    bool const in_left = leaf.begin < middle;
    if (in_left)
      found.push_back({middle, node->working.block(0, leaf.begin - node->begin, node->working.rows,
                                                   leaf.size)});
    node = in_left ? &tree_.left(*node) : &tree_.right(*node);
  }
  std::ranges::reverse(found);
  return found;
}

// A(rows, panel p) -= L(rows, columns before) L(panel's rows, columns before)^T, of rows of one
// group.
template <class ExecutionSpace>
void IntegerPotrf<ExecutionSpace>::update(std::int64_t begin, std::int64_t count, std::size_t p,
                                          std::vector<Piece> const& of, Triangle part) {
  if (p == 0) return;
  Node const& leaf = *leaves_[p];
  auto const panel = static_cast<std::int64_t>(p);
  std::int64_t const ld = padded(count);
  ModularSums<memory_space> sums{sums_,  count, leaf.size, ld, ld * padded(tree_.leaf_size()),
                                 moduli_};
  auto& integers = blas_.integers();
  std::int64_t const last = cells_.group_of(leaves_[p - 1]->begin);
  for (std::int64_t group = 0; group <= last; ++group)
    integers.multiply(cells_.before(begin, count, group, panel),
                      cells_.before(leaf.begin, leaf.size, group, panel), sums, group > 0);
  for (Piece const& piece : of) {
    std::int64_t const first = std::max(begin, piece.begin),
                       end = std::min(begin + count, piece.begin + piece.block.rows);
    if (first >= end) continue;
    ModularSums<memory_space> X = sums;
    X.data += first - begin;
    X.rows = end - first;
    integers.combine(X, units_ + first, units_ + leaf.begin, {-1, 1, nullptr, nullptr, part},
                     piece.block.block(first - piece.begin, 0, X.rows, leaf.size));
  }
}

template <class ExecutionSpace>
void IntegerPotrf<ExecutionSpace>::factor(Node const& leaf) {
  if (leaf.inverse.data != nullptr)
    blas_.urgent().potrf_invert(leaf.working, leaf.inverse, leaf.begin, info_,
                                leaf.inverse_largest);
  else
    blas_.urgent().potrf(Uplo::Lower, leaf.working, leaf.begin, info_);
}

// X = X L^-T
template <class ExecutionSpace>
void IntegerPotrf<ExecutionSpace>::solve(Node const& leaf, Matrix const& X) {
  Matrix const& L = leaf.working;
  if (leaf.inverse.data == nullptr)
    return blas_.trsm(Side::Right, Uplo::Lower, Op::Trans, Diag::NonUnit, 1, L, X);
  for (std::int64_t j = 0; j < leaf.size; j += solved_at_once) {
    std::int64_t const cols = std::min(solved_at_once, leaf.size - j);
    Matrix const Xj = X.block(0, j, X.rows, cols);
    if (j > 0)
      blas_.gemm(Op::NoTrans, Op::Trans, -1, X.block(0, 0, X.rows, j), L.block(j, 0, cols, j), 1,
                 Xj);
    Matrix const copy{blas_.scratch(columns_slot, 0), X.rows, cols, X.rows, Precision::fp64};
    blas_.convert(Op::NoTrans, Xj, copy);
    blas_.gemm(Op::NoTrans, Op::NoTrans, 1, copy, leaf.inverse.block(j, j, cols, cols), 0, Xj);
  }
}

// The rows' integers, for the panels that follow.
template <class ExecutionSpace>
void IntegerPotrf<ExecutionSpace>::keep(std::size_t p, Piece const& piece) {
  std::int64_t const rows_end = piece.begin + piece.block.rows;
  for (std::int64_t row = piece.begin; row < rows_end;) {
    std::int64_t const end = std::min(rows_end, cells_.end_of(cells_.group_of(row)));
    blas_.integers().residues(piece.block.block(row - piece.begin, 0, end - row, piece.block.cols),
                              Op::NoTrans, units_ + row,
                              cells_.panel(row, end - row, static_cast<std::int64_t>(p)),
                              {squares_ + row, info_.data(), row});
    row = end;
  }
}

#define STRATA_INSTANTIATE(Exec) template class IntegerPotrf<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense::detail
