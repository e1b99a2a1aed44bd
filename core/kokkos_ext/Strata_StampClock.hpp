// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_STAMP_CLOCK_HPP
#define STRATA_STAMP_CLOCK_HPP

#include <core/kokkos_ext/Strata_Team.hpp>

#include <Kokkos_Core.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace strata::vendor {

/// Points in the work that was enqueued on a device's instances, and when it got there: events.
///
/// Defined in `vendor/`, for the GPU that Kokkos has. Throws VendorError.
template <class Exec>
class EventClock {
 public:
  using Stamp = std::size_t;

  /// Fences `exec`, which may then be any instance of its device.
  explicit EventClock(Exec const& exec);
  ~EventClock();
  EventClock(EventClock const&) = delete;
  EventClock& operator=(EventClock const&) = delete;

  /// Sync     enqueued on `exec`.
  Stamp stamp(Exec const& exec);
  /// By the host's clock, to the time that a fence takes; between points of one clock, of any
  /// instances, by the device's. Waits for the point.
  std::chrono::steady_clock::time_point time_of(Stamp stamp) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace strata::vendor

namespace strata {

/// The same where a call returns when its work is done.
template <class Exec>
class HostClock {
 public:
  using Stamp = std::chrono::steady_clock::time_point;

  explicit HostClock(Exec const& /*exec*/) {}
  Stamp stamp(Exec const& /*exec*/) const { return std::chrono::steady_clock::now(); }
  std::chrono::steady_clock::time_point time_of(Stamp stamp) const { return stamp; }
};

template <class Exec>
using StampClock =
    std::conditional_t<runs_on_host<Exec>, HostClock<Exec>, vendor::EventClock<Exec>>;

}  // namespace strata

#endif
