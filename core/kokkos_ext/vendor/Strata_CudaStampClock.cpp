// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <cuda_runtime_api.h>

#include <chrono>
#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_StampClock.hpp>
#include <vector>

namespace strata::vendor {

namespace {

using Clock = std::chrono::steady_clock;

void require(cudaError_t status, char const* call) {
  STRATA_REQUIRE(VendorError, status == cudaSuccess, call, ": ", cudaGetErrorName(status));
}

}  // namespace

template <>
struct EventClock<Kokkos::Cuda>::Impl {
  explicit Impl(int which) : device(which) {}
  ~Impl() {
    for (auto const event : events) (void)cudaEventDestroy(event);
  }

  int device;
  std::vector<cudaEvent_t> events;
  Clock::time_point origin;  // of the first event
};

template <>
auto EventClock<Kokkos::Cuda>::stamp(Kokkos::Cuda const& exec) -> Stamp {
  auto& events = impl_->events;
  require(cudaSetDevice(impl_->device), "cudaSetDevice");
  cudaEvent_t event = nullptr;
  require(cudaEventCreateWithFlags(&event, cudaEventDefault), "cudaEventCreateWithFlags");
  events.push_back(event);
  require(cudaEventRecord(event, exec.cuda_stream()), "cudaEventRecord");
  return events.size() - 1;
}

template <>
EventClock<Kokkos::Cuda>::EventClock(Kokkos::Cuda const& exec)
    : impl_(std::make_unique<Impl>(exec.cuda_device())) {
  exec.fence("strata::vendor::EventClock::origin");
  stamp(exec);
  require(cudaEventSynchronize(impl_->events.front()), "cudaEventSynchronize");
  impl_->origin = Clock::now();
}
template <>
EventClock<Kokkos::Cuda>::~EventClock() = default;

template <>
Clock::time_point EventClock<Kokkos::Cuda>::time_of(Stamp stamp) const {
  auto const& events = impl_->events;
  float milliseconds = 0;
  require(cudaEventSynchronize(events[stamp]), "cudaEventSynchronize");
  require(cudaEventElapsedTime(&milliseconds, events.front(), events[stamp]),
          "cudaEventElapsedTime");
  return impl_->origin + std::chrono::duration_cast<Clock::duration>(
                             std::chrono::duration<double, std::milli>(milliseconds));
}

template class EventClock<Kokkos::Cuda>;

}  // namespace strata::vendor
