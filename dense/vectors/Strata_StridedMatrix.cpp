// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/vectors/Strata_StridedMatrix.hpp>

#include <algorithm>
#include <functional>

namespace strata::dense {

namespace {

// Line k covers [first + k stride, first + k stride + length).
struct Lines {
  double const* first;
  std::int64_t count, stride, length;

  double const* at(std::int64_t k) const { return first + k * stride; }
};

Lines lines_of(StridedMatrix<double const> const& A) {
  bool const by_columns = A.rows == 1 || (A.cols > 1 && A.row_stride <= A.col_stride);
  Lines const lines = by_columns
                          ? Lines{A.data, A.cols, A.col_stride, (A.rows - 1) * A.row_stride + 1}
                          : Lines{A.data, A.rows, A.row_stride, (A.cols - 1) * A.col_stride + 1};
  bool const is_one = lines.stride == lines.length;  // without gaps
  return is_one ? Lines{A.data, 1, 0, lines.count * lines.length} : lines;
}

}  // namespace

bool share_memory(StridedMatrix<double const> const& A, StridedMatrix<double const> const& B) {
  if (A.rows == 0 || A.cols == 0 || B.rows == 0 || B.cols == 0) return false;
  Lines const a = lines_of(A), b = lines_of(B);
  std::less<double const*> const before;
  for (std::int64_t j = 0, k = 0; j < a.count && k < b.count;) {
    if (before(a.at(j), b.at(k) + b.length) && before(b.at(k), a.at(j) + a.length)) return true;
    before(a.at(j), b.at(k)) ? ++j : ++k;
  }
  return false;
}

bool overlaps_itself(StridedMatrix<double const> const& A) {
  if (A.rows == 0 || A.cols == 0) return false;
  Lines const a = lines_of(A);
  bool const repeats = A.rows > 1 && A.cols > 1 && std::min(A.row_stride, A.col_stride) == 0;
  return repeats || (a.count > 1 && a.stride < a.length);
}

}  // namespace strata::dense
