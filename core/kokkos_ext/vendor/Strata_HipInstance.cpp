// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <hip/hip_runtime_api.h>

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_SecondInstance.hpp>

namespace strata::vendor {

namespace {

void require(hipError_t status, char const* call) {
  STRATA_REQUIRE(VendorError, status == hipSuccess, call, ": ", hipGetErrorName(status));
}

struct Stream {
  explicit Stream(Kokkos::HIP const& exec) {
    int least = 0, greatest = 0;
    require(hipSetDevice(exec.hip_device()), "hipSetDevice");
    require(hipDeviceGetStreamPriorityRange(&least, &greatest), "hipDeviceGetStreamPriorityRange");
    require(hipStreamCreateWithPriority(&handle, hipStreamNonBlocking, greatest),
            "hipStreamCreateWithPriority");
  }
  ~Stream() { (void)hipStreamDestroy(handle); }
  Stream(Stream const&) = delete;
  Stream& operator=(Stream const&) = delete;
  hipStream_t handle = nullptr;
};

struct OwnedInstance {
  explicit OwnedInstance(Kokkos::HIP const& exec) : stream(exec), instance(stream.handle) {}
  ~OwnedInstance() { instance.fence("strata::vendor::urgent_instance::release"); }
  Stream stream;
  Kokkos::HIP instance;
};

}  // namespace

template <>
std::shared_ptr<Kokkos::HIP const> urgent_instance(Kokkos::HIP const& exec) {
  auto const owned = std::make_shared<OwnedInstance>(exec);
  return {owned, &owned->instance};
}

template <>
void enqueue_wait(Kokkos::HIP const& waiting, Kokkos::HIP const& awaited) {
  hipEvent_t event = nullptr;
  require(hipSetDevice(awaited.hip_device()), "hipSetDevice");
  require(hipEventCreateWithFlags(&event, hipEventDisableTiming), "hipEventCreateWithFlags");
  require(hipEventRecord(event, awaited.hip_stream()), "hipEventRecord");
  require(hipStreamWaitEvent(waiting.hip_stream(), event, 0), "hipStreamWaitEvent");
  require(hipEventDestroy(event), "hipEventDestroy");  // once it has happened
}

}  // namespace strata::vendor
