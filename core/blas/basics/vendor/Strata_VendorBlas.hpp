// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_VENDOR_BLAS_HPP
#define STRATA_VENDOR_BLAS_HPP

#include <core/Strata_MatrixRef.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <memory>

namespace strata::vendor {

/// The vendor library of one execution space: handles of one instance, calls enqueued on it.
///
/// Each member does the operation of the same name in `LeafBlas` and returns true. It returns
/// false, with nothing done, if the library lacks the operation or types, or the build lacks the
/// library. Shapes are already checked and no extent is 0. A scale of a product's result is divided
/// out by GPUs' libraries, but not in FP8; other members are not given one. There is one
/// specialisation for hosts and one for the GPU that Kokkos has.
template <class ExecutionSpace>
class Blas {
 public:
  using Matrix = MatrixRef<typename ExecutionSpace::memory_space>;
  using ConstMatrix = ConstMatrixRef<typename ExecutionSpace::memory_space>;
  using InfoView = Kokkos::View<std::int64_t, typename ExecutionSpace::memory_space>;
  using Scales = Kokkos::View<double const*, typename ExecutionSpace::memory_space>;

  explicit Blas(ExecutionSpace const& exec);
  ~Blas();
  Blas(Blas&&) noexcept;

  bool gemm(Op op_a, Op op_b, double alpha, ConstMatrix const& A, ConstMatrix const& B, double beta,
            Matrix const& C);
  bool gemm_batched(Op op_a, Op op_b, double alpha, ConstMatrix const& A, ConstMatrix const& B,
                    double beta, Matrix const& C, Batch const& batch);
  bool syrk(Uplo uplo, Op op, double alpha, ConstMatrix const& A, double beta, Matrix const& C);
  bool trsm(Side side, Uplo uplo, Op op, Diag diag, double alpha, ConstMatrix const& A,
            Matrix const& B);
  bool potrf(Uplo uplo, Matrix const& A, std::int64_t offset, InfoView const& info);
  bool symm(Uplo uplo, double alpha, ConstMatrix const& A, ConstMatrix const& B, double beta,
            Matrix const& C);
  void set_fixed_scales(Scales const& scales);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace strata::vendor

#endif
