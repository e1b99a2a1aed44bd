// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_EVENT_CLOCK_HPP
#define STRATA_EVENT_CLOCK_HPP

#include <chrono>
#include <cstddef>
#include <memory>

namespace strata::vendor {

/// Points in the work that was enqueued on devices' instances, and when it got there: events.
///
/// Defined in `vendor/`, for the GPU that Kokkos has. Throws VendorError.
template <class Exec>
class EventClock {
 public:
  using Stamp = std::size_t;

  EventClock();
  ~EventClock();
  EventClock(EventClock const&) = delete;
  EventClock& operator=(EventClock const&) = delete;

  /// Sync     enqueued on `exec`; the first of a device fences it.
  Stamp stamp(Exec const& exec);
  /// By the host's clock, to the time that a fence takes; between points of one device, of any
  /// instances, by the device's. Waits for the point.
  std::chrono::steady_clock::time_point time_of(Stamp stamp) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace strata::vendor

#endif
