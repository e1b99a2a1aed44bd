// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_Config.hpp>
#include <core/blas/basics/vendor/Strata_VendorBatched.hpp>
#include <core/blas/host/vendor/Strata_HostLapack.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>

#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <type_traits>

namespace strata::vendor {

template <class Exec>
struct Batched<Exec>::Impl {};

template <class Exec>
Batched<Exec>::Batched(Exec const&) {}
template <class Exec>
Batched<Exec>::~Batched() = default;
template <class Exec>
Batched<Exec>::Batched(Batched&&) noexcept = default;

#ifdef STRATA_ENABLE_TPL_LAPACK

template <class Exec>
bool Batched<Exec>::potrf(Uplo uplo, Matrix const& A, Batch const& batch, InfoView const& info) {
  Kokkos::Profiling::ScopedRegion const region("strata::core::batched::potrf[lapack]");
  char const triangle = letter(uplo);
  BlasInt const n(A.rows), ld(A.ld);
  with_arithmetic_type(A.precision, [&]<class T>(std::type_identity<T>) {
    for (std::int64_t b = 0; b < batch.count; ++b) {
      T* const a = A.template as<T>() + b * batch.stride_a;
      int status = 0;
      Lapack<T>::potrf(&triangle, n, a, ld, &status);
      STRATA_REQUIRE(VendorError, status >= 0, "LAPACK: potrf: argument ", -status, " is invalid");
      info(b) = first_breakdown(a, A.rows, A.ld, status);
    }
  });
  return true;
}

template <class Exec>
bool Batched<Exec>::potrs(Uplo uplo, ConstMatrix const& A, Matrix const& B, Batch const& batch,
                          InfoView const& info) {
  Kokkos::Profiling::ScopedRegion const region("strata::core::batched::potrs[lapack]");
  char const triangle = letter(uplo);
  BlasInt const n(A.rows), columns(B.cols), ld_a(A.ld), ld_b(B.ld);
  with_arithmetic_type(A.precision, [&]<class T>(std::type_identity<T>) {
    for (std::int64_t b = 0; b < batch.count; ++b) {
      if (info.size() > 0 && info(b) != 0) continue;
      int status = 0;
      Lapack<T>::potrs(&triangle, n, columns, A.template as<T>() + b * batch.stride_a, ld_a,
                       B.template as<T>() + b * batch.stride_b, ld_b, &status);
      STRATA_REQUIRE(VendorError, status == 0, "LAPACK: potrs: argument ", -status, " is invalid");
    }
  });
  return true;
}

#else

template <class Exec>
bool Batched<Exec>::potrf(Uplo, Matrix const&, Batch const&, InfoView const&) {
  return false;
}
template <class Exec>
bool Batched<Exec>::potrs(Uplo, ConstMatrix const&, Matrix const&, Batch const&, InfoView const&) {
  return false;
}

#endif

#define STRATA_INSTANTIATE(Space) template class Batched<Space>;
STRATA_FOR_EACH_HOST_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::vendor
