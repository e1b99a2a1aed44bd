// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/solve/Strata_Solve.hpp>

#include <apps/shared/Strata_Report.hpp>
#include <apps/shared/Strata_Stopwatch.hpp>
#include <apps/solve/Strata_SolveResult.hpp>
#include <core/io/Strata_Trace.hpp>

#include <iostream>
#include <optional>

namespace strata::apps {

namespace {

// One line on stderr if there is no solution that was asked for.
void explain(DenseResult const& result) {
  if (result.exit() == Exit::NotPositiveDefinite)
    std::cerr << "strata: not positive definite: the leading minor of order " << result.info
              << " is not positive\n";
  if (result.exit() == Exit::NotConverged)
    std::cerr << "strata: not converged: normwise backward error " << result.backward_error << "\n";
}

// X only if the system was solved.
void write_files(SolveOptions const& options, DenseResult const& result, Report const& told,
                 std::optional<Trace> const& trace) {
  if (!options.output.empty() && result.exit() == Exit::Solved)
    write_matrix(options.output, result.X);
  if (trace) trace->write(options.trace);
  told.write(options.json);
}

// In memory or in tiles, as `run` does it.
template <class Run>
Exit solve_dense(SolveOptions const& options, Run const& run) {
  check(options);
  Stopwatch total, read;
  Progress progress;
  std::optional<Trace> trace;
  if (!options.trace.empty()) trace.emplace();
  Trace* const recorder = trace ? &*trace : nullptr;
  Problem const problem = as_usage([&] {
    Span const span(recorder, "read", "program");
    return set_up(options, progress);
  });
  double const read_seconds = read.lap();
  auto result = run(problem, options, progress, recorder);
  result.seconds.read = read_seconds;
  result.seconds.total = total.lap();
  progress.phase("writing");
  Report const told = report(result);
  write_files(options, result, told, trace);
  progress.clear();
  told.print(std::cout);
  std::cout.flush();
  explain(result);
  return result.exit();
}

}  // namespace

Exit solve(SolveOptions const& options) {
  if (is_sparse(options)) return solve_sparse(options);
  return options.out_of_core ? solve_dense(options, run_in_tiles) : solve_dense(options, run);
}

}  // namespace strata::apps
