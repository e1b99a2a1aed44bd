// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/Strata_Progress.hpp>
#include <apps/Strata_Solve.hpp>
#include <apps/Strata_SolveProblem.hpp>
#include <apps/Strata_SolveReport.hpp>
#include <apps/Strata_SolveRun.hpp>
#include <apps/Strata_Stopwatch.hpp>
#include <core/Strata_Npy.hpp>
#include <core/Strata_TextFile.hpp>
#include <core/Strata_Trace.hpp>

#include <iostream>
#include <optional>

namespace strata::apps {

namespace {

// The solution of a system that was not solved is not written.
void write_files(SolveOptions const& options, SolveResult const& result,
                 std::optional<Trace> const& trace) {
  if (!options.output.empty() && result.exit() == Exit::Solved)
    write_npy(options.output, result.X, {.rank = result.X.extent(1) == 1 ? 1 : 2});
  if (trace) trace->write(options.trace);
  if (!options.json.empty()) {
    constexpr auto replace = nlohmann::ordered_json::error_handler_t::replace;
    write_text_file(options.json, to_json(result).dump(2, ' ', false, replace) + '\n');
  }
}

void explain(SolveResult const& result) {
  if (result.exit() == Exit::NotPositiveDefinite)
    std::cerr << "strata: not positive definite: the leading minor of order " << result.info
              << " is not positive\n";
  if (result.exit() == Exit::NotConverged)
    std::cerr << "strata: not converged: normwise backward error " << result.solve->backward_error
              << "\n";
}

}  // namespace

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
  write_files(options, result, trace);
  progress.clear();
  print(std::cout, result);
  std::cout.flush();
  explain(result);
  return result.exit();
}

}  // namespace strata::apps
