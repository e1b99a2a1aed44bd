// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_SPARSE_SOLVER_HPP
#define STRATA_SPARSE_SPARSE_SOLVER_HPP

#include <core/Strata_EnumNames.hpp>
#include <core/Strata_Ladder.hpp>
#include <core/Strata_Pimpl.hpp>
#include <core/Strata_Precision.hpp>
#include <sparse/krylov/Strata_KrylovReport.hpp>
#include <sparse/matrix/Strata_MatrixProperties.hpp>
#include <sparse/multigrid/Strata_AmgOptions.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace strata::sparse {

/// The method of a sparse solve.
enum class SolverKind {
  Automatic,           ///< see `SparseSolver`
  ConjugateGradients,  ///< for symmetric positive definite matrices
  Gmres,               ///< GMRES-IR
  Fgmres,              ///< flexible GMRES, whose preconditioner may change
};
/// What it is preconditioned with.
enum class PreconditionerKind {
  Automatic,    ///< see `SparseSolver`
  None,         ///< none
  Jacobi,       ///< the diagonal
  GaussSeidel,  ///< Gauss-Seidel sweeps
  Amg,          ///< algebraic multigrid
};

/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(SolverKind) {
  return enum_names<SolverKind>("solver", {{SolverKind::Automatic, "auto"},
                                           {SolverKind::ConjugateGradients, "cg"},
                                           {SolverKind::Gmres, "gmres"},
                                           {SolverKind::Fgmres, "fgmres"}});
}
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(PreconditionerKind) {
  return enum_names<PreconditionerKind>("preconditioner", {{PreconditionerKind::Automatic, "auto"},
                                                           {PreconditionerKind::None, "none"},
                                                           {PreconditionerKind::Jacobi, "jacobi"},
                                                           {PreconditionerKind::GaussSeidel, "gs"},
                                                           {PreconditionerKind::Amg, "amg"}});
}
using strata::name_of;

/// Choices of a sparse solve; the defaults suit a user who knows nothing of the matrix.
struct SparseOptions {
  SolverKind solver = SolverKind::Automatic;  ///< the method
  /// What it is preconditioned with.
  PreconditionerKind preconditioner = PreconditionerKind::Automatic;
  /// Of the preconditioner's matrices. Its vectors are fp64 for fp64, else fp32; in CG fp64 as long as rounding them
  /// would cost iterations.
  Precision precision = Precision::fp32;
  /// Of ||b - A x|| / ||b||. A solve also ends, as KrylovStatus::RoundingLimit, where fp64 leaves no better one.
  double tolerance = 1e-10;
  int restart = 50;                     ///< basis vectors of GMRES and FGMRES
  std::int64_t max_iterations = 10000;  ///< of all attempts together
  AmgOptions amg;                       ///< of the preconditioner Amg
  /// Called after each iteration, on each rank the same, with its number, over all attempts, and the ||b - A x|| / ||b||
  /// that the method estimates.
  std::function<void(std::int64_t, double)> monitor = {};
};

/// One run of one method. Its outcomes: BrokeDown, not positive definite; Overflowed, not finite.
struct SparseAttempt : Attempt {
  SolverKind solver = SolverKind::Automatic;  ///< that ran
  Precision precision = Precision::fp64;      ///< of the preconditioner
  KrylovReport krylov;                        ///< what the method did
};

/// What a solve did.
struct SparseReport {
  /// The matrix of a level, over all ranks.
  struct Level {
    std::int64_t rows = 0, entries = 0;  ///< of the matrix
  };
  KrylovStatus status = KrylovStatus::IterationLimit;            ///< how it ended
  SolverKind solver = SolverKind::Automatic;                     ///< the last that ran
  PreconditionerKind preconditioner = PreconditionerKind::None;  ///< that was used
  Precision precision = Precision::fp64;                         ///< the last
  bool symmetric = false;                                        ///< the matrix is, with its values
  std::int64_t not_positive_row =
      0;  ///< 1-based: the first whose diagonal is not positive; 0: none
  std::int64_t zero_diagonal_row =
      0;         ///< 1-based: the first whose diagonal is 0; of rows that are not empty
  RowKind rows;  ///< what may make A singular
  bool contradicts_empty_row =
      false;             ///< b is not 0 where a row of A is empty: there is no solution
  std::string obstacle;  ///< to climbing on: the text of a MemoryError; empty: there was none
  std::int64_t iterations = 0;          ///< of all attempts
  double relative_residual = 0;         ///< ||b - A x|| / ||b||, fp64
  double backward_error = 0;            ///< ||b - A x||_oo / (||A||_oo ||x||_oo + ||b||_oo)
  std::vector<SparseAttempt> attempts;  ///< in order
  std::vector<Level> levels;       ///< of the preconditioner; the matrix alone if it has no levels
  double operator_complexity = 1;  ///< entries of all levels over those of the finest
  bool direct_coarse_solve = false;              ///< the coarsest level is solved directly
  std::int64_t preconditioner_bytes = 0;         ///< of this rank
  double set_up_seconds = 0, solve_seconds = 0;  ///< of the solver, and of this solve

  /// Whether x is a solution as good as was asked for, or as fp64 has it.
  bool solved() const {
    return status == KrylovStatus::Converged || status == KrylovStatus::RoundingLimit;
  }
};

/// Solves with one matrix: chooses method and preconditioner, sets up once, goes to higher precision where a
/// lower one does not do. A copy shares the set-up.
///
/// Choice   solver: CG if the matrix is symmetric with a positive diagonal, else GMRES-IR, or FGMRES with
///          a preconditioner in 16 bits. Preconditioner: AMG, or none where a diagonal entry is 0.
/// Ladder   16 bits, fp32, fp64: the next if the residual stalls (of CG in fp32 the true one alone counts) or a number
///          is no longer finite, from the best x so far. CG that finds the matrix not positive definite in fp64 ends
///          the solve if it was asked for, else GMRES goes on; CG asked for a matrix whose diagonal is not
///          positive ends at once.
/// Scales   any that fp64 has: a matrix far from 1 is solved for as its multiple by a power of two. Of a solution
///          that fp64 has not, x is what it rounds to if that is better than the guess, else the guess.
/// Empty    rows of A without an entry get x_i = 0 where b_i = 0; elsewhere the system has no solution.
template <class Exec>
class SparseSolver {
 public:
  using MemorySpace = typename Exec::memory_space;  ///< of the vectors

  /// Collective; fences.
  ///
  /// Throws   ValueError for options outside their ranges, CG for a matrix that is not symmetric, a
  ///          preconditioner that needs a diagonal without zeros where there is none; MemoryError; on all ranks.
  SparseSolver(Exec const& exec, DistributedMatrix<Exec> const& A,
               SparseOptions const& options = {});

  /// What is known before a solve: the choice, the levels, the rows.
  SparseReport const& set_up() const;

  /// Solve A x = b from x as given, in the caller's order: of each rank its rows as it gave them.
  ///
  /// Shape    b and x: rows() of the matrix.
  /// Result   x is the best that was found, whatever the status, and never has a larger ||b - A x|| than x as given,
  ///          with 0 on empty rows. The report's numbers are those of x.
  /// Memory   two vectors; those of the method that runs.
  /// Sync     collective; fences.
  /// Throws   ShapeError for vectors of other lengths, those in the matrix' order among them; MemoryError, x as it
  ///          was, where not even the first precision has memory; on all ranks.
  SparseReport solve(Exec const& exec, Vector<double, MemorySpace> const& b,
                     Vector<double, MemorySpace> const& x);
  /// The same for vectors in the matrix' order, as A.allocate makes them, without two copies of them.
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
