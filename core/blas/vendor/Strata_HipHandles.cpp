// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#define ROCBLAS_NO_DEPRECATED_WARNINGS  // of the atomics mode, whose default is to change
#include <core/blas/vendor/Strata_HipHandles.hpp>

namespace strata::vendor {

void check(rocblas_status status, char const* call) {
  // perf_degraded: the work was done, in less memory than would be best.
  STRATA_REQUIRE(VendorError,
                 status == rocblas_status_success || status == rocblas_status_perf_degraded, call,
                 ": ", rocblas_status_to_string(status));
}

RocblasHandle::RocblasHandle(Kokkos::HIP const& exec) {
  runtime::select(exec);
  check(rocblas_create_handle(&handle_), "rocblas_create_handle");
  try {
    check(rocblas_set_stream(handle_, exec.hip_stream()), "rocblas_set_stream");
    check(rocblas_set_atomics_mode(handle_, rocblas_atomics_not_allowed),
          "rocblas_set_atomics_mode");
  } catch (...) {
    rocblas_destroy_handle(handle_);
    throw;
  }
}

}  // namespace strata::vendor
