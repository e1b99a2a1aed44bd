// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SYMMETRIC_BLOCKS_HPP
#define STRATA_SYMMETRIC_BLOCKS_HPP

#include <core/Strata_MatrixRef.hpp>

#include <cstdint>

namespace strata::detail {

/// `LeafBlas::symm` by halves, down to blocks whose elements lie less than `most` apart: A11 and
/// A22 by `blas.symm`, the block between them by two products.
///
/// cublasDsymm takes several times as long once the offsets of a matrix don't fit 32 bits.
template <class Blas, class ConstMatrix, class Matrix>
void symm_by_blocks(Blas& blas, std::int64_t most, Uplo uplo, double alpha, ConstMatrix const& A,
                    ConstMatrix const& B, double beta, Matrix const& C) {
  if (A.rows < 2 || A.rows * A.ld < most) return blas.symm(uplo, alpha, A, B, beta, C);
  std::int64_t const n1 = A.rows / 2, n2 = A.rows - n1, cols = C.cols;
  bool const is_lower = uplo == Uplo::Lower;
  ConstMatrix const B1 = B.block(0, 0, n1, cols), B2 = B.block(n1, 0, n2, cols);
  Matrix const C1 = C.block(0, 0, n1, cols), C2 = C.block(n1, 0, n2, cols);
  ConstMatrix const between = is_lower ? A.block(n1, 0, n2, n1) : A.block(0, n1, n1, n2);
  symm_by_blocks(blas, most, uplo, alpha, A.block(0, 0, n1, n1), B1, beta, C1);
  symm_by_blocks(blas, most, uplo, alpha, A.block(n1, n1, n2, n2), B2, beta, C2);
  blas.gemm(is_lower ? Op::Trans : Op::NoTrans, Op::NoTrans, alpha, between, B2, 1, C1);
  blas.gemm(is_lower ? Op::NoTrans : Op::Trans, Op::NoTrans, alpha, between, B1, 1, C2);
}

}  // namespace strata::detail

#endif
