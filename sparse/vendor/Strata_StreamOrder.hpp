// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_VENDOR_STREAM_ORDER_HPP
#define STRATA_SPARSE_VENDOR_STREAM_ORDER_HPP

#include <Kokkos_Core.hpp>
#include <core/Strata_Errors.hpp>

#if defined(KOKKOS_ENABLE_CUDA)
#include <cuda_runtime_api.h>
#elif defined(KOKKOS_ENABLE_HIP)
#include <hip/hip_runtime_api.h>
#endif

// Kokkos has no events: this is the one place that makes an instance wait for another without the host.
namespace strata::sparse::vendor {

/// Work enqueued on `later` from now on starts after the work enqueued on `earlier` so far; by a fence
/// of `earlier` where the backend has no events.
template <class Exec>
void order_after([[maybe_unused]] Exec const& later, Exec const& earlier) {
  earlier.fence("strata::sparse::order_after");
}

#if defined(KOKKOS_ENABLE_CUDA)
inline void order_after(Kokkos::Cuda const& later, Kokkos::Cuda const& earlier) {
  auto const check = [](cudaError_t status, char const* call) {
    STRATA_REQUIRE(VendorError, status == cudaSuccess, call, ": ", cudaGetErrorName(status));
  };
  cudaEvent_t event;
  check(cudaSetDevice(earlier.cuda_device()), "cudaSetDevice");
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  check(cudaEventRecord(event, earlier.cuda_stream()), "cudaEventRecord");
  check(cudaStreamWaitEvent(later.cuda_stream(), event, 0), "cudaStreamWaitEvent");
  check(cudaEventDestroy(event), "cudaEventDestroy");  // freed when it has happened
}
#elif defined(KOKKOS_ENABLE_HIP)
inline void order_after(Kokkos::HIP const& later, Kokkos::HIP const& earlier) {
  auto const check = [](hipError_t status, char const* call) {
    STRATA_REQUIRE(VendorError, status == hipSuccess, call, ": ", hipGetErrorName(status));
  };
  hipEvent_t event;
  check(hipSetDevice(earlier.hip_device()), "hipSetDevice");
  check(hipEventCreateWithFlags(&event, hipEventDisableTiming), "hipEventCreateWithFlags");
  check(hipEventRecord(event, earlier.hip_stream()), "hipEventRecord");
  check(hipStreamWaitEvent(later.hip_stream(), event, 0), "hipStreamWaitEvent");
  check(hipEventDestroy(event), "hipEventDestroy");
}
#endif

}  // namespace strata::sparse::vendor

#endif
