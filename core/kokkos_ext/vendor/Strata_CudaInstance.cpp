// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <cuda_runtime_api.h>

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_SecondInstance.hpp>

namespace strata::vendor {

namespace {

void require(cudaError_t status, char const* call) {
  STRATA_REQUIRE(VendorError, status == cudaSuccess, call, ": ", cudaGetErrorName(status));
}

struct Stream {
  explicit Stream(Kokkos::Cuda const& exec) {
    int least = 0, greatest = 0;
    require(cudaSetDevice(exec.cuda_device()), "cudaSetDevice");
    require(cudaDeviceGetStreamPriorityRange(&least, &greatest),
            "cudaDeviceGetStreamPriorityRange");
    require(cudaStreamCreateWithPriority(&handle, cudaStreamNonBlocking, greatest),
            "cudaStreamCreateWithPriority");
  }
  ~Stream() { (void)cudaStreamDestroy(handle); }
  Stream(Stream const&) = delete;
  Stream& operator=(Stream const&) = delete;
  cudaStream_t handle = nullptr;
};

struct OwnedInstance {
  explicit OwnedInstance(Kokkos::Cuda const& exec) : stream(exec), instance(stream.handle) {}
  ~OwnedInstance() { instance.fence("strata::vendor::urgent_instance::release"); }
  Stream stream;
  Kokkos::Cuda instance;
};

}  // namespace

template <>
std::shared_ptr<Kokkos::Cuda const> urgent_instance(Kokkos::Cuda const& exec) {
  auto const owned = std::make_shared<OwnedInstance>(exec);
  return {owned, &owned->instance};
}

template <>
void enqueue_wait(Kokkos::Cuda const& waiting, Kokkos::Cuda const& awaited) {
  cudaEvent_t event = nullptr;
  require(cudaSetDevice(awaited.cuda_device()), "cudaSetDevice");
  require(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  require(cudaEventRecord(event, awaited.cuda_stream()), "cudaEventRecord");
  require(cudaStreamWaitEvent(waiting.cuda_stream(), event, 0), "cudaStreamWaitEvent");
  require(cudaEventDestroy(event), "cudaEventDestroy");  // once it has happened
}

}  // namespace strata::vendor
