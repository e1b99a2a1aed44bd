// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <hip/hip_runtime_api.h>

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Recording.hpp>

namespace strata::vendor {

namespace {

void require(hipError_t status, char const* call) {
  STRATA_REQUIRE(VendorError, status == hipSuccess, call, ": ", hipGetErrorName(status));
}

}  // namespace

template <>
void begin_recording(Kokkos::HIP const& exec) {
  require(hipStreamBeginCapture(exec.hip_stream(), hipStreamCaptureModeRelaxed),
          "hipStreamBeginCapture");
}

template <>
std::shared_ptr<void> end_recording(Kokkos::HIP const& exec) {
  hipGraph_t graph = nullptr;
  hipGraphExec_t executable = nullptr;
  hipError_t status = hipStreamEndCapture(exec.hip_stream(), &graph);
  if (status != hipSuccess) (void)hipGetLastError();  // which Kokkos takes for its next kernel's
  require(status, "hipStreamEndCapture");
  status = hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0);
  (void)hipGraphDestroy(graph);
  require(status, "hipGraphInstantiate");
  return {executable,
          [](void* owned) { (void)hipGraphExecDestroy(static_cast<hipGraphExec_t>(owned)); }};
}

template <>
void replay(Kokkos::HIP const& exec, void* recording) {
  require(hipGraphLaunch(static_cast<hipGraphExec_t>(recording), exec.hip_stream()),
          "hipGraphLaunch");
}

}  // namespace strata::vendor
