// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/solve/Strata_SolveRun.hpp>

#include <apps/shared/Strata_Stopwatch.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <apps/solve/Strata_SolveCompare.hpp>
#include <apps/solve/Strata_SolveVectors.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <dense/Strata_Automatic.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <type_traits>
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
                        SolveOptions const& options, Progress& progress,
                        std::unique_ptr<Factor>& factor) {
  auto const n = static_cast<std::int64_t>(A.extent(0));
  auto const columns = static_cast<std::int64_t>(B.extent(1));
  auto const layers = options.layers ? *options.layers : dense::automatic_layers<Exec>(n, columns);
  dense::CholeskyOptions const cholesky_options{.leaf_size = options.leaf};
  Sample sample;
  factor.reset();  // before the next one takes memory
  progress.phase(
      text("factoring, n = %lld, layers %s", static_cast<long long>(n), layers.name().c_str()));
  Stopwatch watch;
  factor = as_usage(
      [&] { return std::make_unique<Factor>(dense::cholesky(exec, A, layers, cholesky_options)); });
  exec.fence("strata::solve::factored");
  sample.factor_seconds = watch.lap();
  if (factor->info().ok()) {
    progress.phase(text("solving, n = %lld", static_cast<long long>(n)));
    watch.lap();
    sample.solve = as_usage([&] { return factor->solve(exec, B, X, options.refinement); });
    exec.fence("strata::solve::solved");
    sample.solve_seconds = watch.lap();
  }
  sample.info = factor->info().order();
  sample.factor = factor->report();
  return sample;
}

SolveResult describe(Problem const& problem, SolveOptions const& options) {
  SolveResult result;
  result.problem = problem.summary;
  result.layers_asked = options.layers ? options.layers->name() : "auto";
  result.refine_asked = dense::name_of(options.refinement.refine);
  result.repeat = options.repeat;
  return result;
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
}

}  // namespace

SolveResult run(Problem const& problem, SolveOptions const& options, Progress& progress) {
  Exec const exec;
  SolveResult result = describe(problem, options);
  Stopwatch watch;
  progress.phase("making the right-hand sides");
  Matrix A, B;
  {
    Span const span("transfer");
    A = on_device(exec, problem.A), B = right_hand_side(exec, problem, A);
  }
  Matrix const X("strata::solve::X", B.extent(0), B.extent(1));
  result.seconds.transfer = watch.lap();

  std::unique_ptr<Factor> factor;
  std::vector<Sample> samples;
  samples.reserve(static_cast<std::size_t>(options.repeat));
  for (int r = 0; r < options.repeat; ++r)
    samples.push_back(factor_and_solve(exec, A, B, X, options, progress, factor));
  take_median(std::move(samples), result);

  if (result.info == 0) {
    watch.lap();
    HostMatrix const host_X = on_host(exec, X);
    if (problem.knows_solution) result.forward_error = forward_error(host_X, problem.X);
    result.X = in_users_order(host_X, problem.order);
    result.seconds.transfer += watch.lap();
  }
  if (result.info == 0) {
    progress.phase("estimating the condition");
    Span const span("condition");
    watch.lap();
    try {
      result.factor.condition = factor->condition(exec);
    } catch (
        MemoryError const&) {  // what is solved is solved: the report says that it is not known
      result.factor.condition.converged = false;
    }
    result.seconds.condition = watch.lap();
  }
  if (result.info == 0 && options.log_determinant) {
    progress.phase("estimating the log-determinant");
    Span const span("log-determinant");
    watch.lap();
    result.log_determinant = factor->log_determinant(exec);
    result.seconds.log_determinant = watch.lap();
  }
  factor.reset();
  if (result.info == 0 && options.compare) {
    Span const span("comparison");
    progress.phase(text("comparing with %s", std::string(vendor_cholesky()).c_str()));
    watch.lap();
    result.comparison = compare(exec, A, B, result.factor.norm_inf, options.repeat);
    result.seconds.compare = watch.lap();
  }
  return result;
}

}  // namespace strata::apps
