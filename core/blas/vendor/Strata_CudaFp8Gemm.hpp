// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_CUDA_FP8_GEMM_HPP
#define STRATA_CUDA_FP8_GEMM_HPP

#include <Kokkos_Core.hpp>
#include <array>
#include <core/blas/vendor/Strata_CudaHandles.hpp>
#include <core/blas/vendor/Strata_DeviceBuffer.hpp>
#include <core/blas/vendor/Strata_DeviceScalars.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace strata::vendor {

/// GEMM of two FP8 operands on the matrix units, by cublasLt, into any type.
///
/// The library takes A^T B only, with all pointers, leading dimensions and columns a multiple of 16
/// bytes, and FP32 results among others: operands that are otherwise are packed first, results
/// stored by a second kernel.
///
/// Memory   packed copies and an FP32 product where needed, kept.
/// Error    Hopper's matrix unit aligns the products within one instruction to about 14 bits before
///          it adds, so a sum is that of fp32 to about 2^-12 sum |a b|, far below the operands' own
///          roundoff of 2^-4.
class CudaFp8Gemm {
 public:
  using Matrix = MatrixRef<Kokkos::CudaSpace>;

  /// `workspace` is cublasLt's own, shared with the instance's other calls.
  CudaFp8Gemm(Kokkos::Cuda const& exec, void* workspace, std::size_t workspace_bytes);

  /// Whether the device multiplies these types: E4M3 by E4M3 or E5M2, either order, from compute
  /// capability 8.9.
  bool takes(Precision a, Precision b) const;

  /// C = alpha op(A) op(B) + beta C, or false, with nothing done, if the library has no algorithm
  /// for it.
  bool operator()(Op op_a, Op op_b, double alpha, Matrix const& A, Matrix const& B, double beta,
                  Matrix const& C, DeviceScalars<Kokkos::Cuda>& scalars);

 private:
  using Description =
      CudaHandle<cublasLtMatmulDesc_t, cublasLtMatmulDescCreate, cublasLtMatmulDescDestroy>;
  using Layout =
      CudaHandle<cublasLtMatrixLayout_t, cublasLtMatrixLayoutCreate, cublasLtMatrixLayoutDestroy>;
  using Preference = CudaHandle<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceCreate,
                                cublasLtMatmulPreferenceDestroy>;

  /// What one call depends on.
  struct Shape {
    Precision a, b;
    float const* scale;  ///< of A B, on the device; or null
    std::int64_t m, n, k, lda, ldb, ldc;
    auto operator<=>(Shape const&) const = default;
  };
  /// The library's descriptors of a shape and its choice of algorithm, if it has one.
  struct Plan {
    explicit Plan(Shape const& shape);
    Description description;
    Layout a, b, c;
    std::optional<cublasLtMatmulAlgo_t> algorithm;
  };
  Plan const& plan(Shape const& shape);
  std::optional<cublasLtMatmulAlgo_t> choose(Plan const& plan) const;

  Kokkos::Cuda exec_;
  bool has_units_;
  CudaHandle<cublasLtHandle_t, cublasLtCreate, cublasLtDestroy> handle_;
  void* workspace_;
  std::size_t workspace_bytes_;
  DeviceBuffer<Kokkos::Cuda> packed_;
  std::map<Shape, Plan> plans_;
};

}  // namespace strata::vendor

#endif
