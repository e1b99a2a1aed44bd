// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/solve/Strata_Solve.hpp>

#include <apps/shared/Strata_Progress.hpp>
#include <apps/shared/Strata_Ranks.hpp>
#include <apps/shared/Strata_Report.hpp>
#include <apps/shared/Strata_RunFacts.hpp>
#include <apps/shared/Strata_Terminal.hpp>
#include <apps/solve/Strata_SolveResult.hpp>
#include <apps/symmetric/Strata_Symmetric.hpp>
#include <apps/system/Strata_Answer.hpp>
#include <comm/Strata_GatherSpans.hpp>
#include <core/Strata_Stopwatch.hpp>
#include <core/io/files/Strata_Trace.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <ooc/tiles/Strata_TileSources.hpp>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <vector>

namespace strata::apps {

namespace {

std::string refusal_of(DenseResult const& result) {
  return result.refusal.empty()
             ? words("the leading minor of order ", result.info, " is not positive")
             : result.refusal;
}

// One line on stderr if there is no solution that was asked for.
void explain(std::ostream& out, DenseResult const& result) {
  if (result.exit() == Exit::NotPositiveDefinite)
    out << error_line("not positive definite: " + refusal_of(result));
  if (result.exit() == Exit::NotConverged)
    out << error_line(
        words("not converged: normwise backward error ", result.solve->backward_error));
}

// In memory or in tiles, as `run` does it, on all ranks; the first one writes and prints.
template <class Run>
Exit solve_dense(Communicator const& comm, SolveOptions const& options, Run const& run) {
  bool const reports = comm.rank() == 0;
  return on_ranks(comm, [&] {
    Stopwatch total, read;
    Progress progress(reports);
    std::optional<Recorder> recorder;
    if (!options.trace.empty()) recorder.emplace();
    auto const problem = as_usage_of_ranks([&] {
      Span const span("read");
      auto set = comm.agree([&] {
        check(options);
        return set_up(options, progress);
      });
      if (set.file) ooc::require_symmetric(comm, *set.file);
      return set;
    });
    double const read_seconds = read.lap();
    auto result = run(problem, options, progress);
    result.seconds.read = read_seconds;
    result.seconds.total = total.lap();
    auto const traced = recorder ? gather_spans(comm, *recorder) : std::vector<TracedProcess>();
    publish(comm, progress, options.json, [&] {
      if (!options.output.empty() && result.exit() == Exit::Solved)
        write_matrix(options.output, result.X, progress.listener());
      if (recorder) write_trace(options.trace, traced);
      auto told = report(result);
      if (options.brief) told.hide_table();
      return told;
    });
    if (!reports) return result.exit();
    bool const is_solved = result.exit() == Exit::Solved;
    if (options.json != "-") {
      if (!options.brief) std::cout << '\n';
      print(std::cout, answer(result.X),
            place_of_solution(options, is_solved && !options.output.empty()), verdict(result));
    }
    explain(std::cerr, result);
    if (result.exit() == Exit::Solved) warn_of_invented_rhs(std::cerr, options);
    return result.exit();
  });
}

}  // namespace

Exit solve(SolveOptions const& options) {
  if (is_sparse(options)) return solve_sparse(options);
  if (options.symmetric) return solve_dense(Communicator(), options, run_symmetric);
  return options.out_of_core ? solve_in_tiles(options) : solve_dense(Communicator(), options, run);
}

Exit solve_in_tiles(SolveOptions options) {
  Communicator const comm = all_ranks();
  if (comm.size() > 1) options.comm = std::make_shared<Communicator const>(comm);
  return solve_dense(comm, options, run_in_tiles);
}

}  // namespace strata::apps
