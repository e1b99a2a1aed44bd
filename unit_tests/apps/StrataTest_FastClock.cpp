// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Loaded before a program: its steady clock goes ten times as fast, so that what it shows after a
// second is shown after a tenth.
#include <dlfcn.h>
#include <pthread.h>

#include <ctime>

namespace {

constexpr long times = 10, second = 1'000'000'000;

template <class Function>
Function* next(char const* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

timespec of_nanoseconds(long n) { return {n / second, n % second}; }
long nanoseconds(timespec const& t) { return t.tv_sec * second + t.tv_nsec; }

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static auto* const real = next<int(clockid_t, timespec*)>("clock_gettime");
  int const status = real(clock, time);
  if (status == 0 && clock == CLOCK_MONOTONIC) *time = of_nanoseconds(times * nanoseconds(*time));
  return status;
}

// Until a time of that clock.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           timespec const* until) {
  static auto* const real =
      next<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, timespec const*)>(
          "pthread_cond_clockwait");
  timespec const slow =
      clock == CLOCK_MONOTONIC ? of_nanoseconds(nanoseconds(*until) / times) : *until;
  return real(condition, mutex, clock, &slow);
}
}
