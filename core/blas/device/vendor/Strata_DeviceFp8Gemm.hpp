// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DEVICE_FP8_GEMM_HPP
#define STRATA_DEVICE_FP8_GEMM_HPP

#include <core/blas/device/vendor/Strata_DeviceBuffer.hpp>
#include <core/blas/device/vendor/Strata_DeviceHandles.hpp>
#include <core/blas/device/vendor/Strata_DeviceScalars.hpp>
#include <core/blas/device/vendor/Strata_LtMatmul.hpp>
#include <core/blas/device/vendor/Strata_PackOperand.hpp>

#include <Kokkos_Core.hpp>

#include <compare>
#include <cstdint>
#include <map>
#include <optional>

namespace strata::vendor {

/// GEMM of two FP8 operands on the matrix units, by cublasLt or hipBLASLt, into any type.
///
/// The libraries take A^T B only. All pointers, leading dimensions and columns must be multiples of
/// 16 bytes; results may be FP32. Other operands are packed first, and other results are stored by
/// a second kernel. gfx942 multiplies the FNUZ kinds of FP8. OCP's numbers are recoded to half
/// their value while they are packed, and alpha restores the factor. All other devices multiply
/// OCP's numbers as they are.
///
/// Memory   packed copies and an FP32 product where needed, kept.
/// Error    Hopper's matrix unit aligns the products within one instruction to about 14 bits before
///          it adds. So a sum differs from fp32's by about 2^-12 sum |a b|, far below the operands'
///          own roundoff of 2^-4.
class DeviceFp8Gemm {
 public:
  using Exec = runtime::Exec;
  using Matrix = MatrixRef<Exec::memory_space>;
  using ConstMatrix = ConstMatrixRef<Exec::memory_space>;

  /// `workspace` is the library's own, shared with the instance's other calls; it outlives this.
  DeviceFp8Gemm(Exec const& exec, DeviceBuffer<Exec>& workspace);

  /// Whether the device multiplies these types, two of OCP's (on NVIDIA's from compute capability
  /// 8.9) or two of FNUZ, not both E5M2.
  bool takes(Precision a, Precision b) const;

  /// C = alpha op(A) op(B) + beta C, or false, with nothing done, if the library has no algorithm
  /// for it.
  bool operator()(Op op_a, Op op_b, double alpha, ConstMatrix const& A, ConstMatrix const& B,
                  double beta, Matrix const& C, DeviceScalars<Exec>& scalars);

 private:
  using DataType = lt::DataType;
  using Algorithm = lt::Algorithm;
  enum class Units { None, Fnuz, Ocp };

  /// What one call depends on.
  struct Shape {
    DataType a, b;
    float const* scale;  ///< scale of A B, on the device; or null
    std::int64_t m, n, k, lda, ldb, ldc;
    auto operator<=>(Shape const&) const = default;
  };
  /// The library's descriptors of a shape and its choice of algorithm, if it has one.
  struct Plan {
    explicit Plan(Shape const& shape);
    lt::Description description;
    lt::Layout a, b, c;
    std::optional<Algorithm> algorithm;
  };
  static Units units_of(Exec const& exec);
  Plan const& plan(Shape const& shape);
  std::optional<Algorithm> choose(Plan const& plan) const;
  Recoding recoding_of(Precision precision) const;
  DataType type_of(Precision precision) const;

  Exec exec_;
  Units units_;
  lt::LibraryHandle handle_;
  DeviceBuffer<Exec>& workspace_;
  DeviceBuffer<Exec> packed_;
  std::map<Shape, Plan> plans_;
};

}  // namespace strata::vendor

#endif
