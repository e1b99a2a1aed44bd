// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/solve/Strata_Solve.hpp>

#include <apps/shared/Strata_Progress.hpp>
#include <apps/shared/Strata_Stopwatch.hpp>
#include <apps/solve/Strata_SolveOutput.hpp>
#include <apps/solve/Strata_SolveProblem.hpp>
#include <apps/solve/Strata_SolveReport.hpp>
#include <apps/solve/Strata_SolveRun.hpp>
#include <core/io/Strata_Trace.hpp>

#include <iostream>
#include <optional>

namespace strata::apps {

Exit solve(SolveOptions const& options) {
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
  SolveResult result = run(problem, options, progress, recorder);
  result.seconds.read = read_seconds;
  result.seconds.total = total.lap();
  progress.phase("writing");
  write_files(options, result, result.X, trace);
  progress.clear();
  print(std::cout, result);
  std::cout.flush();
  explain(result);
  return result.exit();
}

}  // namespace strata::apps
