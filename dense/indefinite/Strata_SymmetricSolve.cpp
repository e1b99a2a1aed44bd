// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <dense/indefinite/Strata_SymmetricFactor.hpp>
#include <dense/indefinite/detail/Strata_LayeredLdlt.hpp>
#include <dense/indefinite/detail/Strata_SymmetricState.hpp>
#include <dense/refine/detail/Strata_Equilibrate.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace strata::dense {

namespace {

// max |b_i d_i| of each column, a team for each. Enqueued.
template <class ExecutionSpace, class Scaling, class Sizes>
void measure_columns(ExecutionSpace const& exec, Scaling const& d,
                     StridedMatrix<double const> const& B, Sizes const& sizes) {
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  if (B.cols == 0) return;
  Kokkos::parallel_for(
      "strata::dense::symmetric_factor::sizes",
      Policy(exec, static_cast<int>(B.cols), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        std::int64_t const j = team.league_rank();
        double size = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamThreadRange(team, B.rows),
            [&](std::int64_t i, double& most) {
              most = Kokkos::max(most, Kokkos::abs(B(i, j)) * d(i));
            },
            Kokkos::Max<double>(size));
        Kokkos::single(Kokkos::PerTeam(team), [&] { sizes(j) = size; });
      });
}

// max |x_i / d_i| over what is in `sizes`, of the worst column. Fences.
template <class ExecutionSpace, class Scaling, class Sizes>
double ratio_of_sizes(ExecutionSpace const& exec, Scaling const& d, Sizes const& sizes,
                      StridedMatrix<double> const& X) {
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  double ratio = 0;
  if (X.cols == 0) return ratio;
  Kokkos::parallel_reduce(
      "strata::dense::symmetric_factor::ratio",
      Policy(exec, static_cast<int>(X.cols), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team, double& worst) {
        std::int64_t const j = team.league_rank();
        double size = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamThreadRange(team, X.rows),
            [&](std::int64_t i, double& most) {
              most = Kokkos::max(most, Kokkos::abs(X(i, j)) / d(i));
            },
            Kokkos::Max<double>(size));
        if (sizes(j) > 0) worst = Kokkos::max(worst, size / sizes(j));
      },
      Kokkos::Max<double>(ratio));
  return ratio;
}

}  // namespace

template <class ExecutionSpace>
auto SymmetricFactor<ExecutionSpace>::State::block(std::int64_t cols, char const* label) const
    -> Block {
  return strata::allocate<Block>(exec, label, n, cols);
}

template <class ExecutionSpace>
void SymmetricFactor<ExecutionSpace>::State::use(ExecutionSpace const& other) {
  if (other == exec) return;
  exec.fence("strata::dense::symmetric_factor: change of instance");
  blas = LeafBlas<ExecutionSpace>(other);
  exec = other;
}

template <class ExecutionSpace>
void SymmetricFactor<ExecutionSpace>::State::apply_scaled(Block const& X, Block const& Y) {
  auto const cols = static_cast<std::int64_t>(X.extent(1));
  if (static_cast<std::int64_t>(image.extent(1)) < cols) {
    image = {};
    image = block(cols, "strata::dense::symmetric_factor::image");
  }
  Block const V =
      Kokkos::subview(image, Kokkos::ALL, std::pair<std::int64_t, std::int64_t>(0, cols));
  detail::scale_rows(exec, scaled.d, X, V, n, cols);
  blas.symm(uplo, 1, A, matrix_ref(V), 0, matrix_ref(Y));
  detail::scale_rows(exec, scaled.d, Y, Y, n, cols);
}

// U (L D L^T)^-1 U^T R in the factor's type, or with pivots.
template <class ExecutionSpace>
void SymmetricFactor<ExecutionSpace>::State::precondition(Block const& R) {
  if (report.rung == SymmetricRung::Pivoted)
    return detail::pivoted_solve(exec, ConstMatrixRef<memory_space>(M), pivots, matrix_ref(R));
  auto const cols = static_cast<std::int64_t>(R.extent(1));
  if (static_cast<std::int64_t>(work.extent(1)) < cols) {
    work = {};
    work = strata::allocate<Block>(exec, "strata::dense::symmetric_factor::work", M.rows, cols);
  }
  Matrix const W{work.data(), M.rows, cols, M.rows, M.precision};
  butterfly->apply_transposed(exec, R, W);
  detail::ldlt_solve(blas, ConstMatrixRef<memory_space>(M), W);
  butterfly->apply(exec, W, R);
}

template <class ExecutionSpace>
RefinementOperators<ExecutionSpace> SymmetricFactor<ExecutionSpace>::State::operators(
    ExecutionSpace const&) {
  need_factor("solve");
  RefinementOperators<ExecutionSpace> operators;
  operators.apply = [this](Block const& X, Block const& Y) { apply_scaled(X, Y); };
  operators.precondition = [this](Block const& R) { precondition(R); };
  operators.norm_inf = scaled.scaled_norm;
  operators.scaling = scaled.d;
  operators.given_norm_inf = scaled.norm;
  operators.apply_given = [this](Block const& X, Block const& Y) {
    blas.symm(uplo, 1, A, matrix_ref(X), 0, matrix_ref(Y));
  };
  return operators;
}

template <class ExecutionSpace>
double SymmetricFactor<ExecutionSpace>::State::growth_of(Sizes const& of_b,
                                                         StridedMatrix<double> const& X) const {
  return scaled.scaled_norm * ratio_of_sizes(exec, scaled.d, of_b, X);
}

// ||I - M^-1 H|| of the pivoted rung is about u times the condition.
template <class ExecutionSpace>
bool SymmetricFactor<ExecutionSpace>::State::has_digits() {
  constexpr double most = 0.1;
  if (difference().largest < most) return true;
  if (report.rung != SymmetricRung::Pivoted) {
    if (at_the_top()) return true;  // there was no memory for a rung that decides
    if (!climb(Climb::ToTheTop) || difference().largest < most) return factored;
  }
  refuse(strata::detail::message("A is singular to working precision: its condition is about ",
                                 scaled.scaled_norm * inverse_norm(),
                                 ", and the pivoted factor's M has ||I - M^-1 A|| of ",
                                 known->largest));
  return false;
}

template <class ExecutionSpace>
SolveReport SymmetricFactor<ExecutionSpace>::solve_strided(ExecutionSpace const& exec,
                                                           StridedMatrix<double const> const& B,
                                                           StridedMatrix<double> const& X,
                                                           RefinementOptions const& options) {
  Region const region(exec, "strata::dense::symmetric_factor::solve");
  constexpr double suspicious = 1e9;
  State& s = *state_;
  s.use(exec);
  s.need_factor("solve");
  STRATA_REQUIRE(ValueError, options.refine != Refine::Cg,
                 "solve: CG needs a positive definite matrix, which a symmetric one need not be");
  StridedMatrix<double const> const A{s.view.data(), s.n, s.n,
                                      static_cast<std::int64_t>(s.view.stride(0)),
                                      static_cast<std::int64_t>(s.view.stride(1))};
  STRATA_REQUIRE(ValueError, !share_memory(A, X), "solve: X overlaps A, which the factor reads");
  RefinementOptions chosen = options;
  if (chosen.refine == Refine::Automatic) chosen.refine = Refine::Gmres;
  auto const of_b = strata::allocate<typename State::Sizes>(
      s.exec, "strata::dense::symmetric_factor::sizes", B.cols);
  measure_columns(s.exec, s.scaled.d, B, of_b);  // X may be B
  SolveReport report = dense::solve(s.exec, s, B, X, chosen);
  if (!s.factored || chosen.refine == Refine::None) return report;
  double const growth = s.growth_of(of_b, X);
  s.largest_growth = std::max(s.largest_growth, growth);
  if ((!report.converged || !(growth < suspicious)) && !s.has_digits())
    report.converged = report.refinement.converged = false;
  return report;
}

template <class ExecutionSpace>
bool SymmetricFactor<ExecutionSpace>::needs_condition(SolveReport const& solve) const {
  constexpr double margin = 100, error_of_three_digits = 1e-3;
  State const& s = *state_;
  if (s.n == 0 || !s.factored) return false;
  double const condition = margin * std::max({s.largest_growth, s.report.condition.value,
                                              s.known ? s.known->largest * 0x1p53 : 0.0});
  return !(solve.refinement.relative_residual * condition < error_of_three_digits);
}

#define STRATA_INSTANTIATE(Exec)                                                           \
  template SolveReport SymmetricFactor<Exec>::solve_strided(                               \
      Exec const&, StridedMatrix<double const> const&, StridedMatrix<double> const&,       \
      RefinementOptions const&);                                                           \
  template bool SymmetricFactor<Exec>::needs_condition(SolveReport const&) const;          \
  template void SymmetricFactor<Exec>::State::use(Exec const&);                            \
  template RefinementOperators<Exec> SymmetricFactor<Exec>::State::operators(Exec const&); \
  template SymmetricFactor<Exec>::State::Block SymmetricFactor<Exec>::State::block(        \
      std::int64_t, char const*) const;                                                    \
  template void SymmetricFactor<Exec>::State::apply_scaled(State::Block const&,            \
                                                           State::Block const&);           \
  template void SymmetricFactor<Exec>::State::precondition(State::Block const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
