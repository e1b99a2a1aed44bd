// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/kokkos_ext/Strata_DeviceRuntime.hpp>
#include <core/kokkos_ext/Strata_EventClock.hpp>

#include <chrono>
#include <deque>
#include <map>

namespace strata::vendor {

namespace {
using Clock = std::chrono::steady_clock;
}

template <>
struct EventClock<runtime::Exec>::Impl {
  struct Point {
    explicit Point(int which) : device(which), event(STRATA_RUNTIME(EventDefault)) {}
    int device;
    runtime::Event event;
  };
  struct Origin {
    std::size_t point;
    Clock::time_point time;
  };

  std::size_t record(runtime::Exec const& exec, int device) {
    auto const& point = points.emplace_back(device);
    STRATA_RUNTIME_CALL(EventRecord, point.event, runtime::stream_of(exec));
    return points.size() - 1;
  }

  std::deque<Point> points;
  std::map<int, Origin> origins;  // of each device
};

template <>
EventClock<runtime::Exec>::EventClock() : impl_(std::make_unique<Impl>()) {}
template <>
EventClock<runtime::Exec>::~EventClock() = default;

template <>
auto EventClock<runtime::Exec>::stamp(runtime::Exec const& exec) -> Stamp {
  int const device = runtime::device_of(exec);
  runtime::Selected const selected(device);
  if (!impl_->origins.contains(device)) {
    exec.fence("strata::vendor::EventClock::origin");
    std::size_t const first = impl_->record(exec, device);
    STRATA_RUNTIME_CALL(EventSynchronize, impl_->points[first].event);
    impl_->origins[device] = {first, Clock::now()};
  }
  return impl_->record(exec, device);
}

template <>
Clock::time_point EventClock<runtime::Exec>::time_of(Stamp stamp) const {
  auto const& point = impl_->points[stamp];
  auto const& origin = impl_->origins.at(point.device);
  float milliseconds = 0;
  STRATA_RUNTIME_CALL(EventSynchronize, point.event);
  STRATA_RUNTIME_CALL(EventElapsedTime, &milliseconds, impl_->points[origin.point].event,
                      point.event);
  return origin.time + std::chrono::duration_cast<Clock::duration>(
                           std::chrono::duration<double, std::milli>(milliseconds));
}

template class EventClock<runtime::Exec>;

}  // namespace strata::vendor
