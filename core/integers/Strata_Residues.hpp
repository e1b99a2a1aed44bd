// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_RESIDUES_HPP
#define STRATA_RESIDUES_HPP

#include <cstdint>

// Operands and results of products of integers modulo S numbers (`IntegerBlas`).
namespace strata {

/// The unit that a row's numbers are rounded to whole multiples of.
struct RowUnit {
  double unit;        ///< m 2^e with m in 17 to 32; NaN for a row that is not finite
  double reciprocal;  ///< 1 / unit, rounded
};

/// An m x k matrix of integers by their remainders modulo S numbers: S matrices of bytes, rows
/// contiguous.
///
/// Number (i, j) modulo p lies at data[p * plane + i * ld + j]. Libraries read rows and columns up
/// to the next multiple of 16: numbers behind a row's last are zeros, rows behind the last one any
/// numbers in memory that is there.
template <class MemorySpace>
struct ResiduePlanes {
  std::int8_t* data = nullptr;       ///< the first number modulo the first modulus
  std::int64_t rows = 0, depth = 0;  ///< m and k
  std::int64_t ld = 0, plane = 0;    ///< distances of rows and of moduli; multiples of 16
  int moduli = 0;                    ///< S

  /// Rows [i, i + count).
  ResiduePlanes row_block(std::int64_t i, std::int64_t count) const {
    return {data + i * ld, count, depth, ld, plane, moduli};
  }
  /// Columns [k, k + count); k a multiple of 16.
  ResiduePlanes depth_block(std::int64_t k, std::int64_t count) const {
    return {data + k, rows, count, ld, plane, moduli};
  }
};

/// Sums of products of such matrices modulo the same numbers, column-major; number (i, j) modulo p
/// lies at data[p * plane + i + j * ld].
///
/// ld and the columns that there is room for are multiples of 16.
template <class MemorySpace>
struct ModularSums {
  std::int32_t* data = nullptr;     ///< the first sum modulo the first modulus
  std::int64_t rows = 0, cols = 0;  ///< rows and columns of the product
  std::int64_t ld = 0, plane = 0;   ///< numbers from a column, and from a modulus, to the next
  int moduli = 0;                   ///< S
  std::int64_t depth = 0;           ///< depth of the products that are in the sums
};

/// The numbers of a square result that are read and written.
enum class Triangle {
  Both,   ///< all
  Lower,  ///< the diagonal and what is below it
  Upper,  ///< the diagonal and what is above it
};

/// What becomes of rows whose integers are too large for their sums to be told from others modulo
/// P.
struct RowCheck {
  /// squares of each row's integers, added up over calls; none: no check
  double* squares = nullptr;
  /// the least first_row + i + 1 of such a row i, if it was 0; none: squares are added, not judged
  std::int64_t* info = nullptr;
  std::int64_t first_row = 0;  ///< number of the first row in its matrix
};

/// What sums are multiplied by, and where they go.
struct SumScaling {
  double alpha = 1, beta = 0;       ///< factors of C = alpha X + beta C
  double const* scale_a = nullptr;  ///< a factor of alpha in device memory
  double const* scale_b = nullptr;  ///< another
  Triangle part = Triangle::Both;   ///< part that is written
};

}  // namespace strata

#endif
