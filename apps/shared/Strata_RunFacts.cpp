// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_RunFacts.hpp>

#include <apps/document/Strata_Document.hpp>
#include <apps/shared/Strata_Progress.hpp>
#include <apps/shared/Strata_Report.hpp>
#include <comm/Strata_Communicator.hpp>
#include <comm/Strata_Mpi.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <iostream>
#include <string_view>

namespace strata::apps {

namespace {

std::string command_line, start_time;  // of this process

std::string quoted(std::string const& word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+,./:@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string text = "'";
  for (char const c : word) c == '\'' ? text += "'\\''" : text += c;
  return text + '\'';
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

// The kernel's mark is this program's; getrusage's mark also counts the program that started it.
double peak_bytes() {
  constexpr double kibibyte = 1024;
  std::ifstream status("/proc/self/status");
  constexpr std::string_view key = "VmHWM:";
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key)) return kibibyte * std::stod(line.substr(key.size()));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return kibibyte * static_cast<double>(usage.ru_maxrss);
}

std::string in_words(std::vector<RunFacts::HostRanks> const& hosts) {
  std::vector<std::string> list;
  for (auto const& [name, ranks] : hosts)
    list.push_back(name + " (" + counted(ranks, "rank") + ')');
  return joined(list);
}

// The table has them where there are several ranks.
void add_run(Report& report, RunFacts const& facts) {
  report.document("run", json_of(facts));
  if (facts.ranks == 1) return;
  report.section("Run");
  report.only_screen("command", facts.command);
  report.only_screen("started", facts.started);
  report.only_screen("MPI", facts.mpi);
  report.only_screen("hosts", in_words(facts.hosts));
  report.only_screen("peak memory of a rank", words(in_bytes(facts.least_peak_bytes), " to ",
                                                    in_bytes(facts.most_peak_bytes), ", resident"));
}

}  // namespace

void begin_run(int argc, char const* const* argv) {
  for (int k = 0; k < argc; ++k) command_line += (k > 0 ? " " : "") + quoted(argv[k]);
  std::time_t const now = std::time(nullptr);
  std::tm utc{};
  std::array<char, 32> text{};
  if (gmtime_r(&now, &utc) != nullptr)
    std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  start_time = text.data();
}

RunFacts run_facts(Communicator const& comm) {
  RunFacts facts{command_line, start_time, mpi_library(), {}, comm.size()};
  double const peak = peak_bytes();
  facts.most_peak_bytes = comm.max(peak);
  facts.least_peak_bytes = -comm.max(-peak);
  for (auto const& name : comm.gather_text(host_name())) {
    auto const host = std::ranges::find(facts.hosts, name, &RunFacts::HostRanks::name);
    host == facts.hosts.end() ? facts.hosts.push_back({name, 1}) : void(++host->ranks);
  }
  return facts;
}

void publish(Communicator const& comm, Progress& progress, std::string const& json,
             std::function<Report()> const& make) {
  auto const facts = run_facts(comm);
  comm.agree([&] {
    if (comm.rank() != 0) return;
    progress.phase("writing");
    Report report = make();
    add_run(report, facts);
    report.write(json);  // first: a pipe may be closed
    progress.clear();
    report.print(std::cout, json);
    std::cout.flush();
  });
}

}  // namespace strata::apps
