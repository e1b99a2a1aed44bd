// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <cuda_runtime_api.h>

#include <c/vendor/Strata_Pointer.hpp>
#include <core/Strata_Errors.hpp>

namespace strata::c::vendor {

bool is_device_pointer(void const* pointer) {
  if (pointer == nullptr) return false;
  cudaPointerAttributes attributes{};
  cudaError_t const status = cudaPointerGetAttributes(&attributes, pointer);
  if (status == cudaErrorInvalidValue) {  // older runtimes say so of ordinary memory
    (void)cudaGetLastError();
    return false;
  }
  STRATA_REQUIRE(VendorError, status == cudaSuccess,
                 "cudaPointerGetAttributes: ", cudaGetErrorName(status));
  return attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
}

}  // namespace strata::c::vendor
