// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_LIFE_HPP
#define STRATATEST_LIFE_HPP

#include <unistd.h>

#include <cstdio>
#include <map>
#include <string>

// For programs that test what happens before, at and after a process' ends, where GoogleTest's do
// not reach.
namespace strata::test {

inline int failures = 0;

inline void expect(bool holds, char const* what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n", what);
  ++failures;
}

/// After main, where no status can be returned any more.
inline void end_if_failed() {
  if (failures > 0) _exit(1);
}

/// Run the scenario that the first argument names; the status to end with.
inline int run_scenario(int argc, char** argv, std::map<std::string, void (*)()> const& scenarios) {
  auto const found = argc == 2 ? scenarios.find(argv[1]) : scenarios.end();
  if (found == scenarios.end()) {
    for (auto const& [name, run] : scenarios) std::fprintf(stderr, "%s\n", name.c_str());
    return 2;
  }
  found->second();
  return failures == 0 ? 0 : 1;
}

}  // namespace strata::test

#endif
