// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_HOST_THREADS_HPP
#define STRATA_HOST_THREADS_HPP

#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

namespace strata::detail {

/// How many threads the process may run at once: its CPU affinity where that is known.
inline int host_threads() {
#ifdef __linux__
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

/// Calls f(k) for every k in [0, count) from as many threads as the process may use. It is for host
/// code that no Kokkos backend runs in parallel. Results must not depend on the order of the calls.
/// `on_done` hears after each how many there were, in this order, from one thread at a time.
///
/// Throws   what f and on_done throw, once all threads have stopped.
template <class Function>
void for_each_on_host(std::int64_t count, Function const& f,
                      std::function<void(std::int64_t)> const& on_done = {}) {
  std::atomic<std::int64_t> next{0};
  std::mutex mutex;
  std::int64_t done = 0;
  auto const work = [&] {
    for (std::int64_t k = next++; k < count; k = next++) {
      f(k);
      if (!on_done) continue;
      std::lock_guard const lock(mutex);
      on_done(++done);
    }
  };
  auto const threads = std::min<std::int64_t>(host_threads(), count);
  std::vector<std::future<void>> helpers;  // their destructors wait
  for (std::int64_t t = 1; t < threads; ++t)
    helpers.push_back(std::async(std::launch::async, work));
  work();
  for (auto& helper : helpers) helper.get();
}

}  // namespace strata::detail

#endif
