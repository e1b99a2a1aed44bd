// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DEVICE_HANDLES_HPP
#define STRATA_DEVICE_HANDLES_HPP

#include <core/Strata_Config.hpp>
#include <core/Strata_MatrixRef.hpp>
#include <core/kokkos_ext/Strata_DeviceRuntime.hpp>

#include <cstddef>

#ifdef KOKKOS_ENABLE_CUDA
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cusolverDn.h>
#else
#include <rocblas/rocblas.h>
#ifdef STRATA_ENABLE_TPL_HIPBLASLT
#include <hipblaslt/hipblaslt.h>
#endif
#endif

// The statuses, handles and enumerations of the GPU vendors' libraries, each by one name for both.
namespace strata::vendor {

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;  // what cuBLAS asks for on Hopper

/// Throw VendorError with the status's name and the call unless it is success.
#ifdef KOKKOS_ENABLE_CUDA
void check(cublasStatus_t status, char const* call);
void check(cusolverStatus_t status, char const* call);
#else
void check(rocblas_status status, char const* call);  // rocSOLVER's too
#ifdef STRATA_ENABLE_TPL_HIPBLASLT
void check(hipblasStatus_t status, char const* call);
#endif
#endif

/// Owns what `create` made until `destroy`.
template <class Resource, auto create, auto destroy>
class Handle {
 public:
  template <class... Argument>
  explicit Handle(char const* call, Argument... argument) {
    check(create(&resource_, argument...), call);
  }
  ~Handle() { (void)destroy(resource_); }
  Handle(Handle const&) = delete;
  Handle& operator=(Handle const&) = delete;
  operator Resource() const { return resource_; }

 private:
  Resource resource_ = nullptr;
};

#ifdef KOKKOS_ENABLE_CUDA
using BlasHandle = Handle<cublasHandle_t, cublasCreate, cublasDestroy>;
#else
/// A handle that works on one instance's stream. Results repeat bit by bit (no atomic additions).
class BlasHandle : public Handle<rocblas_handle, rocblas_create_handle, rocblas_destroy_handle> {
 public:
  explicit BlasHandle(runtime::Exec const& exec);
};
#endif

/// What is called with the handle from now on is enqueued on this stream.
inline void set_stream(BlasHandle const& handle, runtime::StreamHandle stream) {
  check(STRATA_CUDA_OR_HIP(cublasSetStream, rocblas_set_stream)(handle, stream),
        STRATA_CUDA_OR_HIP("cublasSetStream", "rocblas_set_stream"));
}
#ifdef KOKKOS_ENABLE_CUDA
using SolverHandle = Handle<cusolverDnHandle_t, cusolverDnCreate, cusolverDnDestroy>;
inline void set_stream(SolverHandle const& handle, runtime::StreamHandle stream) {
  check(cusolverDnSetStream(handle, stream), "cusolverDnSetStream");
}
#endif

/// Ends the work on an instance, which the handle knows no more, since the stream may go before it.
/// Whether that went well.
bool leave_stream(runtime::Exec const& exec, auto const& handle) noexcept {
  try {
    runtime::select(exec);
    exec.fence("strata::vendor::handle::release");
    set_stream(handle, nullptr);
  } catch (...) {
    return false;  // from a destructor it would end the program
  }
  return true;
}

constexpr auto native(Op op) {
  return op == Op::NoTrans ? STRATA_CUDA_OR_HIP(CUBLAS_OP_N, rocblas_operation_none)
                           : STRATA_CUDA_OR_HIP(CUBLAS_OP_T, rocblas_operation_transpose);
}
constexpr auto native(Uplo uplo) {
  return uplo == Uplo::Lower ? STRATA_CUDA_OR_HIP(CUBLAS_FILL_MODE_LOWER, rocblas_fill_lower)
                             : STRATA_CUDA_OR_HIP(CUBLAS_FILL_MODE_UPPER, rocblas_fill_upper);
}
constexpr auto native(Side side) {
  return side == Side::Left ? STRATA_CUDA_OR_HIP(CUBLAS_SIDE_LEFT, rocblas_side_left)
                            : STRATA_CUDA_OR_HIP(CUBLAS_SIDE_RIGHT, rocblas_side_right);
}
constexpr auto native(Diag diag) {
  return diag == Diag::Unit ? STRATA_CUDA_OR_HIP(CUBLAS_DIAG_UNIT, rocblas_diagonal_unit)
                            : STRATA_CUDA_OR_HIP(CUBLAS_DIAG_NON_UNIT, rocblas_diagonal_non_unit);
}
/// The library's name of a precision with 16 bits or more.
constexpr auto native(Precision precision) {
  switch (precision) {
    case Precision::fp64:
      return STRATA_CUDA_OR_HIP(CUDA_R_64F, rocblas_datatype_f64_r);
    case Precision::fp32:
    case Precision::tf32:
      return STRATA_CUDA_OR_HIP(CUDA_R_32F, rocblas_datatype_f32_r);
    case Precision::fp16:
      return STRATA_CUDA_OR_HIP(CUDA_R_16F, rocblas_datatype_f16_r);
    default:
      return STRATA_CUDA_OR_HIP(CUDA_R_16BF, rocblas_datatype_bf16_r);
  }
}

}  // namespace strata::vendor

#endif
