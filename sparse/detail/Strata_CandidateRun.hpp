// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_CANDIDATE_RUN_HPP
#define STRATA_SPARSE_DETAIL_CANDIDATE_RUN_HPP

#include <sparse/choice/Strata_Candidates.hpp>
#include <sparse/detail/Strata_Preconditioners.hpp>
#include <sparse/krylov/Strata_KrylovReport.hpp>
#include <sparse/krylov/detail/Strata_ResidualNorms.hpp>

#include <cstdint>
#include <optional>

namespace strata::sparse::detail {

/// Runs candidates on a solver's matrix, with the preconditioners that they need, of which two are
/// kept: one with vectors in fp64, one in fp32.
template <class Exec>
class CandidateRun {
 public:
  using Wide = Vector<double, typename Exec::memory_space>;

  CandidateRun() = default;
  /// `fill`: of incomplete factors.
  CandidateRun(WorkMatrix<Exec> const& work, AmgOptions const& amg, int fill)
      : work_(work), preconditioners_(work, amg, fill) {}

  Preconditioners<Exec>& preconditioners() { return preconditioners_; }
  Preconditioners<Exec> const& preconditioners() const { return preconditioners_; }
  /// Makes the preconditioner of a candidate with matrices in that precision, unless it is there;
  /// seconds that it took. Collective; fences. Throws what the preconditioners throw, on all ranks.
  double prepare(Exec const& exec, Candidate const& candidate, Precision precision);
  /// Bytes of the preconditioner that was prepared last, on this rank.
  std::int64_t bytes() const { return is_wide_ ? wide_->bytes : narrow_->bytes; }
  /// A lower bound of the matrix' condition, by that preconditioner. Collective; fences.
  double condition_bound(Exec const& exec) const;
  /// The preconditioner that was prepared last, for vectors that go abreast; null: it can't have
  /// these. Fences. Throws MemoryError.
  PreconditionerAbreast<Exec> const* abreast(Exec const& exec);
  /// Solves with the candidate that was prepared last, from x. Collective; fences.
  KrylovReport solve(Exec const& exec, KrylovOptions const& options, Wide const& b, Wide const& x,
                     ResidualNorms<Exec> const& norms) const;

 private:
  template <class Scalar>
  KrylovReport solve_with(Exec const& exec, MadePreconditioner<Exec, Scalar> const& made,
                          KrylovOptions const& options, Wide const& b, Wide const& x,
                          ResidualNorms<Exec> const& norms) const;

  WorkMatrix<Exec> work_;
  Preconditioners<Exec> preconditioners_;
  std::optional<MadePreconditioner<Exec, double>> wide_;
  std::optional<MadePreconditioner<Exec, float>> narrow_;
  SolverKind solver_ = SolverKind::Gmres;
  bool is_wide_ = false;
  std::optional<PreconditionerAbreast<Exec>> narrow_abreast_, wide_abreast_;
};

}  // namespace strata::sparse::detail

#endif
