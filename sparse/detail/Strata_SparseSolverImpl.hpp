// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_SPARSE_SOLVER_IMPL_HPP
#define STRATA_SPARSE_DETAIL_SPARSE_SOLVER_IMPL_HPP

#include <core/Strata_StepLadder.hpp>
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/choice/Strata_Candidates.hpp>
#include <sparse/detail/Strata_CandidateRun.hpp>
#include <sparse/krylov/detail/Strata_ResidualNorms.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>
#include <sparse/scaling/detail/Strata_WorkMatrix.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace strata::sparse {

namespace detail {

inline bool is_16_bit(Precision precision) { return traits(precision).bytes == 2; }

}  // namespace detail

/// What a solver does, for one right-hand side and for columns of them.
template <class Exec>
struct SparseSolver<Exec>::Impl {
  using Wide = Vector<double, MemorySpace>;
  using Block = VectorBlock<MemorySpace>;
  /// A method in a precision.
  struct Step {
    std::size_t candidate = 0;
    Precision precision = Precision::fp64;
  };
  struct Run {
    Candidate candidate;
    std::string reason;  // why it is tried
    Precision precision = Precision::fp64;
    double set_up_seconds = 0;
    bool is_last = true;  // no other comes after it, which may have all iterations that are left
    std::function<bool(std::int64_t, double)> gives_up = {};
  };
  /// Where a climb is.
  struct Ascent {
    StepLadder<Step> ladder;
    Run how;
    std::vector<std::size_t> others;   // candidates behind this one
    std::optional<Patience> patience;  // with it
    bool is_last = false;              // there is no other
    bool has_given_up = false;

    bool is_of_now(Step const& step) const { return step.candidate == ladder.now().candidate; }
  };

  DistributedMatrix<Exec> A;
  detail::WorkMatrix<Exec> work;
  SparseOptions options;
  SparseReport base;  // what set-up knows
  MatrixFacts known;  // by which choices are made
  std::vector<Candidate> choices;
  std::size_t first = 0;  // of them, the one that a solve begins with
  double tolerance = 0;   // of this solve, relative
  double goal = 0;        // its part for the methods, see `goal_for`
  detail::CandidateRun<Exec> method;
  detail::ResidualNorms<Exec> norms;  // by which `work` is solved
  Wide r;                             // of the final residual

  void set_up(Exec const& exec, DistributedMatrix<Exec> const& matrix, SparseOptions const& chosen,
              Impl const* old);
  void check(AskedMethod const& asked) const;
  void choose(Exec const& exec, Impl const* old);
  MatrixFacts found_facts(Exec const& exec, Impl const* old);
  void prepare_first(Exec const& exec);
  void describe(SparseReport& report);
  KrylovReport run(Exec const& exec, Run& how, std::int64_t used, Wide const& b, Wide const& x);
  KrylovOptions krylov_options(Candidate const& candidate, Precision precision, bool is_last,
                               std::int64_t used) const;
  void take(SparseReport& report, Run const& how, KrylovReport const& krylov);
  // The candidates from `first` on, each from precision to precision.
  std::vector<Step> steps() const;
  void begin_candidate(Exec const& exec, Ascent& at, SparseReport const& report);
  // Whether this attempt ends the climb well; else what comes next.
  bool holds(Ascent& at, KrylovReport const& krylov, SparseReport& report);
  void climb(Exec const& exec, Wide const& b, Wide const& x, SparseReport& report);
  // The tolerance of the relative residual, for a b with this norm.
  double tolerance_for(double norm_b) const {
    double const absolute = norm_b > 0 ? options.absolute_tolerance / norm_b : 0;
    return std::max(options.tolerance, std::min(absolute, 1.0));
  }
  // What the methods go for: the part of b that is left out is part of the residual, too. Where it
  // leaves them at least half of the tolerance, both together are within it.
  static double goal_for(double tolerance, double incompatible) {
    double const share = incompatible / tolerance;
    return share * share <= 0.75 ? tolerance * std::sqrt(1 - share * share) : tolerance;
  }
  // What CG did for columns of B from `begin` on that went abreast; empty: they can't.
  std::vector<KrylovReport> go_abreast(Exec const& exec, Block const& B, Block const& X,
                                       std::int64_t begin, int count);
  SparseReport report_abreast(KrylovReport const& krylov, int count, double column_tolerance);
  void take_back(Exec const& exec, typename detail::WorkMatrix<Exec>::System const& system,
                 Wide const& b, Wide const& x, SparseReport& report) const;
  double residual_norm(Exec const& exec, Wide const& b, Wide const& x) const;
  void measure(Exec const& exec, Wide const& b, Wide const& x, SparseReport& report) const;
};

}  // namespace strata::sparse

#endif
