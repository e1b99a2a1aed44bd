// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_HOST_THREADS_HPP
#define STRATA_HOST_THREADS_HPP

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <future>
#include <thread>
#include <vector>

namespace strata::detail {

/// Call f(k) for every k in [0, count) from as many threads as the process may use, for host code
/// that no Kokkos backend runs in parallel. Results must not depend on the order of the calls.
///
/// Throws   what f throws, once all threads have stopped.
template <class Function>
void for_each_on_host(std::int64_t count, Function const& f) {
  std::atomic<std::int64_t> next{0};
  auto const work = [&] {
    for (std::int64_t k = next++; k < count; k = next++) f(k);
  };
  auto const threads = std::min<std::int64_t>(std::thread::hardware_concurrency(), count);
  std::vector<std::future<void>> helpers;  // their destructors wait
  for (std::int64_t t = 1; t < threads; ++t)
    helpers.push_back(std::async(std::launch::async, work));
  work();
  for (auto& helper : helpers) helper.get();
}

}  // namespace strata::detail

#endif
