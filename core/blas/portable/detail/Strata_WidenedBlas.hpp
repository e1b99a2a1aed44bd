// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_WIDENED_BLAS_HPP
#define STRATA_WIDENED_BLAS_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/blas/basics/detail/Strata_Elementwise.hpp>
#include <core/memory/detail/Strata_Workspace.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::detail {

/// Operations on mixed types, made of the operations of `Backend` on one type, with the members of
/// `vendor::Blas`.
///
/// Operands of another type than the accumulator's are widened block by block into the workspace. A
/// result of another type, or one whose factor the backend can't take, is formed there and rounded
/// once. A product that the backend has in low precision (tensor cores, matrix units) is not
/// widened. All return false, with no operand written, if the backend lacks the operation.
///
/// Memory   64 MiB for each of two operands and for the result; trsm, symm: 64 MiB or 64 columns,
///          whichever is more; potrf: the whole matrix.
template <class Exec, class Backend>
class WidenedBlas {
 public:
  using Matrix = MatrixRef<typename Exec::memory_space>;
  using ConstMatrix = ConstMatrixRef<typename Exec::memory_space>;
  using InfoView = Kokkos::View<std::int64_t, typename Exec::memory_space>;

  WidenedBlas(Exec const& exec, Backend& backend, Workspace<Exec>& workspace)
      : exec_(exec), backend_(backend), workspace_(workspace) {}

  bool gemm(Op op_a, Op op_b, double alpha, ConstMatrix const& A, ConstMatrix const& B, double beta,
            Matrix const& C);
  bool syrk(Uplo uplo, Op op, double alpha, ConstMatrix const& A, double beta, Matrix const& C);
  bool trsm(Side side, Uplo uplo, Op op, Diag diag, double alpha, ConstMatrix const& A,
            Matrix const& B);
  bool potrf(Uplo uplo, Matrix const& A, std::int64_t offset, InfoView const& info);
  bool symm(Uplo uplo, double alpha, ConstMatrix const& A, ConstMatrix const& B, double beta,
            Matrix const& C);

 private:
  using Frame = typename Workspace<Exec>::Frame;

  bool multiply(Op op_a, Op op_b, double alpha, ConstMatrix const& A, ConstMatrix const& B,
                double beta, Matrix const& C, Matrix const& room_a, Matrix const& room_b);
  bool syrk_block(Uplo uplo, Op op, double alpha, ConstMatrix const& A, double beta,
                  Matrix const& C);
  bool symm_by_halves(Uplo uplo, double alpha, ConstMatrix const& A, ConstMatrix const& B,
                      double beta, Matrix const& C, Matrix const& room_a);
  /// A in the room's type: a copy there; `widened`: A itself where it is so.
  Matrix widen(ConstMatrix const& A, Matrix const& room, Part part = Part::Full) const;
  ConstMatrix widened(ConstMatrix const& A, Matrix const& room, Part part = Part::Full) const;

  Exec exec_;
  Backend& backend_;
  Workspace<Exec>& workspace_;
};

}  // namespace strata::detail

#endif
