// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <hip/hip_runtime_api.h>

#include <array>
#include <core/Strata_Config.hpp>
#include <core/Strata_Errors.hpp>
#include <core/info/vendor/Strata_VendorInfo.hpp>
#include <string>

#ifdef STRATA_ENABLE_TPL_ROCBLAS
#include <rocblas/rocblas.h>
#endif
#ifdef STRATA_ENABLE_TPL_ROCSOLVER
#include <rocsolver/rocsolver.h>
#endif
#ifdef STRATA_ENABLE_TPL_HIPBLASLT
#include <hipblaslt/hipblaslt-version.h>
#endif

namespace strata::vendor {

namespace {

void require(hipError_t status, char const* call) {
  STRATA_REQUIRE(VendorError, status == hipSuccess, call, ": ", hipGetErrorName(status));
}

// HIP counts 6.4.43482 as 60443482.
std::string dotted(int version) {
  return std::to_string(version / 10000000) + '.' + std::to_string(version / 100000 % 100) + '.' +
         std::to_string(version % 100000);
}

template <class GetVersionString>
[[maybe_unused]] std::string version_by(GetVersionString const& get_version) {
  std::array<char, 256> text{};
  return static_cast<int>(get_version(text.data(), text.size())) == 0 ? text.data() : "unknown";
}

}  // namespace

std::vector<Library> hip_libraries() {
  int runtime = 0, driver = 0;
  require(hipRuntimeGetVersion(&runtime), "hipRuntimeGetVersion");
  require(hipDriverGetVersion(&driver), "hipDriverGetVersion");
  std::vector<Library> found = {{"HIP runtime", dotted(runtime)}, {"HIP driver", dotted(driver)}};
#ifdef STRATA_ENABLE_TPL_ROCBLAS
  found.push_back({"rocBLAS", version_by(rocblas_get_version_string)});
#endif
#ifdef STRATA_ENABLE_TPL_ROCSOLVER
  found.push_back({"rocSOLVER", version_by(rocsolver_get_version_string)});
#endif
#ifdef STRATA_ENABLE_TPL_HIPBLASLT
  found.push_back({"hipBLASLt", std::to_string(HIPBLASLT_VERSION_MAJOR) + '.' +
                                    std::to_string(HIPBLASLT_VERSION_MINOR) + '.' +
                                    std::to_string(HIPBLASLT_VERSION_PATCH)});
#endif
  return found;
}

std::vector<Accelerator> hip_devices() {
  int count = 0;
  hipError_t const status = hipGetDeviceCount(&count);
  if (status == hipErrorNoDevice) return {};
  require(status, "hipGetDeviceCount");
  std::vector<Accelerator> found;
  for (int id = 0; id < count; ++id) {
    hipDeviceProp_t properties{};
    require(hipGetDeviceProperties(&properties, id), "hipGetDeviceProperties");
    char bus[64] = {};
    require(hipDeviceGetPCIBusId(bus, sizeof(bus) - 1, id), "hipDeviceGetPCIBusId");
    found.push_back(
        {id, "HIP", properties.name, properties.gcnArchName, properties.totalGlobalMem, bus});
  }
  return found;
}

}  // namespace strata::vendor
