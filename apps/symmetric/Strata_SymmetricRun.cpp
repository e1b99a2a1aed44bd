// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Progress.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <apps/symmetric/Strata_Symmetric.hpp>
#include <core/Strata_Stopwatch.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>

#include <Kokkos_Core.hpp>

#include <utility>

namespace strata::apps {

namespace {

using Exec = Kokkos::DefaultExecutionSpace;
using SymmetricFactor = dense::SymmetricFactor<Exec>;

// f() of a factor, unless the last call found A singular or there is no memory: what is solved is
// solved, and the report says that this is not known. Its seconds.
template <class Function>
double ask(SymmetricFactor const& factor, Progress& progress, std::string const& what,
           Function const& f) {
  if (!factor.ok()) return 0;
  progress.phase("estimating the " + what);
  Span const span(what.c_str());
  Stopwatch watch;
  try {
    f();
  } catch (MemoryError const&) {
  }
  return watch.lap();
}

// What is told of a solution beside it. Rungs may be climbed for the signs.
void judge(Exec const& exec, SolveOptions const& options, SymmetricFactor& factor,
           Progress& progress, SymmetricResult& result) {
  dense::ConditionEstimate condition;
  condition.converged = false;
  result.inertia_seconds =
      ask(factor, progress, "inertia", [&] { result.inertia = factor.inertia(exec); });
  if (options.log_determinant)
    result.seconds.log_determinant = ask(factor, progress, "log-determinant", [&] {
      result.log_determinant = factor.log_determinant(exec);
    });
  result.seconds.condition =
      ask(factor, progress, "condition", [&] { condition = factor.condition(exec); });
  result.factor = factor.report();
  result.factor.condition = condition;
}

}  // namespace

SymmetricResult run_symmetric(Problem const& problem, SolveOptions const& options,
                              Progress& progress) {
  Exec const exec;
  auto const n = problem.summary.n;
  SymmetricResult result(problem, options);
  result.layers_asked = options.layers ? options.layers->name() : "auto";
  Stopwatch watch;
  progress.phase("making the right-hand sides");
  auto const A = on_device(exec, problem.A);
  auto const B = right_hand_side(exec, problem, [&](auto const& known, auto const& product) {
    LeafBlas<Exec>(exec).symm(Uplo::Lower, 1, matrix_ref(A), matrix_ref(known), 0,
                              matrix_ref(product));
  });
  DeviceMatrix const X("strata::solve::X", B.extent(0), B.extent(1));
  result.seconds.transfer = watch.lap();
  progress.phase(words("factoring, n = ", n));
  auto factor = as_usage([&] {
    return dense::symmetric_factor(exec, A, dense::SymmetricOptions{.layers = options.layers});
  });
  exec.fence("strata::solve::factored");
  result.seconds.factor = watch.lap();
  if (factor.ok()) {
    progress.phase(words("solving, n = ", n));
    result.solve =
        as_usage([&] { return factor.solve(exec, B, X, watched(options, n, progress)); });
    exec.fence("strata::solve::solved");
    result.seconds.solve = watch.lap();
  }
  if (factor.ok()) take_solution(exec, problem, X, result);
  result.seconds.transfer += watch.lap();
  judge(exec, options, factor, progress, result);
  return result;
}

}  // namespace strata::apps
