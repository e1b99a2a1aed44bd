// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_FILES_HPP
#define STRATATEST_FILES_HPP

#include "StrataTest_Matchers.hpp"
#include "core/io/StrataTest_TemporaryFolder.hpp"
#include <core/Strata_Errors.hpp>
#include <core/io/files/Strata_ByteSink.hpp>

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace strata::test {

inline std::string put(std::string const& path, std::string const& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

inline std::string get(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string gzip(std::string const& bytes) {
  strata::MemorySink result;
  strata::DeflateSink sink(result);
  sink.write(bytes.data(), bytes.size());
  sink.finish();
  return result.bytes;
}

/// What an action in a process of its own cost, and what it threw.
struct Outcome {
  std::string error;
  double seconds = 0;    ///< seconds of processor time: other processes don't count
  double megabytes = 0;  ///< growth of the resident memory at its peak
};

inline double resident_megabytes() {
  std::ifstream statm("/proc/self/statm");
  double total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGE_SIZE)) / 1e6;
}

/// Run `action` in a child process.
template <class Action>
Outcome in_child(Action const& action) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("pipe");
  ::malloc_trim(0);  // so that the child has no free memory of ours to use unseen
  auto const child = ::fork();
  if (child == 0) {
    double const before =
        resident_megabytes();  // without what a device's driver keeps for the parent
    std::string text;
    try {
      action();
    } catch (Error const& error) {
      text = error.what();
    } catch (std::exception const& error) {
      text = std::string("not an Error of Strata: ") + error.what();
    }
    text.insert(0, std::to_string(before) + ' ');
    ::_exit(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0
                                                                                            : 1);
  }
  ::close(ends[1]);
  Outcome outcome;
  char buffer[4096];
  for (ssize_t got; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    outcome.error.append(buffer, static_cast<std::size_t>(got));
  ::close(ends[0]);
  auto const space = outcome.error.find(' ');
  double const before = std::strtod(outcome.error.c_str(), nullptr);
  outcome.error.erase(0, space == std::string::npos ? space : space + 1);
  int status = 0;
  struct rusage usage{};
  ::wait4(child, &status, 0, &usage);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
      << "the child process died, status " << status;
  auto const seconds = [](timeval const& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  outcome.seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  outcome.megabytes = static_cast<double>(usage.ru_maxrss) * 1024 / 1e6 - before;
  return outcome;
}

/// One clear line, little memory (the whole program may take 64 MB) and little time.
inline void expect_refused_cheaply(Outcome const& outcome, std::string const& expected) {
  EXPECT_NE(outcome.error.find(expected), std::string::npos) << outcome.error;
  EXPECT_EQ(outcome.error.find('\n'), std::string::npos) << outcome.error;
  EXPECT_LT(outcome.error.size(), 300u) << outcome.error;
  EXPECT_LT(outcome.megabytes, 40);  // half of that without a sanitizer
  EXPECT_LT(outcome.seconds, 1);
}

}  // namespace strata::test

#endif
