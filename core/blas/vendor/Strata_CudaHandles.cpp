// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/vendor/Strata_CudaHandles.hpp>

namespace strata::vendor {

namespace {

char const* name_of(cusolverStatus_t status) {
#define STRATA_NAME(status) \
  case status:              \
    return #status
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
#undef STRATA_NAME
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

}  // namespace strata::vendor
