// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PORTABLE_BLAS_HPP
#define STRATA_PORTABLE_BLAS_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/blas/basics/detail/Strata_Elementwise.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::detail {

/// Strata's own kernels, with the members of `vendor::Blas`.
///
/// gemm, syrk and symm take every mix of types. trsm and potrf work in place and so need one
/// arithmetic type without scale (else they return false): `WidenedBlas` does the others with their
/// help.
/// Source   trsm and potrf by halves: Gustavson, IBM J. Res. Dev. 41 (1997) 737.
template <class Exec>
class PortableBlas {
 public:
  using Matrix = MatrixRef<typename Exec::memory_space>;
  using ConstMatrix = ConstMatrixRef<typename Exec::memory_space>;
  using InfoView = Kokkos::View<std::int64_t, typename Exec::memory_space>;

  explicit PortableBlas(Exec const& exec) : exec_(exec) {}

  bool gemm(Op op_a, Op op_b, double alpha, ConstMatrix const& A, ConstMatrix const& B, double beta,
            Matrix const& C);
  bool syrk(Uplo uplo, Op op, double alpha, ConstMatrix const& A, double beta, Matrix const& C);
  bool trsm(Side side, Uplo uplo, Op op, Diag diag, double alpha, ConstMatrix const& A,
            Matrix const& B);
  bool potrf(Uplo uplo, Matrix const& A, std::int64_t offset, InfoView const& info);
  bool symm(Uplo uplo, double alpha, ConstMatrix const& A, ConstMatrix const& B, double beta,
            Matrix const& C);

 private:
  Exec exec_;
};

}  // namespace strata::detail

#endif
