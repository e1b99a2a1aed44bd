// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_SPLIT_COPY_HPP
#define STRATA_DETAIL_SPLIT_COPY_HPP

#include <core/Strata_MatrixRef.hpp>

#include <cstddef>
#include <cstdint>

namespace strata::dense::detail {

/// Operands of fp16_split that are split once for all products that they are in: of numbers x = s
/// (h + l), h = fp16(x / s) and l = fp16(x / s - h),
///     A B^T = s_A s_B [L_A H_A H_A] [H_B L_B H_B]^T  but for L_A L_B^T,
/// one product in fp16, whose small terms come first: what matrix units cut off a sum is then as
/// little as in a product of A's depth. Both operands lie in [H L H H].
///
/// Error    |s (h + l) - x| <= 2^-22 |x| + s 2^-25.
enum class SplitParts : std::uint8_t {
  Both,   ///< [H L H H]: either operand of a product A B^T
  Left,   ///< [L H H]: A of A B
  Below,  ///< [H; L; H], one below the other: B of A B
};

/// Copies of a matrix.
constexpr int copies_of(SplitParts parts) { return parts == SplitParts::Both ? 4 : 3; }

/// Columns of copies start at multiples of so many numbers.
constexpr std::int64_t split_unit = 16;

/// Bytes of the copies of an m x n matrix.
std::size_t split_bytes(std::int64_t rows, std::int64_t cols, SplitParts parts);

/// The copies of an m x n matrix, without values, under its scale.
///
/// Shape    m x 4 n, m x 3 n or 3 m x n in fp16, from `memory` on, which is aligned to 16.
template <class MemorySpace>
MatrixRef<MemorySpace> split_matrix(std::byte* memory, std::int64_t rows, std::int64_t cols,
                                    SplitParts parts, double const* scale) {
  bool const is_below = parts == SplitParts::Below;
  std::int64_t const m = is_below ? copies_of(parts) * rows : rows;
  return {memory,
          m,
          is_below ? cols : copies_of(parts) * cols,
          (m + split_unit - 1) / split_unit * split_unit,
          Precision::fp16,
          scale};
}

/// copy = the copies of X, or of some of its rows: then the rows of an [H L H H]. If `largest` is
/// given, it holds X's largest magnitude, and *copy.scale becomes fp16's scale for it.
///
/// Shape    X: fp32, m x n without scale; copy: as `split_matrix` says, with a scale.
/// Sync     enqueued, one kernel.
template <class ExecutionSpace>
void split(ExecutionSpace const& exec,
           ConstMatrixRef<typename ExecutionSpace::memory_space> const& X, SplitParts parts,
           MatrixRef<typename ExecutionSpace::memory_space> const& copy,
           double const* largest = nullptr);

/// The A of A B^T in an [H L H H].
template <class Matrix>
Matrix left_of(Matrix const& both) {
  return both.block(0, both.cols / 4, both.rows, both.cols / 4 * 3);
}
/// The B.
template <class Matrix>
Matrix right_of(Matrix const& both) {
  return both.block(0, 0, both.rows, both.cols / 4 * 3);
}

}  // namespace strata::dense::detail

#endif
