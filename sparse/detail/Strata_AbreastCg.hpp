// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_ABREAST_CG_HPP
#define STRATA_SPARSE_DETAIL_ABREAST_CG_HPP

#include <sparse/krylov/Strata_KrylovReport.hpp>
#include <sparse/krylov/Strata_Preconditioner.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace strata::sparse::detail {

/// A preconditioner for vectors that go abreast, in fp64 and, if it has that, rounded to fp32.
template <class Exec>
struct PreconditionerAbreast {
  Preconditioner<Exec, Abreast<double>> wide;
  std::optional<Preconditioner<Exec, Abreast<float>>> narrow;
};

/// Conjugate gradients for up to Abreast<double>::count right-hand sides with one matrix of one
/// rank, in step. Columns read the matrix and the preconditioner's together. Each has step lengths,
/// an end and an estimate of its error of its own.
///
/// Source   as ConjugateGradients. Deviation: no search direction serves another column, so that
///          columns that are equal, or nearly, do no harm.
template <class Exec>
class AbreastCg {
 public:
  using MemorySpace = typename Exec::memory_space;
  using Wide = Vector<Abreast<double>, MemorySpace>;

  /// `units`: what x is multiplied by where it is wanted, for estimates of its error; none: 1.
  /// Throws MemoryError.
  AbreastCg(Exec const& exec, DistributedMatrix<Exec> const& A,
            PreconditionerAbreast<Exec> const& M, KrylovOptions const& options,
            Vector<double, MemorySpace> const& units = {});

  /// Solve for as many columns as there are tolerances, of each its own, from X as given; the
  /// others of B and X are 0.
  ///
  /// Result   a report for each of them, of true residuals. Converged is what meets the tolerance;
  ///          IterationLimit is what has had all iterations. All else, Stalled, is for others to go
  ///          on with from X. A column that is worse than it was has a relative residual that is
  ///          not a number.
  /// Sync     fences. Throws what the monitor throws, which is told the largest residual.
  std::vector<KrylovReport> solve(Exec const& exec, Wide const& B, Wide const& X,
                                  std::vector<double> const& tolerances);

 private:
  static constexpr int most = Abreast<double>::count;
  using Numbers = Abreast<double>;
  /// What is known of a column.
  struct Column {
    double first = 0;                      // ||r|| of x as given
    double norm_b = 0, norm = 0;           // ||b||, ||r||
    double curvature = 0;                  // p' A p of the last iteration; 0: none
    double tolerance = 0;                  // of ||r|| / ||b||
    double goal = 0;                       // of ||r||
    double least = 0, before = 0;          // residuals of a window
    double kept_norm = 0, kept_most = 0;   // of the iterate that was kept: ||r||, ||r||_oo
    double error_rate = 0, inverse = 0;    // by how far x moved
    double size = 0, size_in_units = 0;    // ||x||_oo
    std::int64_t iterations = 0, end = 0;  // done, and allowed
    bool is_active = false, is_met = false, is_extra = false;
  };

  void begin(Exec const& exec, Wide const& B, Wide const& X, std::vector<double> const& tolerances);
  template <class Scalar>
  void step(Exec const& exec, Preconditioner<Exec, Abreast<Scalar>> const& M,
            Vector<Abreast<Scalar>, MemorySpace> const& s,
            Vector<Abreast<Scalar>, MemorySpace> const& z, Wide const& X);
  void keep(Exec const& exec, Wide const& X);
  void judge(Exec const& exec, Wide const& X);
  void end_window();
  bool is_any_active() const;
  double worst() const;  // relative residual of those that go on
  std::vector<KrylovReport> finish(Exec const& exec, Wide const& B, Wide const& X);
  double forward_error(Column const& column) const;

  DistributedMatrix<Exec> A_;
  PreconditionerAbreast<Exec> M_;
  KrylovOptions options_;
  Vector<double, MemorySpace> units_;
  Wide r_, p_, q_, kept_, s_, z_;
  Vector<Abreast<float>, MemorySpace> narrow_s_, narrow_z_;
  std::vector<Column> columns_;
  std::vector<std::vector<double>> history_;
  Numbers largest_b_;
};

}  // namespace strata::sparse::detail

#endif
