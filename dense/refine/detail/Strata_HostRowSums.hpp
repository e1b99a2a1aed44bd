// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DENSE_DETAIL_HOST_ROW_SUMS_HPP
#define STRATA_DENSE_DETAIL_HOST_ROW_SUMS_HPP

#include <cstdint>

namespace strata::dense::detail {

/// The same rows of a few columns of a symmetric matrix, with the rows' and the columns' parts of
/// the diagonal matrix D; without D both are null.
struct ColumnsPart {
  static constexpr int most = 4;  ///< columns
  double const* a;
  std::int64_t ld;
  double const *d, *d_j;
  std::int64_t rows;
  int columns;
};

/// The part's sums of magnitudes: of_rows[i] += |a_ij| and scaled_of_rows[i] += |a_ij| d_j, row by
/// row; and of each column, sums[2 j] += sum_i |a_ij| and sums[2 j + 1] += sum_i |a_ij| d_i.
/// Without D nothing scaled is touched.
///
/// Order    column after column. A column has eight partial sums that are added by halves, whatever
///          the width of vectors; fewer than eight rows are added one after the other. Where the
///          elements of D are powers of two, products are exact and the bits are the same on all
///          processors.
using AddColumnsPart = void(ColumnsPart const& part, double* of_rows, double* scaled_of_rows,
                            double* sums);

/// For the widest vectors that the processor has, of 16, 32 or 64 bytes, but no wider ones than
/// asked for.
AddColumnsPart* add_columns_part(int most_bytes = 64);

}  // namespace strata::dense::detail

#endif
