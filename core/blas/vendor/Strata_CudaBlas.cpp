// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <core/blas/vendor/Strata_CudaBlas.hpp>
#include <core/blas/vendor/Strata_VendorTypes.hpp>

namespace strata::vendor {

namespace {

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;  // what cuBLAS asks for on Hopper

template <class T>
struct Routines;
template <>
struct Routines<double> {
  static constexpr auto syrk = cublasDsyrk_64;
  static constexpr auto trsm = cublasDtrsm_64;
  static constexpr auto symm = cublasDsymm_64;
  static constexpr auto symv = cublasDsymv_64;
  static constexpr auto compute = CUBLAS_COMPUTE_64F;
};
template <>
struct Routines<float> {
  static constexpr auto syrk = cublasSsyrk_64;
  static constexpr auto trsm = cublasStrsm_64;
  static constexpr auto symm = cublasSsymm_64;
  static constexpr auto symv = cublasSsymv_64;
  static constexpr auto compute = CUBLAS_COMPUTE_32F;
};

template <class Matrix>
bool is_tf32_product(Matrix const& A, Matrix const& B, Matrix const& C) {
  return A.precision == Precision::tf32 && B.precision == Precision::tf32 &&
         C.precision == Precision::fp32;
}

using Region = Kokkos::Profiling::ScopedRegion;

}  // namespace

CudaBlas::CudaBlas(Kokkos::Cuda const& exec)
    : exec_(runtime::select(exec)), workspace_(exec), scalars_(exec), handle_("cublasCreate") {
  check(cublasSetStream(handle_, exec_.cuda_stream()), "cublasSetStream");
  check(cublasSetWorkspace(handle_, workspace_.reserve(workspace_bytes), workspace_bytes),
        "cublasSetWorkspace");  // after the stream, which resets it
  auto const math = CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  check(cublasSetMathMode(handle_, static_cast<cublasMath_t>(math)), "cublasSetMathMode");
}

template <class T>
Scalars<T> CudaBlas::set_mode(Scalars<T> const& scalars) {
  auto const mode = scalars.on_device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST;
  check(cublasSetPointerMode(handle_, mode), "cublasSetPointerMode");
  return scalars;
}

bool CudaBlas::gemm(Op op_a, Op op_b, double alpha, Matrix const& A, Matrix const& B, double beta,
                    Matrix const& C) {
  Precision const sums = sum_type(A.precision);
  if (!fit(sums, alpha, beta)) return false;
  runtime::select(exec_);
  if (traits(A.precision).bytes == 1 && traits(B.precision).bytes == 1) {
    if (!fp8_gemm_) fp8_gemm_.emplace(exec_, workspace_.reserve(workspace_bytes), workspace_bytes);
    return fp8_gemm_->takes(A.precision, B.precision) &&
           (*fp8_gemm_)(op_a, op_b, alpha, A, B, beta, C, scalars_);
  }
  return gemm_batched(op_a, op_b, alpha, A, B, beta, C, Batch{});
}

bool CudaBlas::gemm_batched(Op op_a, Op op_b, double alpha, Matrix const& A, Matrix const& B,
                            double beta, Matrix const& C, Batch const& batch) {
  Precision const sums = sum_type(A.precision);
  bool const has_product =
      has_gemm(A.precision, B.precision, C.precision) || is_tf32_product(A, B, C);
  if (!fit(sums, alpha, beta) || !has_product) return false;
  runtime::select(exec_);
  if (sums == Precision::fp64)
    gemm_as<double>(op_a, op_b, alpha, A, B, beta, C, batch);
  else
    gemm_as<float>(op_a, op_b, alpha, A, B, beta, C, batch);
  return true;
}

template <class T>
void CudaBlas::gemm_as(Op op_a, Op op_b, double alpha, Matrix const& A, Matrix const& B,
                       double beta, Matrix const& C, Batch const& batch) {
  Region const region("strata::core::gemm[cublas]");
  std::int64_t const k = op_a == Op::NoTrans ? A.cols : A.rows;
  auto const s = set_mode(scalars_.product<T>(alpha, A.scale, B.scale, beta));
  auto const compute =
      A.precision == Precision::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : Routines<T>::compute;
  if (batch.count > 1)
    return check(cublasGemmStridedBatchedEx_64(
                     handle_, cublas(op_a), cublas(op_b), C.rows, C.cols, k, s.alpha, A.data,
                     cuda_type(A.precision), A.ld, batch.stride_a, B.data, cuda_type(B.precision),
                     B.ld, batch.stride_b, s.beta, C.data, cuda_type(C.precision), C.ld,
                     batch.stride_c, batch.count, compute, CUBLAS_GEMM_DEFAULT),
                 "cublasGemmStridedBatchedEx_64");
  check(cublasGemmEx_64(handle_, cublas(op_a), cublas(op_b), C.rows, C.cols, k, s.alpha, A.data,
                        cuda_type(A.precision), A.ld, B.data, cuda_type(B.precision), B.ld, s.beta,
                        C.data, cuda_type(C.precision), C.ld, compute, CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx_64");
}

bool CudaBlas::syrk(Uplo uplo, Op op, double alpha, Matrix const& A, double beta, Matrix const& C) {
  if (!in_one_type(A.precision, C.precision, alpha, beta)) return false;
  Region const region("strata::core::syrk[cublas]");
  runtime::select(exec_);
  std::int64_t const k = op == Op::NoTrans ? A.cols : A.rows;
  with_arithmetic_type(C.precision, [&]<class T>(std::type_identity<T>) {
    auto const s = set_mode(scalars_.product<T>(alpha, A.scale, A.scale, beta));
    check(Routines<T>::syrk(handle_, cublas(uplo), cublas(op), C.rows, k, s.alpha,
                            A.template as<T>(), A.ld, s.beta, C.template as<T>(), C.ld),
          "cublas?syrk_64");
  });
  return true;
}

bool CudaBlas::trsm(Side side, Uplo uplo, Op op, Diag diag, double alpha, Matrix const& A,
                    Matrix const& B) {
  // A unit diagonal is not scaled by A's scale as the rest of A is.
  bool const half_scaled = A.scale && diag == Diag::Unit;
  if (half_scaled || !in_one_type(A.precision, B.precision, alpha, 0)) return false;
  Region const region("strata::core::trsm[cublas]");
  runtime::select(exec_);
  with_arithmetic_type(B.precision, [&]<class T>(std::type_identity<T>) {
    auto const s = set_mode(scalars_.quotient<T>(alpha, A.scale));
    check(Routines<T>::trsm(handle_, cublas(side), cublas(uplo), cublas(op), cublas(diag), B.rows,
                            B.cols, s.alpha, A.template as<T>(), A.ld, B.template as<T>(), B.ld),
          "cublas?trsm_64");
  });
  return true;
}

bool CudaBlas::symm(Uplo uplo, double alpha, Matrix const& A, Matrix const& B, double beta,
                    Matrix const& C) {
  if (B.precision != C.precision || !in_one_type(A.precision, C.precision, alpha, beta))
    return false;
  Region const region("strata::core::symm[cublas]");
  runtime::select(exec_);
  if (C.precision == Precision::fp64)
    symm_as<double>(uplo, alpha, A, B, beta, C);
  else
    symm_as<float>(uplo, alpha, A, B, beta, C);
  return true;
}

template <class T>
void CudaBlas::symm_as(Uplo uplo, double alpha, Matrix const& A, Matrix const& B, double beta,
                       Matrix const& C) {
  auto const s = set_mode(scalars_.product<T>(alpha, A.scale, B.scale, beta));
  if (C.cols == 1)
    check(Routines<T>::symv(handle_, cublas(uplo), A.rows, s.alpha, A.as<T>(), A.ld, B.as<T>(), 1,
                            s.beta, C.as<T>(), 1),
          "cublas?symv_64");
  else
    check(Routines<T>::symm(handle_, CUBLAS_SIDE_LEFT, cublas(uplo), C.rows, C.cols, s.alpha,
                            A.as<T>(), A.ld, B.as<T>(), B.ld, s.beta, C.as<T>(), C.ld),
          "cublas?symm_64");
}

}  // namespace strata::vendor
