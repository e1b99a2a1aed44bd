// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_Config.hpp>
#include <core/blas/device/vendor/Strata_VendorBlasImpl.hpp>
#include <core/integers/vendor/Strata_VendorInt8Impl.hpp>
#include <core/kokkos_ext/Strata_DeviceRuntime.hpp>

#include <optional>

#if defined(STRATA_ENABLE_TPL_CUBLAS) || defined(STRATA_ENABLE_TPL_ROCBLAS)
#include <core/blas/device/vendor/Strata_DeviceBlas.hpp>
#endif
#if defined(STRATA_ENABLE_TPL_CUSOLVER) || defined(STRATA_ENABLE_TPL_ROCSOLVER)
#include <core/blas/device/vendor/Strata_DevicePotrf.hpp>
#endif

namespace strata::vendor {

namespace {

using runtime::Exec;

#if defined(STRATA_ENABLE_TPL_CUBLAS) || defined(STRATA_ENABLE_TPL_ROCBLAS)
using Products = DeviceBlas;
#else
using Products = NoLibrary<Exec>;
#endif
#if defined(STRATA_ENABLE_TPL_CUSOLVER) || defined(STRATA_ENABLE_TPL_ROCSOLVER)
using Factorisation = DevicePotrf;
#else
using Factorisation = NoLibrary<Exec>;
#endif

}  // namespace

template <>
struct Blas<Exec>::Impl : Products {
  explicit Impl(Exec const& exec) : Products(exec), exec_(exec) {}

  bool potrf(Uplo uplo, Matrix const& A, std::int64_t offset, InfoView const& info) {
    if (!factorisation_) factorisation_.emplace(exec_);
    return factorisation_->potrf(uplo, A, offset, info);
  }

 private:
  Exec exec_;
  std::optional<Factorisation> factorisation_;  // made at the first factorisation
};

template class Blas<Exec>;

#if !defined(STRATA_ENABLE_TPL_CUBLAS) && !defined(STRATA_ENABLE_TPL_HIPBLASLT)
template <>
struct Int8Gemm<Exec>::Impl {
  explicit Impl(Exec const& instance) : exec(instance) {}
  bool operator()(Int8Product const&) { return false; }
  int device() const { return runtime::device_of(exec); }
  Exec exec;
};

template class Int8Gemm<Exec>;
#endif

}  // namespace strata::vendor
