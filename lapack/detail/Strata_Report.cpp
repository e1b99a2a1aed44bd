// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The only part of the library that writes to stderr: a trace that was asked for, and failures
// that LAPACK's interface has no place for.
#include <unistd.h>

#include <lapack/detail/Strata_Report.hpp>
#include <lapack/detail/Strata_Settings.hpp>

namespace strata::lapack::detail {

namespace {

std::array<Calls, routine_names.size()> counters;

struct AtExit {
  AtExit() = default;
  AtExit(AtExit const&) = delete;
  AtExit& operator=(AtExit const&) = delete;
  ~AtExit() {
    try {
      if (!settings()->trace) return;
      for (std::size_t k = 0; k < counters.size(); ++k)
        say(std::string(routine_names[k]) + ": " + std::to_string(counters[k].by_strata) +
            " calls by Strata, " + std::to_string(counters[k].by_system) +
            " by the system's LAPACK");
    } catch (...) {  // no memory: no trace
    }
  }
};
AtExit const at_exit;

}  // namespace

Calls& calls(Routine routine) { return counters[static_cast<std::size_t>(routine)]; }

void say(std::string const& line) noexcept {
  try {
    std::string const text = "strata_lapack: " + line + "\n";
    (void)!write(STDERR_FILENO, text.data(), text.size());
  } catch (...) {
  }
}

}  // namespace strata::lapack::detail
