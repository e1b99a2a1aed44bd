// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_TEAM_VENDOR_DEVICE_LANE_HPP
#define STRATA_OOC_TEAM_VENDOR_DEVICE_LANE_HPP

#include <cstddef>
#include <cstdint>
#include <memory>

namespace strata::ooc::vendor {

/// A stream of any GPU with an instance on it, and events; the members of `detail::HostLane`.
///
/// Defined in `vendor/Strata_DeviceLane.cpp`, for the GPU that Kokkos has. Throws VendorError.
template <class ExecutionSpace>
class DeviceLane {
 public:
  struct Mark {
    DeviceLane const* lane = nullptr;
    std::uint64_t number = 0;
  };

  class Visit {
   public:
    Visit();
    ~Visit();
    Visit(Visit const&) = delete;
    Visit& operator=(Visit const&) = delete;

   private:
    int before_ = 0;
  };

  /// A new stream of the device.
  explicit DeviceLane(int device);
  ~DeviceLane();
  DeviceLane(DeviceLane const&) = delete;
  DeviceLane& operator=(DeviceLane const&) = delete;

  ExecutionSpace const& exec() const;
  /// Enqueue a copy; either side may be pinned host memory, this device or a linked one.
  void copy(void* to, void const* from, std::size_t bytes);
  Mark record();
  /// What is enqueued from now on starts after the mark.
  void wait(Mark const& mark);
  /// The caller waits for the mark.
  static void sync(Mark const& mark);
  /// Whether it would not have to wait.
  static bool is_reached(Mark const& mark);
  void fence();

  static std::size_t free_bytes(int device);
  static int memory_of(int device) { return device; }
  static bool link(int device, int other);
  static int device_of(ExecutionSpace const& exec);
  static int node_of(int device);
  static void enter(int device);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace strata::ooc::vendor

#endif
