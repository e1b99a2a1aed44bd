// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#define ROCBLAS_NO_DEPRECATED_WARNINGS  // of the atomics mode, whose default is to change
#include <core/blas/device/vendor/Strata_DeviceHandles.hpp>

#define STRATA_NAME(status) \
  case status:              \
    return #status

namespace strata::vendor {

#ifdef KOKKOS_ENABLE_CUDA

namespace {

char const* name_of(cusolverStatus_t status) {
  switch (status) {
    STRATA_NAME(CUSOLVER_STATUS_SUCCESS);
    STRATA_NAME(CUSOLVER_STATUS_NOT_INITIALIZED);
    STRATA_NAME(CUSOLVER_STATUS_ALLOC_FAILED);
    STRATA_NAME(CUSOLVER_STATUS_INVALID_VALUE);
    STRATA_NAME(CUSOLVER_STATUS_ARCH_MISMATCH);
    STRATA_NAME(CUSOLVER_STATUS_MAPPING_ERROR);
    STRATA_NAME(CUSOLVER_STATUS_EXECUTION_FAILED);
    STRATA_NAME(CUSOLVER_STATUS_INTERNAL_ERROR);
    STRATA_NAME(CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED);
    STRATA_NAME(CUSOLVER_STATUS_NOT_SUPPORTED);
    STRATA_NAME(CUSOLVER_STATUS_ZERO_PIVOT);
    STRATA_NAME(CUSOLVER_STATUS_INVALID_LICENSE);
    STRATA_NAME(CUSOLVER_STATUS_INVALID_WORKSPACE);
    default:
      return "CUSOLVER_STATUS of an iterative solver";  // IRS_*: no such call is made
  }
}

}  // namespace

void check(cublasStatus_t status, char const* call) {
  STRATA_REQUIRE(VendorError, status == CUBLAS_STATUS_SUCCESS, call, ": ",
                 cublasGetStatusName(status), " (", cublasGetStatusString(status), ")");
}

void check(cusolverStatus_t status, char const* call) {
  STRATA_REQUIRE(VendorError, status == CUSOLVER_STATUS_SUCCESS, call, ": ", name_of(status),
                 " (status ", static_cast<int>(status), ")");
}

#else

void check(rocblas_status status, char const* call) {
  // perf_degraded: the work was done, in less memory than would be best.
  STRATA_REQUIRE(VendorError,
                 status == rocblas_status_success || status == rocblas_status_perf_degraded, call,
                 ": ", rocblas_status_to_string(status));
}

BlasHandle::BlasHandle(runtime::Exec const& exec)
    : Handle((runtime::select(exec), "rocblas_create_handle")) {
  check(rocblas_set_stream(*this, runtime::stream_of(exec)), "rocblas_set_stream");
  check(rocblas_set_atomics_mode(*this, rocblas_atomics_not_allowed), "rocblas_set_atomics_mode");
}

#ifdef STRATA_ENABLE_TPL_HIPBLASLT

namespace {

// hipBLASLt, unlike hipBLAS, has no function for it.
char const* name_of(hipblasStatus_t status) {
  switch (status) {
    STRATA_NAME(HIPBLAS_STATUS_NOT_INITIALIZED);
    STRATA_NAME(HIPBLAS_STATUS_ALLOC_FAILED);
    STRATA_NAME(HIPBLAS_STATUS_INVALID_VALUE);
    STRATA_NAME(HIPBLAS_STATUS_EXECUTION_FAILED);
    STRATA_NAME(HIPBLAS_STATUS_INTERNAL_ERROR);
    STRATA_NAME(HIPBLAS_STATUS_NOT_SUPPORTED);
    STRATA_NAME(HIPBLAS_STATUS_ARCH_MISMATCH);
    STRATA_NAME(HIPBLAS_STATUS_INVALID_ENUM);
    default:
      return "an unknown status";
  }
}

}  // namespace

void check(hipblasStatus_t status, char const* call) {
  STRATA_REQUIRE(VendorError, status == HIPBLAS_STATUS_SUCCESS, call, ": ", name_of(status));
}

#endif
#endif

}  // namespace strata::vendor

#undef STRATA_NAME
