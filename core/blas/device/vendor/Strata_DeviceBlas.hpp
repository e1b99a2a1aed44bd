// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DEVICE_BLAS_HPP
#define STRATA_DEVICE_BLAS_HPP

#include <core/blas/device/vendor/Strata_DeviceBuffer.hpp>
#include <core/blas/device/vendor/Strata_DeviceHandles.hpp>
#include <core/blas/device/vendor/Strata_DeviceScalars.hpp>
#include <core/instances/Strata_Lent.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <optional>

#if defined(STRATA_ENABLE_TPL_CUBLAS) || defined(STRATA_ENABLE_TPL_HIPBLASLT)
#define STRATA_HAS_FP8_GEMM
#include <core/blas/device/vendor/Strata_DeviceFp8Gemm.hpp>
#endif

namespace strata::vendor {

/// BLAS of one instance by cuBLAS and cublasLt, or rocBLAS's 64-bit interface and hipBLASLt: the
/// members of `Blas`, but for POTRF.
///
/// Arithmetic is IEEE fp64 and fp32, TF32 only for operands that say so; products of fp16, bf16 and
/// FP8 are summed in fp32. cuBLAS's workspace is the object's own, so that results repeat bit by
/// bit whatever other streams do. C++20 implies CUDA 12, whose interface is of 64 bits. The handle
/// and the workspace are `Lent`.
class DeviceBlas {
 public:
  using Exec = runtime::Exec;
  using Matrix = MatrixRef<Exec::memory_space>;
  using ConstMatrix = ConstMatrixRef<Exec::memory_space>;

  explicit DeviceBlas(Exec const& exec);
  ~DeviceBlas();
  DeviceBlas(DeviceBlas const&) = delete;
  DeviceBlas& operator=(DeviceBlas const&) = delete;

  bool gemm(Op op_a, Op op_b, double alpha, ConstMatrix const& A, ConstMatrix const& B, double beta,
            Matrix const& C);
  bool gemm_batched(Op op_a, Op op_b, double alpha, ConstMatrix const& A, ConstMatrix const& B,
                    double beta, Matrix const& C, Batch const& batch);
  bool syrk(Uplo uplo, Op op, double alpha, ConstMatrix const& A, double beta, Matrix const& C);
  bool trsm(Side side, Uplo uplo, Op op, Diag diag, double alpha, ConstMatrix const& A,
            Matrix const& B);
  bool symm(Uplo uplo, double alpha, ConstMatrix const& A, ConstMatrix const& B, double beta,
            Matrix const& C);
  void set_fixed_scales(DeviceScalars<Exec>::Scales const& scales) {
    scalars_.set_fixed_scales(scales);
  }

 private:
  /// The library's state on a device, for one instance on it at a time.
  struct Library {
    explicit Library(Exec const& exec);
    BlasHandle handle;
    DeviceBuffer<Exec>::Memory workspace;  ///< cuBLAS'
    DeviceScalars<Exec>::Slot scalars;
  };

  template <class T>
  Scalars<T> set_mode(Scalars<T> const& scalars);
  template <class T>
  void gemm_as(Op op_a, Op op_b, double alpha, ConstMatrix const& A, ConstMatrix const& B,
               double beta, Matrix const& C, Batch const& batch);
  template <class T>
  void symm_as(Uplo uplo, double alpha, ConstMatrix const& A, ConstMatrix const& B, double beta,
               Matrix const& C);

  Exec exec_;
  Lent<Library> library_;
  BlasHandle const& handle_;
  DeviceBuffer<Exec> workspace_;
  DeviceScalars<Exec> scalars_;
#ifdef STRATA_HAS_FP8_GEMM
  std::optional<DeviceFp8Gemm> fp8_gemm_;  // made at the first FP8 product
#endif
};

}  // namespace strata::vendor

#endif
