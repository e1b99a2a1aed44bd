// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_HIP_FP8_GEMM_HPP
#define STRATA_HIP_FP8_GEMM_HPP

#include <hipblaslt/hipblaslt.h>

#include <Kokkos_Core.hpp>
#include <compare>
#include <core/blas/vendor/Strata_DeviceBuffer.hpp>
#include <core/blas/vendor/Strata_DeviceScalars.hpp>
#include <core/blas/vendor/Strata_Fp8Operand.hpp>
#include <core/blas/vendor/Strata_HipHandles.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace strata::vendor {

void check(hipblasStatus_t status, char const* call);

/// Owns what `create` made until `destroy`.
template <class Resource, auto create, auto destroy>
class HipLtHandle {
 public:
  template <class... Argument>
  explicit HipLtHandle(char const* call, Argument... argument) {
    check(create(&resource_, argument...), call);
  }
  ~HipLtHandle() { (void)destroy(resource_); }
  HipLtHandle(HipLtHandle const&) = delete;
  HipLtHandle& operator=(HipLtHandle const&) = delete;
  operator Resource() const { return resource_; }

 private:
  Resource resource_ = nullptr;
};

/// GEMM of two FP8 operands on the matrix units, by hipBLASLt, into any type.
///
/// gfx942 multiplies the FNUZ kinds: OCP's are recoded while they are packed, at half their value,
/// which alpha makes good. gfx950 and gfx12 multiply OCP's, as they are. Products are A^T B with an
/// FP32 result: operands that are otherwise are packed first, results stored by a second kernel.
///
/// Memory   packed copies and an FP32 product where needed, and the library's workspace; all kept.
class HipFp8Gemm {
 public:
  using Matrix = MatrixRef<Kokkos::HIPSpace>;

  explicit HipFp8Gemm(Kokkos::HIP const& exec);

  /// Whether the device multiplies these types: two of OCP's or two of FNUZ, not both E5M2.
  bool takes(Precision a, Precision b) const;

  /// C = alpha op(A) op(B) + beta C, or false, with nothing done, if the library has no algorithm
  /// for it.
  bool operator()(Op op_a, Op op_b, double alpha, Matrix const& A, Matrix const& B, double beta,
                  Matrix const& C, DeviceScalars<Kokkos::HIP>& scalars);

 private:
  using Description =
      HipLtHandle<hipblasLtMatmulDesc_t, hipblasLtMatmulDescCreate, hipblasLtMatmulDescDestroy>;
  using Layout = HipLtHandle<hipblasLtMatrixLayout_t, hipblasLtMatrixLayoutCreate,
                             hipblasLtMatrixLayoutDestroy>;
  using Preference = HipLtHandle<hipblasLtMatmulPreference_t, hipblasLtMatmulPreferenceCreate,
                                 hipblasLtMatmulPreferenceDestroy>;
  enum class Units { None, Fnuz, Ocp };

  /// What one call depends on.
  struct Shape {
    hipDataType a, b;
    float const* scale;  ///< of A B, on the device; or null
    std::int64_t m, n, k, lda, ldb, ldc;
    auto operator<=>(Shape const&) const = default;
  };
  /// The library's descriptors of a shape and its choice of algorithm, if it has one.
  struct Plan {
    explicit Plan(Shape const& shape);
    Description description;
    Layout a, b, c;
    std::optional<hipblasLtMatmulAlgo_t> algorithm;
  };
  Plan& plan(Shape const& shape);
  std::optional<hipblasLtMatmulAlgo_t> choose(Plan const& plan) const;
  Recoding recoding_of(Precision precision) const;
  hipDataType type_of(Precision precision) const;

  Kokkos::HIP exec_;
  Units units_ = Units::None;
  HipLtHandle<hipblasLtHandle_t, hipblasLtCreate, hipblasLtDestroy> handle_;
  DeviceBuffer<Kokkos::HIP> workspace_;
  DeviceBuffer<Kokkos::HIP> packed_;
  std::map<Shape, Plan> plans_;
};

}  // namespace strata::vendor

#endif
