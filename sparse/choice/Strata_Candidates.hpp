// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_CANDIDATES_HPP
#define STRATA_SPARSE_CANDIDATES_HPP

#include <core/Strata_Ladder.hpp>
#include <core/Strata_Precision.hpp>
#include <sparse/choice/Strata_MatrixFacts.hpp>
#include <sparse/choice/Strata_SparseMethods.hpp>
#include <sparse/krylov/Strata_KrylovReport.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace strata::sparse {

/// A method and a preconditioner that a solve may be done with, and what that is expected to take.
struct Candidate {
  SolverKind solver = SolverKind::Gmres;                         ///< the method
  PreconditionerKind preconditioner = PreconditionerKind::None;  ///< preconditioner of the solver
  /// Seconds of the preconditioner's set-up.
  double set_up_seconds = 0;
  double iteration_seconds = 0;  ///< seconds of one iteration
  double iterations = 0;         ///< iterations to a relative residual of 1e-10
  /// Seconds that it takes to know set_up_seconds better: `Patience` may ask. 0: nobody can.
  double analysis_seconds = 0;
  /// Whether fp32 would round the largest of its coefficients by more than the least ones.
  bool needs_fp64 = false;
  int restart = 0;          ///< restart of GMRES, where it is not the options'
  std::string reason = {};  ///< why it is where it is in a list, a clause

  /// Seconds of set-up and solve.
  double seconds() const { return set_up_seconds + iterations * iteration_seconds; }
};

/// Precision that its preconditioner is made in first, where `asked` was asked for. Direct solvers
/// have fp64, incomplete factors no 16 bits. Multigrid has fp64 in the place of fp32 where a
/// symmetric matrix' diagonal spans more than 2^24; `reason` says so.
Precision first_precision(Candidate const& candidate, Precision asked);

/// What a solver was asked for, as far as it narrows the choice.
struct AskedMethod {
  SolverKind solver = SolverKind::Automatic;                          ///< Automatic: any
  PreconditionerKind preconditioner = PreconditionerKind::Automatic;  ///< Automatic: any
  /// Precision of the preconditioner.
  Precision precision = Precision::fp32;
  /// True for a precision of 16 bits.
  bool has_16_bits() const { return traits(precision).bytes == 2; }
};

/// Throws   ValueError for a method or a preconditioner that a matrix like that does not have, or
///          not in that precision.
void require_fitting(bool is_symmetric, int ranks, AskedMethod const& asked);

/// The candidates for a matrix in the order in which they are tried, by their forecasts. Candidates
/// that depend on less come behind. The direct solver, if it is not the fastest, is last but for
/// what needs no memory. Never empty; a pure function, so that all ranks agree.
std::vector<Candidate> candidates(MatrixFacts const& facts, AskedMethod const& asked);

/// Seconds of the direct solver's set-up, whose factorisation takes so many flops.
double seconds_of_factor(MatrixFacts const& facts, double flops);

/// What became of an attempt that ended so.
Outcome outcome_of(KrylovStatus status);

/// Why the next candidate is tried: how this one ended, a clause; without a report it had no
/// memory.
std::string why_next(Candidate const& candidate, KrylovReport const* report);

/// When a candidate is given up for one behind it. The rate at which its residual fell over the
/// second half of the iterations says how long it will still take. It is given up once the fastest
/// of the others takes less from the start. A matrix that takes more iterations than were forecast
/// is taken to need as many times more with all candidates.
///
/// Methods without restarts often quicken late. They are given up where the other one takes a part
/// of what is left: the part of its time that was spent so far, a quarter to 1. So both together
/// take at most twice what either would.
class Patience {
 public:
  /// `others`: those behind it; none: it is never given up.
  /// `analyse` finds the set_up_seconds of the one that has analysis_seconds; it is called once,
  /// when the iterations that are left take longer than that. None: nobody can.
  Patience(Candidate const& own, std::vector<Candidate> others, double tolerance,
           std::function<double()> analyse = {});
  /// Told of each iteration in turn; true: give up.
  bool gives_up(std::int64_t iteration, double relative_residual);
  /// The fastest of `others`, by what was seen so far.
  std::size_t next() const { return next_; }

 private:
  Candidate own_;
  std::vector<Candidate> others_;
  double tolerance_;
  std::function<double()> analyse_;
  std::size_t next_ = 0;
  std::vector<double> least_;  // after each iteration, logarithms
};

}  // namespace strata::sparse

#endif
