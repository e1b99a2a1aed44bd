// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/kokkos_ext/Strata_DeviceRuntime.hpp>
#include <core/kokkos_ext/Strata_StampClock.hpp>

#include <chrono>
#include <deque>

namespace strata::vendor {

namespace {
using Clock = std::chrono::steady_clock;
}

template <>
struct EventClock<runtime::Exec>::Impl {
  explicit Impl(int which) : device(which) {}

  int device;
  std::deque<runtime::Event> events;
  Clock::time_point origin;  // of the first event
};

template <>
auto EventClock<runtime::Exec>::stamp(runtime::Exec const& exec) -> Stamp {
  auto& events = impl_->events;
  runtime::select(impl_->device);
  auto const& event = events.emplace_back(STRATA_RUNTIME(EventDefault));
  STRATA_RUNTIME_CALL(EventRecord, event, runtime::stream_of(exec));
  return events.size() - 1;
}

template <>
EventClock<runtime::Exec>::EventClock(runtime::Exec const& exec)
    : impl_(std::make_unique<Impl>(runtime::device_of(exec))) {
  exec.fence("strata::vendor::EventClock::origin");
  stamp(exec);
  STRATA_RUNTIME_CALL(EventSynchronize, impl_->events.front());
  impl_->origin = Clock::now();
}
template <>
EventClock<runtime::Exec>::~EventClock() = default;

template <>
Clock::time_point EventClock<runtime::Exec>::time_of(Stamp stamp) const {
  auto const& events = impl_->events;
  float milliseconds = 0;
  STRATA_RUNTIME_CALL(EventSynchronize, events[stamp]);
  STRATA_RUNTIME_CALL(EventElapsedTime, &milliseconds, events.front(), events[stamp]);
  return impl_->origin + std::chrono::duration_cast<Clock::duration>(
                             std::chrono::duration<double, std::milli>(milliseconds));
}

template class EventClock<runtime::Exec>;

}  // namespace strata::vendor
