// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_SPARSE_SOLVER_HPP
#define STRATA_SPARSE_SPARSE_SOLVER_HPP

#include <core/Strata_Ladder.hpp>
#include <core/Strata_Pimpl.hpp>
#include <core/Strata_Precision.hpp>
#include <sparse/choice/Strata_SparseMethods.hpp>
#include <sparse/krylov/Strata_KrylovReport.hpp>
#include <sparse/matrix/Strata_MatrixProperties.hpp>
#include <sparse/multigrid/Strata_AmgOptions.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace strata::sparse {

/// Choices of a sparse solve; the defaults suit a user who knows nothing of the matrix.
struct SparseOptions {
  SolverKind solver = SolverKind::Automatic;  ///< the method
  /// What it is preconditioned with.
  PreconditionerKind preconditioner = PreconditionerKind::Automatic;
  int fill = 0;  ///< level of fill of the preconditioners Ic and Ilu: 0 to 20
  /// Precision of the preconditioner's matrices. Its vectors are fp64 for fp64, else fp32. In CG
  /// they are fp64 as long as rounding them would cost iterations.
  Precision precision = Precision::fp32;
  /// Bound of ||b - A x|| / ||b||, or of what `stop` says. A solve also ends, as
  /// KrylovStatus::RoundingLimit, where fp64 can do no better.
  double tolerance = 1e-10;
  double absolute_tolerance = 0;  ///< bound of ||b - A x|| that will do, too; 0: none
  /// What the tolerance bounds; another norm than the residual's takes CG.
  StopNorm stop = StopNorm::Residual;
  int restart = 50;  ///< basis vectors of GMRES and FGMRES; 50: all, of up to 300 unknowns
  std::int64_t max_iterations = 10000;  ///< most iterations of all attempts together
  AmgOptions amg;                       ///< options of the preconditioner Amg
  /// Called after each iteration, on each rank the same, with its number, over all attempts, and
  /// the ||b - A x|| / ||b|| that the method estimates. Columns that go abreast have the largest.
  std::function<void(std::int64_t, double)> monitor = {};
};

/// One run of one method. Its outcomes: BrokeDown, not positive definite; Overflowed, not finite.
struct SparseAttempt : Attempt {
  SolverKind solver = SolverKind::Automatic;  ///< solver that ran
  /// Preconditioner that it had.
  PreconditionerKind preconditioner = PreconditionerKind::None;
  std::string reason;  ///< why it ran, a clause
  /// Seconds of its preconditioner's set-up, if that was made for it.
  double set_up_seconds = 0;
  Precision precision = Precision::fp64;  ///< precision of the preconditioner
  KrylovReport krylov;                    ///< what the method did
};

/// What a solve did.
struct SparseReport {
  /// The matrix of a level, over all ranks.
  struct Level {
    std::int64_t rows = 0, entries = 0;  ///< rows and entries of the level's matrix
  };
  /// Incomplete factors, over all ranks.
  struct Incomplete {
    int fill = 0;               ///< level of fill
    std::int64_t entries = 0;   ///< diagonal included; 0: there are none
    double shift = 0;           ///< the factors belong to A + shift diag(A)
    std::int64_t replaced = 0;  ///< pivots that were too small
  };
  KrylovStatus status = KrylovStatus::IterationLimit;            ///< how it ended
  SolverKind solver = SolverKind::Automatic;                     ///< the last that ran
  PreconditionerKind preconditioner = PreconditionerKind::None;  ///< preconditioner that was used
  Precision precision = Precision::fp64;                         ///< the last
  bool symmetric = false;                                        ///< the matrix is, with its values
  std::int64_t not_positive_row =
      0;  ///< 1-based: the first whose diagonal is not positive; 0: none
  std::int64_t zero_diagonal_row =
      0;         ///< 1-based: the first whose diagonal is 0; of rows that are not empty
  RowKind rows;  ///< what may make A singular
  std::int64_t global_rows = 0;  ///< rows of A
  int restart = 0;               ///< basis vectors of GMRES and FGMRES
  int columns_abreast = 1;       ///< columns that CG solved for in step, this one included
  bool contradicts_empty_row =
      false;                     ///< b is not 0 where a row of A is empty: there is no solution
  std::string obstacle;          ///< text of the MemoryError that left a method out; empty: none
  std::int64_t iterations = 0;   ///< iterations of all attempts
  double relative_residual = 0;  ///< ||b - A x|| / ||b||, fp64
  double tolerance = 0;          ///< bound of that, the absolute one considered
  double backward_error = 0;     ///< ||b - A x||_oo / (||A||_oo ||x||_oo + ||b||_oo)
  /// ||b - b'|| / ||b||, b' the nearest right-hand side that a symmetric A with floating parts has
  /// solutions for: no x has a smaller relative residual. 0 without such parts.
  double incompatible = 0;
  /// The condition of A in the infinity norm, once its rows and columns are scaled by powers of
  /// two, is at least this.
  double condition_at_least = 1;
  /// An estimate of ||x - A^-1 b||_oo / ||x||_oo, more likely too small than too large: by how far
  /// x moved while its residual fell. NaN where nothing is known, as of a guess that was the
  /// solution.
  double forward_error = std::numeric_limits<double>::quiet_NaN();
  std::vector<SparseAttempt> attempts;  ///< attempts in order
  /// Levels of the preconditioner; the matrix alone if it has none.
  std::vector<Level> levels;
  double operator_complexity = 1;                ///< entries of all levels over the finest's
  int block_size = 1;                            ///< unknowns of a node, as AMG aggregates them
  int modes = 1;                                 ///< unknowns of an aggregate of AMG
  bool has_old_pattern = false;                  ///< an update kept AMG's aggregates and patterns
  Incomplete incomplete;                         ///< report of the preconditioners Ic and Ilu
  bool direct_coarse_solve = false;              ///< the coarsest level is solved directly
  std::int64_t preconditioner_bytes = 0;         ///< bytes on this rank
  double set_up_seconds = 0, solve_seconds = 0;  ///< seconds of the set-up, and of this solve

  /// Whether x is a solution as good as was asked for, or as fp64 has it. A least-squares solution
  /// counts where b is within 1e-3 of the range of a singular A.
  bool solved() const {
    constexpr double little = 1e-3;
    return status == KrylovStatus::Converged || status == KrylovStatus::RoundingLimit ||
           (status == KrylovStatus::LeastSquares && incompatible <= little);
  }
  /// Whether the preconditioner is an incomplete factorisation.
  bool has_incomplete_factor() const {
    return preconditioner == PreconditionerKind::Ic || preconditioner == PreconditionerKind::Ilu;
  }
  /// The decimal digits of x's largest entry that are right, at most, by `forward_error`: 0 to 15;
  /// -1: nothing is known.
  int digits() const;
  /// What a user should know of the matrix, a sentence or two each: rows without an entry, parts
  /// that nothing holds.
  std::vector<std::string> remarks_on_matrix() const;
  /// The same of x: a right-hand side without a solution, digits that nobody has. Empty where all
  /// is well.
  std::vector<std::string> remarks_on_solution() const;
  /// What may be tried where a solve did not converge, a clause; empty where it did, or nothing is
  /// known to help.
  std::string advice() const;
};

/// Columns in memory, each contiguous.
template <class MemorySpace>
using VectorBlock = Kokkos::View<double**, Kokkos::LayoutLeft, MemorySpace>;

/// Solves with one matrix: chooses method and preconditioner, sets up once, goes to higher
/// precision where a lower one does not do. A copy shares the set-up.
///
/// Choice   what a forecast says is fastest, see `candidates`: CG if the matrix is symmetric with a
///          positive diagonal, else GMRES-IR, with an incomplete factor, AMG or the diagonal; up to
///          300 rows a direct solver. On devices, on several ranks, and with a preconditioner in 16
///          bits AMG, or none where a diagonal entry is 0.
/// Ladder   the next candidate where one breaks down, stalls, or falls behind what the next is
///          expected to take; the direct solver near the end. A later solve begins with what the
///          last one ended with. Each candidate tries 16 bits, fp32 and fp64. The next precision
///          begins, from the best x so far, if the residual stalls or a number is no longer finite.
///          For CG in fp32 the true residual alone counts. CG that finds the matrix not positive
///          definite ends the solve if it was asked for, else other methods go on; CG asked for a
///          matrix whose diagonal is not positive ends at once.
/// Scales   any that fp64 has. Where rows differ much in size, or are far from 1, rows and columns
///          are multiplied by powers of two. These come from the diagonal of a matrix that CG is
///          for, else from the largest of each row. The tolerance then holds for ||b - A x||, and
///          for the residual of the equations in the units of x. So neither a penalty on the
///          diagonal nor a field in other units hides the rest. Of a solution that fp64 has not, x
///          is what it rounds to if that is better than the guess, else the guess.
/// Digits   x may seem to have an error of more than 10^4 tolerances. Then a solve that has
///          converged goes on to the limit of fp64 while its residual falls, for at most half as
///          many iterations again.
/// Kernel   connected parts of the matrix' graph whose rows all add up to 0 leave x open but for a
///          constant on each: x has mean 0 there. For a symmetric matrix b is projected onto what
///          has a solution (`incompatible`). What is left out of b is part of the residual: where
///          it is 0.87 of the tolerance or more, the solve ends as LeastSquares. For other matrices
///          b must fit.
/// Empty    rows of A without an entry get x_i = 0 where b_i = 0; elsewhere the system has no
///          solution.
template <class Exec>
class SparseSolver {
 public:
  using MemorySpace = typename Exec::memory_space;  ///< memory of the vectors

  /// Collective; fences.
  ///
  /// Throws   ValueError for options outside their ranges, CG for a matrix that is not symmetric, a
  ///          preconditioner that needs a diagonal without zeros where there is none; MemoryError;
  ///          on all ranks.
  SparseSolver(Exec const& exec, DistributedMatrix<Exec> const& A,
               SparseOptions const& options = {});

  /// A solver for another matrix with the same options. On one rank A may have the pattern of the
  /// old matrix, zeros left out. Then AMG's aggregates and the patterns of all products are kept,
  /// and values alone are made (`has_old_pattern`). On devices that begins with the second update,
  /// or with the first where `amg.keeps_patterns` was asked for. This solver stays as it is.
  /// Collective; fences. Throws what the constructor throws.
  [[nodiscard]] SparseSolver updated(Exec const& exec, DistributedMatrix<Exec> const& A) const;
  /// Becomes that; where it throws, it stays as it was. A copy stays with the old matrix.
  void update(Exec const& exec, DistributedMatrix<Exec> const& A) { *this = updated(exec, A); }

  /// What solves call from now on, as SparseOptions::monitor; of copies, too. Nothing: none.
  void set_monitor(std::function<void(std::int64_t, double)> monitor);
  /// What is known before a solve: the choice, the levels, the rows.
  SparseReport const& set_up_report() const;
  /// Old name of `set_up_report`, which works until 0.4.
  [[deprecated("is now called set_up_report")]] SparseReport const& set_up() const {
    return set_up_report();
  }

  /// Solve A x = b from x as given, in the caller's order: of each rank its rows as it gave them.
  ///
  /// Shape    b and x: rows() of the matrix.
  /// Result   x is the best that was found, whatever the status, and never has a larger ||b - A x||
  ///          than x as given, with 0 on empty rows. The report's numbers are x's.
  /// Memory   two vectors, and the vectors of the method that runs.
  /// Sync     collective; fences.
  /// Throws   ShapeError for vectors of other lengths, those in the matrix' order among them;
  ///          MemoryError, x as it was, where not even the first precision has memory; on all
  ///          ranks.
  SparseReport solve(Exec const& exec, Vector<double, MemorySpace> const& b,
                     Vector<double, MemorySpace> const& x);
  /// The same for each column of B and X, from X as given. CG on one rank takes eight columns
  /// abreast: they read the matrix and the preconditioner together, and each has an end of its own.
  /// What they leave, and all where CG is not the choice, is solved for column by column.
  ///
  /// Result   a report for each column; `attempts` has what ran abreast, and the times are the
  ///          column's share.
  /// Memory   of eight columns: 17 vectors each, and the vectors of the preconditioner's levels.
  /// Throws   as `solve`, and ShapeError unless X has as many columns as B.
  std::vector<SparseReport> solve(Exec const& exec, VectorBlock<MemorySpace> const& B,
                                  VectorBlock<MemorySpace> const& X);
  /// The same for vectors in the matrix' order, as A.allocate makes them, without the two
  /// copies.
  ///
  /// Throws   ShapeError for vectors of other lengths, those in the caller's order among them.
  SparseReport solve_in_order(Exec const& exec, Vector<double, MemorySpace> const& b,
                              Vector<double, MemorySpace> const& x);

 private:
  struct Impl;
  Pimpl<Impl, std::shared_ptr<Impl>> impl_;
};

}  // namespace strata::sparse

#endif
