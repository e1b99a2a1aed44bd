// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/solve/Strata_Solve.hpp>

#include <apps/shared/Strata_Progress.hpp>
#include <apps/shared/Strata_Ranks.hpp>
#include <apps/shared/Strata_Report.hpp>
#include <apps/shared/Strata_RunFacts.hpp>
#include <apps/shared/Strata_Terminal.hpp>
#include <apps/solve/Strata_Answer.hpp>
#include <apps/solve/Strata_SolveResult.hpp>
#include <comm/Strata_GatherSpans.hpp>
#include <core/Strata_Stopwatch.hpp>
#include <core/io/files/Strata_Trace.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <ooc/tiles/Strata_TileSources.hpp>

#include <algorithm>
#include <cmath>
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
void explain(DenseResult const& result) {
  if (result.exit() == Exit::NotPositiveDefinite)
    std::cerr << error_line("not positive definite: " + refusal_of(result));
  if (result.exit() == Exit::NotConverged)
    std::cerr << error_line(
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
    explain(result);
    if (result.exit() == Exit::Solved) warn_of_invented_rhs(std::cerr, options);
    return result.exit();
  });
}

}  // namespace

dense::RefinementOptions watched(SolveOptions const& options, std::int64_t n, Progress& progress) {
  auto refinement = options.refinement;
  double const tolerance = std::sqrt(static_cast<double>(n)) * 0x1p-52;
  refinement.on_step =
      falls_to(refinement.tolerance > 0 ? refinement.tolerance : tolerance, progress);
  return refinement;
}

DeviceMatrix on_device(Kokkos::DefaultExecutionSpace const& exec, HostMatrix const& host) {
  DeviceMatrix const copy = Kokkos::create_mirror_view_and_copy(
      Kokkos::view_alloc(exec, Kokkos::DefaultExecutionSpace::memory_space()),
      host);  // host itself where it is accessible
  exec.fence("strata::solve::copied_to_device");
  return copy;
}

double forward_error(ConstHostMatrix const& X, ConstHostMatrix const& known) {
  double worst = 0;
  for (std::size_t j = 0; j < X.extent(1); ++j) {
    double difference = 0, size = 0;
    for (std::size_t i = 0; i < X.extent(0); ++i) {
      double const d = std::abs(X(i, j) - known(i, j));
      difference = d > difference || std::isnan(d) ? d : difference;
      size = std::max(size, std::abs(known(i, j)));
    }
    double const error = size > 0 ? difference / size : difference;
    worst = error > worst || std::isnan(error) ? error : worst;
  }
  return worst;
}

void take_solution(Kokkos::DefaultExecutionSpace const& exec, Problem const& problem,
                   DeviceMatrix const& X, DenseResult& result) {
  HostMatrix host(Kokkos::view_alloc(Kokkos::WithoutInitializing, X.label()), X.extent(0),
                  X.extent(1));
  Kokkos::deep_copy(exec, host, X);
  exec.fence("strata::solve::copied_to_host");
  if (problem.knows_solution) result.forward_error = forward_error(host, problem.X);
  std::vector<std::int64_t> row_of(problem.order.size());  // of each row of the files
  for (std::size_t k = 0; k < row_of.size(); ++k)
    row_of[static_cast<std::size_t>(problem.order[k])] = static_cast<std::int64_t>(k);
  result.X = in_order(host, row_of);
}

Exit solve(SolveOptions const& options) {
  if (is_sparse(options)) return solve_sparse(options);
  return options.out_of_core ? solve_in_tiles(options) : solve_dense(Communicator(), options, run);
}

Exit solve_in_tiles(SolveOptions options) {
  Communicator const comm = all_ranks();
  if (comm.size() > 1) options.comm = std::make_shared<Communicator const>(comm);
  return solve_dense(comm, options, run_in_tiles);
}

}  // namespace strata::apps
