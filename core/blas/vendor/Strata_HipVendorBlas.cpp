// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_Config.hpp>
#include <core/blas/vendor/Strata_VendorBlasImpl.hpp>
#include <optional>

#ifdef STRATA_ENABLE_TPL_ROCBLAS
#include <core/blas/vendor/Strata_HipBlas.hpp>
#endif
#ifdef STRATA_ENABLE_TPL_ROCSOLVER
#include <core/blas/vendor/Strata_HipPotrf.hpp>
#endif

namespace strata::vendor {

namespace {

#ifdef STRATA_ENABLE_TPL_ROCBLAS
using Products = HipBlas;
#else
using Products = NoLibrary<Kokkos::HIP>;
#endif
#ifdef STRATA_ENABLE_TPL_ROCSOLVER
using Factorisation = HipPotrf;
#else
using Factorisation = NoLibrary<Kokkos::HIP>;
#endif

}  // namespace

template <>
struct Blas<Kokkos::HIP>::Impl : Products {
  explicit Impl(Kokkos::HIP const& exec) : Products(exec), exec_(exec) {}

  bool potrf(Uplo uplo, Matrix const& A, std::int64_t offset, InfoView const& info) {
    if (!factorisation_) factorisation_.emplace(exec_);
    return factorisation_->potrf(uplo, A, offset, info);
  }

 private:
  Kokkos::HIP exec_;
  std::optional<Factorisation> factorisation_;  // made at the first factorisation
};

template class Blas<Kokkos::HIP>;

}  // namespace strata::vendor
