// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_RUN_FACTS_HPP
#define STRATA_APPS_RUN_FACTS_HPP

#include <functional>
#include <string>
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
  std::string command;  ///< the command line, as a shell takes it
  std::string started;  ///< UTC, as "2026-01-31T23:59:59Z"
  std::string mpi;      ///< library and version
  std::vector<HostRanks>
      hosts;  ///< on rank 0, in the order of their first ranks; nothing elsewhere
  int ranks = 1;
  /// The most resident memory that a rank had at any time, over the ranks.
  double least_peak_bytes = 0, most_peak_bytes = 0;
};

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
