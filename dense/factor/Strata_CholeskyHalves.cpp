// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_MatrixRef.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/detail/Strata_CholeskyState.hpp>
#include <dense/factor/detail/Strata_LowerTriangle.hpp>
#include <dense/log_determinant/detail/Strata_Probes.hpp>
#include <dense/refine/detail/Strata_LostColumns.hpp>
#include <dense/vectors/detail/Strata_BlockVectors.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

// W = L^-1 and L as they whiten and sample: A = L_A L_A^T with L_A = D^-1 L, L that of H = D A D.

namespace strata::dense {

namespace {

/// X = D^power B, power 1, -1, or 0 for none; an empty d is the identity. Enqueued.
template <class ExecutionSpace, class ScalingView>
void scale_by(ExecutionSpace const& exec, ScalingView const& d, int power,
              StridedMatrix<double const> const& B, StridedMatrix<double> const& X) {
  char const* const label = "strata::dense::cholesky::scale_by";
  bool const up = d.extent(0) > 0 && power > 0, down = d.extent(0) > 0 && power < 0;
  if (B.row_stride == 1 && X.row_stride == 1) {  // by vectors
    double const *const from = B.data, *const scale = d.data();
    double* const to = X.data;
    std::int64_t const ldb = B.col_stride, ldx = X.col_stride;
    if (up)
      return strata::for_each_element(
          label, exec, X.rows, X.cols, KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
            to[i + j * ldx] = scale[i] * from[i + j * ldb];
          });
    if (!down)
      return strata::for_each_element(
          label, exec, X.rows, X.cols,
          KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) { to[i + j * ldx] = from[i + j * ldb]; });
  }
  strata::for_each_element(
      label, exec, X.rows, X.cols, KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        double const b = B(i, j);
        X(i, j) = up ? d(i) * b : down ? b / d(i) : b;
      });
}

/// How many of n numbers, a stride apart, are NaN or infinite, of a team's share.
template <class Member>
KOKKOS_FUNCTION int other_than_finite(Member const& team, double const* b, std::int64_t n,
                                      std::int64_t stride) {
  constexpr double largest = Kokkos::Experimental::finite_max_v<double>;
  int others = 0;
  if (stride == 1)  // counts of neighbours are made by vectors
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(team, n),
        [&](std::int64_t i, int& part) { part += !(Kokkos::abs(b[i]) <= largest); }, others);
  else
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(team, n),
        [&](std::int64_t i, int& part) { part += !(Kokkos::abs(b[i * stride]) <= largest); },
        others);
  return others;
}

/// Whether all numbers of B are finite. Fences.
template <class ExecutionSpace>
bool all_finite(ExecutionSpace const& exec, StridedMatrix<double const> const& B) {
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  int other = 0;
  Kokkos::parallel_reduce(
      "strata::dense::cholesky::all_finite", Policy(exec, static_cast<int>(B.cols), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team, int& columns) {
        std::int64_t const j = team.league_rank();
        int const others = other_than_finite(team, B.data + j * B.col_stride, B.rows, B.row_stride);
        Kokkos::single(Kokkos::PerTeam(team), [&] { columns += others == 0 ? 0 : 1; });
      },
      other);
  return other == 0;
}

/// Y = Y - Z. Enqueued.
template <class ExecutionSpace, class Block>
void subtract(ExecutionSpace const& exec, Block const& Z, Block const& Y) {
  strata::for_each_element(
      "strata::dense::cholesky::subtract", exec, static_cast<std::int64_t>(Y.extent(0)),
      static_cast<std::int64_t>(Y.extent(1)),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) { Y(i, j) -= Z(i, j); });
}

// Whether X is a matrix of contiguous columns, one behind the other.
template <class Scalar>
bool has_columns(StridedMatrix<Scalar> const& X) {
  return (X.row_stride == 1 || X.rows == 1) && (X.cols == 1 || X.col_stride >= X.rows);
}
template <class Matrix, class Scalar>
Matrix by_columns(StridedMatrix<Scalar> const& X) {
  return {X.data, X.rows, X.cols, std::max(X.col_stride, X.rows), Precision::fp64};
}

template <class Block>
StridedMatrix<double> strided_block(Block const& V) {
  return {V.data(), static_cast<std::int64_t>(V.extent(0)), static_cast<std::int64_t>(V.extent(1)),
          1, static_cast<std::int64_t>(V.stride(1))};
}

}  // namespace

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::need_precise_factor(char const* function) {
  need_factor(function);
  STRATA_REQUIRE(ValueError, is_precise(), function, ": the factor is in ", report.layers.name(),
                 report.shift > 0 ? " with a shift" : "", ": L L^T is A only to about ",
                 report.layers.unit_roundoff() + report.shift,
                 "; promote() makes one in fp64, or ask `cholesky` for the layers fp64");
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::require_apart_from_A(
    char const* function, StridedMatrix<double> const& X) const {
  StridedMatrix<double const> const of_A{view.data(), n, n,
                                         static_cast<std::int64_t>(view.stride(0)),
                                         static_cast<std::int64_t>(view.stride(1))};
  STRATA_REQUIRE(ValueError, !share_memory(of_A, X), function,
                 ": X overlaps A, which the factor reads");
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::require_finite(char const* function, char const* name,
                                                           StridedMatrix<double const> const& B) {
  if (B.rows == 0 || B.cols == 0 || all_finite(exec, B)) return;
  std::int64_t const first = detail::first_non_finite(exec, B);
  throw ValueError(strata::detail::message(function, ": column ", first / B.rows, " of ", name,
                                           " holds a non-finite number, in row ", first % B.rows,
                                           " (indices from 0)"));
}

template <class ExecutionSpace>
auto CholeskyFactor<ExecutionSpace>::State::scaling_unless_one() const
    -> Kokkos::View<double const*, memory_space> {
  if (analysis.smallest_scaling == 1 && analysis.largest_scaling == 1) return {};
  return analysis.d;
}

template <class ExecutionSpace>
auto CholeskyFactor<ExecutionSpace>::State::scaled_copy(StridedMatrix<double const> const& B,
                                                        char const* label) -> Block {
  Block const V = block(B.cols, label);
  scale_by(exec, scaling_unless_one(), 1, B, strided_block(V));
  return V;
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::sample(StridedMatrix<double const> const& Z,
                                                   StridedMatrix<double> const& X) {
  bool const apart = !share_memory(Z, X);
  auto const d = scaling_unless_one();
  Block V, Y;  // copies where vectors are not contiguous, or not apart
  StridedMatrix<double const> z = Z;
  if (!apart || !has_columns(Z)) {
    V = block(X.cols, "strata::dense::cholesky::Z");
    scale_by(exec, d, 0, Z, strided_block(V));
    z = {V.data(), n, X.cols, 1, static_cast<std::int64_t>(V.stride(1))};
  }
  StridedMatrix<double> x = X;
  if (!has_columns(X)) {
    Y = block(X.cols, "strata::dense::cholesky::half");
    x = strided_block(Y);
  }
  detail::multiply_by_tree(*blas, *tree, by_columns<ConstMatrixRef<memory_space>>(z),
                           by_columns<MatrixRef<memory_space>>(x));
  if (d.extent(0) > 0 || x.data != X.data) scale_by(exec, d, -1, x, X);
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::half_solve_strided(Op op,
                                                               StridedMatrix<double const> const& B,
                                                               StridedMatrix<double> const& X) {
  Block V;
  StridedMatrix<double> x = X;
  if (!has_columns(X) || share_memory(B, X)) {
    V = block(X.cols, "strata::dense::cholesky::half");
    x = strided_block(V);
  }
  auto const d = scaling_unless_one();
  scale_by(exec, d, op == Op::NoTrans ? 1 : 0, B, x);
  half_solve(op, by_columns<MatrixRef<memory_space>>(x));
  int const power = op == Op::NoTrans ? 0 : 1;
  if (x.data != X.data || (power != 0 && d.extent(0) > 0)) scale_by(exec, d, power, x, X);
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::apply_half(ExecutionSpace const& exec, Half half,
                                                StridedMatrix<double const> const& B,
                                                StridedMatrix<double> const& X) {
  State& s = *state_;
  bool const samples = half == Half::Sample;
  char const* const function = samples                ? "sample"
                               : half == Half::Whiten ? "whiten"
                                                      : "whiten_transposed";
  STRATA_REQUIRE(ShapeError, B.rows == s.n && X.rows == s.n && B.cols == X.cols, function,
                 ": B is ", B.rows, " x ", B.cols, ", X ", X.rows, " x ", X.cols, ", A of order ",
                 s.n);
  STRATA_REQUIRE(ValueError, !overlaps_itself(X), function,
                 ": elements of X share memory; its strides are ", X.row_stride, " and ",
                 X.col_stride);
  s.use(exec, B.cols);
  s.need_precise_factor(function);
  s.require_apart_from_A(function, X);
  if (s.n == 0 || B.cols == 0) return;
  Region const region(s.exec, "strata::dense::cholesky::", function);
  s.require_finite(function, samples ? "Z" : "B", B);
  if (samples)
    s.sample(B, X);
  else
    s.half_solve_strided(half == Half::Whiten ? Op::NoTrans : Op::Trans, B, X);
  s.exec.fence("strata::dense::cholesky: X is ready");
}

// Steps of the power method with F = W H W^T - I, from random vectors, end below ||F||_2, by half
// at most where eight of them are tried. What they round is of F's size.
template <class ExecutionSpace>
double CholeskyFactor<ExecutionSpace>::State::defect(
    std::function<void(Op, Block const&)> const& half) {
  constexpr std::int64_t probes = 8, steps = 3;
  constexpr double from_above = 5, roundings = 4, unit = 0x1p-53;
  using Kernels = detail::BlockVectors<ExecutionSpace>;
  using Scalars = typename Kernels::Scalars;
  Kernels kernels(exec, n, probes, 1);
  auto const Z = kernels.allocate("strata::dense::cholesky::probes", probes),
             V = kernels.allocate("strata::dense::cholesky::probes", probes),
             Y = kernels.allocate("strata::dense::cholesky::probes", probes);
  double const size = static_cast<double>(n);
  detail::random_signs(exec, 1, 1 / std::sqrt(size), Z);
  Scalars const ones(probes, 1.0);
  double largest = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    Kokkos::deep_copy(exec, V, Z);
    half(Op::Trans, V);
    apply_scaled(V, Y);
    half(Op::NoTrans, Y);
    subtract(exec, Z, Y);
    auto const norms = kernels.norms(ones, Y);
    Scalars next(probes, 0.0);
    for (std::size_t c = 0; c < next.size(); ++c) {
      double const norm = std::sqrt(norms[c].sum[0]);
      if (!(norm <= largest)) largest = norm;  // NaN as well
      if (norm > 0) next[c] = 1 / norm;
    }
    kernels.scale(next, Y, Z);
  }
  return std::isfinite(largest) ? from_above * largest + roundings * unit * std::sqrt(size)
                                : std::numeric_limits<double>::infinity();
}

template <class ExecutionSpace>
double CholeskyFactor<ExecutionSpace>::State::whitening_error() {
  if (n == 0) return 0;
  if (whitening < 0)
    whitening = defect([this](Op op, Block const& V) { half_solve(op, matrix_ref(V)); });
  return whitening;
}

template <class ExecutionSpace>
double CholeskyFactor<ExecutionSpace>::State::error_of_inverse() {
  double const w = whitening_error();
  return w < 1 ? w / (1 - w) : std::numeric_limits<double>::infinity();
}

template <class ExecutionSpace>
double CholeskyFactor<ExecutionSpace>::whitening_error(ExecutionSpace const& exec) {
  State& s = *state_;
  s.use(exec);
  s.need_precise_factor("whitening_error");
  Region const region(s.exec, "strata::dense::cholesky::whitening_error");
  return s.whitening_error();
}

template <class ExecutionSpace>
Info CholeskyFactor<ExecutionSpace>::promote(ExecutionSpace const& exec) {
  State& s = *state_;
  s.use(exec);
  s.need_factor("promote");
  if (s.is_precise()) return s.info;
  STRATA_REQUIRE(ValueError, !s.at_the_top(), "promote: the factor is in ", s.report.layers.name(),
                 ", and the ladder, which leads to fp64, is off");
  (void)s.climb(Climb::ToTheTop);
  return s.info;
}

#define STRATA_INSTANTIATE(Exec)                                                                 \
  template void CholeskyFactor<Exec>::State::need_precise_factor(char const*);                   \
  template void CholeskyFactor<Exec>::State::require_apart_from_A(                               \
      char const*, StridedMatrix<double> const&) const;                                          \
  template void CholeskyFactor<Exec>::State::require_finite(char const*, char const*,            \
                                                            StridedMatrix<double const> const&); \
  template void CholeskyFactor<Exec>::State::sample(StridedMatrix<double const> const&,          \
                                                    StridedMatrix<double> const&);               \
  template void CholeskyFactor<Exec>::State::half_solve_strided(                                 \
      Op, StridedMatrix<double const> const&, StridedMatrix<double> const&);                     \
  template Kokkos::View<double const*, Exec::memory_space>                                       \
  CholeskyFactor<Exec>::State::scaling_unless_one() const;                                       \
  template CholeskyFactor<Exec>::State::Block CholeskyFactor<Exec>::State::scaled_copy(          \
      StridedMatrix<double const> const&, char const*);                                          \
  template double CholeskyFactor<Exec>::State::error_of_inverse();                               \
  template double CholeskyFactor<Exec>::State::defect(                                           \
      std::function<void(Op, Block const&)> const&);                                             \
  template void CholeskyFactor<Exec>::apply_half(Exec const&, CholeskyFactor<Exec>::Half,        \
                                                 StridedMatrix<double const> const&,             \
                                                 StridedMatrix<double> const&);                  \
  template double CholeskyFactor<Exec>::whitening_error(Exec const&);                            \
  template Info CholeskyFactor<Exec>::promote(Exec const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
