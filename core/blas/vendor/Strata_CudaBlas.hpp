// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_CUDA_BLAS_HPP
#define STRATA_CUDA_BLAS_HPP

#include <Kokkos_Core.hpp>
#include <core/blas/vendor/Strata_CudaFp8Gemm.hpp>
#include <core/blas/vendor/Strata_CudaHandles.hpp>
#include <core/blas/vendor/Strata_DeviceBuffer.hpp>
#include <core/blas/vendor/Strata_DeviceScalars.hpp>
#include <cstdint>
#include <optional>

namespace strata::vendor {

/// BLAS of one instance by cuBLAS and cublasLt: the members of `Blas`, but for POTRF.
///
/// Arithmetic is IEEE fp64 and fp32, TF32 only for operands that say so; products of fp16 and bf16
/// are summed in fp32 to the end. The workspace is the object's own, so that results repeat bit by
/// bit whatever other streams do. C++20 implies CUDA 12, whose interface is of 64 bits.
class CudaBlas {
 public:
  using Matrix = MatrixRef<Kokkos::CudaSpace>;

  explicit CudaBlas(Kokkos::Cuda const& exec);

  bool gemm(Op op_a, Op op_b, double alpha, Matrix const& A, Matrix const& B, double beta,
            Matrix const& C);
  bool gemm_batched(Op op_a, Op op_b, double alpha, Matrix const& A, Matrix const& B, double beta,
                    Matrix const& C, Batch const& batch);
  bool syrk(Uplo uplo, Op op, double alpha, Matrix const& A, double beta, Matrix const& C);
  bool trsm(Side side, Uplo uplo, Op op, Diag diag, double alpha, Matrix const& A, Matrix const& B);
  bool symm(Uplo uplo, double alpha, Matrix const& A, Matrix const& B, double beta,
            Matrix const& C);

 private:
  template <class T>
  Scalars<T> set_mode(Scalars<T> const& scalars);
  template <class T>
  void gemm_as(Op op_a, Op op_b, double alpha, Matrix const& A, Matrix const& B, double beta,
               Matrix const& C, Batch const& batch);
  template <class T>
  void symm_as(Uplo uplo, double alpha, Matrix const& A, Matrix const& B, double beta,
               Matrix const& C);

  Kokkos::Cuda exec_;
  DeviceBuffer<Kokkos::Cuda> workspace_;
  DeviceScalars<Kokkos::Cuda> scalars_;
  CudaHandle<cublasHandle_t, cublasCreate, cublasDestroy> handle_;
  std::optional<CudaFp8Gemm> fp8_gemm_;  // made at the first FP8 product
};

}  // namespace strata::vendor

#endif
