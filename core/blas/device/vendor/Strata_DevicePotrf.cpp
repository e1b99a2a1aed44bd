// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/device/vendor/Strata_DevicePotrf.hpp>

#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <type_traits>
#include <utility>

#ifdef KOKKOS_ENABLE_HIP
#include <rocsolver/rocsolver.h>
#endif

namespace strata::vendor {

#ifdef KOKKOS_ENABLE_CUDA

DevicePotrf::Library::Library(Exec const& /*exec*/)
    : handle("cusolverDnCreate"), params("cusolverDnCreateParams") {}

DevicePotrf::DevicePotrf(Exec const& exec)
    : exec_(runtime::select(exec)),
      library_(runtime::device_of(exec), exec),
      status_(exec),
      device_workspace_(exec, std::exchange(library_->workspace, {})) {
  set_stream(library_->handle, runtime::stream_of(exec_));
}

DevicePotrf::~DevicePotrf() {
  constexpr std::size_t most_bytes = std::size_t{64} << 20;
  if (!leave_stream(exec_, library_->handle))
    library_.forsake();
  else if (device_workspace_.memory().size() <= most_bytes)
    library_->workspace = device_workspace_.memory();
}

template <class T>
void DevicePotrf::factor(Uplo uplo, Matrix const& A) {
  cudaDataType_t const type = native(A.precision);
  std::size_t device_bytes = 0, host_bytes = 0;
  check(cusolverDnXpotrf_bufferSize(library_->handle, library_->params, native(uplo), A.rows, type,
                                    A.data, A.ld, type, &device_bytes, &host_bytes),
        "cusolverDnXpotrf_bufferSize");
  void* const workspace = device_workspace_.reserve(device_bytes);
  if (host_bytes > host_workspace_.size()) {
    exec_.fence("strata::vendor::CudaPotrf::reserve");  // the old one may be in use
    host_workspace_.resize(host_bytes);
  }
  check(cusolverDnXpotrf(library_->handle, library_->params, native(uplo), A.rows, type, A.data,
                         A.ld, type, workspace, device_bytes, host_workspace_.data(), host_bytes,
                         status_.data()),
        "cusolverDnXpotrf");
}

#else

DevicePotrf::Library::Library(Exec const& exec) : handle(exec) {}

DevicePotrf::DevicePotrf(Exec const& exec)
    : exec_(runtime::select(exec)), library_(runtime::device_of(exec), exec), status_(exec) {
  set_stream(library_->handle, runtime::stream_of(exec_));
}

DevicePotrf::~DevicePotrf() {
  if (!leave_stream(exec_, library_->handle)) library_.forsake();
}

template <>
void DevicePotrf::factor<double>(Uplo uplo, Matrix const& A) {
  check(rocsolver_dpotrf_64(library_->handle, native(uplo), A.rows, A.as<double>(), A.ld,
                            status_.data()),
        "rocsolver_dpotrf_64");
}

template <>
void DevicePotrf::factor<float>(Uplo uplo, Matrix const& A) {
  check(rocsolver_spotrf_64(library_->handle, native(uplo), A.rows, A.as<float>(), A.ld,
                            status_.data()),
        "rocsolver_spotrf_64");
}

#endif

bool DevicePotrf::potrf(Uplo uplo, Matrix const& A, std::int64_t offset, InfoView const& info) {
  if (!is_arithmetic(A.precision)) return false;
  Kokkos::Profiling::ScopedRegion const region(
      STRATA_CUDA_OR_HIP("strata::core::potrf[cusolver]", "strata::core::potrf[rocsolver]"));
  runtime::select(exec_);
  with_arithmetic_type(A.precision, [&]<class T>(std::type_identity<T>) {
    factor<T>(uplo, A);
    status_.template merge<T>(A, offset, info);
  });
  return true;
}

}  // namespace strata::vendor
