// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_WORK_MATRIX_HPP
#define STRATA_SPARSE_DETAIL_WORK_MATRIX_HPP

#include <sparse/matrix/Strata_DistributedMatrix.hpp>
#include <sparse/matrix/Strata_MatrixProperties.hpp>
#include <sparse/scaling/detail/Strata_FloatingParts.hpp>
#include <sparse/scaling/detail/Strata_Scales.hpp>

#include <span>

namespace strata::sparse::detail {

/// The matrix that a solver works with in place of A: left (A + a diagonal on its empty rows)
/// right, left and right powers of two. So preconditioners find numbers that fp32 can hold, and
/// equations and unknowns in other units count alike. No zero is left where there is only an
/// unknown that nothing asks for.
///
/// A itself where its rows are of sizes near each other and near 1, and none is empty; or where its
/// values are not fp64. Symmetric where A is, with a positive diagonal.
template <class Exec>
class WorkMatrix {
 public:
  using Wide = Vector<double, typename Exec::memory_space>;

  WorkMatrix() = default;
  /// Collective; fences. Throws MemoryError on all ranks.
  WorkMatrix(Exec const& exec, DistributedMatrix<Exec> const& A) : WorkMatrix(exec, A, {}, 0) {}
  /// `modes`: `width` vectors, of each row in the caller's order its number in each, of which some
  /// combinations may be mapped to 0; of one rank.
  WorkMatrix(Exec const& exec, DistributedMatrix<Exec> const& A, std::span<double const> modes,
             int width);

  DistributedMatrix<Exec> const& matrix() const { return work_; }
  /// The norm of A; infinity where an entry is not a number.
  double norm_of_A() const { return norm_A_; }
  double norm() const { return norm_; }
  /// ||right left A||_oo, of the equations in the units of x.
  double norm_of_rows() const { return norm_of_rows_; }
  RowKind const& rows() const { return rows_; }
  bool is_symmetric() const { return symmetric_; }
  DiagonalKind const& diagonal() const { return diagonal_; }
  Scales<Exec> const& scales() const { return scales_; }
  FloatingParts<Exec> const& parts() const { return parts_; }
  /// What A's unknowns are divided by, in the caller's order; none: 1. Collective; fences. Throws
  /// MemoryError on all ranks.
  Wide scale_of_unknowns(Exec const& exec) const;
  /// Whether the vectors below are needed.
  bool is_other() const { return scales_.any() || rows_.empty > 0 || parts_.any(); }

  /// b and x for `matrix()` in the place of A's: 2^-exponent left b and 2^-exponent right^-1 x. Of
  /// a symmetric A b without its mean over each floating part, and its part in what else A maps to
  /// 0.
  struct System {
    Wide b, x;
    int exponent = 0;
    bool has_contradiction = false;  ///< b is not 0 where a row of A is empty
    double incompatible = 0;         ///< ||b - b without those means|| / ||b||
  };
  /// Collective; fences. Throws MemoryError on all ranks.
  System translated(Exec const& exec, Wide const& b, Wide const& x) const;
  /// Its solution as one of A's, as far as fp64 has it, infinities included; without its mean over
  /// each floating part.
  void translate_back(Exec const& exec, System const& system, Wide const& x) const;
  /// x of A without its mean over each floating part. Collective; fences. Throws MemoryError on all
  /// ranks.
  void remove_means(Exec const& exec, Wide const& x) const;
  /// x_i = 0 where row i of A is empty.
  void clear_empty_rows(Exec const& exec, Wide const& x) const;

 private:
  void scale(Exec const& exec, Wide const& d);
  void find_null_vectors(Exec const& exec, std::span<double const> modes, int width);
  void take_means(Exec const& exec, System& system) const;

  DistributedMatrix<Exec> A_, work_;
  Scales<Exec> scales_;
  FloatingParts<Exec> parts_;
  double norm_A_ = 0, norm_ = 0, norm_of_rows_ = 0;
  RowKind rows_;
  bool symmetric_ = false;
  DiagonalKind diagonal_;
  Wide kept_;     // 0 on empty rows, else 1, in the caller's order; none without such
  Wide natural_;  // a vector on its way
};

}  // namespace strata::sparse::detail

#endif
