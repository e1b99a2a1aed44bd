// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <core/blas/vendor/Strata_CudaPotrf.hpp>

namespace strata::vendor {

CudaPotrf::CudaPotrf(Kokkos::Cuda const& exec)
    : exec_(runtime::select(exec)),
      device_workspace_(exec),
      status_(exec),
      handle_("cusolverDnCreate"),
      params_("cusolverDnCreateParams") {
  check(cusolverDnSetStream(handle_, exec_.cuda_stream()), "cusolverDnSetStream");
}

bool CudaPotrf::potrf(Uplo uplo, Matrix const& A, std::int64_t offset, InfoView const& info) {
  if (!is_arithmetic(A.precision)) return false;
  Kokkos::Profiling::ScopedRegion const region("strata::core::potrf[cusolver]");
  runtime::select(exec_);
  cudaDataType_t const type = cuda_type(A.precision);
  std::size_t device_bytes = 0, host_bytes = 0;
  check(cusolverDnXpotrf_bufferSize(handle_, params_, cublas(uplo), A.rows, type, A.data, A.ld,
                                    type, &device_bytes, &host_bytes),
        "cusolverDnXpotrf_bufferSize");
  void* const workspace = device_workspace_.reserve(device_bytes);
  if (host_bytes > host_workspace_.size()) {
    exec_.fence("strata::vendor::CudaPotrf::reserve");  // the old one may be in use
    host_workspace_.resize(host_bytes);
  }
  check(
      cusolverDnXpotrf(handle_, params_, cublas(uplo), A.rows, type, A.data, A.ld, type, workspace,
                       device_bytes, host_workspace_.data(), host_bytes, status_.data()),
      "cusolverDnXpotrf");
  with_arithmetic_type(A.precision, [&]<class T>(std::type_identity<T>) {
    status_.template merge<T>(A, offset, info);
  });
  return true;
}

}  // namespace strata::vendor
