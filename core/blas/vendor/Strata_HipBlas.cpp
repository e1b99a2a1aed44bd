// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <core/blas/vendor/Strata_HipBlas.hpp>
#include <core/blas/vendor/Strata_VendorTypes.hpp>

namespace strata::vendor {

namespace {

template <class T>
struct Routines;
template <>
struct Routines<double> {
  static constexpr auto syrk = rocblas_dsyrk_64;
  static constexpr auto trsm = rocblas_dtrsm_64;
  static constexpr auto symm = rocblas_dsymm_64;
  static constexpr auto symv = rocblas_dsymv_64;
  static constexpr auto compute = rocblas_datatype_f64_r;
};
template <>
struct Routines<float> {
  static constexpr auto syrk = rocblas_ssyrk_64;
  static constexpr auto trsm = rocblas_strsm_64;
  static constexpr auto symm = rocblas_ssymm_64;
  static constexpr auto symv = rocblas_ssymv_64;
  static constexpr auto compute = rocblas_datatype_f32_r;
};

using Region = Kokkos::Profiling::ScopedRegion;

}  // namespace

template <class T>
Scalars<T> HipBlas::set_mode(Scalars<T> const& scalars) {
  auto const mode = scalars.on_device ? rocblas_pointer_mode_device : rocblas_pointer_mode_host;
  check(rocblas_set_pointer_mode(handle_, mode), "rocblas_set_pointer_mode");
  return scalars;
}

bool HipBlas::gemm(Op op_a, Op op_b, double alpha, Matrix const& A, Matrix const& B, double beta,
                   Matrix const& C) {
#ifdef STRATA_ENABLE_TPL_HIPBLASLT
  if (traits(A.precision).bytes == 1 && traits(B.precision).bytes == 1) {
    if (!fit(Precision::fp32, alpha, beta)) return false;
    if (!fp8_gemm_) fp8_gemm_.emplace(runtime::select(exec_));
    return fp8_gemm_->takes(A.precision, B.precision) &&
           (*fp8_gemm_)(op_a, op_b, alpha, A, B, beta, C, scalars_);
  }
#endif
  return gemm_batched(op_a, op_b, alpha, A, B, beta, C, Batch{});
}

bool HipBlas::gemm_batched(Op op_a, Op op_b, double alpha, Matrix const& A, Matrix const& B,
                           double beta, Matrix const& C, Batch const& batch) {
  Precision const sums = sum_type(A.precision);
  if (!has_gemm(A.precision, B.precision, C.precision) || !fit(sums, alpha, beta)) return false;
  runtime::select(exec_);
  if (sums == Precision::fp64)
    gemm_as<double>(op_a, op_b, alpha, A, B, beta, C, batch);
  else
    gemm_as<float>(op_a, op_b, alpha, A, B, beta, C, batch);
  return true;
}

template <class T>
void HipBlas::gemm_as(Op op_a, Op op_b, double alpha, Matrix const& A, Matrix const& B, double beta,
                      Matrix const& C, Batch const& batch) {
  Region const region("strata::core::gemm[rocblas]");
  std::int64_t const k = op_a == Op::NoTrans ? A.cols : A.rows;
  auto const s = set_mode(scalars_.product<T>(alpha, A.scale, B.scale, beta));
  rocblas_datatype const c_type = rocblas_type(C.precision);
  if (batch.count > 1)
    return check(rocblas_gemm_strided_batched_ex_64(
                     handle_, rocblas(op_a), rocblas(op_b), C.rows, C.cols, k, s.alpha, A.data,
                     rocblas_type(A.precision), A.ld, batch.stride_a, B.data,
                     rocblas_type(B.precision), B.ld, batch.stride_b, s.beta, C.data, c_type, C.ld,
                     batch.stride_c, C.data, c_type, C.ld, batch.stride_c, batch.count,
                     Routines<T>::compute, rocblas_gemm_algo_standard, 0, rocblas_gemm_flags_none),
                 "rocblas_gemm_strided_batched_ex_64");
  check(
      rocblas_gemm_ex_64(handle_, rocblas(op_a), rocblas(op_b), C.rows, C.cols, k, s.alpha, A.data,
                         rocblas_type(A.precision), A.ld, B.data, rocblas_type(B.precision), B.ld,
                         s.beta, C.data, c_type, C.ld, C.data, c_type, C.ld, Routines<T>::compute,
                         rocblas_gemm_algo_standard, 0, rocblas_gemm_flags_none),
      "rocblas_gemm_ex_64");
}

bool HipBlas::syrk(Uplo uplo, Op op, double alpha, Matrix const& A, double beta, Matrix const& C) {
  if (!in_one_type(A.precision, C.precision, alpha, beta)) return false;
  Region const region("strata::core::syrk[rocblas]");
  runtime::select(exec_);
  std::int64_t const k = op == Op::NoTrans ? A.cols : A.rows;
  with_arithmetic_type(C.precision, [&]<class T>(std::type_identity<T>) {
    auto const s = set_mode(scalars_.product<T>(alpha, A.scale, A.scale, beta));
    check(Routines<T>::syrk(handle_, rocblas(uplo), rocblas(op), C.rows, k, s.alpha,
                            A.template as<T>(), A.ld, s.beta, C.template as<T>(), C.ld),
          "rocblas_?syrk_64");
  });
  return true;
}

bool HipBlas::trsm(Side side, Uplo uplo, Op op, Diag diag, double alpha, Matrix const& A,
                   Matrix const& B) {
  // A unit diagonal is not scaled by A's scale as the rest of A is.
  bool const half_scaled = A.scale && diag == Diag::Unit;
  if (half_scaled || !in_one_type(A.precision, B.precision, alpha, 0)) return false;
  Region const region("strata::core::trsm[rocblas]");
  runtime::select(exec_);
  with_arithmetic_type(B.precision, [&]<class T>(std::type_identity<T>) {
    auto const s = set_mode(scalars_.quotient<T>(alpha, A.scale));
    check(
        Routines<T>::trsm(handle_, rocblas(side), rocblas(uplo), rocblas(op), rocblas(diag), B.rows,
                          B.cols, s.alpha, A.template as<T>(), A.ld, B.template as<T>(), B.ld),
        "rocblas_?trsm_64");
  });
  return true;
}

bool HipBlas::symm(Uplo uplo, double alpha, Matrix const& A, Matrix const& B, double beta,
                   Matrix const& C) {
  if (B.precision != C.precision || !in_one_type(A.precision, C.precision, alpha, beta))
    return false;
  Region const region("strata::core::symm[rocblas]");
  runtime::select(exec_);
  if (C.precision == Precision::fp64)
    symm_as<double>(uplo, alpha, A, B, beta, C);
  else
    symm_as<float>(uplo, alpha, A, B, beta, C);
  return true;
}

template <class T>
void HipBlas::symm_as(Uplo uplo, double alpha, Matrix const& A, Matrix const& B, double beta,
                      Matrix const& C) {
  auto const s = set_mode(scalars_.product<T>(alpha, A.scale, B.scale, beta));
  if (C.cols == 1)
    check(Routines<T>::symv(handle_, rocblas(uplo), A.rows, s.alpha, A.as<T>(), A.ld, B.as<T>(), 1,
                            s.beta, C.as<T>(), 1),
          "rocblas_?symv_64");
  else
    check(Routines<T>::symm(handle_, rocblas_side_left, rocblas(uplo), C.rows, C.cols, s.alpha,
                            A.as<T>(), A.ld, B.as<T>(), B.ld, s.beta, C.as<T>(), C.ld),
          "rocblas_?symm_64");
}

}  // namespace strata::vendor
