// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/problems/Strata_Random.hpp>
#include <dense/indefinite/Strata_SymmetricFactor.hpp>
#include <dense/indefinite/detail/Strata_SymmetricState.hpp>
#include <dense/refine/detail/Strata_NormEstimate.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

namespace strata::dense {

namespace {

constexpr std::int64_t probes = 8;

// Z: numbers of the normal distribution (Box and Muller), the same on every backend but for
// rounding. Enqueued.
template <class ExecutionSpace, class Block>
void draw_normal(ExecutionSpace const& exec, Block const& Z) {
  constexpr std::uint64_t seed = 1983;
  for_each_element(
      "strata::dense::symmetric_factor::draw", exec, static_cast<std::int64_t>(Z.extent(0)),
      static_cast<std::int64_t>(Z.extent(1)), KOKKOS_LAMBDA(std::int64_t i, std::int64_t c) {
        auto const row = static_cast<std::uint64_t>(i), col = static_cast<std::uint64_t>(2 * c);
        double const u = uniform(seed, row, col), v = uniform(seed, row, col + 1);
        Z(i, c) = Kokkos::sqrt(-2 * Kokkos::log(u)) * Kokkos::cos(2 * Kokkos::numbers::pi * v);
      });
}

// sums(c, 0) = |z_c - y_c|^2, sums(c, 1) = z_c' (z_c - y_c), a team for each column
template <class ExecutionSpace, class Block, class Sums>
void compare_columns(ExecutionSpace const& exec, Block const& Z, Block const& Y, Sums const& sums) {
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  auto const n = static_cast<std::int64_t>(Z.extent(0));
  Kokkos::parallel_for(
      "strata::dense::symmetric_factor::compare",
      Policy(exec, static_cast<int>(Z.extent(1)), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        int const c = team.league_rank();
        double square = 0, product = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamThreadRange(team, n),
            [&](std::int64_t i, double& sum) {
              double const f = Z(i, c) - Y(i, c);
              sum += f * f;
            },
            square);
        Kokkos::parallel_reduce(
            Kokkos::TeamThreadRange(team, n),
            [&](std::int64_t i, double& sum) { sum += Z(i, c) * (Z(i, c) - Y(i, c)); }, product);
        Kokkos::single(Kokkos::PerTeam(team), [&] {
          sums(c, 0) = square;
          sums(c, 1) = product;
        });
      });
}

// diagonals(i, 0) = d_i, diagonals(i, 1) = the entry below it
template <class ExecutionSpace, class Diagonals>
void copy_diagonals(ExecutionSpace const& exec,
                    ConstMatrixRef<typename ExecutionSpace::memory_space> const& M,
                    Diagonals const& diagonals) {
  auto const n = M.rows, ld = M.ld;
  bool const wide = M.precision == Precision::fp64;
  double const* const in_fp64 = wide ? M.template as<double>() : nullptr;
  float const* const in_fp32 = wide ? nullptr : M.template as<float>();
  Kokkos::parallel_for(
      "strata::dense::symmetric_factor::diagonals",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(exec, 0, n),
      KOKKOS_LAMBDA(std::int64_t i) {
        std::int64_t const at = i * (ld + 1), below = i + 1 < n ? at + 1 : at;
        diagonals(i, 0) = wide ? in_fp64[at] : in_fp32[at];
        diagonals(i, 1) = wide ? in_fp64[below] : in_fp32[below];
      });
}

// Signs of the pivots, and the sum of the logarithms of their magnitudes.
struct Signs {
  std::int64_t positive = 0, negative = 0;
  long double log = 0, magnitudes = 0;

  void add(long double pivot) {
    ++(pivot > 0 ? positive : negative);
    long double const l = std::log(std::abs(pivot));
    log += l;
    magnitudes += std::abs(l);
  }
};

// The two eigenvalues of [a b; b c] have different signs where Bunch and Kaufman take such a pivot.
template <class Diagonal>
Signs signs_of(Diagonal const& D) {
  Signs result;
  for (std::size_t k = 0; k < D.d.size(); ++k) {
    if (D.order.empty() || D.order[k] > 0) {
      result.add(D.d[k]);
      continue;
    }
    long double const a = D.d[k], b = D.e[k], c = D.d[k + 1];
    long double const trace = a + c, determinant = (a / b * c - b) * b;
    long double const root = std::sqrt((a - c) * (a - c) / 4 + b * b);
    long double const one = trace / 2 + (trace < 0 ? -root : root);
    result.add(one);
    result.add(determinant / one);
    ++k;
  }
  result.positive -= D.added;
  return result;
}

}  // namespace

template <class ExecutionSpace>
auto SymmetricFactor<ExecutionSpace>::State::difference() -> Difference {
  if (known) return *known;
  Difference found;
  if (n > 0) {
    Block const Z = block(probes, "strata::dense::symmetric_factor::Z"),
                Y = block(probes, "strata::dense::symmetric_factor::Y");
    draw_normal(exec, Z);
    apply_scaled(Z, Y);
    precondition(Y);
    auto const sums = strata::allocate<Kokkos::View<double* [2], memory_space>>(
        exec, "strata::dense::symmetric_factor::sums", probes);
    compare_columns(exec, Z, Y, sums);
    auto const host = detail::on_host(exec, sums);
    double squares = 0;
    for (std::int64_t c = 0; c < probes; ++c) {
      double const size = std::sqrt(host(c, 0));
      found.largest = size <= found.largest ? found.largest : size;  // NaN stays
      if (!std::isfinite(size)) found.largest = std::numeric_limits<double>::infinity();
      found.frobenius2 += host(c, 0) / probes;
      found.trace += host(c, 1) / probes;
      squares += host(c, 1) * host(c, 1) / probes;
    }
    found.trace_error =
        std::sqrt(std::max(0.0, squares - found.trace * found.trace) / (probes - 1));
  }
  known = found;
  return found;
}

template <class ExecutionSpace>
auto SymmetricFactor<ExecutionSpace>::State::decisive_difference(bool in_fp64) -> Difference {
  while (factored) {
    bool const will_do = !in_fp64 || report.rung != SymmetricRung::Layers;
    if (at_the_top() || (will_do && difference().bound() < 1)) break;
    if (!(will_do ? climb(Climb::Higher) : climb())) break;  // fp64 is wanted: the other one held
  }
  return factored ? difference() : Difference{.largest = std::numeric_limits<double>::infinity()};
}

template <class ExecutionSpace>
auto SymmetricFactor<ExecutionSpace>::State::diagonal() const -> Diagonal {
  Diagonal result;
  auto const both = strata::allocate<Kokkos::View<double* [2], memory_space>>(
      exec, "strata::dense::symmetric_factor::diagonals", M.rows);
  copy_diagonals(exec, ConstMatrixRef<memory_space>(M), both);
  auto const host = detail::on_host(exec, both);
  auto const orders = detail::on_host(exec, pivots);
  for (std::size_t i = 0; i < host.extent(0); ++i) {
    result.d.push_back(host(i, 0));
    result.e.push_back(host(i, 1));
    if (report.rung == SymmetricRung::Pivoted) result.order.push_back(orders(i));
  }
  result.added = M.rows - n;
  return result;
}

template <class ExecutionSpace>
void SymmetricFactor<ExecutionSpace>::State::apply_to_host(
    std::vector<double>& V, std::function<void(Block const&)> const& f) {
  Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const host(
      V.data(), static_cast<std::size_t>(n), V.size() / static_cast<std::size_t>(n));
  Block const device =
      block(static_cast<std::int64_t>(host.extent(1)), "strata::dense::symmetric_factor::V");
  Kokkos::deep_copy(exec, device, host);
  f(device);
  Kokkos::deep_copy(exec, host, device);
  exec.fence("strata::dense::symmetric_factor: V is ready");
}

// ||M^-1||_1
template <class ExecutionSpace>
double SymmetricFactor<ExecutionSpace>::State::inverse_norm() {
  auto const solve = [this](Block const& V) { precondition(V); };
  return detail::estimate_norm(n, [&](std::vector<double>& V) { apply_to_host(V, solve); }).value;
}

template <class ExecutionSpace>
Inertia SymmetricFactor<ExecutionSpace>::inertia(ExecutionSpace const& exec) {
  Region const region(exec, "strata::dense::symmetric_factor::inertia");
  State& s = *state_;
  s.use(exec);
  s.need_factor("inertia");
  Inertia result;
  result.distance = s.decisive_difference(false).bound();
  result.decided = result.distance < 1;
  if (!result.decided) return result;
  auto const signs = signs_of(s.diagonal());
  result.positive = signs.positive;
  result.negative = signs.negative;
  return result;
}

// log |det H| = log |det M| + log det(I - F), of which the trace of F is the first term. The rest
// is below ||F||_F^2 where ||F||_F < 1/2. Sums in long double round next to nothing.
template <class ExecutionSpace>
SignedLogDeterminant SymmetricFactor<ExecutionSpace>::log_determinant(ExecutionSpace const& exec) {
  Region const region(exec, "strata::dense::symmetric_factor::log_determinant");
  State& s = *state_;
  s.use(exec);
  s.need_factor("log_determinant");
  SignedLogDeterminant result;
  auto const F = s.decisive_difference(true);
  if (!(F.bound() < 1)) return result;
  auto const signs = signs_of(s.diagonal());
  long double const of_scaling = 2 * std::numbers::ln2_v<long double> * s.scaled.sum_of_exponents;
  bool const mixed = s.report.rung != SymmetricRung::Pivoted && s.n > 0;
  long double const of_butterfly = mixed ? 2 * s.butterfly->log_determinant(s.exec) : 0;
  result.sign = signs.negative % 2 == 0 ? 1 : -1;
  result.value = static_cast<double>(signs.log - of_scaling - of_butterfly);
  double const terms = static_cast<double>(signs.magnitudes + std::abs(of_scaling)) +
                       4.0 * static_cast<double>(s.M.rows);
  result.error = std::abs(F.trace) + 6 * F.trace_error + 4 * F.frobenius2 + 0x1p-52 * terms;
  return result;
}

template <class ExecutionSpace>
ConditionEstimate SymmetricFactor<ExecutionSpace>::condition(ExecutionSpace const& exec) {
  Region const region(exec, "strata::dense::symmetric_factor::condition");
  State& s = *state_;
  s.use(exec);
  s.need_factor("condition");
  Kokkos::Timer const timer;
  ConditionEstimate result;
  // Without pivoting M may be far from H; then its inverse tells nothing of H's.
  result.refined = s.report.rung == SymmetricRung::Layers ||
                   (s.report.rung == SymmetricRung::Fp64 && !(s.difference().bound() < 1));
  using Block = typename State::Block;
  auto const solve = [&](Block const& V) {
    if (!result.refined) return s.precondition(V);
    Block const Y = s.block(static_cast<std::int64_t>(V.extent(1)),
                            "strata::dense::symmetric_factor::solution");
    RefinementOptions options;
    options.refine = Refine::Gmres;
    result.converged &= refine<ExecutionSpace>(s.exec, s, V, Y, options).converged;
    Kokkos::deep_copy(s.exec, V, Y);
  };
  if (s.n > 0) {
    auto const found =
        detail::estimate_norm(s.n, [&](std::vector<double>& V) { s.apply_to_host(V, solve); });
    result.value = s.scaled.scaled_norm * found.value;
    result.solves = found.applications;
  }
  result.seconds = timer.seconds();
  return s.report.condition = result;
}

#define STRATA_INSTANTIATE(Exec)                                                                \
  template SymmetricFactor<Exec>::State::Difference SymmetricFactor<Exec>::State::difference(); \
  template double SymmetricFactor<Exec>::State::inverse_norm();                                 \
  template Inertia SymmetricFactor<Exec>::inertia(Exec const&);                                 \
  template SignedLogDeterminant SymmetricFactor<Exec>::log_determinant(Exec const&);            \
  template ConditionEstimate SymmetricFactor<Exec>::condition(Exec const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
