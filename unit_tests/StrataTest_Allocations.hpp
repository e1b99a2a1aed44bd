// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_ALLOCATIONS_HPP
#define STRATATEST_ALLOCATIONS_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <mutex>
#include <set>
#include <string>

namespace strata::test {

/// While it lives, the labels of what Kokkos allocates, in any thread; some releases of it report
/// allocations of no bytes.
class Allocations {
 public:
  Allocations() : saved_(Kokkos::Tools::Experimental::get_callbacks()) {
    clear();
    Kokkos::Tools::Experimental::set_allocate_data_callback(
        [](Kokkos::Profiling::SpaceHandle, char const* name, void const*, std::uint64_t bytes) {
          std::lock_guard const lock(mutex_);
          if (bytes > 0) labels_.insert(name);
        });
  }
  ~Allocations() { Kokkos::Tools::Experimental::set_callbacks(saved_); }
  Allocations(Allocations const&) = delete;
  Allocations& operator=(Allocations const&) = delete;

  static std::multiset<std::string> labels() {
    std::lock_guard const lock(mutex_);
    return labels_;
  }
  static void clear() {
    std::lock_guard const lock(mutex_);
    labels_.clear();
  }

 private:
  inline static std::mutex mutex_;
  inline static std::multiset<std::string> labels_;
  Kokkos::Tools::Experimental::EventSet saved_;
};

}  // namespace strata::test

#endif
