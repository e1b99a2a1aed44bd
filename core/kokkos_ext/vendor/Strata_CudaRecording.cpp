// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <cuda_runtime_api.h>

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Recording.hpp>

namespace strata::vendor {

namespace {

void require(cudaError_t status, char const* call) {
  STRATA_REQUIRE(VendorError, status == cudaSuccess, call, ": ", cudaGetErrorName(status));
}

}  // namespace

template <>
void begin_recording(Kokkos::Cuda const& exec) {
  require(cudaStreamBeginCapture(exec.cuda_stream(), cudaStreamCaptureModeRelaxed),
          "cudaStreamBeginCapture");
}

template <>
std::shared_ptr<void> end_recording(Kokkos::Cuda const& exec) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaError_t status = cudaStreamEndCapture(exec.cuda_stream(), &graph);
  if (status != cudaSuccess) (void)cudaGetLastError();  // which Kokkos takes for its next kernel's
  require(status, "cudaStreamEndCapture");
  status = cudaGraphInstantiate(&executable, graph, 0);
  (void)cudaGraphDestroy(graph);
  require(status, "cudaGraphInstantiate");
  return {executable,
          [](void* owned) { (void)cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(owned)); }};
}

template <>
void replay(Kokkos::Cuda const& exec, void* recording) {
  require(cudaGraphLaunch(static_cast<cudaGraphExec_t>(recording), exec.cuda_stream()),
          "cudaGraphLaunch");
}

}  // namespace strata::vendor
