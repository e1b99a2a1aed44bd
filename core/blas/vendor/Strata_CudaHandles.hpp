// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_CUDA_HANDLES_HPP
#define STRATA_CUDA_HANDLES_HPP

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cusolverDn.h>

#include <core/Strata_MatrixRef.hpp>
#include <core/kokkos_ext/Strata_DeviceRuntime.hpp>

// The CUDA libraries' statuses, handles and enumerations.
namespace strata::vendor {

/// Throw VendorError with the status's name and the call unless it is success.
void check(cublasStatus_t status, char const* call);
void check(cusolverStatus_t status, char const* call);

/// Owns what `create` made until `destroy`.
template <class Resource, auto create, auto destroy>
class CudaHandle {
 public:
  template <class... Argument>
  explicit CudaHandle(char const* call, Argument... argument) {
    check(create(&resource_, argument...), call);
  }
  ~CudaHandle() { destroy(resource_); }
  CudaHandle(CudaHandle const&) = delete;
  CudaHandle& operator=(CudaHandle const&) = delete;
  operator Resource() const { return resource_; }

 private:
  Resource resource_ = nullptr;
};

constexpr cublasOperation_t cublas(Op op) { return op == Op::NoTrans ? CUBLAS_OP_N : CUBLAS_OP_T; }
constexpr cublasFillMode_t cublas(Uplo uplo) {
  return uplo == Uplo::Lower ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
}
constexpr cublasSideMode_t cublas(Side side) {
  return side == Side::Left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT;
}
constexpr cublasDiagType_t cublas(Diag diag) {
  return diag == Diag::Unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
}

/// CUDA's name of a storage type that it knows (all but FNUZ).
constexpr cudaDataType_t cuda_type(Precision precision) {
  switch (precision) {
    case Precision::fp64:
      return CUDA_R_64F;
    case Precision::fp32:
    case Precision::tf32:
      return CUDA_R_32F;
    case Precision::fp16:
      return CUDA_R_16F;
    case Precision::bf16:
      return CUDA_R_16BF;
    case Precision::fp8_e4m3:
      return CUDA_R_8F_E4M3;
    default:
      return CUDA_R_8F_E5M2;
  }
}

}  // namespace strata::vendor

#endif
