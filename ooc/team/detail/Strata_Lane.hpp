// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_TEAM_DETAIL_LANE_HPP
#define STRATA_OOC_TEAM_DETAIL_LANE_HPP

#include <core/kokkos_ext/Strata_Team.hpp>
#include <ooc/team/vendor/Strata_DeviceLane.hpp>
#include <ooc/team/vendor/Strata_Numa.hpp>

#include <Kokkos_Core.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace strata::ooc::detail {

/// Bytes of host memory that are free, or what a test pretends.
std::size_t host_free_bytes();
/// no pretence: the bytes that are really free
inline constexpr std::size_t all_bytes = ~std::size_t(0);
inline std::atomic<std::size_t> pretended_free_bytes{all_bytes};
/// What a test lets a host do where a device is asked whether it has reached a mark, which may
/// fail; nullptr: nothing.
inline std::atomic<void (*)()> pretended_question{nullptr};

/// A lane on a host, where everything is done when a call returns: an instance and a memcpy.
template <class ExecutionSpace>
class HostLane {
 public:
  /// What was enqueued up to here, to be waited for by another lane.
  struct Mark {
    HostLane const* lane = nullptr;
  };

  /// While it lives the thread may make another device its own; then the one that was is again,
  /// after an exception too.
  struct Visit {
    Visit() {}
    ~Visit() {}
    Visit(Visit const&) = delete;
    Visit& operator=(Visit const&) = delete;
  };

  explicit HostLane(int /*device*/)
      : exec_(Kokkos::Experimental::partition_space(ExecutionSpace(), 1)[0]) {}

  ExecutionSpace const& exec() const { return exec_; }
  void copy(void* to, void const* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
  Mark record() {
    exec_.fence("strata::ooc::lane::record");
    return {this};
  }
  void wait(Mark const& /*mark*/) {}
  static void sync(Mark const& /*mark*/) {}
  static bool is_reached(Mark const& /*mark*/) {
    if (auto* const ask = pretended_question.load()) ask();
    return true;
  }
  void fence() { exec_.fence("strata::ooc::lane::fence"); }

  static std::size_t free_bytes(int /*device*/) { return host_free_bytes(); }
  /// Which devices' memory is one: of all that tell the same number.
  static int memory_of(int /*device*/) { return 0; }
  /// Let `device` read `other`'s memory; whether it can.
  static bool link(int /*device*/, int /*other*/) { return true; }
  static int device_of(ExecutionSpace const& /*exec*/) { return 0; }
  /// The NUMA node next to a device; workers on a host go round the nodes.
  static int node_of(int device) {
    auto const& nodes = vendor::numa_nodes();
    return nodes[static_cast<std::size_t>(device) % nodes.size()];
  }
  /// Make `device` the thread's own.
  static void enter(int /*device*/) {}

 private:
  ExecutionSpace exec_;
};

/// An in-order queue of a device with its own instance, for copies or work.
template <class ExecutionSpace>
using Lane = std::conditional_t<strata::runs_on_host<ExecutionSpace>, HostLane<ExecutionSpace>,
                                vendor::DeviceLane<ExecutionSpace>>;

}  // namespace strata::ooc::detail

#endif
