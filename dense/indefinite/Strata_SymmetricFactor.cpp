// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/indefinite/Strata_SymmetricFactor.hpp>

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <dense/indefinite/detail/Strata_LayeredLdlt.hpp>
#include <dense/indefinite/detail/Strata_SymmetricState.hpp>
#include <dense/tree/detail/Strata_ColumnMajor.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace strata::dense {

namespace {

// Numbers of a layer are read where they are stored, as the last layer says.
void require_layers_that_act(LayerList const& layers) {
  Precision const stored = detail::ldlt_storage(layers);
  for (std::size_t depth = 0; depth < layers.size(); ++depth) {
    Precision const layer = layers.at_depth(depth);
    STRATA_REQUIRE(ValueError, storage(layer) == stored, "symmetric_factor: ", traits(layer).name,
                   " in layers ", layers.name(), " cannot act: a factor is stored in ",
                   traits(stored).name, ", with ",
                   stored == Precision::fp64 ? "fp64 alone" : "fp32, tf32 and fp16_split");
  }
}

}  // namespace

template <class ExecutionSpace>
SymmetricFactor<ExecutionSpace>::State::State(ExecutionSpace const& space, MatrixView const& matrix,
                                              SymmetricOptions const& options)
    : exec(space), view(matrix), n(static_cast<std::int64_t>(matrix.extent(0))), blas(space) {
  STRATA_REQUIRE(ShapeError, matrix.extent(0) == matrix.extent(1), "symmetric_factor: A is ",
                 matrix.extent(0), " x ", matrix.extent(1), ", must be square");
  auto const stored = detail::column_major<ExecutionSpace>(matrix);
  A = stored.matrix;
  uplo = stored.of(Uplo::Lower);
  lines = {A.template as<double>(), n, A.ld, uplo == Uplo::Lower};
  report.n = n;
  Kokkos::Timer const timer;
  scaled = detail::scale_symmetric(exec, lines);
  report.analyse_seconds = timer.seconds();
  report.norm_inf = scaled.norm;
  report.smallest_scaling = std::ldexp(1, scaled.smallest);
  report.largest_scaling = std::ldexp(1, scaled.largest);
  steps = steps_for(options);
  (void)climb();
}

// Below this order LAPACK's pivoting costs next to nothing.
template <class ExecutionSpace>
auto SymmetricFactor<ExecutionSpace>::State::steps_for(SymmetricOptions const& options) const
    -> std::vector<Step> {
  constexpr std::int64_t little = 256;
  LayerList const fp64{Precision::fp64};
  LayerList const layers = options.layers.value_or(LayerList{Precision::fp32});
  require_layers_that_act(layers);
  std::vector<Step> result;
  bool const at_once = options.pivoted || (!options.layers && n < little);
  if (!at_once && !layers.is_fp64()) result.push_back({SymmetricRung::Layers, layers});
  if (!at_once) result.push_back({SymmetricRung::Fp64, fp64});
  result.push_back({SymmetricRung::Pivoted, fp64});
  return result;
}

template <class ExecutionSpace>
bool SymmetricFactor<ExecutionSpace>::State::climb_on() {
  while (next_step < steps.size()) {
    Step const step = steps[next_step++];
    if (attempt(step)) return true;
  }
  auto const& last = report.attempts.back();
  refuse(strata::detail::message("A is singular: pivot ", last.zero_pivot, " of ", n,
                                 " is 0 in fp64 with pivoting; the condition is infinite"));
  return false;
}

// A factor is made in the room of the one that held, which is made again where memory runs out.
template <class ExecutionSpace>
bool SymmetricFactor<ExecutionSpace>::State::climb() {
  if (!factored) return climb_on();
  Step const held{report.rung, report.layers};
  auto const of_held = known;
  try {
    return climb_on();
  } catch (MemoryError const& error) {
    --next_step;
    report.refusal = error.what();
    SymmetricAttempt again;
    (void)factor_on(held, again);
    report.refusal.clear();
    known = of_held;
    factored = true;
    throw;
  }
}

template <class ExecutionSpace>
bool SymmetricFactor<ExecutionSpace>::State::climb(Climb how) {
  if (at_the_top()) return factored;
  report.attempts.back().outcome = Outcome::NotConverged;
  if (how == Climb::ToTheTop && next_step < steps.size()) next_step = steps.size() - 1;
  return climb();
}

// An iteration passes over A and the factor, whose numbers come from memory: about 50 flops each,
// twice as many on a device.
template <class ExecutionSpace>
Patience SymmetricFactor<ExecutionSpace>::State::patience() const {
  constexpr std::int64_t least = 20, flops = strata::runs_on_host<ExecutionSpace> ? 150 : 300;
  return {static_cast<int>(std::min<std::int64_t>(2000, std::max(least, n / flops))), true};
}

template <class ExecutionSpace>
void SymmetricFactor<ExecutionSpace>::State::refuse(std::string reason) {
  factored = false;
  next_step = steps.size();
  report.refusal = std::move(reason);
}

template <class ExecutionSpace>
void SymmetricFactor<ExecutionSpace>::State::need_factor(char const* function) const {
  STRATA_REQUIRE(ValueError, factored, function, ": there is no factor: ", report.refusal);
}

template <class ExecutionSpace>
auto SymmetricFactor<ExecutionSpace>::State::make_room(std::int64_t order, Precision precision)
    -> Matrix {
  auto const bytes =
      static_cast<std::size_t>(order) * static_cast<std::size_t>(order) * traits(precision).bytes;
  if (memory_of_factor.extent(0) < bytes) {
    memory_of_factor = {};
    memory_of_factor = strata::allocate<Kokkos::View<std::byte*, memory_space>>(
        exec, "strata::dense::symmetric_factor", bytes);
  }
  report.stored_bytes = bytes;
  return {memory_of_factor.data(), order, order, std::max<std::int64_t>(1, order), precision};
}

template <class ExecutionSpace>
bool SymmetricFactor<ExecutionSpace>::State::attempt(Step const& step) {
  Region const region(exec, "strata::dense::symmetric_factor::attempt");
  Kokkos::Timer const timer;
  factored = false;
  known.reset();
  SymmetricAttempt tried;
  bool const holds = factor_on(step, tried);
  tried.outcome = holds ? Outcome::Held : Outcome::BrokeDown;
  tried.seconds = timer.seconds();
  report.factor_seconds += tried.seconds;
  report.attempts.push_back(tried);
  return factored = holds;
}

template <class ExecutionSpace>
bool SymmetricFactor<ExecutionSpace>::State::factor_on(Step const& step, SymmetricAttempt& tried) {
  tried.rung = report.rung = step.rung;
  tried.layers = report.layers = step.layers;
  bool const holds =
      step.rung == SymmetricRung::Pivoted ? factor_pivoted(tried) : factor_mixed(step, tried);
  report.growth = tried.growth;
  return holds;
}

// U^T H U = L D L^T. What is beyond 1 / u is no factor.
template <class ExecutionSpace>
bool SymmetricFactor<ExecutionSpace>::State::factor_mixed(Step const& step,
                                                          SymmetricAttempt& tried) {
  if (!butterfly) butterfly.emplace(exec, n);
  M = make_room(butterfly->padded(), detail::ldlt_storage(step.layers));
  double const before = butterfly->load(exec, lines, scaled.exponents, M);
  detail::layered_ldlt(blas, step.layers, M);
  double const after = detail::largest_reduced(exec, ConstMatrixRef<memory_space>(M));
  constexpr double infinity = std::numeric_limits<double>::infinity();
  tried.growth = before > 0 ? after / before : after > 0 ? infinity : 1;  // A = 0 has no pivots
  return tried.growth * traits(M.precision).unit_roundoff < 1;
}

// H = P L D L^T P^T
template <class ExecutionSpace>
bool SymmetricFactor<ExecutionSpace>::State::factor_pivoted(SymmetricAttempt& tried) {
  M = make_room(n, Precision::fp64);
  if (static_cast<std::int64_t>(pivots.extent(0)) != n)
    pivots = strata::allocate<detail::Pivots<memory_space>>(
        exec, "strata::dense::symmetric_factor::pivots", n);
  detail::load_scaled(exec, lines, Kokkos::View<int const*, memory_space>(scaled.exponents), M);
  tried.zero_pivot = detail::pivoted_ldlt(exec, M, pivots);
  return tried.zero_pivot == 0;
}

template <class ExecutionSpace>
SymmetricFactor<ExecutionSpace>::SymmetricFactor(ExecutionSpace const& exec, MatrixView const& A,
                                                 SymmetricOptions const& options)
    : state_("SymmetricFactor") {
  Region const region(exec, "strata::dense::symmetric_factor");
  state_ = Pimpl<State>("SymmetricFactor", std::make_unique<State>(exec, A, options));
}
template <class ExecutionSpace>
SymmetricFactor<ExecutionSpace>::~SymmetricFactor() = default;
template <class ExecutionSpace>
SymmetricFactor<ExecutionSpace>::SymmetricFactor(SymmetricFactor&&) noexcept = default;
template <class ExecutionSpace>
SymmetricFactor<ExecutionSpace>& SymmetricFactor<ExecutionSpace>::operator=(
    SymmetricFactor&&) noexcept = default;

template <class ExecutionSpace>
bool SymmetricFactor<ExecutionSpace>::ok() const {
  return state_->factored;
}
template <class ExecutionSpace>
SymmetricReport const& SymmetricFactor<ExecutionSpace>::report() const {
  return state_->report;
}

#define STRATA_INSTANTIATE(Exec) template class SymmetricFactor<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
