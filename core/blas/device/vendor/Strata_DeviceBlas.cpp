// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/device/vendor/Strata_DeviceBlas.hpp>

#include <core/Strata_Backends.hpp>
#include <core/blas/device/vendor/Strata_VendorTypes.hpp>

#include <Kokkos_Profiling_ScopedRegion.hpp>

namespace strata::vendor {

namespace {

template <class T>
struct Routines;
template <>
struct Routines<double> {
  static constexpr auto syrk = STRATA_CUDA_OR_HIP(cublasDsyrk_64, rocblas_dsyrk_64);
  static constexpr auto trsm = STRATA_CUDA_OR_HIP(cublasDtrsm_64, rocblas_dtrsm_64);
  static constexpr auto symm = STRATA_CUDA_OR_HIP(cublasDsymm_64, rocblas_dsymm_64);
  static constexpr auto symv = STRATA_CUDA_OR_HIP(cublasDsymv_64, rocblas_dsymv_64);
  static constexpr auto compute = STRATA_CUDA_OR_HIP(CUBLAS_COMPUTE_64F, rocblas_datatype_f64_r);
};
template <>
struct Routines<float> {
  static constexpr auto syrk = STRATA_CUDA_OR_HIP(cublasSsyrk_64, rocblas_ssyrk_64);
  static constexpr auto trsm = STRATA_CUDA_OR_HIP(cublasStrsm_64, rocblas_strsm_64);
  static constexpr auto symm = STRATA_CUDA_OR_HIP(cublasSsymm_64, rocblas_ssymm_64);
  static constexpr auto symv = STRATA_CUDA_OR_HIP(cublasSsymv_64, rocblas_ssymv_64);
  static constexpr auto compute = STRATA_CUDA_OR_HIP(CUBLAS_COMPUTE_32F, rocblas_datatype_f32_r);
};

template <class ConstMatrix, class Matrix>
bool is_tf32_product(ConstMatrix const& A, ConstMatrix const& B, Matrix const& C) {
  return vendor_libraries<runtime::Exec>.tf32 && A.precision == Precision::tf32 &&
         B.precision == Precision::tf32 && C.precision == Precision::fp32;
}

using Region = Kokkos::Profiling::ScopedRegion;

}  // namespace

#ifdef KOKKOS_ENABLE_CUDA
DeviceBlas::Library::Library(Exec const& exec)
    : handle("cublasCreate"), scalars(DeviceScalars<Exec>::allocate_slot(exec)) {
  DeviceBuffer<Exec> buffer(exec);
  (void)buffer.reserve(workspace_bytes);
  workspace = buffer.memory();
  auto const math = CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  check(cublasSetMathMode(handle, static_cast<cublasMath_t>(math)), "cublasSetMathMode");
}
#else
DeviceBlas::Library::Library(Exec const& exec)
    : handle(exec), scalars(DeviceScalars<Exec>::allocate_slot(exec)) {}
#endif

DeviceBlas::DeviceBlas(Exec const& exec)
    : exec_(runtime::select(exec)),
      library_(runtime::device_of(exec), exec),
      handle_(library_->handle),
      workspace_(exec, library_->workspace),
      scalars_(exec, library_->scalars) {
  set_stream(handle_, runtime::stream_of(exec_));
#ifdef KOKKOS_ENABLE_CUDA
  check(cublasSetWorkspace(handle_, workspace_.reserve(workspace_bytes), workspace_bytes),
        "cublasSetWorkspace");  // after the stream, which resets it
#endif
}

DeviceBlas::~DeviceBlas() {
  if (!leave_stream(exec_, handle_)) library_.forsake();
}

template <class T>
Scalars<T> DeviceBlas::set_mode(Scalars<T> const& scalars) {
#ifdef KOKKOS_ENABLE_CUDA
  auto const mode = scalars.on_device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST;
  check(cublasSetPointerMode(handle_, mode), "cublasSetPointerMode");
#else
  auto const mode = scalars.on_device ? rocblas_pointer_mode_device : rocblas_pointer_mode_host;
  check(rocblas_set_pointer_mode(handle_, mode), "rocblas_set_pointer_mode");
#endif
  return scalars;
}

bool DeviceBlas::gemm(Op op_a, Op op_b, double alpha, ConstMatrix const& A, ConstMatrix const& B,
                      double beta, Matrix const& C) {
#ifdef STRATA_HAS_FP8_GEMM
  if (traits(A.precision).bytes == 1 && traits(B.precision).bytes == 1) {
    if (!fit(Precision::fp32, alpha, beta)) return false;
    runtime::select(exec_);
    if (!fp8_gemm_) fp8_gemm_.emplace(exec_, workspace_);
    return fp8_gemm_->takes(A.precision, B.precision) &&
           (*fp8_gemm_)(op_a, op_b, alpha, A, B, beta, C, scalars_);
  }
#endif
  return gemm_batched(op_a, op_b, alpha, A, B, beta, C, Batch{});
}

bool DeviceBlas::gemm_batched(Op op_a, Op op_b, double alpha, ConstMatrix const& A,
                              ConstMatrix const& B, double beta, Matrix const& C,
                              Batch const& batch) {
  bool const has_product =
      has_gemm(A.precision, B.precision, C.precision) || is_tf32_product(A, B, C);
  if (!fit(sum_type(A.precision), alpha, beta) || !has_product) return false;
  runtime::select(exec_);
  with_arithmetic_type(sum_type(A.precision), [&]<class T>(std::type_identity<T>) {
    gemm_as<T>(op_a, op_b, alpha, A, B, beta, C, batch);
  });
  return true;
}

template <class T>
void DeviceBlas::gemm_as(Op op_a, Op op_b, double alpha, ConstMatrix const& A, ConstMatrix const& B,
                         double beta, Matrix const& C, Batch const& batch) {
  Region const region(
      STRATA_CUDA_OR_HIP("strata::core::gemm[cublas]", "strata::core::gemm[rocblas]"));
  std::int64_t const k = op_a == Op::NoTrans ? A.cols : A.rows;
  auto const s = set_mode(scalars_.product<T>(alpha, A.scale, B.scale, beta, C.scale));
#ifdef KOKKOS_ENABLE_CUDA
  auto const compute =
      A.precision == Precision::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : Routines<T>::compute;
  if (batch.count > 1)
    return check(cublasGemmStridedBatchedEx_64(
                     handle_, native(op_a), native(op_b), C.rows, C.cols, k, s.alpha, A.data,
                     native(A.precision), A.ld, batch.stride_a, B.data, native(B.precision), B.ld,
                     batch.stride_b, s.beta, C.data, native(C.precision), C.ld, batch.stride_c,
                     batch.count, compute, CUBLAS_GEMM_DEFAULT),
                 "cublasGemmStridedBatchedEx_64");
  check(cublasGemmEx_64(handle_, native(op_a), native(op_b), C.rows, C.cols, k, s.alpha, A.data,
                        native(A.precision), A.ld, B.data, native(B.precision), B.ld, s.beta,
                        C.data, native(C.precision), C.ld, compute, CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx_64");
#else
  rocblas_datatype const c_type = native(C.precision);
  if (batch.count > 1)
    return check(rocblas_gemm_strided_batched_ex_64(
                     handle_, native(op_a), native(op_b), C.rows, C.cols, k, s.alpha, A.data,
                     native(A.precision), A.ld, batch.stride_a, B.data, native(B.precision), B.ld,
                     batch.stride_b, s.beta, C.data, c_type, C.ld, batch.stride_c, C.data, c_type,
                     C.ld, batch.stride_c, batch.count, Routines<T>::compute,
                     rocblas_gemm_algo_standard, 0, rocblas_gemm_flags_none),
                 "rocblas_gemm_strided_batched_ex_64");
  check(rocblas_gemm_ex_64(handle_, native(op_a), native(op_b), C.rows, C.cols, k, s.alpha, A.data,
                           native(A.precision), A.ld, B.data, native(B.precision), B.ld, s.beta,
                           C.data, c_type, C.ld, C.data, c_type, C.ld, Routines<T>::compute,
                           rocblas_gemm_algo_standard, 0, rocblas_gemm_flags_none),
        "rocblas_gemm_ex_64");
#endif
}

bool DeviceBlas::syrk(Uplo uplo, Op op, double alpha, ConstMatrix const& A, double beta,
                      Matrix const& C) {
  if (!in_one_type(A.precision, C.precision, alpha, beta)) return false;
  Region const region(
      STRATA_CUDA_OR_HIP("strata::core::syrk[cublas]", "strata::core::syrk[rocblas]"));
  runtime::select(exec_);
  std::int64_t const k = op == Op::NoTrans ? A.cols : A.rows;
  with_arithmetic_type(C.precision, [&]<class T>(std::type_identity<T>) {
    auto const s = set_mode(scalars_.product<T>(alpha, A.scale, A.scale, beta));
    check(Routines<T>::syrk(handle_, native(uplo), native(op), C.rows, k, s.alpha,
                            A.template as<T>(), A.ld, s.beta, C.template as<T>(), C.ld),
          STRATA_CUDA_OR_HIP("cublas?syrk_64", "rocblas_?syrk_64"));
  });
  return true;
}

bool DeviceBlas::trsm(Side side, Uplo uplo, Op op, Diag diag, double alpha, ConstMatrix const& A,
                      Matrix const& B) {
  // A unit diagonal is not scaled by A's scale as the rest of A is.
  bool const half_scaled = A.scale && diag == Diag::Unit;
  if (half_scaled || !in_one_type(A.precision, B.precision, alpha, 0)) return false;
  Region const region(
      STRATA_CUDA_OR_HIP("strata::core::trsm[cublas]", "strata::core::trsm[rocblas]"));
  runtime::select(exec_);
  with_arithmetic_type(B.precision, [&]<class T>(std::type_identity<T>) {
    auto const s = set_mode(scalars_.quotient<T>(alpha, A.scale));
    check(Routines<T>::trsm(handle_, native(side), native(uplo), native(op), native(diag), B.rows,
                            B.cols, s.alpha, A.template as<T>(), A.ld, B.template as<T>(), B.ld),
          STRATA_CUDA_OR_HIP("cublas?trsm_64", "rocblas_?trsm_64"));
  });
  return true;
}

bool DeviceBlas::symm(Uplo uplo, double alpha, ConstMatrix const& A, ConstMatrix const& B,
                      double beta, Matrix const& C) {
  if (B.precision != C.precision || !in_one_type(A.precision, C.precision, alpha, beta))
    return false;
  Region const region(
      STRATA_CUDA_OR_HIP("strata::core::symm[cublas]", "strata::core::symm[rocblas]"));
  runtime::select(exec_);
  with_arithmetic_type(
      C.precision, [&]<class T>(std::type_identity<T>) { symm_as<T>(uplo, alpha, A, B, beta, C); });
  return true;
}

template <class T>
void DeviceBlas::symm_as(Uplo uplo, double alpha, ConstMatrix const& A, ConstMatrix const& B,
                         double beta, Matrix const& C) {
  auto const s = set_mode(scalars_.product<T>(alpha, A.scale, B.scale, beta));
  if (C.cols == 1)
    check(Routines<T>::symv(handle_, native(uplo), A.rows, s.alpha, A.as<T>(), A.ld, B.as<T>(), 1,
                            s.beta, C.as<T>(), 1),
          STRATA_CUDA_OR_HIP("cublas?symv_64", "rocblas_?symv_64"));
  else
    check(Routines<T>::symm(handle_, native(Side::Left), native(uplo), C.rows, C.cols, s.alpha,
                            A.as<T>(), A.ld, B.as<T>(), B.ld, s.beta, C.as<T>(), C.ld),
          STRATA_CUDA_OR_HIP("cublas?symm_64", "rocblas_?symm_64"));
}

}  // namespace strata::vendor
