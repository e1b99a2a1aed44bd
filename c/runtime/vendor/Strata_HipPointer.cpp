// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <c/runtime/vendor/Strata_Pointer.hpp>
#include <core/kokkos_ext/Strata_DeviceRuntime.hpp>

namespace strata::c::vendor {

bool is_device_pointer(void const* pointer) {
  if (pointer == nullptr) return false;
  hipPointerAttribute_t attributes{};
  hipError_t const status = hipPointerGetAttributes(&attributes, pointer);
  if (status == hipErrorInvalidValue) {  // ROCm's word for ordinary memory
    (void)hipGetLastError();
    return false;
  }
  runtime::check(status, "hipPointerGetAttributes");
  return attributes.type == hipMemoryTypeDevice || attributes.type == hipMemoryTypeManaged;
}

}  // namespace strata::c::vendor
