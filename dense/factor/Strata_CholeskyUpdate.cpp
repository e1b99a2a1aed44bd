// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_MatrixRef.hpp>
#include <core/blas/basics/Strata_SetIdentity.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <core/memory/Strata_Pieces.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/detail/Strata_CholeskyState.hpp>
#include <dense/detail/Strata_FactorKernels.hpp>
#include <dense/factor/detail/Strata_ChangeKernels.hpp>
#include <dense/factor/detail/Strata_RankChange.hpp>
#include <dense/factor/detail/Strata_RankSweep.hpp>
#include <dense/factor/detail/Strata_RowIndices.hpp>
#include <dense/tree/Strata_InPlace.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

// Factors of A +- V V^T, of a bordered A and of a part of A, from A's factor.

namespace strata::dense {

namespace {

template <class ExecutionSpace>
using Change = std::conditional_t<runs_on_host<ExecutionSpace>, detail::RankChange<ExecutionSpace>,
                                  detail::RankSweep<ExecutionSpace>>;

// Some n^2 k flops by small blocks take longer than n^3/3 by large ones. On an H200 at n = 16384 a
// sweep of 1, 16 and 64 columns takes 18, 23 and 52 ms, and a new factor 43. The terms of both for
// other n are in seconds.
template <class ExecutionSpace>
bool costs_more_than_a_factor(std::int64_t order, std::int64_t columns) {
  if (16 * columns > order) return true;
  if constexpr (runs_on_host<ExecutionSpace>) {
    return false;
  } else {
    constexpr std::int64_t most = detail::RankSweep<ExecutionSpace>::most_columns;
    std::int64_t const taken = columns <= 1 ? 1 : columns <= 4 ? 4 : columns <= 16 ? 16 : most;
    auto const n = static_cast<double>(order), k = static_cast<double>(taken),
               sweeps = static_cast<double>((columns + most - 1) / most);
    return sweeps * (1.06e-6 * n + 2e-12 * n * n * k) > 8.5e-7 * n + n * n * n / 1.5e14;
  }
}

// Whether a downdate's columns are too many for one sweep of a device.
template <class ExecutionSpace>
bool is_beyond_a_sweep(std::int64_t columns) {
  return !runs_on_host<ExecutionSpace> && columns > detail::RankSweep<ExecutionSpace>::most_columns;
}

}  // namespace

// Sums of k products stay in range.
template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::require_in_range(char const* function,
                                                             StridedMatrix<double const> const& V) {
  require_finite(function, "V", V);
  if (V.rows == 0 || V.cols == 0) return;
  constexpr double most = 0x1p1020;
  double const largest = detail::largest_of(exec, V), k = static_cast<double>(V.cols);
  STRATA_REQUIRE(ValueError, largest < std::sqrt(most / k / static_cast<double>(n)), function,
                 ": V holds ", largest, ", whose square is out of range");
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::read(Block const& own) {
  copy = own;
  view = own;
  A = matrix_ref(own);
  uplo = Uplo::Lower;
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::own_matrix() {
  if (copy.extent(0) == static_cast<std::size_t>(n) && n > 0) return;
  Block const own = block(n, "strata::dense::cholesky::copy");
  detail::copy_elements(exec, view, own, n, n, true);
  read(own);
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::note_change() {
  tree->quantise_all(*blas);  // the inverses of leaves
  exec.fence("strata::dense::cholesky: the factor has changed");
  whitening = -1;
  by_pivots = by_solution = 0;
  minors = 0;
  report.condition = {};
  report.breakdown = {};
  report.n = n;
  report.leaf_size = leaf_size(report.layers);
  report.smallest_scaling = analysis.smallest_scaling;
  report.largest_scaling = analysis.largest_scaling;
  report.norm_inf = analysis.norm;
  report.stored_bytes = tree->stored_bytes();
  describe_blocks();
  info = Info::success();
}

template <class ExecutionSpace>
auto CholeskyFactor<ExecutionSpace>::State::present_scaling() -> Vector {
  auto const q = strata::allocate<Vector>(exec, "strata::dense::cholesky::d", n);
  detail::copy_scaling(exec, analysis.d, q);
  return q;
}

// The rotations of [V L] do not depend on D, powers of two that its rows are multiplied by.
template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::follow_matrix(Vector const& before) {
  analysis = detail::analyse(exec, uplo, A, options.equilibrate, room);
  if (detail::scaling_change(exec, analysis.d, before))
    detail::scale_tree_rows<ExecutionSpace>(exec, *tree, before);
}

// A copy of A is changed and factored in a tree of its own, so that nothing is lost if it has no
// factor.
template <class ExecutionSpace>
Info CholeskyFactor<ExecutionSpace>::State::change_anew(double sign, Block const& V) {
  Block const own = block(n, "strata::dense::cholesky::copy"), before = copy;
  MatrixView const view_before = view;
  ConstMatrixRef<memory_space> const A_before = A;
  Uplo const uplo_before = uplo;
  detail::copy_elements(exec, view, own, n, n, true);
  blas->syrk(Uplo::Lower, Op::NoTrans, sign, matrix_ref(V), 1, matrix_ref(own));
  auto const restore = [&] {
    copy = before, view = view_before, A = A_before, uplo = uplo_before;
    analysis = detail::analyse(exec, uplo, A, options.equilibrate, room);
  };
  read(own);
  try {
    analysis = detail::analyse(exec, uplo, A, options.equilibrate, room);
    LayerList const layers = report.layers;
    auto next =
        std::make_unique<Tree>(exec, n, layers, leaf_size(layers), tree_options(ladder.held()));
    load(*next, 0);
    Info const found = factor(*next, {});
    if (!found.ok()) {
      restore();
      return found;
    }
    low_solve.reset();
    factored = false;  // if what follows throws, the factor is made of A's copy when it is needed
    tree = std::move(next);
  } catch (...) {
    restore();
    throw;
  }
  note_change();
  factored = true;
  return Info::success();
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::update(Block const& V) {
  auto const k = static_cast<std::int64_t>(V.extent(1));
  Change<ExecutionSpace> change(*blas, *tree, k);
  Vector const scaling = present_scaling();
  own_matrix();
  factored = false;  // if what follows throws, the factor is made of A's copy when it is needed
  blas->syrk(Uplo::Lower, Op::NoTrans, 1, matrix_ref(V), 1, matrix_ref(copy));
  follow_matrix(scaling);
  detail::scale_rows(exec, analysis.d, V, V, n, k);
  change.update(V);
  note_change();
  factored = true;
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::update_with(ExecutionSpace const& exec,
                                                 StridedMatrix<double const> const& V) {
  State& s = *state_;
  STRATA_REQUIRE(ShapeError, V.rows == s.n, "rank_update: V is ", V.rows, " x ", V.cols,
                 ", A of order ", s.n);
  s.use(exec, V.cols);
  s.need_precise_factor("rank_update");
  if (s.n == 0 || V.cols == 0) return;
  Region const region(s.exec, "strata::dense::cholesky::rank_update");
  s.require_in_range("rank_update", V);
  auto const columns = s.block(V.cols, "strata::dense::cholesky::V");
  detail::copy_elements(s.exec, V, columns, s.n, V.cols, false);
  if (!costs_more_than_a_factor<ExecutionSpace>(s.n, V.cols)) return s.update(columns);
  Info found = Info::success();
  try {
    found = s.change_anew(1, columns);
  } catch (MemoryError const&) {
    if (!s.factored) throw;    // A has V V^T already
    return s.update(columns);  // slower, with neither a second matrix nor a second tree
  }
  STRATA_REQUIRE(ValueError, found.ok(), "rank_update: the leading minor of order ", found.order(),
                 " is not positive: V V^T is lost in the rounding of A");
}

template <class ExecutionSpace>
std::int64_t CholeskyFactor<ExecutionSpace>::State::first_bad_row(Block const& P) {
  auto const k = static_cast<std::int64_t>(P.extent(1));
  Block const T = strata::allocate<Block>(exec, "strata::dense::cholesky::I_minus_P", k, k);
  std::int64_t good = 0, bad = n;  // orders of minors
  while (bad - good > 1) {
    std::int64_t const middle = good + (bad - good) / 2;
    set_identity(exec, matrix_ref(T));
    blas->syrk(Uplo::Upper, Op::Trans, -1, matrix_ref(P).block(0, 0, middle, k), 1, matrix_ref(T));
    (potrf_in_place(*blas, Uplo::Upper, matrix_ref(T)).ok() ? good : bad) = middle;
  }
  return bad;
}

// A - V V^T = L (I - P P^T) L^T with L P = V, and I - P P^T is positive definite where I - P^T P
// is.
template <class ExecutionSpace>
Info CholeskyFactor<ExecutionSpace>::State::downdate(Block const& V) {
  auto const k = static_cast<std::int64_t>(V.extent(1));
  Block const P = block(k, "strata::dense::cholesky::P"),
              C = strata::allocate<Block>(exec, "strata::dense::cholesky::C", k, k);
  detail::scale_rows(exec, analysis.d, V, P, n, k);
  half_solve(Op::NoTrans, matrix_ref(P));
  set_identity(exec, matrix_ref(C));
  blas->syrk(Uplo::Upper, Op::Trans, -1, matrix_ref(P), 1, matrix_ref(C));
  if (!potrf_in_place(*blas, Uplo::Upper, matrix_ref(C)).ok())
    return Info::breakdown(first_bad_row(P));
  std::int64_t const bad = detail::first_bad_diagonal(exec, view, V);
  if (bad < n) return Info::breakdown(bad + 1);
  Change<ExecutionSpace> change(*blas, *tree, k);
  Vector const scaling = present_scaling();
  own_matrix();
  factored = false;  // if what follows throws, the factor is made of A's copy when it is needed
  blas->syrk(Uplo::Lower, Op::NoTrans, -1, matrix_ref(V), 1, matrix_ref(copy));
  follow_matrix(scaling);
  change.downdate(P, C);
  note_change();
  factored = true;
  return Info::success();
}

template <class ExecutionSpace>
Info CholeskyFactor<ExecutionSpace>::downdate_with(ExecutionSpace const& exec,
                                                   StridedMatrix<double const> const& V) {
  State& s = *state_;
  STRATA_REQUIRE(ShapeError, V.rows == s.n, "rank_downdate: V is ", V.rows, " x ", V.cols,
                 ", A of order ", s.n);
  s.use(exec, V.cols);
  s.need_precise_factor("rank_downdate");
  if (s.n == 0 || V.cols == 0) return Info::success();
  Region const region(s.exec, "strata::dense::cholesky::rank_downdate");
  s.require_in_range("rank_downdate", V);
  auto const columns = s.block(V.cols, "strata::dense::cholesky::V");
  detail::copy_elements(s.exec, V, columns, s.n, V.cols, false);
  bool const anew = costs_more_than_a_factor<ExecutionSpace>(s.n, V.cols) ||
                    is_beyond_a_sweep<ExecutionSpace>(V.cols);
  return anew ? s.change_anew(-1, columns) : s.downdate(columns);
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::take_factor(Block const& L, Block const& own) {
  auto const order = static_cast<std::int64_t>(own.extent(0)), before = std::exchange(n, order);
  std::unique_ptr<Tree> next;
  Buffer<ExecutionSpace> memory;
  detail::AnalysisRoom<memory_space> next_room;
  Info64 next_pivot;
  try {
    LayerList const layers = report.layers;
    next = std::make_unique<Tree>(exec, n, layers, leaf_size(layers), tree_options(ladder.held()));
    memory = allocate_pieces(exec, "strata::dense::cholesky::vectors", [&](Pieces& pieces) {
      next_room.lay_out(pieces, n);
      pieces.lay_out(next_pivot);
    });
  } catch (...) {
    n = before;
    throw;
  }
  factored = false;
  read(own);
  low_solve.reset();
  scaled = {};
  analysis = {};
  room = next_room;
  pivot = next_pivot;
  analysis_memory = std::move(memory);
  tree = std::move(next);
  analysis = detail::analyse(exec, uplo, A, options.equilibrate, room);
  detail::scale_rows(exec, analysis.d, L, L, n, n);
  if (n > 0) tree->load(exec, Uplo::Lower, matrix_ref(L));
  exec.fence("strata::dense::cholesky: the factor is loaded");
  tree->release_working();
}

template <class ExecutionSpace>
Info CholeskyFactor<ExecutionSpace>::append_columns(ExecutionSpace const& exec,
                                                    StridedMatrix<double const> const& B) {
  using Block = typename State::Block;
  State& s = *state_;
  std::int64_t const n = s.n, m = B.cols;
  STRATA_REQUIRE(ShapeError, B.rows == n + m, "append: B is ", B.rows, " x ", m,
                 ", must have as many rows as A, ", n, ", and as it has columns");
  s.use(exec, m);
  s.need_precise_factor("append");
  if (m == 0) return Info::success();
  Region const region(s.exec, "strata::dense::cholesky::append");
  auto rest = B;
  rest.data += n * B.row_stride;
  rest.rows = m;
  Block const T = strata::allocate_zeros<Block>(s.exec, "strata::dense::cholesky::append", m, m);
  detail::copy_elements(s.exec, rest, T, m, m, true);
  auto above = B;
  above.rows = n;
  s.require_finite("append", "B", above);
  s.require_finite("append", "B's last rows", {T.data(), m, m, 1, m});
  Block const S = s.scaled_copy(above, "strata::dense::cholesky::append");
  s.half_solve(Op::NoTrans, matrix_ref(S));
  if (n > 0) s.blas->syrk(Uplo::Lower, Op::Trans, -1, matrix_ref(S), 1, matrix_ref(T));
  Info const found = potrf_in_place(*s.blas, Uplo::Lower, matrix_ref(T));
  if (!found.ok()) return Info::breakdown(n + found.order());
  Block const own = strata::allocate<Block>(s.exec, "strata::dense::cholesky::copy", n + m, n + m);
  Block const L = strata::allocate<Block>(s.exec, "strata::dense::cholesky::L", n + m, n + m);
  if (n > 0) copy_factor(s.exec, matrix_ref(L).block(0, 0, n, n));
  detail::set_last_rows(s.exec, S, T, n, L);
  detail::border(s.exec, s.view, B, n, own);
  s.take_factor(L, own);
  s.note_change();
  s.factored = true;
  return Info::success();
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::remove(ExecutionSpace const& exec,
                                            std::span<std::int64_t const> rows) {
  using Block = typename State::Block;
  State& s = *state_;
  std::vector<std::int64_t> gone(rows.begin(), rows.end()), kept;
  std::ranges::sort(gone);
  STRATA_REQUIRE(ValueError, gone.empty() || (gone.front() >= 0 && gone.back() < s.n),
                 "remove: there is a row ",
                 gone.empty() ? 0 : (gone.front() < 0 ? gone.front() : gone.back()),
                 ", must be in [0, ", s.n, ")");
  auto const twice = std::ranges::adjacent_find(gone);
  STRATA_REQUIRE(ValueError, twice == gone.end(), "remove: row ", twice == gone.end() ? 0 : *twice,
                 " is there twice");
  s.use(exec);
  s.need_precise_factor("remove");
  if (gone.empty()) return;
  Region const region(s.exec, "strata::dense::cholesky::remove");
  for (std::int64_t i = 0; i < s.n; ++i)
    if (!std::ranges::binary_search(gone, i)) kept.push_back(i);
  auto const order = static_cast<std::int64_t>(kept.size()),
             k = static_cast<std::int64_t>(gone.size());
  auto const kept_there = detail::row_indices(s.exec, kept),
             gone_there = detail::row_indices(s.exec, gone);
  auto const allocate = [&](char const* label, std::int64_t cols) {
    return strata::allocate<Block>(s.exec, label, order, cols);
  };
  Block const own = allocate("strata::dense::cholesky::copy", order),
              L = allocate("strata::dense::cholesky::L", order),
              V = allocate("strata::dense::cholesky::V", k);
  {
    Block const all = s.block(s.n, "strata::dense::cholesky::L");
    copy_factor(s.exec, matrix_ref(all));
    detail::keep_rows(s.exec, all, kept_there, L);
    detail::lost_columns(s.exec, all, kept_there, gone_there, V);
    detail::keep_rows(s.exec, s.view, kept_there, own);
    s.exec.fence("strata::dense::cholesky: the rows are copied");
  }
  s.take_factor(L, own);
  if (order > gone.front()) {
    detail::scale_rows(s.exec, s.analysis.d, V, V, order, k);
    Change<ExecutionSpace>(*s.blas, *s.tree, k).update(V, gone.front());
  }
  s.note_change();
  s.factored = true;
}

#define STRATA_INSTANTIATE(Exec)                                                          \
  template void CholeskyFactor<Exec>::update_with(Exec const&,                            \
                                                  StridedMatrix<double const> const&);    \
  template Info CholeskyFactor<Exec>::downdate_with(Exec const&,                          \
                                                    StridedMatrix<double const> const&);  \
  template Info CholeskyFactor<Exec>::append_columns(Exec const&,                         \
                                                     StridedMatrix<double const> const&); \
  template void CholeskyFactor<Exec>::remove(Exec const&, std::span<std::int64_t const>);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
