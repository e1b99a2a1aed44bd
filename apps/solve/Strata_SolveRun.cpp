// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Progress.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <apps/solve/Strata_SolveResult.hpp>
#include <apps/system/Strata_Median.hpp>
#include <core/Strata_Stopwatch.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <dense/Strata_Automatic.hpp>

#include <Kokkos_Core.hpp>

#include <memory>

namespace strata::apps {

namespace {

using Exec = Kokkos::DefaultExecutionSpace;

using Factor = dense::CholeskyFactor<Exec>;

// Once, in the memory of the factor that there is.
SolveResult factor_and_solve(Exec const& exec, Problem const& problem, DeviceMatrix const& A,
                             DeviceMatrix const& B, DeviceMatrix const& X,
                             SolveOptions const& options, Progress& progress,
                             std::unique_ptr<Factor>& factor) {
  auto const n = problem.summary.n, columns = problem.summary.nrhs;
  auto const automatic = dense::automatic_choice<Exec>(n, columns);
  auto const& layers = options.layers ? *options.layers : automatic.layers;
  dense::CholeskyOptions const cholesky_options{.leaf_size = options.leaf,
                                                .columns = columns,
                                                .jitter = options.jitter,
                                                .on_progress = progress.listener()};
  SolveResult result(problem, options);
  result.layers_asked = options.layers ? layers.name() : "auto";
  result.layers_reason = options.layers ? "asked for" : automatic.reason;
  result.repeat = options.repeat;
  progress.phase(words("factoring, n = ", n, ", layers ", layers.name()));
  Stopwatch watch;
  as_usage([&] {
    if (factor)
      factor->refactor(exec, A);
    else
      factor = std::make_unique<Factor>(dense::cholesky(exec, A, layers, cholesky_options));
  });
  exec.fence("strata::solve::factored");
  result.seconds.factor = watch.lap();
  if (factor->info().ok()) {
    progress.phase(words("solving, n = ", n));
    watch.lap();
    result.solve =
        as_usage([&] { return factor->solve(exec, B, X, watched(options, n, progress)); });
    exec.fence("strata::solve::solved");
    result.seconds.solve = watch.lap();
  }
  result.info = factor->info().order();
  if (factor->report().breakdown.numerical) result.refusal = describe(factor->report().breakdown);
  result.factor = factor->report();
  return result;
}

// What is told of a solution beside it.
void judge(Exec const& exec, SolveOptions const& options, Factor& factor, Progress& progress,
           SolveResult& result) {
  progress.phase("estimating the condition");
  Stopwatch watch;
  {
    Span const span("condition");
    try {
      result.factor.condition = factor.condition(exec, progress.listener());
    } catch (MemoryError const&) {  // what is solved is solved: the report says it is not known
      result.factor.condition.converged = false;
    }
  }
  result.seconds.condition = watch.lap();
  if (!options.log_determinant) return;
  progress.phase("estimating the log-determinant");
  Span const span("log-determinant");
  result.log_determinant = factor.log_determinant(exec, {.on_progress = progress.listener()});
  result.seconds.log_determinant = watch.lap();
}

}  // namespace

SolveResult run(Problem const& problem, SolveOptions const& options, Progress& progress) {
  Exec const exec;
  Stopwatch watch;
  progress.phase("making the right-hand sides");
  DeviceMatrix A, B;
  {
    Span const span("transfer");
    A = on_device(exec, problem.A);
    B = right_hand_side(exec, problem, [&](DeviceMatrix const& known, DeviceMatrix const& product) {
      LeafBlas<Exec>(exec).symm(Uplo::Lower, 1, matrix_ref(A), matrix_ref(known), 0,
                                matrix_ref(product));
    });
  }
  DeviceMatrix const X("strata::solve::X", B.extent(0), B.extent(1));
  double const transfer_seconds = watch.lap();

  std::unique_ptr<Factor> factor;
  auto const once = [&](int) {
    return factor_and_solve(exec, problem, A, B, X, options, progress, factor);
  };
  SolveResult result = median_run(options.repeat, once, seconds_of_solve);
  result.seconds.transfer = transfer_seconds;
  if (result.info != 0) return result;
  watch.lap();
  take_solution(exec, problem, X, result);
  result.seconds.transfer += watch.lap();
  judge(exec, options, *factor, progress, result);
  factor.reset();
  if (options.compare) {
    Span const span("comparison");
    watch.lap();
    result.comparison = compare(exec, A, B, result.factor.norm_inf, options.repeat, progress);
    result.seconds.compare = watch.lap();
  }
  return result;
}

}  // namespace strata::apps
