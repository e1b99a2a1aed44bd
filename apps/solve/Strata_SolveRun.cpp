// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Stopwatch.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <apps/solve/Strata_SolveCompare.hpp>
#include <apps/solve/Strata_SolveResult.hpp>
#include <apps/solve/Strata_SolveVectors.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <dense/Strata_Automatic.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace strata::apps {

namespace {

using Exec = Kokkos::DefaultExecutionSpace;
using Matrix = DeviceMatrix;

Matrix right_hand_side(Exec const& exec, Problem const& problem, Matrix const& A) {
  if (!problem.knows_solution) return on_device(exec, problem.B);
  Matrix const X = on_device(exec, problem.X);
  Matrix const B("strata::solve::B", X.extent(0), X.extent(1));
  LeafBlas<Exec>(exec).symm(Uplo::Lower, 1, matrix_ref(A), matrix_ref(X), 0, matrix_ref(B));
  exec.fence("strata::solve::right_hand_side");
  return B;
}

// One factorisation and solve.
struct Sample {
  dense::CholeskyReport factor;
  std::optional<dense::SolveReport> solve;
  std::int64_t info = 0;
  double factor_seconds = 0, solve_seconds = 0;

  double seconds() const { return factor_seconds + solve_seconds; }
};

using Factor = dense::CholeskyFactor<Exec>;

Sample factor_and_solve(Exec const& exec, Matrix const& A, Matrix const& B, Matrix const& X,
                        SolveOptions const& options, Trace* trace, Progress& progress,
                        std::unique_ptr<Factor>& factor) {
  auto const n = static_cast<std::int64_t>(A.extent(0));
  auto const columns = static_cast<std::int64_t>(B.extent(1));
  auto const layers = options.layers ? *options.layers : dense::automatic_layers<Exec>(n, columns);
  dense::CholeskyOptions const cholesky_options{.leaf_size = options.leaf, .trace = trace};
  Sample sample;
  factor.reset();  // before the next one takes memory
  progress.phase(words("factoring, n = ", n, ", layers ", layers.name()));
  Stopwatch watch;
  factor = as_usage(
      [&] { return std::make_unique<Factor>(dense::cholesky(exec, A, layers, cholesky_options)); });
  exec.fence("strata::solve::factored");
  sample.factor_seconds = watch.lap();
  if (factor->info().ok()) {
    progress.phase(words("solving, n = ", n));
    watch.lap();
    sample.solve = as_usage([&] { return factor->solve(exec, B, X, options.refinement); });
    exec.fence("strata::solve::solved");
    sample.solve_seconds = watch.lap();
  }
  sample.info = factor->info().order();
  sample.factor = factor->report();
  return sample;
}

void take_median(std::vector<Sample> samples, SolveResult& result) {
  auto const median = samples.begin() + static_cast<std::ptrdiff_t>((samples.size() - 1) / 2);
  std::nth_element(samples.begin(), median, samples.end(),
                   [](Sample const& a, Sample const& b) { return a.seconds() < b.seconds(); });
  result.factor = std::move(median->factor);
  result.solve = std::move(median->solve);
  result.info = median->info;
  result.seconds.factor = median->factor_seconds;
  result.seconds.solve = median->solve_seconds;
  if (!result.solve) return;
  result.converged = result.solve->converged;
  result.backward_error = result.solve->backward_error;
}

// What is told of a solution beside it.
void judge(Exec const& exec, SolveOptions const& options, Factor& factor, Progress& progress,
           Trace* trace, SolveResult& result) {
  progress.phase("estimating the condition");
  Stopwatch watch;
  {
    Span const span(trace, "condition", "program");
    try {
      result.factor.condition = factor.condition(exec);
    } catch (MemoryError const&) {  // what is solved is solved: the report says it is not known
      result.factor.condition.converged = false;
    }
  }
  result.seconds.condition = watch.lap();
  if (!options.log_determinant) return;
  progress.phase("estimating the log-determinant");
  Span const span(trace, "log-determinant", "program");
  result.log_determinant = factor.log_determinant(exec);
  result.seconds.log_determinant = watch.lap();
}

}  // namespace

SolveResult run(Problem const& problem, SolveOptions const& options, Progress& progress,
                Trace* trace) {
  Exec const exec;
  SolveResult result(problem, options);
  result.layers_asked = options.layers ? options.layers->name() : "auto";
  result.repeat = options.repeat;
  Stopwatch watch;
  progress.phase("making the right-hand sides");
  Matrix A, B;
  {
    Span const span(trace, "transfer", "program");
    A = on_device(exec, problem.A), B = right_hand_side(exec, problem, A);
  }
  Matrix const X("strata::solve::X", B.extent(0), B.extent(1));
  result.seconds.transfer = watch.lap();

  std::unique_ptr<Factor> factor;
  std::vector<Sample> samples;
  samples.reserve(static_cast<std::size_t>(options.repeat));
  for (int r = 0; r < options.repeat; ++r)
    samples.push_back(factor_and_solve(exec, A, B, X, options, trace, progress, factor));
  take_median(std::move(samples), result);

  if (result.info != 0) return result;
  watch.lap();
  take_solution(exec, problem, X, result);
  result.seconds.transfer += watch.lap();
  judge(exec, options, *factor, progress, trace, result);
  factor.reset();
  if (options.compare) {
    Span const span(trace, "comparison", "program");
    progress.phase(words("comparing with ", vendor_cholesky()));
    watch.lap();
    result.comparison = compare(exec, A, B, result.factor.norm_inf, options.repeat);
    result.seconds.compare = watch.lap();
  }
  return result;
}

}  // namespace strata::apps
