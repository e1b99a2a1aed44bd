// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_MatrixRef.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/detail/Strata_CholeskyState.hpp>
#include <dense/factor/detail/Strata_LowerTriangle.hpp>
#include <dense/factor/detail/Strata_RowIndices.hpp>
#include <dense/recursion/detail/Strata_TreeRecursion.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

// A^-1 = D W^T W D with W = L^-1 of H = D A D.

namespace strata::dense {

namespace {

/// x_j = d_j^2 sum_i w_ij^2, i >= first row of column j, which is j or 0. Enqueued.
template <class ExecutionSpace, class ScalingView>
void sum_squares(ExecutionSpace const& exec, ScalingView const& d, bool lower,
                 StridedMatrix<double const> const& W, StridedMatrix<double> const& x) {
  bool const scaled = d.extent(0) > 0;
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  if (W.cols == 0) return;
  Kokkos::parallel_for(
      "strata::dense::cholesky::sum_squares", Policy(exec, static_cast<int>(W.cols), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        std::int64_t const j = team.league_rank(), first = lower ? j : 0;
        double sum = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamVectorRange(team, first, W.rows),
            [&](std::int64_t i, double& part) { part += W(i, j) * W(i, j); }, sum);
        Kokkos::single(Kokkos::PerTeam(team), [&] { x(j, 0) = scaled ? d(j) * sum * d(j) : sum; });
      });
}

/// X = D Y D, and the upper triangle mirrors the lower one; Y may be X. Enqueued.
template <class ExecutionSpace, class ScalingView, class Scalar>
void scale_and_mirror(ExecutionSpace const& exec, ScalingView const& d, Scalar const* Y,
                      std::int64_t ldy, double* X, std::int64_t n, std::int64_t ld) {
  bool const scaled = d.extent(0) > 0;
  strata::for_each_element(
      "strata::dense::cholesky::mirror", exec, n, n, KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        if (i < j) return;
        double const y = Y[i + j * ldy], x = scaled ? d(i) * y * d(j) : y;
        X[i + j * ld] = x;
        X[j + i * ld] = x;
      });
}

/// values_k = d_i d_j sum_l y_li y_lj, of columns i = pairs(k, 0) and j = pairs(k, 1) of Y, which
/// stand for the rows index(i) and index(j). Enqueued.
template <class ExecutionSpace, class ScalingView, class Block, class Pairs, class Indices,
          class Values>
void dot_pairs(ExecutionSpace const& exec, ScalingView const& d, Block const& Y, Pairs const& pairs,
               Indices const& index, Values const& values) {
  bool const scaled = d.extent(0) > 0;
  auto const n = static_cast<std::int64_t>(Y.extent(0));
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  Kokkos::parallel_for(
      "strata::dense::cholesky::dot_pairs",
      Policy(exec, static_cast<int>(values.extent(0)), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        int const k = team.league_rank();
        std::int64_t const i = pairs(k, 0), j = pairs(k, 1);
        double sum = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamVectorRange(team, n),
            [&](std::int64_t l, double& part) { part += Y(l, i) * Y(l, j); }, sum);
        Kokkos::single(Kokkos::PerTeam(team),
                       [&] { values(k) = scaled ? d(index(i)) * sum * d(index(j)) : sum; });
      });
}

/// Column c of Y is the unit vector e_index(c). Enqueued.
template <class ExecutionSpace, class Block, class Indices>
void set_unit_vectors(ExecutionSpace const& exec, Indices const& index, Block const& Y) {
  strata::for_each_element(
      "strata::dense::cholesky::unit_vectors", exec, static_cast<std::int64_t>(Y.extent(0)),
      static_cast<std::int64_t>(Y.extent(1)),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t c) { Y(i, c) = i == index(c) ? 1 : 0; });
}

/// values_k = X(pairs(k, 0), pairs(k, 1)). Enqueued.
template <class ExecutionSpace, class Block, class Pairs, class Values>
void gather(ExecutionSpace const& exec, Block const& X, Pairs const& pairs, Values const& values) {
  Kokkos::parallel_for(
      "strata::dense::cholesky::gather",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, values.extent(0)),
      KOKKOS_LAMBDA(std::int64_t k) { values(k) = X(pairs(k, 0), pairs(k, 1)); });
}

/// Q = G, a full symmetric matrix of which the lower triangle is given. Enqueued.
template <class ExecutionSpace, class Block>
void copy_symmetric(ExecutionSpace const& exec, Block const& G, StridedMatrix<double> const& Q) {
  strata::for_each_element(
      "strata::dense::cholesky::gram", exec, Q.rows, Q.cols,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) { Q(i, j) = i >= j ? G(i, j) : G(j, i); });
}

// The indices that occur, in order, and the place of each of these numbers among them.
std::vector<std::int64_t> indices_of(std::span<std::int64_t const> rows,
                                     std::span<std::int64_t const> cols) {
  std::vector<std::int64_t> all(rows.begin(), rows.end());
  all.insert(all.end(), cols.begin(), cols.end());
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::int64_t place_of(std::vector<std::int64_t> const& all, std::int64_t index) {
  return std::ranges::lower_bound(all, index) - all.begin();
}

template <class ExecutionSpace>
using IndexPairs =
    Kokkos::View<std::int64_t**, Kokkos::LayoutLeft, typename ExecutionSpace::memory_space>;

}  // namespace

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::invert_factor(MatrixRef<memory_space> const& X) {
  auto const& leaf = tree->nodes().back();
  if (leaf.inverse.data != nullptr && leaf.inverse.precision == Precision::fp64)
    return detail::TreeRecursion<ExecutionSpace>(*blas).invert(*tree, X);
  tree->store(exec, Uplo::Lower, X);
  detail::LowerTriangle<ExecutionSpace>(*blas, n).invert(X);
}

// W is L^-1 to about 2^-24 times the root of the condition, which its defect measures, and rounding
// in W^T W is relative to the lengths of W's columns.
template <class ExecutionSpace>
double CholeskyFactor<ExecutionSpace>::State::invert_in_fp32(MatrixRef<memory_space> const& X,
                                                             double tolerance) {
  // Where the diagonal of H is about 1, no column of W is much shorter than 1. Otherwise squares
  // may leave fp32's range, and fp16_split drops what is far below the largest number of a block.
  if (!report.equilibrated) return std::numeric_limits<double>::infinity();
  constexpr bool on_host = runs_on_host<ExecutionSpace>;
  Precision const format = on_host ? Precision::fp32 : Precision::fp16_split;
  using LowBlock = Kokkos::View<float**, Kokkos::LayoutLeft, memory_space>;
  auto const W = strata::allocate<LowBlock>(exec, "strata::dense::cholesky::inverse_in_fp32", n, n);
  Kokkos::deep_copy(exec, W, 0.0f);
  tree->store(exec, Uplo::Lower, matrix_ref(W));
  detail::LowerTriangle<ExecutionSpace, float> triangle(*blas, n, format);
  triangle.invert(matrix_ref(W));
  Block product;
  double const w = defect([&](Op op, Block const& V) {
    if (product.extent(1) != V.extent(1))
      product = block(static_cast<std::int64_t>(V.extent(1)), "strata::dense::cholesky::half");
    blas->gemm(op, Op::NoTrans, 1, matrix_ref(W), matrix_ref(V), 0, matrix_ref(product));
    Kokkos::deep_copy(exec, V, product);
  });
  // Errors of sums as random ones; matrix units truncate, each time that they add 16 products.
  double const random = std::sqrt(static_cast<double>(n)), truncated = static_cast<double>(n) / 16;
  double const rounding =
      4 * traits(format).unit_roundoff + 0x1p-24 * (on_host ? random : std::max(random, truncated));
  double const error = w < 1 ? w / (1 - w) + rounding : std::numeric_limits<double>::infinity();
  if (!(error <= tolerance) || std::isinf(error)) return error;
  triangle.square(matrix_ref(W));
  scale_and_mirror(exec, analysis.d, W.data(), static_cast<std::int64_t>(W.stride(1)),
                   X.template as<double>(), n, X.ld);
  return error;
}

template <class ExecutionSpace>
double CholeskyFactor<ExecutionSpace>::write_inverse_diagonal(ExecutionSpace const& exec,
                                                              StridedMatrix<double> const& x) {
  State& s = *state_;
  STRATA_REQUIRE(ShapeError, x.rows == s.n, "inverse_diagonal: x has ", x.rows,
                 " numbers, A is of order ", s.n);
  s.use(exec, s.n);
  s.need_precise_factor("inverse_diagonal");
  s.require_apart_from_A("inverse_diagonal", x);
  if (s.n == 0) return 0;
  Region const region(s.exec, "strata::dense::cholesky::inverse_diagonal");
  double const error = s.error_of_inverse();
  auto const W = s.block(s.n, "strata::dense::cholesky::inverse");
  s.invert_factor(matrix_ref(W));
  sum_squares(s.exec, s.analysis.d, true, {W.data(), s.n, s.n, 1, s.n}, x);
  s.exec.fence("strata::dense::cholesky: the diagonal is ready");
  return error;
}

template <class ExecutionSpace>
double CholeskyFactor<ExecutionSpace>::write_inverse(ExecutionSpace const& exec,
                                                     StridedMatrix<double> const& X,
                                                     double tolerance, Measure measure) {
  State& s = *state_;
  STRATA_REQUIRE(ValueError, tolerance >= 0, "inverse: the tolerance is ", tolerance,
                 ", must be >= 0");
  STRATA_REQUIRE(ShapeError, X.rows == s.n && X.cols == s.n, "inverse: X is ", X.rows, " x ",
                 X.cols, ", A of order ", s.n);
  bool const by_columns = X.row_stride == 1 || s.n <= 1;
  std::int64_t const ld = s.n <= 1 ? 1 : by_columns ? X.col_stride : X.row_stride;
  STRATA_REQUIRE(ShapeError, (by_columns || X.col_stride == 1) && ld >= s.n,
                 "inverse: X has the strides ", X.row_stride, " and ", X.col_stride,
                 ": one must be 1, the other the order at least");
  s.use(exec, s.n);
  s.need_precise_factor("inverse");
  s.require_apart_from_A("inverse", X);
  if (s.n == 0) return 0;
  Region const region(s.exec, "strata::dense::cholesky::inverse");
  MatrixRef<memory_space> const x{X.data, s.n, s.n, ld, Precision::fp64};
  double error = std::numeric_limits<double>::infinity();
  try {
    if (tolerance > 0) error = s.invert_in_fp32(x, tolerance);
  } catch (MemoryError const&) {  // fp64 needs little room but X
  }
  if (!(error <= tolerance) || std::isinf(error)) {
    bool const known = s.whitening >= 0 || measure == Measure::Error;
    error = known ? s.error_of_inverse() : std::numeric_limits<double>::quiet_NaN();
    s.invert_factor(x);
    detail::LowerTriangle<ExecutionSpace>(*s.blas, s.n).square(x);
    scale_and_mirror(s.exec, s.analysis.d, X.data, ld, X.data, s.n, ld);
  }
  s.exec.fence("strata::dense::cholesky: the inverse is ready");
  return error;
}

template <class ExecutionSpace>
double CholeskyFactor<ExecutionSpace>::inverse_entries(ExecutionSpace const& exec,
                                                       std::span<std::int64_t const> rows,
                                                       std::span<std::int64_t const> cols,
                                                       std::span<double> values) {
  State& s = *state_;
  STRATA_REQUIRE(ShapeError, rows.size() == cols.size() && rows.size() == values.size(),
                 "inverse_entries: ", rows.size(), " rows, ", cols.size(), " columns and ",
                 values.size(), " values");
  auto const all = indices_of(rows, cols);
  STRATA_REQUIRE(ValueError, all.empty() || (all.front() >= 0 && all.back() < s.n),
                 "inverse_entries: there is an index ",
                 all.empty() || all.front() >= 0 ? (all.empty() ? 0 : all.back()) : all.front(),
                 ", must be in [0, ", s.n, ")");
  s.use(exec, static_cast<std::int64_t>(all.size()));
  s.need_precise_factor("inverse_entries");
  if (all.empty()) return 0;
  Region const region(s.exec, "strata::dense::cholesky::inverse_entries");
  double const error = s.error_of_inverse();
  bool const whole = 2 * all.size() >= static_cast<std::size_t>(s.n);
  std::vector<std::int64_t> flat(2 * rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k) {
    flat[k] = whole ? rows[k] : place_of(all, rows[k]);
    flat[rows.size() + k] = whole ? cols[k] : place_of(all, cols[k]);
  }
  auto const index = detail::row_indices(s.exec, all), line = detail::row_indices(s.exec, flat);
  IndexPairs<ExecutionSpace> const pairs(line.data(), rows.size(), 2);
  auto const found = strata::allocate<Kokkos::View<double*, memory_space>>(
      s.exec, "strata::dense::cholesky::entries", rows.size());
  auto const Y = s.block(whole ? s.n : static_cast<std::int64_t>(all.size()),
                         "strata::dense::cholesky::inverse");
  if (whole) {
    (void)write_inverse(exec, {Y.data(), s.n, s.n, 1, s.n}, 0, Measure::Nothing);
    gather(s.exec, Y, pairs, found);
  } else {
    set_unit_vectors(s.exec, index, Y);
    s.half_solve(Op::NoTrans, matrix_ref(Y));
    dot_pairs(s.exec, s.analysis.d, Y, pairs, index, found);
  }
  Kokkos::deep_copy(s.exec,
                    Kokkos::View<double*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(
                        values.data(), values.size()),
                    found);
  s.exec.fence("strata::dense::cholesky: the entries are ready");
  return error;
}

template <class ExecutionSpace>
double CholeskyFactor<ExecutionSpace>::write_quadratic_form(ExecutionSpace const& exec,
                                                            StridedMatrix<double const> const& B,
                                                            StridedMatrix<double> const& Q,
                                                            bool diagonal_alone) {
  State& s = *state_;
  std::int64_t const k = B.cols;
  STRATA_REQUIRE(ShapeError, B.rows == s.n && Q.rows == k && Q.cols == (diagonal_alone ? 1 : k),
                 "quadratic_form: B is ", B.rows, " x ", k, ", Q ", Q.rows, " x ", Q.cols,
                 ", A of order ", s.n);
  s.use(exec, k);
  s.need_precise_factor("quadratic_form");
  s.require_apart_from_A("quadratic_form", Q);
  if (k == 0) return 0;
  Region const region(s.exec, "strata::dense::cholesky::quadratic_form");
  s.require_finite("quadratic_form", "B", B);
  double const error = s.error_of_inverse();
  auto const Y = s.scaled_copy(B, "strata::dense::cholesky::whitened");
  s.half_solve(Op::NoTrans, matrix_ref(Y));
  if (diagonal_alone || k == 1) {
    Kokkos::View<double const*, memory_space> const none;
    sum_squares(s.exec, none, false, {Y.data(), s.n, k, 1, s.n}, Q);
  } else {
    auto const G =
        strata::allocate<typename State::Block>(s.exec, "strata::dense::cholesky::gram", k, k);
    MatrixRef<memory_space> const y{Y.data(), s.n, k, std::max<std::int64_t>(s.n, 1),
                                    Precision::fp64};
    s.blas->syrk(Uplo::Lower, Op::Trans, 1, y, 0, matrix_ref(G));
    copy_symmetric(s.exec, G, Q);
  }
  s.exec.fence("strata::dense::cholesky: the quadratic form is ready");
  return error;
}

#define STRATA_INSTANTIATE(Exec)                                                                 \
  template double CholeskyFactor<Exec>::write_inverse_diagonal(Exec const&,                      \
                                                               StridedMatrix<double> const&);    \
  template double CholeskyFactor<Exec>::write_inverse(Exec const&, StridedMatrix<double> const&, \
                                                      double, Measure);                          \
  template double CholeskyFactor<Exec>::State::invert_in_fp32(                                   \
      MatrixRef<Exec::memory_space> const&, double);                                             \
  template double CholeskyFactor<Exec>::inverse_entries(                                         \
      Exec const&, std::span<std::int64_t const>, std::span<std::int64_t const>,                 \
      std::span<double>);                                                                        \
  template double CholeskyFactor<Exec>::write_quadratic_form(                                    \
      Exec const&, StridedMatrix<double const> const&, StridedMatrix<double> const&, bool);      \
  template void CholeskyFactor<Exec>::State::invert_factor(MatrixRef<Exec::memory_space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
