// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_Config.hpp>
#include <core/detail/Strata_Symbol.hpp>
#include <core/info/vendor/Strata_VendorInfo.hpp>
#include <core/kokkos_ext/Strata_DeviceRuntime.hpp>

#include <string>

#ifdef STRATA_ENABLE_TPL_CUBLAS
#include <cublas_v2.h>
#endif
#ifdef STRATA_ENABLE_TPL_CUSOLVER
#include <cusolverDn.h>
#endif
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

std::string dotted(int major, int minor, int patch) {
  return std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(patch);
}

#ifdef KOKKOS_ENABLE_CUDA

constexpr char const *platform = "CUDA", *backend = "Cuda", *messages = "NCCL";

// CUDA counts 13.2 as 13020.
std::string dotted(int version) {
  return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
}

// The three parts of a library's version through its GetProperty, which returns 0 for success.
template <class GetProperty>
[[maybe_unused]] std::string version_by(GetProperty const& get_property) {
  int parts[3] = {};
  for (auto const part : {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL})
    if (static_cast<int>(get_property(part, &parts[part])) != 0) return "unknown";
  return dotted(parts[0], parts[1], parts[2]);
}

std::string architecture(runtime::Properties const& device) {
  return "sm_" + std::to_string(device.major) + std::to_string(device.minor);
}

std::string identity(runtime::Properties const& device, int /*id*/) {
  return {device.uuid.bytes, sizeof(device.uuid.bytes)};
}

#else

constexpr char const *platform = "HIP", *backend = "HIP", *messages = "RCCL";

// HIP counts 6.4.43482 as 60443482.
std::string dotted(int version) {
  return dotted(version / 10000000, version / 100000 % 100, version % 100000);
}

template <class GetVersionString>
[[maybe_unused]] std::string version_by(GetVersionString const& get_version) {
  char text[256] = {};
  return static_cast<int>(get_version(text, sizeof text)) == 0 ? text : "unknown";
}

std::string architecture(runtime::Properties const& device) { return device.gcnArchName; }

std::string identity(runtime::Properties const& /*device*/, int id) {
  char bus[64] = {};
  STRATA_RUNTIME_CALL(DeviceGetPCIBusId, bus, sizeof(bus) - 1, id);
  return bus;
}

#endif

// Adds the library of messages between devices, which the sparse module sends, where it is built
// in. 2.28.9 is 22809.
void add_messages(std::vector<Library>& found) {
  int version = 0;
  auto* const get_version = strata::detail::symbol<int(int*)>("ncclGetVersion");
  if (get_version && get_version(&version) == 0)
    found.push_back({messages, dotted(version / 10000, version / 100 % 100, version % 100)});
}

}  // namespace

std::vector<Library> device_libraries() {
  int version = 0, driver = 0;
  STRATA_RUNTIME_CALL(RuntimeGetVersion, &version);
  STRATA_RUNTIME_CALL(DriverGetVersion, &driver);
  std::vector<Library> found = {{std::string(platform) + " runtime", dotted(version)},
                                {std::string(platform) + " driver", dotted(driver)}};
#ifdef STRATA_ENABLE_TPL_CUBLAS
  found.push_back({"cuBLAS", version_by(cublasGetProperty)});
#endif
#ifdef STRATA_ENABLE_TPL_CUSOLVER
  found.push_back({"cuSOLVER", version_by(cusolverGetProperty)});
#endif
#ifdef STRATA_ENABLE_TPL_ROCBLAS
  found.push_back({"rocBLAS", version_by(rocblas_get_version_string)});
#endif
#ifdef STRATA_ENABLE_TPL_ROCSOLVER
  found.push_back({"rocSOLVER", version_by(rocsolver_get_version_string)});
#endif
#ifdef STRATA_ENABLE_TPL_HIPBLASLT
  found.push_back({"hipBLASLt", dotted(HIPBLASLT_VERSION_MAJOR, HIPBLASLT_VERSION_MINOR,
                                       HIPBLASLT_VERSION_PATCH)});
#endif
  add_messages(found);
  return found;
}

std::vector<Accelerator> accelerators() {
  int count = 0;
  runtime::Status const status = STRATA_RUNTIME(GetDeviceCount)(&count);
  if (status == STRATA_RUNTIME(ErrorNoDevice)) return {};
  runtime::check(status, STRATA_RUNTIME_TEXT(GetDeviceCount));
  std::vector<Accelerator> found;
  for (int id = 0; id < count; ++id) {
    auto const device = runtime::properties_of(id);
    found.push_back({id, backend, device.name, architecture(device), device.totalGlobalMem,
                     identity(device, id)});
  }
  return found;
}

}  // namespace strata::vendor
