// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_KERNELS_BLAS_HPP
#define STRATA_KERNELS_BLAS_HPP

#include <core/Strata_MatrixRef.hpp>

namespace strata::detail {

/// Kokkos Kernels' gemm and trsm for fp32 or fp64 throughout, without scales, with the members of
/// `vendor::Blas`. They return false for all else, and where the 32-bit indices would overflow.
template <class Exec>
class KernelsBlas {
 public:
  using Matrix = MatrixRef<typename Exec::memory_space>;
  using ConstMatrix = ConstMatrixRef<typename Exec::memory_space>;

  explicit KernelsBlas(Exec const& exec) : exec_(exec) {}

  bool gemm(Op op_a, Op op_b, double alpha, ConstMatrix const& A, ConstMatrix const& B, double beta,
            Matrix const& C);
  bool trsm(Side side, Uplo uplo, Op op, Diag diag, double alpha, ConstMatrix const& A,
            Matrix const& B);

 private:
  Exec exec_;
};

}  // namespace strata::detail

#endif
