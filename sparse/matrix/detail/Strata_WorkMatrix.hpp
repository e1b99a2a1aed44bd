// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_WORK_MATRIX_HPP
#define STRATA_SPARSE_DETAIL_WORK_MATRIX_HPP

#include <sparse/matrix/Strata_DistributedMatrix.hpp>
#include <sparse/matrix/Strata_MatrixProperties.hpp>

namespace strata::sparse::detail {

/// The matrix that a solver works with in place of A: 2^-exponent (A + a diagonal on its empty rows), so that
/// preconditioners find numbers that fp32 can hold and no zero where there is only an unknown that nothing asks for.
///
/// A itself where its norm is within 2^-64 and 2^64 and no row is empty.
template <class Exec>
class WorkMatrix {
 public:
  using Wide = Vector<double, typename Exec::memory_space>;

  WorkMatrix() = default;
  /// Collective; fences. Throws MemoryError on all ranks.
  WorkMatrix(Exec const& exec, DistributedMatrix<Exec> const& A);

  DistributedMatrix<Exec> const& matrix() const { return work_; }
  /// Of A; infinity where an entry is not a number.
  double norm_of_A() const { return norm_A_; }
  double norm() const { return norm_; }
  RowKind const& rows() const { return rows_; }
  /// Whether the vectors below are needed.
  bool is_other() const { return exponent_ != 0 || rows_.empty > 0; }

  /// b and x for `matrix()` in the place of A's, and whether b contradicts an empty row of A.
  struct System {
    Wide b, x;
    bool has_contradiction = false;
  };
  /// Collective; fences. Throws MemoryError on all ranks.
  System translated(Exec const& exec, Wide const& b, Wide const& x) const;
  /// Its solution as one of A's, with what fp64 has of 2^-exponent x, infinities among it.
  void translate_back(Exec const& exec, System const& system, Wide const& x) const;
  /// x_i = 0 where row i of A is empty.
  void clear_empty_rows(Exec const& exec, Wide const& x) const;

 private:
  DistributedMatrix<Exec> A_, work_;
  int exponent_ = 0;  // even
  double norm_A_ = 0, norm_ = 0;
  RowKind rows_;
  Wide kept_;     // 0 on empty rows, else 1, in the caller's order; none without such
  Wide natural_;  // a vector on its way
};

}  // namespace strata::sparse::detail

#endif
