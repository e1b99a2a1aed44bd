// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/kokkos_ext/Strata_DeviceRuntime.hpp>
#include <core/kokkos_ext/Strata_FenceAtEnd.hpp>
#include <core/kokkos_ext/Strata_SecondInstance.hpp>

namespace strata::vendor {

namespace {

struct OwnedInstance {
  explicit OwnedInstance(runtime::Exec const& exec)
      : stream(runtime::device_of(exec), true), instance(stream) {}
  ~OwnedInstance() {
    strata::detail::fence_at_end(instance, "strata::vendor::urgent_instance::release");
  }
  runtime::Stream stream;
  runtime::Exec instance;
};

}  // namespace

template <>
std::shared_ptr<runtime::Exec const> urgent_instance(runtime::Exec const& exec) {
  auto const owned = std::make_shared<OwnedInstance>(exec);
  return {owned, &owned->instance};
}

template <>
void enqueue_wait(runtime::Exec const& waiting, runtime::Exec const& awaited) {
  runtime::select(awaited);
  runtime::Event const event(STRATA_RUNTIME(EventDisableTiming));
  STRATA_RUNTIME_CALL(EventRecord, event, runtime::stream_of(awaited));
  STRATA_RUNTIME_CALL(StreamWaitEvent, runtime::stream_of(waiting), event, 0);
}

}  // namespace strata::vendor
