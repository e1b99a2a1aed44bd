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

#include <nlohmann/json.hpp>

#include <iostream>
#include <optional>
#include <sstream>
#include <string>

namespace strata::apps {

namespace {

using sparse::Communicator;

// A process for each rank, a track for each of its queues: until it is written, a track for each of both.
std::string trace_text(sparse::HpgmxpResult const& result) {
  using sparse::trace_rows;
  auto const zero = Trace::Clock::now();
  Trace trace;
  for (int track = 0; track < result.ranks * trace_rows; ++track)
    trace.name_track(track,
                     std::string(name_of(static_cast<sparse::TraceRow>(track % trace_rows))));
  for (auto const& span : result.trace)
    trace.span(span.name, std::string(name_of(span.row)),
               span.rank * trace_rows + static_cast<int>(span.row), zero + span.start,
               zero + span.end);
  std::stringstream text;
  trace.write(text);
  auto document = nlohmann::ordered_json::parse(text);
  auto& events = document["traceEvents"];
  events.erase(0);  // the name of the one process
  for (auto& event : events) {
    int const track = event["tid"];
    event["pid"] = track / trace_rows, event["tid"] = track % trace_rows;
  }
  for (int rank = 0; rank < result.ranks; ++rank)
    events.push_back({{"name", "process_name"},
                      {"ph", "M"},
                      {"pid", rank},
                      {"tid", 0},
                      {"args", {{"name", "rank " + std::to_string(rank)}}}});
  return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

void check_files(HpgmxpRequest const& request) {
  check_writable("--json", request.json);
  check_writable("--report", request.report);
  check_writable("--trace", request.trace);
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
    comm.agree([&] {
      auto const available = static_cast<std::size_t>(memory.available);
      require_memory({available, "take fewer points: it has"},
                     static_cast<double>(outcome.estimated_bytes), "a rank needs about");
    });
  } catch (Error const& error) {
    if (comm.size() == 1) throw UsageError(error.what());
    return tell(comm, Exit::Usage, error);
  }
  std::optional<Progress> progress;
  if (reports) {
    progress.emplace();
    outcome.options.progress = [&](std::string const& phase) { progress->phase(phase); };
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
  told.print(std::cout);
  std::cout.flush();
  told.write(request.json);
  if (!request.report.empty()) write_text_file(request.report, public_report(outcome));
  if (!request.trace.empty()) write_text_file(request.trace, trace_text(outcome.result));
  return outcome.result.passed() ? Exit::Solved : Exit::NotConverged;
}

}  // namespace strata::apps
