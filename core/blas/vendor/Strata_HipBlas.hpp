// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_HIP_BLAS_HPP
#define STRATA_HIP_BLAS_HPP

#include <Kokkos_Core.hpp>
#include <core/Strata_Config.hpp>
#include <core/blas/vendor/Strata_DeviceScalars.hpp>
#include <core/blas/vendor/Strata_HipHandles.hpp>
#include <cstdint>
#include <optional>

#ifdef STRATA_ENABLE_TPL_HIPBLASLT
#include <core/blas/vendor/Strata_HipFp8Gemm.hpp>
#endif

namespace strata::vendor {

/// BLAS of one instance by rocBLAS's 64-bit interface, and by hipBLASLt for FP8: the members of
/// `Blas`, but for POTRF.
///
/// Arithmetic is IEEE fp64 and fp32; products of fp16, bf16 and FP8 are summed in fp32.
class HipBlas {
 public:
  using Matrix = MatrixRef<Kokkos::HIPSpace>;

  explicit HipBlas(Kokkos::HIP const& exec) : exec_(exec), scalars_(exec), handle_(exec) {}

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

  Kokkos::HIP exec_;
  DeviceScalars<Kokkos::HIP> scalars_;
  RocblasHandle handle_;
#ifdef STRATA_ENABLE_TPL_HIPBLASLT
  std::optional<HipFp8Gemm> fp8_gemm_;  // made at the first FP8 product
#endif
};

}  // namespace strata::vendor

#endif
