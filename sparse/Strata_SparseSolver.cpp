// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/Strata_SparseSolver.hpp>

#include <core/Strata_Stopwatch.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/krylov/Strata_ConjugateGradients.hpp>
#include <sparse/krylov/Strata_Fgmres.hpp>
#include <sparse/krylov/Strata_GmresIr.hpp>
#include <sparse/krylov/Strata_Jacobi.hpp>
#include <sparse/krylov/Strata_KrylovBasis.hpp>
#include <sparse/krylov/detail/Strata_ConditionBound.hpp>
#include <sparse/krylov/detail/Strata_OuterIteration.hpp>
#include <sparse/krylov/detail/Strata_ResidualNorms.hpp>
#include <sparse/krylov/detail/Strata_WithoutMeans.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>
#include <sparse/matrix/Strata_MatrixProperties.hpp>
#include <sparse/matrix/detail/Strata_Norms.hpp>
#include <sparse/matrix/detail/Strata_WorkMatrix.hpp>
#include <sparse/multigrid/Strata_AlgebraicMultigrid.hpp>
#include <sparse/multigrid/Strata_TransferHierarchy.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <optional>

namespace strata::sparse {
namespace {

bool is_16_bit(Precision precision) { return traits(precision).bytes == 2; }

Outcome outcome_of(KrylovStatus status) {
  switch (status) {
    case KrylovStatus::Converged:
    case KrylovStatus::RoundingLimit:
      return Outcome::Held;
    case KrylovStatus::NotPositiveDefinite:
      return Outcome::BrokeDown;
    case KrylovStatus::Breakdown:
      return Outcome::Overflowed;
    default:
      return Outcome::NotConverged;
  }
}

Precision next_higher(Precision precision) {
  return is_16_bit(precision) ? Precision::fp32 : Precision::fp64;
}

}  // namespace

template <class Exec>
struct SparseSolver<Exec>::Impl {
  using Wide = Vector<double, MemorySpace>;
  template <class Scalar>
  struct Ready {
    Precision precision = Precision::fp64;
    Preconditioner<Exec, Scalar> M;
    std::optional<Preconditioner<Exec, fp64>> unrounded;  // M with vectors in fp64, for CG
    std::int64_t bytes = 0;
  };

  DistributedMatrix<Exec> A;
  detail::WorkMatrix<Exec> work;
  SparseOptions options;
  SparseReport base;  // what set-up knows
  TransferHierarchy<Exec> hierarchy;
  std::optional<Ready<double>> wide;
  std::optional<Ready<float>> narrow;
  detail::ResidualNorms<Exec> norms;  // by which `work` is solved
  Wide r;                             // of the final residual

  void choose(Exec const& exec);
  template <class Scalar>
  Ready<Scalar> make(Exec const& exec, Precision precision) const;
  void prepare(Exec const& exec, Precision precision);
  template <class Scalar>
  KrylovReport run_with(Exec const& exec, SolverKind solver, Precision precision,
                        Ready<Scalar> const& ready, KrylovOptions const& krylov, Wide const& b,
                        Wide const& x) const;
  KrylovReport run(Exec const& exec, SolverKind solver, Precision precision, std::int64_t used,
                   Wide const& b, Wide const& x);
  void climb(Exec const& exec, Wide const& b, Wide const& x, SparseReport& report);
  void take_back(Exec const& exec, typename detail::WorkMatrix<Exec>::System const& system,
                 Wide const& b, Wide const& x, SparseReport& report) const;
  double residual_norm(Exec const& exec, Wide const& b, Wide const& x) const;
  void measure(Exec const& exec, Wide const& b, Wide const& x, SparseReport& report) const;
};

template <class Exec>
void SparseSolver<Exec>::Impl::choose(Exec const& exec) {
  auto const kind = work.diagonal();
  base.symmetric = work.is_symmetric();
  base.not_positive_row = kind.first + 1;
  base.zero_diagonal_row = kind.first_zero + 1;
  base.precision = options.precision;
  base.solver = options.solver;
  base.preconditioner = options.preconditioner;
  if (base.preconditioner == PreconditionerKind::Automatic)
    base.preconditioner = kind.zero == 0 ? PreconditionerKind::Amg : PreconditionerKind::None;
  if (base.solver == SolverKind::Automatic)
    base.solver = base.symmetric && kind.first < 0 ? SolverKind::ConjugateGradients
                  : is_16_bit(options.precision)   ? SolverKind::Fgmres
                                                   : SolverKind::Gmres;
  A.comm().agree([&] {
    STRATA_REQUIRE(ValueError, base.solver != SolverKind::ConjugateGradients || base.symmetric,
                   "CG needs a symmetric matrix, this one is not; take gmres or fgmres");
    STRATA_REQUIRE(ValueError,
                   traits(options.precision).bytes > 1 && !is_product_format(options.precision),
                   "preconditioners are stored in fp64, fp32, bf16 or fp16, not in ",
                   traits(options.precision).name);
    STRATA_REQUIRE(ValueError, options.tolerance > 0 && options.tolerance < 1, "tolerance ",
                   options.tolerance, " must be between 0 and 1");
    KrylovOptions krylov;
    krylov.restart = options.restart;
    krylov.max_iterations = options.max_iterations;
    (void)detail::checked(krylov, "solver");
  });
}

template <class Exec>
template <class Scalar>
auto SparseSolver<Exec>::Impl::make(Exec const& exec, Precision precision) const -> Ready<Scalar> {
  Ready<Scalar> ready{precision, {}, {}, 0};
  bool const both = !std::same_as<Scalar, fp64> && base.solver == SolverKind::ConjugateGradients;
  auto const numbers = static_cast<std::int64_t>(sizeof(Scalar) + (both ? sizeof(fp64) : 0));
  if (both) ready.unrounded.emplace();
  if (base.preconditioner == PreconditionerKind::Jacobi) {
    ready.M = Jacobi<Exec, Scalar>(exec, work.matrix());
    if (both) ready.unrounded = Jacobi<Exec, fp64>(exec, work.matrix());
    ready.bytes = A.rows() * numbers;
  } else if (base.preconditioner != PreconditionerKind::None && both) {
    AlgebraicMultigrid<Exec, fp64> const unrounded(exec, hierarchy, precision);
    AlgebraicMultigrid<Exec, Scalar> const cycle(exec, unrounded);
    ready.bytes = unrounded.bytes() + cycle.bytes();
    ready.M = cycle;
    ready.unrounded = unrounded;
  } else if (base.preconditioner != PreconditionerKind::None) {
    AlgebraicMultigrid<Exec, Scalar> const cycle(exec, hierarchy, precision);
    ready.bytes = cycle.bytes();
    ready.M = cycle;
  }
  if (work.scales().any()) return ready;  // constants are not what it maps to 0
  ready.M = detail::without_means(ready.M, work.parts());
  if (both) ready.unrounded = detail::without_means(*ready.unrounded, work.parts());
  return ready;
}

template <class Exec>
void SparseSolver<Exec>::Impl::prepare(Exec const& exec, Precision precision) {
  if (precision == Precision::fp64) {
    if (!wide) wide = make<double>(exec, precision);
    base.preconditioner_bytes = wide->bytes;
  } else {
    if (!narrow || narrow->precision != precision) narrow = make<float>(exec, precision);
    base.preconditioner_bytes = narrow->bytes;
  }
}

template <class Exec>
template <class Scalar>
KrylovReport SparseSolver<Exec>::Impl::run_with(Exec const& exec, SolverKind solver,
                                                Precision precision, Ready<Scalar> const& ready,
                                                KrylovOptions const& krylov, Wide const& b,
                                                Wide const& x) const {
  auto const& M = ready.M;
  if (solver == SolverKind::ConjugateGradients && ready.unrounded)
    return ConjugateGradients<Exec, Scalar>(exec, work.matrix(), M, krylov, *ready.unrounded)
        .solve(exec, b, x, &norms);
  if (solver == SolverKind::ConjugateGradients)
    return ConjugateGradients<Exec, Scalar>(exec, work.matrix(), M, krylov)
        .solve(exec, b, x, &norms);
  if (solver == SolverKind::Fgmres)
    return Fgmres<Exec, Scalar>(exec, work.matrix(), M, krylov).solve(exec, b, x, &norms);
  auto const inner =
      work.matrix().stored_in(exec, precision == Precision::fp64 ? precision : Precision::fp32);
  return GmresIr<Exec, Scalar>(exec, work.matrix(), inner, M, krylov).solve(exec, b, x, &norms);
}

template <class Exec>
KrylovReport SparseSolver<Exec>::Impl::run(Exec const& exec, SolverKind solver, Precision precision,
                                           std::int64_t used, Wide const& b, Wide const& x) {
  constexpr double low_precision_factor = 0.5, restart_factor = 0.999;
  prepare(exec, precision);
  bool const is_cg = solver == SolverKind::ConjugateGradients;
  KrylovOptions krylov{is_cg ? options.restart : base.restart, options.tolerance,
                       options.max_iterations - used};
  krylov.stall_factor = is_cg && !is_16_bit(precision) ? 0
                        : precision == Precision::fp64 ? restart_factor
                                                       : low_precision_factor;
  if (precision != Precision::fp64) krylov.cycle_floor = cycle_floor_of_fp32;
  krylov.norm_A = std::isfinite(work.norm()) ? work.norm() : 0;
  if (options.monitor)
    krylov.monitor = [&](std::int64_t iteration, double residual) {
      options.monitor(used + iteration, residual);
    };
  return precision == Precision::fp64 ? run_with(exec, solver, precision, *wide, krylov, b, x)
                                      : run_with(exec, solver, precision, *narrow, krylov, b, x);
}

// From x to the best that the ladder finds, b and x of `work`.
template <class Exec>
void SparseSolver<Exec>::Impl::climb(Exec const& exec, Wide const& b, Wide const& x,
                                     SparseReport& report) {
  bool const may_switch = options.solver == SolverKind::Automatic;
  auto solver = report.solver;
  auto precision = report.precision;
  for (bool going = true; going;) {
    KrylovReport krylov;
    try {
      krylov = run(exec, solver, precision, report.iterations, b, x);
    } catch (MemoryError const& error) {  // the same on all ranks
      if (report.attempts.empty()) throw;
      report.obstacle = error.what();
      return;
    }
    report.solver = solver;
    report.precision = precision;
    Rung const rung = report.attempts.empty()        ? Rung::AsAsked
                      : precision == Precision::fp64 ? Rung::Fp64
                                                     : Rung::HigherPrecision;
    report.attempts.push_back({{rung, outcome_of(krylov.status)}, solver, precision, krylov});
    report.status = krylov.status;
    report.iterations += krylov.iterations;
    report.condition_at_least = std::max(report.condition_at_least, krylov.condition);
    if (!std::isnan(krylov.forward_error)) report.forward_error = krylov.forward_error;
    going = !report.solved() && krylov.status != KrylovStatus::IterationLimit &&
            report.iterations < options.max_iterations;
    if (precision != Precision::fp64)
      precision = next_higher(precision);
    else if (krylov.status == KrylovStatus::NotPositiveDefinite && may_switch)
      solver = SolverKind::Gmres;
    else
      going = false;
  }
}

// ||b - A x||, of the r that it makes.
template <class Exec>
double SparseSolver<Exec>::Impl::residual_norm(Exec const& exec, Wide const& b,
                                               Wide const& x) const {
  A.residual(exec, b, x, r);
  return detail::norm(exec, A.comm(), r, A.rows());
}

// x of A from the one that was found for `work`, unless x as given has the smaller residual: what was the best for
// `work` is no longer where fp64 rounds it to few digits, or has none of it.
template <class Exec>
void SparseSolver<Exec>::Impl::take_back(Exec const& exec,
                                         typename detail::WorkMatrix<Exec>::System const& system,
                                         Wide const& b, Wide const& x, SparseReport& report) const {
  auto const& comm = A.comm();
  std::int64_t const rows = A.rows();
  work.clear_empty_rows(exec, x);
  double of_guess = residual_norm(exec, b, x);
  double const norm_b = detail::norm(exec, comm, b, rows);
  if (!std::isfinite(of_guess) && std::isfinite(norm_b)) {
    Kokkos::deep_copy(exec, x, 0.0);  // a guess that is none
    of_guess = norm_b;
  }
  auto const& guess = system.b;  // which has served
  detail::scale(exec, 1.0, x, guess, rows);
  work.translate_back(exec, system, x);
  bool const is_finite = std::isfinite(detail::max_norm(exec, comm, x, rows));
  if (is_finite && residual_norm(exec, b, x) <= of_guess) return;
  detail::scale(exec, 1.0, guess, x, rows);
  work.remove_means(exec, x);
  if (!is_finite) report.status = KrylovStatus::Breakdown;
}

// The errors of A as given, by which a solution that was found for `work` is one of A, or is none.
template <class Exec>
void SparseSolver<Exec>::Impl::measure(Exec const& exec, Wide const& b, Wide const& x,
                                       SparseReport& report) const {
  auto const& comm = A.comm();
  std::int64_t const rows = A.rows();
  double const norm_r = residual_norm(exec, b, x), norm_b = detail::norm(exec, comm, b, rows);
  report.backward_error = detail::backward_error(
      work.norm_of_A(), detail::max_norm(exec, comm, x, rows),
      detail::max_norm(exec, comm, b, rows), detail::max_norm(exec, comm, r, rows));
  report.relative_residual = norm_b > 0 ? norm_r / norm_b : norm_r;
  bool const misses = !(report.relative_residual <= options.tolerance);
  if (misses && report.solved() && report.incompatible > options.tolerance &&
      report.relative_residual <= 2 * report.incompatible)
    report.status = KrylovStatus::LeastSquares;
  if (report.status == KrylovStatus::Converged && misses) report.status = KrylovStatus::Stalled;
  // of an A with floating parts that b was not projected for nobody knows what least squares would leave
  bool const is_known = work.parts().count() == 0 || work.is_symmetric();
  bool const is_limit =
      is_known &&
      detail::is_within_rounding(A.global_rows(), report.relative_residual, report.backward_error);
  if (report.status == KrylovStatus::RoundingLimit && !is_limit)
    report.status = KrylovStatus::Stalled;
}

template <class Exec>
SparseSolver<Exec>::SparseSolver(Exec const& exec, DistributedMatrix<Exec> const& A,
                                 SparseOptions const& options)
    : impl_("SparseSolver", std::make_shared<Impl>()) {
  Region const region(exec, "strata::sparse::SparseSolver::set_up");
  Stopwatch const watch;
  auto& own = *impl_;
  own.A = A;
  own.options = options;
  own.work = detail::WorkMatrix<Exec>(exec, A);
  own.base.rows = own.work.rows();
  own.base.global_rows = A.global_rows();
  constexpr std::int64_t few = 300;  // a basis of all unknowns, where the default would restart
  own.base.restart = options.restart;
  if (options.restart == SparseOptions().restart && A.global_rows() <= few)
    own.base.restart = std::max(options.restart, static_cast<int>(A.global_rows()));
  own.choose(exec);
  bool const amg = own.base.preconditioner == PreconditionerKind::Amg;
  auto choices = options.amg;
  if (choices.smoother == Smoother::Automatic && A.comm().size() == 1)
    choices.smoother = own.base.symmetric && own.base.not_positive_row == 0 ? Smoother::Chebyshev
                                                                            : Smoother::GaussSeidel;
  own.hierarchy = amg ? make_algebraic_hierarchy(exec, own.work.matrix(), choices,
                                                 own.work.scale_of_unknowns(exec))
                      : single_level(own.work.matrix());
  for (auto const& level : own.hierarchy.levels)
    own.base.levels.push_back({level.A.global_rows(), level.A.global_entries()});
  own.base.block_size = own.hierarchy.block_size;
  own.base.modes = own.hierarchy.modes;
  own.base.operator_complexity = own.hierarchy.operator_complexity();
  own.base.direct_coarse_solve = own.hierarchy.coarse == CoarseSolve::Direct;
  own.prepare(exec, options.precision);
  own.r = A.comm().agree(
      [&] { return A.template allocate<double>(exec, "strata::sparse::SparseSolver::r"); });
  own.norms = A.comm().agree([&] {
    auto const& work = own.work.matrix();
    return detail::ResidualNorms<Exec>{
        own.work.scales(),
        own.work.norm_of_A(),
        own.work.norm_of_rows(),
        own.work.parts(),
        work.template allocate<double>(exec, "strata::sparse::SparseSolver::spare"),
        work.template allocate<double>(exec, "strata::sparse::SparseSolver::step")};
  });
  auto const bound = [&](auto const& ready) {
    return detail::condition_bound(exec, own.work.matrix(), own.work.norm(), ready.M);
  };
  if (own.base.preconditioner != PreconditionerKind::None)
    own.base.condition_at_least = own.wide ? bound(*own.wide) : bound(*own.narrow);
  exec.fence("strata::sparse::SparseSolver::set_up");
  own.base.set_up_seconds = watch.seconds();
}

template <class Exec>
SparseReport const& SparseSolver<Exec>::set_up_report() const {
  return impl_->base;
}

template <class Exec>
SparseReport SparseSolver<Exec>::solve(Exec const& exec, Vector<double, MemorySpace> const& b,
                                       Vector<double, MemorySpace> const& x) {
  auto const& A = impl_->A;
  auto const [own_b, own_x] = A.comm().agree([&] {
    A.require_natural("SparseSolver::solve: b", b.extent(0));
    A.require_natural("SparseSolver::solve: x", x.extent(0));
    return std::array<Vector<double, MemorySpace>, 2>{
        A.template allocate<double>(exec, "strata::sparse::SparseSolver::b"),
        A.template allocate<double>(exec, "strata::sparse::SparseSolver::x")};
  });
  A.gather(exec, b, own_b);
  A.gather(exec, x, own_x);
  auto const report = solve_in_order(exec, own_b, own_x);
  A.scatter(exec, own_x, x);
  exec.fence("strata::sparse::SparseSolver::solve");
  return report;
}

template <class Exec>
SparseReport SparseSolver<Exec>::solve_in_order(Exec const& exec,
                                                Vector<double, MemorySpace> const& b,
                                                Vector<double, MemorySpace> const& x) {
  Region const region(exec, "strata::sparse::SparseSolver::solve");
  Stopwatch const watch;
  auto& own = *impl_;
  own.A.comm().agree([&] {
    own.A.require_in_order("SparseSolver::solve_in_order: b", b.extent(0));
    own.A.require_in_order("SparseSolver::solve_in_order: x", x.extent(0));
  });
  SparseReport report = own.base;
  bool const is_hopeless =
      report.solver == SolverKind::ConjugateGradients && report.not_positive_row > 0;
  if (is_hopeless) {
    report.status = KrylovStatus::NotPositiveDefinite;
  } else if (own.work.is_other()) {
    auto const system = own.work.translated(exec, b, x);
    report.contradicts_empty_row = system.has_contradiction;
    report.incompatible = system.incompatible;
    own.climb(exec, system.b, system.x, report);
    own.take_back(exec, system, b, x, report);
  } else {
    own.climb(exec, b, x, report);
  }
  report.preconditioner_bytes = own.base.preconditioner_bytes;
  own.measure(exec, b, x, report);
  exec.fence("strata::sparse::SparseSolver::solve");
  report.solve_seconds = watch.seconds();
  return report;
}

#define STRATA_INSTANTIATE_SPARSE_SOLVER(Space) template class SparseSolver<Space>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_SPARSE_SOLVER)

}  // namespace strata::sparse
