// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The only part of the library that writes to stderr: a trace that was asked for, and failures
// that LAPACK's interface has no place for.
#include <sys/uio.h>
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
    } catch (...) {
      say("no memory for the trace");
    }
  }
};
AtExit const at_exit;

}  // namespace

Calls& calls(Routine routine) { return counters[static_cast<std::size_t>(routine)]; }

void say(std::string_view line) noexcept {
  constexpr std::string_view begin = "strata_lapack: ", end = "\n";
  std::array<iovec, 3> parts{};
  auto const part = [](std::string_view text) {
    return iovec{const_cast<char*>(text.data()), text.size()};
  };
  parts = {part(begin), part(line), part(end)};
  (void)!writev(STDERR_FILENO, parts.data(), static_cast<int>(parts.size()));
}

}  // namespace strata::lapack::detail
