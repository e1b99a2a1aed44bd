// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Ending.hpp>

#include <core/Strata_Errors.hpp>

#include <atomic>
#include <csignal>
#include <utility>

namespace strata::apps {

namespace {

std::atomic<int> asked_by{0};
static_assert(std::atomic<int>::is_always_lock_free);
std::atomic<bool> thrown{false};

extern "C" void ask(int signal) { asked_by.store(signal); }

void handle(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;  // NOLINT(cppcoreguidelines-pro-type-union-access)
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

EndSignals::EndSignals() {
  for (int const signal : {SIGTERM, SIGUSR1}) handle(signal, ask);
}
EndSignals::~EndSignals() {
  for (int const signal : {SIGTERM, SIGUSR1}) handle(signal, SIG_DFL);
}

bool is_end_asked() { return asked_by.load() != 0; }

std::string ended_by() {
  return asked_by.load() == SIGUSR1 ? "ended by SIGUSR1" : "ended by SIGTERM";
}

void end_if_asked(std::string const& rest) {
  if (!is_end_asked()) return;
  set_ended();
  throw Error(ended_by() + rest);
}

std::function<void(double)> until_end(std::function<void(double)> listener,
                                      std::string const& rest) {
  return [listener = std::move(listener), rest](double part) {
    end_if_asked(rest);
    if (listener) listener(part);
  };
}

bool has_ended() { return thrown.load(); }
void set_ended() { thrown.store(true); }

}  // namespace strata::apps
