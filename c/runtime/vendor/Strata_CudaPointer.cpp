// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The driver is asked, since the runtime would make a context to answer. Only a driver that is in
// the process already is asked: without it there is no memory of a device.
#include <c/runtime/vendor/Strata_Pointer.hpp>
#include <core/Strata_Errors.hpp>

#include <cuda.h>
#include <dlfcn.h>

#include <atomic>

namespace strata::c::vendor {

namespace {

using Query = CUresult(void*, CUpointer_attribute, CUdeviceptr);

Query* query() {
  static std::atomic<Query*> found{nullptr};
  if (found != nullptr) return found;
  if (void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD))
    found = reinterpret_cast<Query*>(dlsym(driver, "cuPointerGetAttribute"));
  return found;
}

// 0 for what the driver does not know: ordinary memory, or all if it has not begun.
unsigned int attribute(Query* ask, CUpointer_attribute which, void const* pointer) {
  unsigned int value = 0;
  CUresult const status = ask(&value, which, reinterpret_cast<CUdeviceptr>(pointer));
  if (status == CUDA_ERROR_INVALID_VALUE || status == CUDA_ERROR_NOT_INITIALIZED ||
      status == CUDA_ERROR_DEINITIALIZED || status == CUDA_ERROR_INVALID_CONTEXT)
    return 0;
  STRATA_REQUIRE(VendorError, status == CUDA_SUCCESS, "cuPointerGetAttribute: CUresult ",
                 static_cast<int>(status));
  return value;
}

}  // namespace

bool is_device_pointer(void const* pointer) {
  Query* const ask = pointer == nullptr ? nullptr : query();
  if (ask == nullptr) return false;
  return attribute(ask, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer) == CU_MEMORYTYPE_DEVICE ||
         attribute(ask, CU_POINTER_ATTRIBUTE_IS_MANAGED, pointer) != 0;
}

}  // namespace strata::c::vendor
