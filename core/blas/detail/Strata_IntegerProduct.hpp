// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_INTEGER_PRODUCT_HPP
#define STRATA_DETAIL_INTEGER_PRODUCT_HPP

#include <core/integers/Strata_IntegerBlas.hpp>
#include <core/memory/detail/Strata_Workspace.hpp>

#include <cstdint>

namespace strata::detail {

/// GEMM and SYRK of fp64 matrices by integers modulo S numbers, whose rows' norms are measured.
///
/// Memory   of blocks of up to 8192 (a host: 512) rows, columns and 16384 (4096) terms: S bytes for
///          each number of both operands, 4 S for each of the result.
/// Error    as `IntegerBlas`, by rows of op(A) and columns of op(B). A row or column that is not
///          finite makes what it touches NaN.
template <class Exec>
class IntegerProduct {
 public:
  using Matrix = MatrixRef<typename Exec::memory_space>;
  using ConstMatrix = ConstMatrixRef<typename Exec::memory_space>;

  explicit IntegerProduct(Exec const& exec)
      : exec_(exec), units_(exec), planes_(exec), sums_(exec), result_(exec) {}

  /// Room for products of up to m x n x k, so that they allocate nothing.
  void reserve(int moduli, std::int64_t m, std::int64_t n, std::int64_t k);

  /// C = alpha op(A) op(B) + beta C; A and B of one format, C of any precision, without scale.
  void gemm(IntegerBlas<Exec>& blas, Op op_a, Op op_b, double alpha, ConstMatrix const& A,
            ConstMatrix const& B, double beta, Matrix const& C);

  /// C = alpha op(A) op(A)^T + beta C of one triangle.
  void syrk(IntegerBlas<Exec>& blas, Uplo uplo, Op op, double alpha, ConstMatrix const& A,
            double beta, Matrix const& C);

 private:
  using Planes = ResiduePlanes<typename Exec::memory_space>;
  using Sums = ModularSums<typename Exec::memory_space>;

  /// An operand's rows as a product takes them: op(A), or op(B)^T.
  struct Operand {
    ConstMatrix matrix;
    Op op;
    RowUnit* units;
    std::int64_t rows, depth;
    ConstMatrix block(std::int64_t row, std::int64_t count, std::int64_t first,
                      std::int64_t terms) const {
      return op == Op::NoTrans ? matrix.block(row, first, count, terms)
                               : matrix.block(first, row, terms, count);
    }
  };
  struct Rooms {
    std::byte *a, *b;
  };

  Operand operand(IntegerBlas<Exec>& blas, ConstMatrix const& A, Op op, int moduli, RowUnit* units);
  void block(IntegerBlas<Exec>& blas, Operand const& A, Operand const& B, int moduli,
             std::int64_t i, std::int64_t j, SumScaling const& scaling, Matrix const& C);
  Planes planes(IntegerBlas<Exec>& blas, Operand const& A, int moduli, std::int64_t row,
                std::int64_t rows, std::int64_t first, std::int64_t terms, std::byte* room);

  Exec exec_;
  Workspace<Exec> units_, planes_, sums_, result_;
};

}  // namespace strata::detail

#endif
