// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TRSM_BY_HALVES_HPP
#define STRATA_TRSM_BY_HALVES_HPP

#include <core/Strata_MatrixRef.hpp>

#include <cstdint>

namespace strata::detail {

/// n / 2, rounded up to a multiple of `unit` < n.
constexpr std::int64_t half_of(std::int64_t n, std::int64_t unit) {
  return (n / 2 + unit - 1) / unit * unit;
}

/// The recursion of a triangular solve in place, for any side, triangle and transpose.
///
/// `solve(alpha, A, B)` solves with a diagonal block of order <= `limit`; `update(op_a, op_b, X, Y,
/// beta, C)` is C = -op(X) op(Y) + beta C. Both return false if they can't. The first call decides
/// for all, and its answer is the result.
template <class ConstMatrix, class Matrix, class Solve, class Update>
bool trsm_by_halves(Side side, Uplo uplo, Op op, double alpha, ConstMatrix const& A,
                    Matrix const& B, std::int64_t limit, Solve const& solve, Update const& update) {
  std::int64_t const n = A.rows;
  if (n <= limit) return solve(alpha, A, B);
  std::int64_t const n1 = half_of(n, limit), n2 = n - n1;
  bool const left = side == Side::Left;
  bool const forward = ((uplo == Uplo::Lower) == (op == Op::NoTrans)) == left;
  ConstMatrix const off_diagonal =
      uplo == Uplo::Lower ? A.block(n1, 0, n2, n1) : A.block(0, n1, n1, n2);
  ConstMatrix const A1 = A.block(0, 0, n1, n1), A2 = A.block(n1, n1, n2, n2);
  Matrix const B1 = left ? B.block(0, 0, n1, B.cols) : B.block(0, 0, B.rows, n1);
  Matrix const B2 = left ? B.block(n1, 0, n2, B.cols) : B.block(0, n1, B.rows, n2);
  Matrix const &first = forward ? B1 : B2, &second = forward ? B2 : B1;

  // X1 = alpha A1^-1 B1;  B2 = alpha B2 - A21 X1;  X2 = A2^-1 B2
  auto const recurse = [&](double factor, ConstMatrix const& A_block, Matrix const& B_block) {
    return trsm_by_halves(side, uplo, op, factor, A_block, B_block, limit, solve, update);
  };
  return recurse(alpha, forward ? A1 : A2, first) &&
         (left ? update(op, Op::NoTrans, off_diagonal, first, alpha, second)
               : update(Op::NoTrans, op, first, off_diagonal, alpha, second)) &&
         recurse(1, forward ? A2 : A1, second);
}

}  // namespace strata::detail

#endif
