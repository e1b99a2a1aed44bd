// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_FAILING_ALLOCATIONS_HPP
#define STRATATEST_FAILING_ALLOCATIONS_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

namespace strata::test {

/// While it lives, allocations with this label fail when asked to: Kokkos' tool callbacks may throw.
class FailingAllocations {
 public:
  FailingAllocations(std::string label, std::function<bool()> fails)
      : saved_(Kokkos::Tools::Experimental::get_callbacks()) {
    label_ = std::move(label);
    fails_ = std::move(fails);
    Kokkos::Tools::Experimental::set_allocate_data_callback(
        [](Kokkos::Profiling::SpaceHandle, char const* name, void const*, std::uint64_t) {
          if (label_ == name && fails_()) throw std::runtime_error("made to fail");
        });
  }
  ~FailingAllocations() { Kokkos::Tools::Experimental::set_callbacks(saved_); }
  FailingAllocations(FailingAllocations const&) = delete;
  FailingAllocations& operator=(FailingAllocations const&) = delete;

 private:
  inline static std::string label_;
  inline static std::function<bool()> fails_;
  Kokkos::Tools::Experimental::EventSet saved_;
};

}  // namespace strata::test

#endif
