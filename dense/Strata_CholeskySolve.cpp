// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_MatrixRef.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/detail/Strata_CholeskyState.hpp>
#include <dense/detail/Strata_FactorKernels.hpp>
#include <dense/recursion/Strata_TreeTrsm.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace strata::dense {

namespace {

// Fences `exec`.
template <class ExecutionSpace>
double largest_diagonal(ExecutionSpace const& exec,
                        ConstMatrixRef<typename ExecutionSpace::memory_space> const& A) {
  double const* const a = A.template as<double>();
  std::int64_t const stride = A.ld + 1;
  double largest = 0;
  Kokkos::parallel_reduce(
      "strata::dense::log_determinant::diagonal",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(exec, 0, A.rows),
      KOKKOS_LAMBDA(std::int64_t i, double& found) {
        found = a[i * stride] > found ? a[i * stride] : found;
      },
      Kokkos::Max<double>(largest));
  return largest;
}

}  // namespace

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
void CholeskyFactor<ExecutionSpace>::State::half_solve(Op op, MatrixRef<memory_space> const& V) {
  tree_trsm(*blas, Side::Left, op, Diag::NonUnit, 1, *tree, V, Products::AsStored);
}

// The matrix and the factor that `refine` gets.
template <class ExecutionSpace>
RefinementOperators<ExecutionSpace> CholeskyFactor<ExecutionSpace>::State::operators(
    ExecutionSpace const&) {
  need_factor("solve");
  RefinementOperators<ExecutionSpace> operators;
  operators.apply = [this](Block const& X, Block const& Z) { apply_scaled(X, Z); };
  operators.precondition = [this](Block const& R) {
    if (!low_solve) low_solve = std::make_unique<detail::LowSolve<ExecutionSpace>>(*blas, *tree);
    (*low_solve)(matrix_ref(R));
  };
  operators.norm_inf = analysis.scaled_norm;
  operators.largest = analysis.largest_diagonal;
  operators.scaling = analysis.d;
  operators.given_norm_inf = analysis.norm;
  operators.apply_given = [this](Block const& X, Block const& Y) {
    blas->symm(uplo, 1, A, matrix_ref(X), 0, matrix_ref(Y));
  };
  return operators;
}

template <class ExecutionSpace>
SolveReport CholeskyFactor<ExecutionSpace>::solve_strided(ExecutionSpace const& exec,
                                                          StridedMatrix<double const> const& B,
                                                          StridedMatrix<double> const& X,
                                                          RefinementOptions const& options) {
  State& s = *state_;
  s.use(exec, B.cols);
  s.need_factor("solve");
  s.columns = B.cols;
  StridedMatrix<double const> const A{s.view.data(), s.n, s.n,
                                      static_cast<std::int64_t>(s.view.stride(0)),
                                      static_cast<std::int64_t>(s.view.stride(1))};
  STRATA_REQUIRE(ValueError, !share_memory(A, X), "solve: X overlaps A, which the factor reads");
  auto const report = dense::solve(s.exec, s, B, X, options);
  if (runs_on_host<ExecutionSpace> && !share_memory(B, X)) s.note_growth(B, X);
  return report;
}

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::note_growth(StridedMatrix<double const> const& B,
                                                        StridedMatrix<double> const& X) {
  constexpr std::int64_t few = 4;
  bool const is_scaled = analysis.d.extent(0) > 0;
  double const* const d = analysis.d.data();
  for (std::int64_t j = 0; j < std::min(few, B.cols); ++j) {
    double x = 0, b = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      double const di = is_scaled ? d[i] : 1;
      x = std::max(x, std::abs(X.data[i * X.row_stride + j * X.col_stride]) / di);
      b = std::max(b, std::abs(B.data[i * B.row_stride + j * B.col_stride]) * di);
    }
    if (b > 0) by_solution = std::max(by_solution, analysis.scaled_norm * (x / b));
  }
}

// A sum for each leaf, in the tree's order, and one for the scaling, all read at once.
template <class ExecutionSpace>
auto CholeskyFactor<ExecutionSpace>::State::logarithms() const -> Logarithms {
  Logarithms result;
  if (n == 0) return result;
  bool const is_scaled = analysis.d.extent(0) > 0;
  std::vector<ConstMatrixRef<memory_space>> leaves;
  for (auto const& node : tree->nodes())
    if (node.is_leaf()) leaves.push_back(node.stored);
  std::size_t const count = leaves.size() + (is_scaled ? 1 : 0);
  auto const sums = strata::allocate<Kokkos::View<double*, memory_space>>(
      exec, "strata::dense::log_determinant::sums", count);
  detail::log_diagonals<ExecutionSpace>(exec, leaves, sums.data());
  if (is_scaled)
    detail::sum_of_exponents(exec, analysis.d,
                             detail::DeviceNumber<ExecutionSpace>(sums.data() + leaves.size()));
  result.leaves.resize(count);
  Kokkos::deep_copy(
      exec,
      Kokkos::View<double*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
          result.leaves.data(), result.leaves.size()),
      sums);
  exec.fence("strata::dense::log_determinant: read the sums");
  if (is_scaled) {
    result.scaling = 2 * (std::numbers::ln2 * result.leaves.back());
    result.leaves.pop_back();
  }
  return result;
}

template <class ExecutionSpace>
LogDeterminantEstimate CholeskyFactor<ExecutionSpace>::log_determinant(
    ExecutionSpace const& exec, LogDeterminantOptions const& options) {
  State& s = *state_;
  s.use(exec);
  s.need_factor("log_determinant");
  auto const [leaves, of_scaling] = s.logarithms();
  double const of_factor = 2 * std::accumulate(leaves.begin(), leaves.end(), 0.0);
  if (!std::isfinite(of_factor))  // a pivot is 0 in its format
    return {.value = -of_scaling, .rounding_error = std::numeric_limits<double>::infinity()};
  using Block = typename State::Block;
  LogDeterminantOperators<ExecutionSpace> operators;
  operators.apply = [&s](Block const& X, Block const& Y) { s.apply_scaled(X, Y); };
  operators.forward = [&s](Block const& V) { s.half_solve(Op::NoTrans, matrix_ref(V)); };
  operators.backward = [&s](Block const& V) { s.half_solve(Op::Trans, matrix_ref(V)); };
  operators.diagonal = s.report.equilibrated ? 1
                       : s.analysis.d.extent(0) > 0
                           ? s.analysis.scaled_norm  // of A as a whole, which is huge or tiny
                           : largest_diagonal(s.exec, s.A);
  // Measured over matrices of all conditions: errors are 0.6 in the middle, and at most 7 up to n =
  // 320. Beyond, products on and off the diagonal round otherwise, and with n - 1 equal eigenvalues
  // to one side: up to half of root n.
  if (runs_on_host<ExecutionSpace>)
    operators.rounding_units = s.n <= 320 ? 11 : 8 + std::sqrt(static_cast<double>(s.n));
  LogDeterminantEstimate estimate{.value = of_factor};
  if (!s.report.layers.is_as_fp64() || s.report.shift != 0)
    estimate = dense::log_determinant(s.exec, s.n, of_factor, operators, options);
  // ||A^-1|| <= ||M^-1|| / the least eigenvalue of L^-1 A L^-T
  double const rounding = log_determinant_rounding(s.exec, s.n, of_factor, operators, options);
  estimate.rounding_error =
      estimate.lowest > 0 ? rounding / estimate.lowest : std::numeric_limits<double>::infinity();
  // log det A is the difference of the two. The logarithm of a power of two and the difference are
  // rounded, too.
  estimate.rounding_error += 0x1p-52 * std::abs(of_scaling);
  estimate.value -= of_scaling;
  estimate.rounding_error += 0x1p-53 * std::abs(estimate.value);
  return estimate;
}

#define STRATA_INSTANTIATE(Exec)                                                                   \
  template SolveReport CholeskyFactor<Exec>::solve_strided(                                        \
      Exec const&, StridedMatrix<double const> const&, StridedMatrix<double> const&,               \
      RefinementOptions const&);                                                                   \
  template LogDeterminantEstimate CholeskyFactor<Exec>::log_determinant(                           \
      Exec const&, LogDeterminantOptions const&);                                                  \
  template CholeskyFactor<Exec>::State::Logarithms CholeskyFactor<Exec>::State::logarithms()       \
      const;                                                                                       \
  template CholeskyFactor<Exec>::State::Block CholeskyFactor<Exec>::State::block(                  \
      std::int64_t, char const*) const;                                                            \
  template void CholeskyFactor<Exec>::State::half_solve(Op, MatrixRef<Exec::memory_space> const&); \
  template RefinementOperators<Exec> CholeskyFactor<Exec>::State::operators(Exec const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
