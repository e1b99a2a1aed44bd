// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_HOST_ONEDNN_HPP
#define STRATA_HOST_ONEDNN_HPP

#include <core/Strata_MatrixRef.hpp>

#include <Kokkos_Core.hpp>

#include <memory>

namespace strata::vendor {

/// oneDNN's matrix product of bf16, fp16 or fp32 matrices with an fp32 sum; the result is fp32, or
/// without beta of the operands' type.
///
/// Memory   none until the first product; then an engine, and a primitive (generated code, costly
///          to make) per shape, strides and factors.
/// Throws   VendorError with oneDNN's status.
class OnednnMatmul {
 public:
  using Matrix = MatrixRef<Kokkos::HostSpace>;
  using ConstMatrix = ConstMatrixRef<Kokkos::HostSpace>;

  OnednnMatmul();
  ~OnednnMatmul();
  OnednnMatmul(OnednnMatmul&&) noexcept;

  /// Whether this CPU has instructions that multiply such numbers (AMX, AVX512-BF16, AVX512-FP16).
  static bool has_instructions(Precision operands);

  /// Whether oneDNN can run in this process. It can't in one that was forked after products were
  /// made: OpenMP's threads stayed behind, and a product would wait for them for ever.
  static bool has_threads();

  /// C = alpha op(A) op(B) + beta C without scales; false, with nothing done, if oneDNN has no such
  /// product or no threads.
  bool gemm(Op op_a, Op op_b, double alpha, ConstMatrix const& A, ConstMatrix const& B, double beta,
            Matrix const& C);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;  // made at the first product
};

}  // namespace strata::vendor

#endif
