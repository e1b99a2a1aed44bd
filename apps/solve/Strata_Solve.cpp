// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/solve/Strata_Solve.hpp>

#include <apps/shared/Strata_Progress.hpp>
#include <apps/shared/Strata_Stopwatch.hpp>
#include <apps/solve/Strata_SolveOutput.hpp>
#include <apps/solve/Strata_SolveProblem.hpp>
#include <apps/solve/Strata_SolveReport.hpp>
#include <apps/solve/Strata_SolveRun.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>

#include <iostream>
#include <optional>

namespace strata::apps {

Exit solve(SolveOptions const& options) {
  check(options);
  Stopwatch total, read;
  Progress progress;
  std::optional<Recorder> recorder;
  if (!options.trace.empty()) recorder.emplace();
  Problem const problem = as_usage([&] {
    Span const span("read");
    return set_up(options, progress);
  });
  double const read_seconds = read.lap();
  SolveResult result = run(problem, options, progress);
  result.seconds.read = read_seconds;
  result.seconds.total = total.lap();
  progress.phase("writing");
  write_files(options, result, result.X, recorder);
  progress.clear();
  print(std::cout, result);
  std::cout.flush();
  explain(result);
  return result.exit();
}

}  // namespace strata::apps
