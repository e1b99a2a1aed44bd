// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Progress.hpp>
#include <apps/shared/Strata_Terminal.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <apps/symmetric/Strata_Symmetric.hpp>
#include <apps/system/Strata_Median.hpp>
#include <core/Strata_Backends.hpp>
#include <core/Strata_Stopwatch.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>

#include <Kokkos_Core.hpp>

#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

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
  dense::SymmetricReport const median = result.factor;
  result.factor = factor.report();
  result.factor.condition = condition;
  if (result.factor.attempts.size() > median.attempts.size()) return;
  result.factor.analyse_seconds = median.analyse_seconds;
  result.factor.factor_seconds = median.factor_seconds;
}

// Factor and solve once; a factor that there is ends before the new one is made.
SymmetricResult factor_and_solve(Exec const& exec, Problem const& problem, DeviceMatrix const& A,
                                 DeviceMatrix const& B, DeviceMatrix const& X,
                                 SolveOptions const& options, Progress& progress,
                                 std::optional<SymmetricFactor>& factor) {
  auto const n = problem.summary.n;
  SymmetricResult result(problem, options);
  result.layers_asked = options.layers ? options.layers->name() : "auto";
  result.repeat = options.repeat;
  factor.reset();
  progress.phase(words("factoring, n = ", n));
  Stopwatch watch;
  as_usage([&] {
    factor.emplace(
        dense::symmetric_factor(exec, A, dense::SymmetricOptions{.layers = options.layers}));
  });
  exec.fence("strata::solve::factored");
  result.seconds.factor = watch.lap();
  if (factor->ok()) {
    progress.phase(words("solving, n = ", n));
    result.solve =
        as_usage([&] { return factor->solve(exec, B, X, watched(options, n, progress)); });
    exec.fence("strata::solve::solved");
    result.seconds.solve = watch.lap();
  }
  result.factor = factor->report();
  return result;
}

// The vendor's routine that the pivoted rung calls; nothing where the build has none.
std::string vendor_sytrf() {
  std::string_view const cholesky = vendor_libraries<Exec>.cholesky;
  if (cholesky.starts_with("LAPACK")) return "LAPACK dsytrf";
  return cholesky.starts_with("cuSOLVER") ? "cuSOLVER Dsytrf" : "";
}

// The pivoted rung alone, whose factor is the vendor's and whose solve is Strata's.
SymmetricComparison compare(Exec const& exec, DeviceMatrix const& A, DeviceMatrix const& B,
                            int repeat, Progress& progress) {
  progress.phase("comparing with " + vendor_sytrf());
  DeviceMatrix const X("strata::compare::X", B.extent(0), B.extent(1));
  dense::SymmetricOptions pivoted;
  pivoted.pivoted = true;
  auto const once = [&](int r) {
    SymmetricComparison sample;
    sample.library = vendor_sytrf();
    sample.backward_error = std::numeric_limits<double>::quiet_NaN();
    auto factor = dense::symmetric_factor(exec, A, pivoted);
    exec.fence("strata::compare::factored");
    sample.factor_seconds = factor.report().factor_seconds;
    if (factor.ok()) {
      Stopwatch watch;
      auto const solved = factor.solve(exec, B, X, {.refine = dense::Refine::None});
      exec.fence("strata::compare::solved");
      sample.solve_seconds = watch.lap();
      sample.backward_error = solved.backward_error;
    }
    sample.refusal = factor.report().refusal;
    progress.done(static_cast<double>(r + 1) / repeat);
    return sample;
  };
  return median_run(repeat, once, &SymmetricComparison::seconds);
}

}  // namespace

SymmetricResult run_symmetric(Problem const& problem, SolveOptions const& options,
                              Progress& progress) {
  if (options.compare && vendor_sytrf().empty())
    throw UsageError("--compare: this build has no library with L D L^T to compare with");
  Exec const exec;
  Stopwatch watch;
  progress.phase("making the right-hand sides");
  auto const A = on_device(exec, problem.A);
  auto const B = right_hand_side(exec, problem, [&](auto const& known, auto const& product) {
    LeafBlas<Exec>(exec).symm(Uplo::Lower, 1, matrix_ref(A), matrix_ref(known), 0,
                              matrix_ref(product));
  });
  DeviceMatrix const X("strata::solve::X", B.extent(0), B.extent(1));
  double const transfer_seconds = watch.lap();
  std::optional<SymmetricFactor> factor;
  auto const once = [&](int) {
    return factor_and_solve(exec, problem, A, B, X, options, progress, factor);
  };
  SymmetricResult result = median_run(options.repeat, once, seconds_of_solve);
  watch.lap();
  if (factor->ok()) take_solution(exec, problem, X, result);
  result.seconds.transfer = transfer_seconds + watch.lap();
  judge(exec, options, *factor, progress, result);
  bool const has_solution = factor->ok();
  factor.reset();
  if (options.compare && has_solution) {
    Span const span("comparison");
    watch.lap();
    try {
      result.comparison = compare(exec, A, B, options.repeat, progress);
    } catch (MemoryError const& error) {
      progress.aside([&] { std::cerr << warning_line(words("--compare: ", error.what())); });
    }
    result.seconds.compare = watch.lap();
  }
  return result;
}

}  // namespace strata::apps
