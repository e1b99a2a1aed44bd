// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_HIP_HANDLES_HPP
#define STRATA_HIP_HANDLES_HPP

#include <rocblas/rocblas.h>

#include <core/Strata_MatrixRef.hpp>
#include <core/kokkos_ext/Strata_DeviceRuntime.hpp>

// The statuses, the handle and the enumerations of the ROCm libraries.
namespace strata::vendor {

/// Throw VendorError with the status's name and the call unless it is success.
void check(rocblas_status status, char const* call);  // rocSOLVER's too

/// A rocBLAS handle of one instance's stream; results repeat bit by bit (no atomic additions).
class RocblasHandle {
 public:
  explicit RocblasHandle(Kokkos::HIP const& exec);
  ~RocblasHandle() { rocblas_destroy_handle(handle_); }
  RocblasHandle(RocblasHandle const&) = delete;
  RocblasHandle& operator=(RocblasHandle const&) = delete;
  operator rocblas_handle() const { return handle_; }

 private:
  rocblas_handle handle_ = nullptr;
};

constexpr rocblas_operation rocblas(Op op) {
  return op == Op::NoTrans ? rocblas_operation_none : rocblas_operation_transpose;
}
constexpr rocblas_fill rocblas(Uplo uplo) {
  return uplo == Uplo::Lower ? rocblas_fill_lower : rocblas_fill_upper;
}
constexpr rocblas_side rocblas(Side side) {
  return side == Side::Left ? rocblas_side_left : rocblas_side_right;
}
constexpr rocblas_diagonal rocblas(Diag diag) {
  return diag == Diag::Unit ? rocblas_diagonal_unit : rocblas_diagonal_non_unit;
}

/// rocBLAS's name of a storage type of 16 bits or more.
constexpr rocblas_datatype rocblas_type(Precision precision) {
  switch (precision) {
    case Precision::fp64:
      return rocblas_datatype_f64_r;
    case Precision::fp32:
      return rocblas_datatype_f32_r;
    case Precision::fp16:
      return rocblas_datatype_f16_r;
    default:
      return rocblas_datatype_bf16_r;
  }
}

}  // namespace strata::vendor

#endif
