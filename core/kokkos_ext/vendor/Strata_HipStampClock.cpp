// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <hip/hip_runtime_api.h>

#include <chrono>
#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_StampClock.hpp>
#include <vector>

namespace strata::vendor {

namespace {

using Clock = std::chrono::steady_clock;

void require(hipError_t status, char const* call) {
  STRATA_REQUIRE(VendorError, status == hipSuccess, call, ": ", hipGetErrorName(status));
}

}  // namespace

template <>
struct EventClock<Kokkos::HIP>::Impl {
  explicit Impl(int which) : device(which) {}
  ~Impl() {
    for (auto const event : events) (void)hipEventDestroy(event);
  }

  int device;
  std::vector<hipEvent_t> events;
  Clock::time_point origin;  // of the first event
};

template <>
auto EventClock<Kokkos::HIP>::stamp(Kokkos::HIP const& exec) -> Stamp {
  auto& events = impl_->events;
  require(hipSetDevice(impl_->device), "hipSetDevice");
  hipEvent_t event = nullptr;
  require(hipEventCreateWithFlags(&event, hipEventDefault), "hipEventCreateWithFlags");
  events.push_back(event);
  require(hipEventRecord(event, exec.hip_stream()), "hipEventRecord");
  return events.size() - 1;
}

template <>
EventClock<Kokkos::HIP>::EventClock(Kokkos::HIP const& exec)
    : impl_(std::make_unique<Impl>(exec.hip_device())) {
  exec.fence("strata::vendor::EventClock::origin");
  stamp(exec);
  require(hipEventSynchronize(impl_->events.front()), "hipEventSynchronize");
  impl_->origin = Clock::now();
}
template <>
EventClock<Kokkos::HIP>::~EventClock() = default;

template <>
Clock::time_point EventClock<Kokkos::HIP>::time_of(Stamp stamp) const {
  auto const& events = impl_->events;
  float milliseconds = 0;
  require(hipEventSynchronize(events[stamp]), "hipEventSynchronize");
  require(hipEventElapsedTime(&milliseconds, events.front(), events[stamp]), "hipEventElapsedTime");
  return impl_->origin + std::chrono::duration_cast<Clock::duration>(
                             std::chrono::duration<double, std::milli>(milliseconds));
}

template class EventClock<Kokkos::HIP>;

}  // namespace strata::vendor
