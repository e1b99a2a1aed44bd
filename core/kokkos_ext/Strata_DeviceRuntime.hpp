// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DEVICE_RUNTIME_HPP
#define STRATA_DEVICE_RUNTIME_HPP

#include <core/Strata_Errors.hpp>

#include <Kokkos_Core.hpp>

// The runtime of the GPU that this Kokkos is built for, CUDA or HIP, by what their names share. A
// source in a `vendor/` folder that includes it serves both. Without such a GPU there is nothing
// here.

/// STRATA_RUNTIME(EventRecord) is cudaEventRecord or hipEventRecord,
/// STRATA_RUNTIME_TEXT(EventRecord) its name as a string; STRATA_CUDA_OR_HIP(a, b) is a or b, for
/// what is called otherwise.
#if defined(KOKKOS_ENABLE_CUDA)
#include <cuda_runtime_api.h>
#define STRATA_RUNTIME(name) cuda##name
#define STRATA_RUNTIME_TEXT(name) "cuda" #name
#define STRATA_CUDA_OR_HIP(cuda, hip) cuda
#elif defined(KOKKOS_ENABLE_HIP)
#include <hip/hip_runtime_api.h>
#define STRATA_RUNTIME(name) hip##name
#define STRATA_RUNTIME_TEXT(name) "hip" #name
#define STRATA_CUDA_OR_HIP(cuda, hip) hip
#endif

#ifdef STRATA_RUNTIME

/// Call a function of the runtime and `check` its status.
#define STRATA_RUNTIME_CALL(name, ...) \
  ::strata::runtime::check(STRATA_RUNTIME(name)(__VA_ARGS__), STRATA_RUNTIME_TEXT(name))

namespace strata::runtime {

using Exec = STRATA_CUDA_OR_HIP(Kokkos::Cuda, Kokkos::HIP);
using Properties = STRATA_CUDA_OR_HIP(cudaDeviceProp, hipDeviceProp_t);
using Status = STRATA_RUNTIME(Error_t);
using StreamHandle = STRATA_RUNTIME(Stream_t);
using EventHandle = STRATA_RUNTIME(Event_t);
using Graph = STRATA_RUNTIME(Graph_t);
using GraphExec = STRATA_RUNTIME(GraphExec_t);

inline StreamHandle stream_of(Exec const& exec) {
  return exec.STRATA_CUDA_OR_HIP(cuda_stream, hip_stream)();
}
inline int device_of(Exec const& exec) {
  return exec.STRATA_CUDA_OR_HIP(cuda_device, hip_device)();
}

/// Throw VendorError with the call and the status's name and meaning unless it is success. The
/// runtime then forgets the error, which Kokkos would take for its next kernel's.
inline void check(Status status, char const* call) {
  if (status != STRATA_RUNTIME(Success)) (void)STRATA_RUNTIME(GetLastError)();
  STRATA_REQUIRE(VendorError, status == STRATA_RUNTIME(Success), call, ": ",
                 STRATA_RUNTIME(GetErrorName)(status), " (", STRATA_RUNTIME(GetErrorString)(status),
                 ")");
}

/// Make it the thread's current device.
inline void select(int device) { STRATA_RUNTIME_CALL(SetDevice, device); }
inline Exec const& select(Exec const& exec) {
  select(device_of(exec));
  return exec;
}

/// Current for the thread while this lives; then what was is again.
class Selected {
 public:
  explicit Selected(int device) {
    STRATA_RUNTIME_CALL(GetDevice, &before_);
    select(device);
  }
  ~Selected() { (void)STRATA_RUNTIME(SetDevice)(before_); }
  Selected(Selected const&) = delete;
  Selected& operator=(Selected const&) = delete;

 private:
  int before_ = 0;
};

inline Properties properties_of(int device) {
  Properties properties{};
  STRATA_RUNTIME_CALL(GetDeviceProperties, &properties, device);
  return properties;
}

/// An event of the current device.
class Event {
 public:
  explicit Event(unsigned flags) { STRATA_RUNTIME_CALL(EventCreateWithFlags, &handle_, flags); }
  ~Event() { (void)STRATA_RUNTIME(EventDestroy)(handle_); }  // once it has happened
  Event(Event const&) = delete;
  Event& operator=(Event const&) = delete;
  operator EventHandle() const { return handle_; }

 private:
  EventHandle handle_ = nullptr;
};

/// A stream that waits for no other; an urgent one's kernels go first. It outlives its
/// instance.
class Stream {
 public:
  Stream(int device, bool urgent) {
    int least = 0, greatest = 0;
    select(device);
    STRATA_RUNTIME_CALL(DeviceGetStreamPriorityRange, &least, &greatest);
    STRATA_RUNTIME_CALL(StreamCreateWithPriority, &handle_, STRATA_RUNTIME(StreamNonBlocking),
                        urgent ? greatest : least);
  }
  ~Stream() { (void)STRATA_RUNTIME(StreamDestroy)(handle_); }
  Stream(Stream const&) = delete;
  Stream& operator=(Stream const&) = delete;
  operator StreamHandle() const { return handle_; }

 private:
  StreamHandle handle_ = nullptr;
};

}  // namespace strata::runtime

#endif

#endif
