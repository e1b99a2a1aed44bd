// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_RUN_FACTS_HPP
#define STRATA_APPS_RUN_FACTS_HPP

#include <core/Strata_Fields.hpp>

#include <functional>
#include <string>
#include <tuple>
#include <vector>

namespace strata {
class Communicator;
}

namespace strata::apps {

class Progress;
class Report;

/// How and where a run was made, which every report tells.
struct RunFacts {
  struct HostRanks {
    std::string name;
    int ranks;
  };
  std::string command;           ///< the command line, as a shell takes it
  std::string started;           ///< UTC, as "2026-01-31T23:59:59Z"
  std::string mpi;               ///< library and version
  std::vector<HostRanks> hosts;  ///< hosts in the order of their first ranks; on rank 0 alone
  int ranks = 1;
  /// The most resident memory that a rank had at any time, over the ranks.
  double least_peak_bytes = 0, most_peak_bytes = 0;
};

/// What is told of a host.
constexpr auto fields_of(RunFacts::HostRanks const*) {
  using H = RunFacts::HostRanks;
  return std::tuple(
      Field("name", &H::name, "Name that the host gives itself."),
      Field("ranks", &H::ranks, "Number of ranks on this host.", {.schema = R"("minimum": 1)"}));
}

/// What is told of a run.
constexpr auto fields_of(RunFacts const*) {
  using R = RunFacts;
  return std::tuple(Field("command", &R::command, "Command line, as a shell takes it."),
                    Field("started", &R::started, "Time of the start: UTC, in ISO 8601."),
                    Field("mpi", &R::mpi, "Library of MPI and its version; none: a build without."),
                    Field("ranks", &R::ranks, "Number of ranks that worked together.",
                          {.schema = R"("minimum": 1)"}),
                    Field("hosts", &R::hosts, "Hosts in the order of their first ranks.",
                          {.schema = R"("minItems": 1)"}),
                    FieldGroup{"peak_bytes", "Most resident memory that a rank had at any time."},
                    Field("least_peak_bytes", &R::least_peak_bytes, "Least of all ranks.",
                          {.key = "peak_bytes/least", .unit = "byte"}),
                    Field("most_peak_bytes", &R::most_peak_bytes, "Most of all ranks.",
                          {.key = "peak_bytes/most", .unit = "byte"}));
}

/// Keep the command line and the time; main's first call.
void begin_run(int argc, char const* const* argv);

/// Collective.
RunFacts run_facts(Communicator const& comm);

/// The end of a command. The first rank makes its report, with the files that `make` writes, adds
/// how and where it was run, writes the document to `json` and prints the table. Collective; all
/// ranks throw what it throws.
void publish(Communicator const& comm, Progress& progress, std::string const& json,
             std::function<Report()> const& make);

}  // namespace strata::apps

#endif
