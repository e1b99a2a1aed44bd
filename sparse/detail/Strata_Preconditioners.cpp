// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/detail/Strata_Preconditioners.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <sparse/detail/Strata_WithoutMeans.hpp>
#include <sparse/direct/Strata_SparseFactor.hpp>
#include <sparse/direct/detail/Strata_HostLu.hpp>
#include <sparse/direct/detail/Strata_MinimumDegree.hpp>
#include <sparse/incomplete/Strata_IncompleteFactor.hpp>
#include <sparse/krylov/Strata_Jacobi.hpp>
#include <sparse/multigrid/Strata_AlgebraicMultigrid.hpp>

#include <type_traits>

namespace strata::sparse::detail {
namespace {

// Of a kind that is made of the same in fp64.
template <class Exec, template <class, class> class Kind, class Source>
std::function<PreconditionerAbreast<Exec>(Exec const&)> abreast_of(Source const& source,
                                                                   bool is_rounded) {
  return [source, is_rounded](Exec const& exec) {
    PreconditionerAbreast<Exec> made{Kind<Exec, Abreast<double>>(exec, source), {}};
    if (is_rounded) made.narrow = Kind<Exec, Abreast<float>>(exec, source);
    return made;
  };
}

}  // namespace

template <class Exec>
auto Preconditioners<Exec>::hierarchy_of(Exec const& exec, PreconditionerKind kind)
    -> TransferHierarchy<Exec> const& {
  if (kind != PreconditionerKind::Amg) {
    if (!single_) single_ = single_level(work_.matrix());
    single_->smoother = kind == PreconditionerKind::Chebyshev  ? Smoother::Chebyshev
                        : kind == PreconditionerKind::L1Jacobi ? Smoother::L1Jacobi
                                                               : Smoother::GaussSeidel;
    single_->steps = amg_options_.steps_or_two();
    return *single_;
  }
  if (amg_) return *amg_;
  auto choices = amg_options_;
  bool const is_positive = work_.is_symmetric() && work_.diagonal().first < 0;
  if (choices.smoother == Smoother::Automatic)
    choices.smoother = is_positive ? Smoother::Chebyshev : Smoother::GaussSeidel;
  amg_ =
      make_algebraic_hierarchy(exec, work_.matrix(), choices, work_.scale_of_unknowns(exec), kept_);
  return *amg_;
}

template <class Exec>
template <class Scalar>
void Preconditioners<Exec>::make_cycle(Exec const& exec, bool unrounded,
                                       MadePreconditioner<Exec, Scalar>& made) {
  auto const& hierarchy = hierarchy_of(exec, made.kind);
  bool const goes_abreast = hierarchy.smoother != Smoother::GaussSeidel;
  if (!unrounded) {
    AlgebraicMultigrid<Exec, Scalar> const cycle(exec, hierarchy, made.precision);
    made.bytes = cycle.bytes();
    made.M = cycle;
    if constexpr (std::is_same_v<Scalar, fp64>)
      if (goes_abreast) made.make_abreast = abreast_of<Exec, AlgebraicMultigrid>(cycle, false);
    return;
  }
  AlgebraicMultigrid<Exec, fp64> const wide(exec, hierarchy, made.precision);
  AlgebraicMultigrid<Exec, Scalar> const cycle(exec, wide);
  made.bytes = wide.bytes() + cycle.bytes();
  made.M = cycle;
  made.unrounded = wide;
  if (goes_abreast) made.make_abreast = abreast_of<Exec, AlgebraicMultigrid>(wide, true);
}

template <class Exec>
template <class Scalar>
void Preconditioners<Exec>::make_incomplete(Exec const& exec, bool unrounded,
                                            MadePreconditioner<Exec, Scalar>& made) {
  auto const kind =
      made.kind == PreconditionerKind::Ic ? IncompleteKind::Cholesky : IncompleteKind::Lu;
  using Factor = IncompleteFactor<Exec, fp64>;
  auto const& A = work_.matrix();
  Factor const wide = block_ ? Factor(exec, A, *block_, kind, fill_, made.precision)
                             : Factor(exec, A, kind, fill_, made.precision);
  incomplete_ = wide.report();
  made.bytes = wide.bytes();
  made.make_abreast = abreast_of<Exec, IncompleteFactor>(wide, !std::is_same_v<Scalar, fp64>);
  if constexpr (std::is_same_v<Scalar, fp64>) {
    made.M = wide;
  } else {
    IncompleteFactor<Exec, Scalar> const rounded(exec, wide);
    made.bytes += rounded.bytes();
    made.M = rounded;
    if (unrounded) made.unrounded = wide;
  }
}

template <class Exec>
template <class Scalar>
auto Preconditioners<Exec>::make(Exec const& exec, PreconditionerKind kind, Precision precision,
                                 bool unrounded) -> MadePreconditioner<Exec, Scalar> {
  constexpr bool is_wide = std::is_same_v<Scalar, fp64>;
  bool const both = unrounded && !is_wide;
  auto const& A = work_.matrix();
  MadePreconditioner<Exec, Scalar> made{kind, precision, {}, {}, 0, {}};
  last_ = kind;
  incomplete_ = {};
  is_singular_ = false;
  switch (kind) {
    case PreconditionerKind::Automatic:
    case PreconditionerKind::None:
      if (both) made.unrounded.emplace();
      made.make_abreast = [](Exec const&) { return PreconditionerAbreast<Exec>(); };
      break;
    case PreconditionerKind::Jacobi:
      made.M = Jacobi<Exec, Scalar>(exec, A);
      if (both) made.unrounded = Jacobi<Exec, fp64>(exec, A);
      made.make_abreast = abreast_of<Exec, Jacobi>(A, !is_wide);
      made.bytes = A.rows() * static_cast<std::int64_t>(sizeof(Scalar) + (both ? sizeof(fp64) : 0));
      break;
    case PreconditionerKind::Ic:
    case PreconditionerKind::Ilu:
      make_incomplete(exec, both, made);
      break;
    case PreconditionerKind::Direct:
      if constexpr (is_wide) {
        typename SparseFactor<Exec>::Options how;
        how.order = order_;
        bool const is_positive = work_.is_symmetric() && work_.diagonal().first < 0;
        SparseFactor<Exec> const factor(exec, A, is_positive, how);
        made.bytes = factor.bytes();
        is_singular_ = factor.report().replaced > 0;
        made.M = factor;
      }
      break;
    default:
      make_cycle(exec, both, made);
  }
  if (work_.scales().any()) return made;  // constants are not what it maps to 0
  made.M = without_means(made.M, work_.parts());
  if (both) made.unrounded = without_means(*made.unrounded, work_.parts());
  return made;
}

template <class Exec>
double Preconditioners<Exec>::analyse_direct(Exec const& exec) {
  auto const block = own_block(exec, work_.matrix());
  auto order = minimum_degree(block);
  double const flops = size_of_factor(block, order).flops;
  order_ = std::move(order);
  return flops;
}

template <class Exec>
PreconditionerFacts Preconditioners<Exec>::facts() const {
  PreconditionerFacts facts;
  facts.kind = last_;
  facts.incomplete = incomplete_;
  facts.is_singular = is_singular_;
  if (last_ != PreconditionerKind::Amg || !amg_) {
    auto const& A = work_.matrix();
    facts.levels.push_back({A.global_rows(), A.global_entries()});
    return facts;
  }
  for (auto const& level : amg_->levels)
    facts.levels.push_back({level.A.global_rows(), level.A.global_entries()});
  facts.operator_complexity = amg_->operator_complexity();
  facts.direct_coarse_solve = amg_->coarse == CoarseSolve::Direct;
  facts.block_size = amg_->block_size;
  facts.modes = amg_->modes;
  facts.has_old_pattern = amg_->has_old_pattern;
  return facts;
}

#define STRATA_INSTANTIATE_PRECONDITIONERS(Space)                        \
  template class Preconditioners<Space>;                                 \
  template MadePreconditioner<Space, fp64> Preconditioners<Space>::make( \
      Space const&, PreconditionerKind, Precision, bool);                \
  template MadePreconditioner<Space, fp32> Preconditioners<Space>::make( \
      Space const&, PreconditionerKind, Precision, bool);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_PRECONDITIONERS)

}  // namespace strata::sparse::detail
