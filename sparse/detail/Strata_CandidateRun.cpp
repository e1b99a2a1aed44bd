// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/detail/Strata_CandidateRun.hpp>

#include <core/Strata_Stopwatch.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <sparse/krylov/Strata_BiCgStab.hpp>
#include <sparse/krylov/Strata_ConjugateGradients.hpp>
#include <sparse/krylov/Strata_Fgmres.hpp>
#include <sparse/krylov/Strata_GmresIr.hpp>
#include <sparse/krylov/Strata_Minres.hpp>
#include <sparse/krylov/detail/Strata_ConditionBound.hpp>

#include <type_traits>

namespace strata::sparse::detail {

template <class Exec>
double CandidateRun<Exec>::prepare(Exec const& exec, Candidate const& candidate,
                                   Precision precision) {
  Stopwatch const watch;
  auto const kind = candidate.preconditioner;
  auto const is = [&](auto const& made) {
    return made && made->kind == kind && made->precision == precision;
  };
  solver_ = candidate.solver;
  is_wide_ = precision == Precision::fp64 || solver_ == SolverKind::Minres;
  if (is_wide_) {
    if (is(wide_)) return 0;
    wide_abreast_.reset();
    wide_.reset();
    wide_ = preconditioners_.template make<double>(exec, kind, precision, false);
  } else {
    bool const unrounded = solver_ == SolverKind::ConjugateGradients;
    if (is(narrow_) && (!unrounded || narrow_->unrounded)) return 0;
    narrow_abreast_.reset();
    narrow_.reset();
    narrow_ = preconditioners_.template make<float>(exec, kind, precision, unrounded);
  }
  exec.fence("strata::sparse::CandidateRun::prepare");
  return watch.seconds();
}

template <class Exec>
double CandidateRun<Exec>::condition_bound(Exec const& exec) const {
  // The inverse iteration of an inverse finds the norm of that; a cycle costs as much as an
  // iteration, and the first finds most.
  auto const kind = is_wide_ ? wide_->kind : narrow_->kind;
  int const steps = kind == PreconditionerKind::Direct ? 6
                    : kind == PreconditionerKind::Amg  ? 1
                                                       : 2;
  auto const& A = work_.matrix();
  return is_wide_ ? detail::condition_bound(exec, A, work_.norm(), wide_->M, steps)
                  : detail::condition_bound(exec, A, work_.norm(), narrow_->M, steps);
}

template <class Exec>
PreconditionerAbreast<Exec> const* CandidateRun<Exec>::abreast(Exec const& exec) {
  auto const& make = is_wide_ ? wide_->make_abreast : narrow_->make_abreast;
  bool const has_means = work_.parts().any();  // which would have to be taken from M's results
  if (!make || has_means || work_.matrix().comm().size() > 1) return nullptr;
  auto& made = is_wide_ ? wide_abreast_ : narrow_abreast_;
  if (!made) made = make(exec);
  return &*made;
}

template <class Exec>
KrylovReport CandidateRun<Exec>::solve(Exec const& exec, KrylovOptions const& options,
                                       Wide const& b, Wide const& x,
                                       ResidualNorms<Exec> const& norms) const {
  return is_wide_ ? solve_with(exec, *wide_, options, b, x, norms)
                  : solve_with(exec, *narrow_, options, b, x, norms);
}

template <class Exec>
template <class Scalar>
KrylovReport CandidateRun<Exec>::solve_with(Exec const& exec,
                                            MadePreconditioner<Exec, Scalar> const& made,
                                            KrylovOptions const& options, Wide const& b,
                                            Wide const& x, ResidualNorms<Exec> const& norms) const {
  auto const& M = made.M;
  auto const& A = work_.matrix();
  switch (solver_) {
    case SolverKind::ConjugateGradients:
      if (made.unrounded)
        return ConjugateGradients<Exec, Scalar>(exec, A, M, options, *made.unrounded)
            .solve(exec, b, x, &norms);
      return ConjugateGradients<Exec, Scalar>(exec, A, M, options).solve(exec, b, x, &norms);
    case SolverKind::Minres:
      if constexpr (std::is_same_v<Scalar, fp64>)
        return Minres<Exec>(exec, A, M, options).solve(exec, b, x, &norms);
      break;
    case SolverKind::BiCgStab:
      return BiCgStab<Exec, Scalar>(exec, A, M, options).solve(exec, b, x, &norms);
    case SolverKind::Fgmres:
      return Fgmres<Exec, Scalar>(exec, A, M, options).solve(exec, b, x, &norms);
    default:
      break;
  }
  auto const inner =
      A.stored_in(exec, made.precision == Precision::fp64 ? Precision::fp64 : Precision::fp32);
  return GmresIr<Exec, Scalar>(exec, A, inner, M, options).solve(exec, b, x, &norms);
}

#define STRATA_INSTANTIATE_CANDIDATE_RUN(Space) template class CandidateRun<Space>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_CANDIDATE_RUN)

}  // namespace strata::sparse::detail
