// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <rocsolver/rocsolver.h>

#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <core/blas/vendor/Strata_HipPotrf.hpp>
#include <type_traits>

namespace strata::vendor {

bool HipPotrf::potrf(Uplo uplo, Matrix const& A, std::int64_t offset, InfoView const& info) {
  if (!is_arithmetic(A.precision)) return false;
  Kokkos::Profiling::ScopedRegion const region("strata::core::potrf[rocsolver]");
  runtime::select(exec_);
  rocblas_fill const fill = rocblas(uplo);
  if (A.precision == Precision::fp64) {
    check(rocsolver_dpotrf_64(handle_, fill, A.rows, A.as<double>(), A.ld, status_.data()),
          "rocsolver_dpotrf_64");
    status_.merge<double>(A, offset, info);
  } else {
    check(rocsolver_spotrf_64(handle_, fill, A.rows, A.as<float>(), A.ld, status_.data()),
          "rocsolver_spotrf_64");
    status_.merge<float>(A, offset, info);
  }
  return true;
}

}  // namespace strata::vendor
