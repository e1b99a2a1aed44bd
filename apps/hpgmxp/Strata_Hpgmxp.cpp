// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/hpgmxp/Strata_Hpgmxp.hpp>

#include <apps/shared/Strata_Ending.hpp>
#include <apps/shared/Strata_Exit.hpp>
#include <apps/shared/Strata_Progress.hpp>
#include <apps/shared/Strata_Ranks.hpp>
#include <apps/shared/Strata_Report.hpp>
#include <apps/shared/Strata_Terminal.hpp>
#include <core/io/files/Strata_TextFile.hpp>
#include <core/io/files/Strata_Trace.hpp>

#include <Kokkos_Core.hpp>

#include <iostream>
#include <string>

namespace strata::apps {

Exit hpgmxp(HpgmxpRequest const& request) {
  Communicator const comm = all_ranks();
  return on_ranks(comm, [&] {
    bool const reports = comm.rank() == 0;
    HpgmxpOutcome outcome;
    auto& options = outcome.options;
    as_usage_of_ranks([&] {
      comm.agree([&] {
        options = resolved(request);
        sparse::check(options, comm.size());
        if (reports)
          check_writable(
              {{"--json", request.json}, {"--report", request.report}, {"--trace", request.trace}});
        outcome.estimated_bytes = sparse::estimate_bytes(options, comm.size());
      });
      auto const memory = memory_of_rank(comm);
      outcome.memory_bytes = comm.max(memory.installed);
      auto const needed = static_cast<double>(outcome.estimated_bytes);
      comm.agree([&] {
        STRATA_REQUIRE(MemoryError, needed <= memory.available, "a rank needs about ",
                       in_bytes(needed), ", and has ", in_bytes(memory.available),
                       "; take fewer points");
      });
    });
    Progress progress(reports);
    options.progress = [&](std::string const& phase) { progress.phase(phase); };
    options.on_validation_residual = falls_to(options.tolerance, progress);
    options.matrix.on_progress = progress.listener();
    if (progress.listener()) options.on_time_left = [&](double seconds) { progress.left(seconds); };
    options.ends = [] {
      if (is_end_asked()) set_ended();
      return is_end_asked();
    };
    Kokkos::DefaultExecutionSpace const exec;
    // What is left to refuse is the user's: an order of colours, a format with a beta, memory.
    outcome.result = as_usage_of_ranks([&] { return sparse::run_hpgmxp(exec, comm, options); });
    if (request.free && !outcome.result.is_cut)
      outcome.free = sparse::solve_free(exec, comm, options);
    outcome.run = run_facts(comm);
    publish(comm, progress, request.json, [&] {
      if (!request.report.empty()) write_text_file(request.report, public_report(outcome));
      if (!request.trace.empty()) write_trace(request.trace, outcome.result.trace);
      return report(outcome);
    });
    if (outcome.result.is_cut) {
      if (reports)
        std::cerr << error_line("ended by a signal; the report has what was done by then");
      return Exit::Ended;
    }
    return outcome.result.passed() || !reports ? Exit::Solved : Exit::NotConverged;
  });
}

}  // namespace strata::apps
