// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The only part of the library that writes to stderr: a trace that was asked for, and failures
// that LAPACK's interface has no place for.
#include <lapack/detail/Strata_Report.hpp>

#include <lapack/detail/Strata_Settings.hpp>

#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <string>

namespace strata::lapack::detail {

namespace {

std::array<std::array<std::atomic<std::int64_t>, 2>, routine_names.size()> counters;

void forget() {
  for (auto& counter : counters)
    for (auto& one : counter) one = 0;
}

// A process that has called nothing says nothing, reads no settings and loads nothing.
struct AtExit {
  AtExit() = default;
  AtExit(AtExit const&) = delete;
  AtExit& operator=(AtExit const&) = delete;
  ~AtExit() {
    try {
      for (std::size_t k = 0; k < counters.size(); ++k) {
        std::int64_t const strata = counters[k][0], system = counters[k][1];
        if ((strata == 0 && system == 0) || !settings().trace) continue;
        say(std::string(routine_names[k]) + ": " + std::to_string(strata) + " calls by Strata, " +
            std::to_string(system) + " by the system's LAPACK");
      }
    } catch (...) {
      say("no memory for the trace");
    }
  }
};
AtExit const at_exit;

std::atomic<std::int64_t>& counter(Routine routine, Doer doer) {
  return counters[static_cast<std::size_t>(routine)][static_cast<std::size_t>(doer)];
}

}  // namespace

void count(Routine routine, Doer doer) {
  [[maybe_unused]] static int const watched = pthread_atfork(nullptr, nullptr, forget);
  ++counter(routine, doer);
}

std::int64_t calls(Routine routine, Doer doer) { return counter(routine, doer); }

void say(std::string_view line) noexcept {
  std::array<char, 20> digits{};
  char const* const end = std::to_chars(digits.begin(), digits.end(), getpid()).ptr;
  auto const part = [](std::string_view text) {
    return iovec{const_cast<char*>(text.data()), text.size()};
  };
  std::array<iovec, 7> parts = {part("strata_lapack: "),
                                part(program_invocation_short_name),
                                part("["),
                                part(std::string_view(digits.data(), end - digits.data())),
                                part("]: "),
                                part(line),
                                part("\n")};
  (void)!writev(STDERR_FILENO, parts.data(), static_cast<int>(parts.size()));
}

}  // namespace strata::lapack::detail
