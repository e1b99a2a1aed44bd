// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/hpgmxp/Strata_Hpgmxp.hpp>

#include <apps/shared/Strata_Exit.hpp>
#include <apps/shared/Strata_Progress.hpp>
#include <apps/shared/Strata_Ranks.hpp>
#include <apps/shared/Strata_Report.hpp>
#include <core/io/Strata_TextFile.hpp>
#include <core/io/Strata_Trace.hpp>

#include <Kokkos_Core.hpp>

#include <exception>
#include <iostream>
#include <optional>
#include <string>

namespace strata::apps {

namespace {

using sparse::Communicator;

void check_files(HpgmxpRequest const& request) {
  check_writable(
      {{"--json", request.json}, {"--report", request.report}, {"--trace", request.trace}});
}

}  // namespace

Exit hpgmxp(HpgmxpRequest const& request) {
  Communicator const comm = all_ranks();
  bool const reports = comm.rank() == 0;
  HpgmxpOutcome outcome;
  try {
    comm.agree([&] {
      as_usage([&] {
        outcome.options = resolved(request);
        sparse::check(outcome.options, comm.size());
      });
      if (reports) check_files(request);
      outcome.estimated_bytes = sparse::estimate_bytes(outcome.options, comm.size());
    });
    auto const memory = memory_of_rank(comm);
    outcome.memory_bytes = comm.max(memory.installed);
    auto const needed = static_cast<double>(outcome.estimated_bytes);
    comm.agree([&] {
      STRATA_REQUIRE(MemoryError, needed <= memory.available, "a rank needs about ",
                     in_bytes(needed), ", and has ", in_bytes(memory.available),
                     "; take fewer points");
    });
  } catch (Error const& error) {
    if (comm.size() == 1) throw UsageError(error.what());
    return tell(comm, Exit::Usage, error);
  }
  std::optional<Progress> progress;
  if (reports) {
    progress.emplace();
    outcome.options.progress = [&](std::string const& phase) { progress->phase(phase); };
    outcome.options.on_validation_residual = falls_to(outcome.options.tolerance, *progress);
    outcome.options.matrix.on_progress = progress->listener();
    if (progress->listener())
      outcome.options.on_time_left = [&](double seconds) { progress->left(seconds); };
  }
  try {
    Kokkos::DefaultExecutionSpace const exec;
    outcome.result = sparse::run_hpgmxp(exec, comm, outcome.options);
    if (request.free) outcome.free = sparse::solve_free(exec, comm, outcome.options);
  } catch (std::exception const& error) {
    progress.reset();
    return tell(comm, Exit::Failed, error);
  }
  if (!reports) return Exit::Solved;
  progress.reset();
  Report const told = report(outcome);
  told.print(std::cout, request.json);
  std::cout.flush();
  told.write(request.json);
  if (!request.report.empty()) write_text_file(request.report, public_report(outcome));
  if (!request.trace.empty()) write_trace(request.trace, outcome.result.trace);
  return outcome.result.passed() ? Exit::Solved : Exit::NotConverged;
}

}  // namespace strata::apps
