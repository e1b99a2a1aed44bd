// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <cuda_runtime_api.h>

#include <core/Strata_Config.hpp>
#include <core/Strata_Errors.hpp>
#include <core/info/vendor/Strata_VendorInfo.hpp>
#include <string>

#ifdef STRATA_ENABLE_TPL_CUBLAS
#include <cublas_v2.h>
#endif
#ifdef STRATA_ENABLE_TPL_CUSOLVER
#include <cusolverDn.h>
#endif

namespace strata::vendor {

namespace {

void require(cudaError_t status, char const* call) {
  STRATA_REQUIRE(VendorError, status == cudaSuccess, call, ": ", cudaGetErrorName(status));
}

// CUDA counts 13.2 as 13020.
std::string dotted(int version) {
  return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
}

// The three parts of a library's version through its GetProperty, which returns 0 for success.
template <class GetProperty>
[[maybe_unused]] std::string version_by(GetProperty const& get_property) {
  std::string text;
  for (libraryPropertyType const part : {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL}) {
    int value = 0;
    if (static_cast<int>(get_property(part, &value)) != 0) return "unknown";
    text += (text.empty() ? "" : ".") + std::to_string(value);
  }
  return text;
}

}  // namespace

std::vector<Library> cuda_libraries() {
  int runtime = 0, driver = 0;
  require(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  require(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  std::vector<Library> found = {{"CUDA runtime", dotted(runtime)}, {"CUDA driver", dotted(driver)}};
#ifdef STRATA_ENABLE_TPL_CUBLAS
  found.push_back({"cuBLAS", version_by(cublasGetProperty)});
#endif
#ifdef STRATA_ENABLE_TPL_CUSOLVER
  found.push_back({"cuSOLVER", version_by(cusolverGetProperty)});
#endif
  return found;
}

std::vector<Accelerator> cuda_devices() {
  int count = 0;
  cudaError_t const status = cudaGetDeviceCount(&count);
  if (status == cudaErrorNoDevice) return {};
  require(status, "cudaGetDeviceCount");
  std::vector<Accelerator> found;
  for (int id = 0; id < count; ++id) {
    cudaDeviceProp properties{};
    require(cudaGetDeviceProperties(&properties, id), "cudaGetDeviceProperties");
    found.push_back({id, "Cuda", properties.name,
                     "sm_" + std::to_string(properties.major) + std::to_string(properties.minor),
                     properties.totalGlobalMem,
                     std::string(properties.uuid.bytes, sizeof(properties.uuid.bytes))});
  }
  return found;
}

}  // namespace strata::vendor
