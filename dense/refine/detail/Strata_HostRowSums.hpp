// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DENSE_DETAIL_HOST_ROW_SUMS_HPP
#define STRATA_DENSE_DETAIL_HOST_ROW_SUMS_HPP

#include <cstdint>

namespace strata::dense::detail {

/// Part of column j of a symmetric matrix, with its rows' part of the diagonal matrix D; without D, d is null and d_j is 1.
struct ColumnPart {
  double const *a, *d;
  double d_j;
  std::int64_t rows;
};

/// The part's sums of magnitudes: of_rows[i] += |a_i| and scaled_of_rows[i] += |a_i| d_j, row by row; and of the column,
/// sums[0] += sum |a_i| and sums[1] += sum |a_i| d_i. Without D nothing scaled is touched.
///
/// Order    eight partial sums of a column, added by halves, but of fewer than eight rows one after the other, whatever the width of
///          vectors: where the elements of D are powers of two, so that products are exact, the bits are the same on all processors.
using AddColumnPart = void(ColumnPart const& part, double* of_rows, double* scaled_of_rows,
                           double* sums);

/// For the widest vectors that the processor has, of 16, 32 or 64 bytes, but no wider ones than asked for.
AddColumnPart* add_column_part(int most_bytes = 64);

}  // namespace strata::dense::detail

#endif
