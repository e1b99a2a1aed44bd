// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_Config.hpp>
#include <core/blas/vendor/Strata_VendorBlasImpl.hpp>
#include <optional>

#ifdef STRATA_ENABLE_TPL_CUBLAS
#include <core/blas/vendor/Strata_CudaBlas.hpp>
#endif
#ifdef STRATA_ENABLE_TPL_CUSOLVER
#include <core/blas/vendor/Strata_CudaPotrf.hpp>
#endif

namespace strata::vendor {

namespace {

#ifdef STRATA_ENABLE_TPL_CUBLAS
using Products = CudaBlas;
#else
using Products = NoLibrary<Kokkos::Cuda>;
#endif
#ifdef STRATA_ENABLE_TPL_CUSOLVER
using Factorisation = CudaPotrf;
#else
using Factorisation = NoLibrary<Kokkos::Cuda>;
#endif

}  // namespace

template <>
struct Blas<Kokkos::Cuda>::Impl : Products {
  explicit Impl(Kokkos::Cuda const& exec) : Products(exec), exec_(exec) {}

  bool potrf(Uplo uplo, Matrix const& A, std::int64_t offset, InfoView const& info) {
    if (!factorisation_) factorisation_.emplace(exec_);
    return factorisation_->potrf(uplo, A, offset, info);
  }

 private:
  Kokkos::Cuda exec_;
  std::optional<Factorisation> factorisation_;  // made at the first factorisation
};

template class Blas<Kokkos::Cuda>;

}  // namespace strata::vendor
