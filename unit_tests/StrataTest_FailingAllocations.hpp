// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_FAILING_ALLOCATIONS_HPP
#define STRATATEST_FAILING_ALLOCATIONS_HPP

#include <Kokkos_Core.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace strata::test {

/// While it lives, chosen allocations of Kokkos fail, in every memory space: as when there is no
/// memory they throw std::runtime_error and leave nothing behind. One at a time; other threads may
/// allocate.
class FailingAllocations {
 public:
  /// What comes after the k-th.
  enum class Then { Succeed, Fail };

  /// Those with this label fail when asked to.
  FailingAllocations(std::string label, std::function<bool()> fails)
      : FailingAllocations([label = std::move(label), fails = std::move(fails)](
                               std::string_view name) { return name == label && fails(); }) {}

  /// The k-th (k >= 1) of those whose labels begin with `prefix` fails, a test's own aside; those
  /// after it as `then` says.
  explicit FailingAllocations(std::int64_t k, Then then = Then::Succeed,
                              std::string prefix = "strata::")
      : FailingAllocations([k, then, prefix = std::move(prefix)](std::string_view name) {
          if (!name.starts_with(prefix) || name.starts_with("strata::test::")) return false;
          std::int64_t const number = ++count_;
          return number == k || (number > k && then == Then::Fail);
        }) {}

  ~FailingAllocations() { Kokkos::Tools::Experimental::set_callbacks(saved_); }
  FailingAllocations(FailingAllocations const&) = delete;
  FailingAllocations& operator=(FailingAllocations const&) = delete;

  /// Whether one has failed by now.
  bool failed() const { return failed_; }
  /// From now on all succeed.
  void relent() { relented_ = true; }

 private:
  explicit FailingAllocations(std::function<bool(std::string_view)> fails)
      : saved_(Kokkos::Tools::Experimental::get_callbacks()) {
    fails_ = std::move(fails);
    count_ = 0;
    failed_ = relented_ = false;
    Kokkos::Tools::Experimental::set_allocate_data_callback([](Kokkos::Profiling::SpaceHandle space,
                                                               char const* name, void const* data,
                                                               std::uint64_t bytes) {
      if (relented_ || !fails_(name)) return;
      failed_ = true;
      // Kokkos calls this after the allocation, which nobody will free if this throws.
      free<Kokkos::HostSpace>(space, data, bytes);
      free<Kokkos::DefaultExecutionSpace::memory_space>(space, data, bytes);
      if constexpr (Kokkos::has_shared_host_pinned_space)
        free<Kokkos::SharedHostPinnedSpace>(space, data, bytes);
      throw std::runtime_error(std::string("made to fail: ") + name);
    });
  }

  template <class Space>
  static void free(Kokkos::Profiling::SpaceHandle const& space, void const*& data,
                   std::uint64_t bytes) {
    if (data == nullptr || std::strcmp(space.name, Space::name()) != 0) return;
    // A View's allocation has Kokkos' header in front of the bytes that are told.
    constexpr std::size_t header = 128;
    Space().deallocate(const_cast<void*>(data), static_cast<std::size_t>(bytes) + header);
    data = nullptr;
  }

  inline static std::function<bool(std::string_view)> fails_;
  inline static std::atomic<std::int64_t> count_ = 0;
  inline static std::atomic<bool> failed_ = false, relented_ = false;
  Kokkos::Tools::Experimental::EventSet saved_;
};

/// Runs `body(failing)` with the k-th allocation failing, k = 1, 2, ..., until a run in which none
/// failed; returns how many were made to fail. The body catches what it expects; what it throws
/// ends the loop.
template <class Body>
std::int64_t fail_each_allocation(Body const& body,
                                  FailingAllocations::Then then = FailingAllocations::Then::Succeed,
                                  std::string const& prefix = "strata::") {
  for (std::int64_t k = 1;; ++k) {
    FailingAllocations failing(k, then, prefix);
    body(failing);
    if (!failing.failed()) return k - 1;
  }
}

}  // namespace strata::test

#endif
