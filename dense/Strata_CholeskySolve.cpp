// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/Strata_TreeCholesky.hpp>
#include <dense/detail/Strata_CholeskyState.hpp>
#include <dense/detail/Strata_FactorKernels.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace strata::dense {

template <class ExecutionSpace>
auto CholeskyFactor<ExecutionSpace>::State::block(std::int64_t cols, char const* label) const
    -> Block {
  return strata::allocate<Block>(exec, label, n, cols);
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::apply_scaled(Block const& X, Block const& Y) {
  auto const cols = static_cast<std::int64_t>(X.extent(1));
  if (analysis.d.extent(0) == 0) return blas->symm(uplo, 1, A, matrix_ref(X), 0, matrix_ref(Y));
  if (static_cast<std::int64_t>(scaled.extent(1)) < cols) {
    scaled = {};
    scaled = block(cols, "strata::dense::cholesky::scaled");
  }
  Block const V =
      Kokkos::subview(scaled, Kokkos::ALL, std::pair<std::int64_t, std::int64_t>(0, cols));
  detail::scale_rows(exec, analysis.d, X, V, n, cols);
  blas->symm(uplo, 1, A, matrix_ref(V), 0, matrix_ref(Y));
  detail::scale_rows(exec, analysis.d, Y, Y, n, cols);
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::half_solve(Op op, Block const& V) {
  tree_trsm(*blas, Side::Left, op, Diag::NonUnit, 1, *tree, matrix_ref(V), Products::AsStored);
}

// Below the last rung a slow refinement costs more than the next rung: it is cut short.
template <class ExecutionSpace>
RefinementReport CholeskyFactor<ExecutionSpace>::State::refined(Block const& B, Block const& Y,
                                                                RefinementOptions const& asked) {
  RefinementOperators<ExecutionSpace> operators;
  operators.apply = [this](Block const& X, Block const& Z) { apply_scaled(X, Z); };
  if (!low_solve) low_solve = std::make_unique<detail::LowSolve<ExecutionSpace>>(exec, *tree);
  operators.precondition = [this](Block const& R) { (*low_solve)(matrix_ref(R)); };
  operators.norm_inf = analysis.scaled_norm;
  operators.scaling = analysis.d;
  operators.given_norm_inf = analysis.norm;
  RefinementOptions limited = asked;
  if (!at_the_top() && limited.max_iterations == 0) limited.max_iterations = detail::patience(n);
  return refine(exec, operators, B, Y, limited);
}

namespace {

SolveReport report_of(RefinementReport&& refinement) {
  SolveReport report;
  report.converged = refinement.converged;
  report.backward_error = refinement.backward_error;
  report.hpl_scaled_residual = refinement.hpl_scaled_residual;
  report.slate_error = refinement.slate_error;
  report.refinement = std::move(refinement);
  return report;
}

// Columns whose solution is beyond the range of fp64, or D B, are 0, whose backward error is 1.
void note_lost_columns(std::int64_t lost, std::int64_t n, SolveReport& report) {
  if (lost == 0) return;
  report.converged = report.refinement.converged = false;
  report.refinement.unconverged_columns = std::max(report.refinement.unconverged_columns, lost);
  report.backward_error = report.refinement.backward_error = 1;
  report.refinement.equilibrated_error = 1;
  report.hpl_scaled_residual = report.refinement.hpl_scaled_residual =
      1 / (static_cast<double>(n) * 0x1p-52);
}

}  // namespace

// H Y = D B, X = D Y. Nothing of B is read after its first copy, so that X may lie on it.
template <class ExecutionSpace>
SolveReport CholeskyFactor<ExecutionSpace>::State::solve(
    detail::StridedMatrix<double const> const& B, detail::StridedMatrix<double> const& X,
    RefinementOptions const& asked) {
  Block const right = block(B.cols, "strata::dense::solve::B"),
              solution = block(B.cols, "strata::dense::solve::X");
  detail::scale_rows(exec, analysis.d, B, right, n, B.cols);
  std::int64_t const lost = detail::drop_lost_columns(exec, B, right);
  SolveReport best;
  std::int64_t iterations = 0;
  int solves = 0;
  double seconds = 0;
  // Keeps the solution if it is the best one; returns whether A was seen to be indefinite.
  auto const solve_on_this_rung = [&] {
    Kokkos::Timer const timer;
    SolveReport now = report_of(refined(right, solution, asked));
    bool const indefinite = now.refinement.indefinite;
    note_lost_columns(lost + detail::drop_overflow(exec, analysis.d, solution), n, now);
    iterations += now.refinement.iterations;
    if (solves++ == 0 || now.converged || now.backward_error < best.backward_error) {
      detail::scale_rows(exec, analysis.d, solution, X, n, B.cols);
      best = std::move(now);
    }
    exec.fence("strata::dense::solve: X is ready");
    seconds += timer.seconds();
    return indefinite;
  };
  int climbs = 0;
  std::string obstacle;
  bool doubtful = solve_on_this_rung();
  while (asked.refine != Refine::None && !at_the_top() && (!best.converged || doubtful)) {
    try {  // where A is indefinite by less than the layers resolve, fp64 finds the minor
      next_step = doubtful ? steps.size() - 1 : detail::next_layers(steps, next_step);
      if (!climb()) {
        best.converged = false;
        break;
      }
      ++climbs;
      doubtful = solve_on_this_rung();
    } catch (MemoryError const& error) {
      end_ladder();
      obstacle = error.what();
    }
  }
  if (!obstacle.empty() && !best.converged && asked.max_iterations == 0) {
    try {  // with the factor that there was, which need not be cut short any more
      need_factor("solve");
      (void)solve_on_this_rung();
    } catch (MemoryError const&) {  // the obstacle is told already
    }
  }
  best.climbs = climbs;
  best.obstacle = std::move(obstacle);
  best.iterations = iterations;
  best.seconds = seconds;
  return best;
}

template <class ExecutionSpace>
SolveReport CholeskyFactor<ExecutionSpace>::solve_strided(
    ExecutionSpace const& exec, detail::StridedMatrix<double const> const& B,
    detail::StridedMatrix<double> const& X, RefinementOptions const& options) {
  State& s = *state_;
  STRATA_REQUIRE(ShapeError, B.rows == s.n && X.rows == s.n && B.cols == X.cols, "solve: B is ",
                 B.rows, " x ", B.cols, ", X ", X.rows, " x ", X.cols, ", A of order ", s.n);
  Region const region(exec, "strata::dense::solve");
  s.use(exec);
  s.need_factor("solve");
  if (s.n > 0 && B.cols > 0) return s.solve(B, X, options);
  SolveReport nothing;
  nothing.converged = true;
  return nothing;
}

template <class ExecutionSpace>
double CholeskyFactor<ExecutionSpace>::State::log_determinant_of_factor() const {
  double total = 0;
  for (auto const& node : tree->nodes()) {
    if (!node.is_leaf()) continue;
    auto const leaf = node.stored;
    with_type(leaf.precision, [&]<class T>(std::type_identity<T>) {
      total += detail::log_diagonal<T>(exec, leaf);
    });
  }
  return 2 * total;
}

template <class ExecutionSpace>
LogDeterminantEstimate CholeskyFactor<ExecutionSpace>::log_determinant(
    ExecutionSpace const& exec, LogDeterminantOptions const& options) {
  State& s = *state_;
  s.use(exec);
  s.need_factor("log_determinant");
  double log_scaling = 0;  // log det A = log det H - 2 sum log d_i
  if (s.analysis.d.extent(0) > 0) log_scaling = detail::sum_of_logs(exec, s.analysis.d);
  double const of_factor = s.n == 0 ? 0 : s.log_determinant_of_factor();
  using Block = typename State::Block;
  LogDeterminantOperators<ExecutionSpace> operators;
  operators.apply = [&s](Block const& X, Block const& Y) { s.apply_scaled(X, Y); };
  operators.forward = [&s](Block const& V) { s.half_solve(Op::NoTrans, V); };
  operators.backward = [&s](Block const& V) { s.half_solve(Op::Trans, V); };
  operators.diagonal = s.report.equilibrated ? 1 : s.analysis.scaled_norm;
  LogDeterminantEstimate estimate{.value = of_factor};
  if (!s.report.layers.is_fp64() || s.report.shift != 0)
    estimate = dense::log_determinant(exec, s.n, of_factor, operators, options);
  // ||A^-1|| <= ||M^-1|| / the least eigenvalue of L^-1 A L^-T
  estimate.rounding_error =
      log_determinant_rounding(exec, s.n, of_factor, operators, options) / estimate.lowest;
  // The logarithm of a power of two and the difference are rounded, too.
  estimate.rounding_error += 0x1p-52 * std::abs(2 * log_scaling);
  estimate.value -= 2 * log_scaling;
  estimate.rounding_error += 0x1p-53 * std::abs(estimate.value);
  return estimate;
}

#define STRATA_INSTANTIATE(Exec)                                                             \
  template SolveReport CholeskyFactor<Exec>::solve_strided(                                  \
      Exec const&, detail::StridedMatrix<double const> const&,                               \
      detail::StridedMatrix<double> const&, RefinementOptions const&);                       \
  template LogDeterminantEstimate CholeskyFactor<Exec>::log_determinant(                     \
      Exec const&, LogDeterminantOptions const&);                                            \
  template CholeskyFactor<Exec>::State::Block CholeskyFactor<Exec>::State::block(            \
      std::int64_t, char const*) const;                                                      \
  template void CholeskyFactor<Exec>::State::half_solve(Op, Block const&);                   \
  template RefinementReport CholeskyFactor<Exec>::State::refined(Block const&, Block const&, \
                                                                 RefinementOptions const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
