// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/detail/Strata_CholeskyState.hpp>
#include <dense/refine/detail/Strata_NormEstimate.hpp>

#include <algorithm>
#include <functional>
#include <vector>

namespace strata::dense {

template <class ExecutionSpace>
void CholeskyFactor<ExecutionSpace>::State::apply_to_host(
    std::vector<double>& V, std::function<void(Block const&)> const& work) {
  Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const host(
      V.data(), static_cast<std::size_t>(n), V.size() / static_cast<std::size_t>(n));
  Block const device =
      block(static_cast<std::int64_t>(host.extent(1)), "strata::dense::condition::V");
  Kokkos::deep_copy(exec, device, host);
  work(device);
  Kokkos::deep_copy(exec, host, device);
  exec.fence("strata::dense::condition: V is ready");
}

// The factor belongs to M = H + E with ||E|| of some units of roundoff and the shift. ||M^-1|| is
// near ||H^-1|| while ||E|| ||H^-1|| is below one.
template <class ExecutionSpace>
ConditionEstimate CholeskyFactor<ExecutionSpace>::State::condition(
    std::function<void(double)> const& on_progress) {
  constexpr double units = 4;
  ConditionEstimate result;
  auto const solve_with_factor = [this](Block const& V) {
    half_solve(Op::NoTrans, matrix_ref(V));
    half_solve(Op::Trans, matrix_ref(V));
  };
  auto found = detail::estimate_norm(
      n, [&](std::vector<double>& V) { apply_to_host(V, solve_with_factor); }, on_progress);
  result.value = analysis.scaled_norm * found.value;
  result.solves = found.applications;
  double const distance = units * report.layers.unit_roundoff() + report.shift;
  if ((report.layers.is_fp64() && report.shift == 0) || result.value * distance <= 0.5)
    return result;
  result.refined = true;
  auto const solve = [&](Block const& V) {
    Block const Y =
        block(static_cast<std::int64_t>(V.extent(1)), "strata::dense::condition::solution");
    result.converged &= refine(exec, *this, V, Y, {}).converged;
    Kokkos::deep_copy(exec, V, Y);
  };
  found = detail::estimate_norm(
      n, [&](std::vector<double>& V) { apply_to_host(V, solve); }, on_progress);
  double const refined_value = analysis.scaled_norm * found.value;
  result.value = result.converged ? refined_value : std::max(result.value, refined_value);
  result.solves += found.applications;
  return result;
}

// (H^-1)_jj >= 1 / l_jj^2
template <class ExecutionSpace>
double CholeskyFactor<ExecutionSpace>::State::condition_by_pivots() {
  if (by_pivots == 0) {
    double const least = pivots(*tree, n).first;
    by_pivots = analysis.scaled_norm / least;
  }
  return by_pivots;
}

// The condition is mostly 1 to 100 times what the pivots tell, or in low layers, whose pivots are
// those of rounding, how large solutions are. CG with a factor that is far from A takes about half
// the root of cond(M^-1 A) for each factor e of the error, of which fp64 needs 37.
template <class ExecutionSpace>
bool CholeskyFactor<ExecutionSpace>::needs_condition(ExecutionSpace const& exec,
                                                     SolveReport const& solve) {
  constexpr double margin = 100, error_of_three_digits = 1e-3;
  State& s = *state_;
  if (s.n == 0) return false;
  s.use(exec);
  s.need_factor("needs_condition");
  auto const& refinement = solve.refinement;
  bool const by_krylov = refinement.method == Refine::Cg || refinement.method == Refine::Gmres;
  double const rate = 2 * static_cast<double>(refinement.iterations) / 37,
               distance = by_krylov ? std::max(1.0, rate * rate) : 1;
  double const condition =
      s.report.condition.value > 0 && s.report.condition.converged
          ? margin * s.report.condition.value
          : margin * std::max(distance * s.condition_by_pivots(), s.by_solution);
  return !(refinement.relative_residual * condition < error_of_three_digits);
}

template <class ExecutionSpace>
ConditionEstimate CholeskyFactor<ExecutionSpace>::condition(
    ExecutionSpace const& exec, std::function<void(double)> const& on_progress) {
  Region const region(exec, "strata::dense::condition");
  State& s = *state_;
  s.use(exec);
  s.need_factor("condition");
  Kokkos::Timer const timer;
  ConditionEstimate result;
  if (s.n > 0) result = s.condition(on_progress);
  result.seconds = timer.seconds();
  s.report.condition = result;
  return result;
}

#define STRATA_INSTANTIATE(Exec)                                                        \
  template bool CholeskyFactor<Exec>::needs_condition(Exec const&, SolveReport const&); \
  template ConditionEstimate CholeskyFactor<Exec>::condition(Exec const&,               \
                                                             std::function<void(double)> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
