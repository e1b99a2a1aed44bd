// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/Strata_SparseSolver.hpp>

#include <core/Strata_Stopwatch.hpp>
#include <core/info/Strata_Version.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <sparse/choice/Strata_Candidates.hpp>
#include <sparse/coarsening/Strata_NearNullSpace.hpp>
#include <sparse/coarsening/detail/Strata_SpreadLevel.hpp>
#include <sparse/detail/Strata_SparseSolverImpl.hpp>
#include <sparse/formats/detail/Strata_HostCopy.hpp>
#include <sparse/formats/detail/Strata_Norms.hpp>
#include <sparse/krylov/Strata_KrylovBasis.hpp>
#include <sparse/krylov/detail/Strata_OuterIteration.hpp>
#include <sparse/krylov/detail/Strata_ResidualNorms.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>
#include <sparse/matrix/Strata_MatrixProperties.hpp>
#include <sparse/scaling/detail/Strata_WorkMatrix.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

namespace strata::sparse {
namespace {

// Hosts keep multigrid's patterns from the first set-up on, where that takes little memory.
template <class Exec>
bool has_room_for_patterns(DistributedMatrix<Exec> const& A) {
  constexpr double bytes_of_entry = 66, share = 0.1;
  if (!runs_on_host<Exec> || A.comm().size() > 1) return false;
  return bytes_of_entry * static_cast<double>(A.entries()) <
         share * static_cast<double>(available_memory_bytes());
}

}  // namespace

template <class Exec>
void SparseSolver<Exec>::Impl::check(AskedMethod const& asked) const {
  A.comm().agree([&] {
    require_fitting(work.is_symmetric(), A.comm().size(), asked);
    STRATA_REQUIRE(ValueError, options.tolerance > 0 && options.tolerance < 1, "tolerance ",
                   options.tolerance, " must be between 0 and 1");
    bool const is_bound =
        options.absolute_tolerance >= 0 && std::isfinite(options.absolute_tolerance);
    STRATA_REQUIRE(ValueError, is_bound, "absolute tolerance ", options.absolute_tolerance,
                   " must be finite and not negative");
    bool const has_norm =
        options.stop == StopNorm::Residual || asked.solver == SolverKind::ConjugateGradients;
    STRATA_REQUIRE(ValueError, has_norm, "the norm ", name_of(options.stop),
                   " to stop by is CG's, the solver is ", name_of(asked.solver));
    int const size = options.amg.block_size;
    STRATA_REQUIRE(ValueError, size < 2 || A.global_rows() % size == 0, "AMG: ", A.global_rows(),
                   " rows are no whole number of blocks of ", size);
    KrylovOptions krylov;
    krylov.restart = options.restart;
    krylov.max_iterations = options.max_iterations;
    (void)detail::checked(krylov, "solver");
  });
}

template <class Exec>
MatrixFacts SparseSolver<Exec>::Impl::found_facts(Exec const& exec, Impl const* old) {
  auto const& diagonal = work.diagonal();
  MatrixFacts found;
  found.rows = A.global_rows();
  found.entries = A.global_entries();
  found.symmetric = work.is_symmetric();
  found.positive = diagonal.first < 0;
  found.zero_diagonal = diagonal.zero;
  found.floating_parts = work.parts().count();
  if (found.symmetric && found.positive) found.spread_bits = 2 * work.scales().apart;
  found.ranks = A.comm().size();
  found.threads = runs_on_host<Exec> ? exec.concurrency() : 0;
  found.block_size = options.amg.block_size;
  found.has_modes = detail::width_of_modes(A.comm(), A.rows(), options.amg.near_null_space.get(),
                                           options.amg.block_size) > 0;
  if (old && found.is_like(old->known)) return old->known;
  bool const looks = runs_on_host<Exec> && A.comm().size() == 1 &&
                     !detail::is_16_bit(options.precision) &&
                     options.preconditioner == PreconditionerKind::Automatic;
  if (looks) {
    auto block = detail::own_block(exec, work.matrix());
    look_at_rows(block, found);
    found.jumps = jumps_of(block, detail::to_host(exec, work.scale_of_unknowns(exec)));
    method.preconditioners().set_block(std::move(block));
  }
  return found;
}

template <class Exec>
void SparseSolver<Exec>::Impl::choose(Exec const& exec, Impl const* old) {
  auto const kind = work.diagonal();
  base.symmetric = work.is_symmetric();
  base.not_positive_row = kind.first + 1;
  base.zero_diagonal_row = kind.first_zero + 1;
  base.precision = options.precision;
  bool const takes_cg =
      options.stop != StopNorm::Residual && options.solver == SolverKind::Automatic;
  AskedMethod const asked{takes_cg ? SolverKind::ConjugateGradients : options.solver,
                          options.preconditioner, options.precision};
  check(asked);
  known = found_facts(exec, old);
  choices = candidates(known, asked);
  if (old && known.is_like(old->known)) first = old->first;  // what held for the old values
  base.solver = choices[first].solver;
  base.preconditioner = choices[first].preconditioner;
  base.precision = first_precision(choices[first], options.precision);
}

template <class Exec>
void SparseSolver<Exec>::Impl::prepare_first(Exec const& exec) {
  std::vector<std::size_t> numbers(choices.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  StepLadder<std::size_t> ladder(std::move(numbers));
  ladder.go_to(first);
  auto const precision_of = [&](std::size_t number) {
    return first_precision(choices[number], options.precision);
  };
  (void)ladder.climb(
      [&](std::size_t number) {
        (void)method.prepare(exec, choices[number], precision_of(number));
        bool const is_singular = method.preconditioners().facts().is_singular;
        return !is_singular || options.solver == SolverKind::Direct || ladder.at_the_top();
      },
      [&](MemoryError const&) {  // the same on all ranks
        if (ladder.at_the_top()) throw;
        return false;
      },
      [](bool is_there) { return is_there; });
  first = ladder.held();
  base.solver = choices[first].solver;
  base.precision = precision_of(first);
  describe(base);
  base.preconditioner_bytes = method.bytes();
}

// ||b - A x||, of the r that it makes.
template <class Exec>
double SparseSolver<Exec>::Impl::residual_norm(Exec const& exec, Wide const& b,
                                               Wide const& x) const {
  A.residual(exec, b, x, r);
  return detail::norm(exec, A.comm(), r, A.rows());
}

// x of A from the one that was found for `work`, unless x as given has the smaller residual. The
// best x for `work` may be worse for A: fp64 may round it to few digits, or to none.
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
  report.tolerance = tolerance;
  bool const is_by_residual = options.stop == StopNorm::Residual;
  bool const misses = is_by_residual && !(report.relative_residual <= tolerance);
  if (misses && report.solved() && report.relative_residual <= 2 * report.incompatible)
    report.status = KrylovStatus::LeastSquares;
  if (report.status == KrylovStatus::Converged && misses) report.status = KrylovStatus::Stalled;
  // of an A with floating parts that b was not projected for nobody knows what least squares would
  // leave
  bool const is_known = !work.parts().any() || work.is_symmetric();
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
  impl_->set_up(exec, A, options, nullptr);
}

template <class Exec>
SparseSolver<Exec> SparseSolver<Exec>::updated(Exec const& exec,
                                               DistributedMatrix<Exec> const& A) const {
  SparseSolver result(*this);
  result.impl_ = Pimpl<Impl, std::shared_ptr<Impl>>("SparseSolver", std::make_shared<Impl>());
  auto options = impl_->options;
  options.amg.keeps_patterns = true;
  result.impl_->set_up(exec, A, options, &*impl_);
  return result;
}

template <class Exec>
void SparseSolver<Exec>::Impl::set_up(Exec const& exec, DistributedMatrix<Exec> const& matrix,
                                      SparseOptions const& chosen, Impl const* old) {
  Region const region(exec, "strata::sparse::SparseSolver::set_up");
  Stopwatch const watch;
  auto& own = *this;
  own.A = matrix;
  own.options = chosen;
  auto const* const modes = A.comm().size() == 1 ? chosen.amg.near_null_space.get() : nullptr;
  A.comm().agree([&] {
    STRATA_REQUIRE(ShapeError, !modes || modes->rows() == A.rows(),
                   "near-null space: ", modes ? modes->rows() : 0, " rows for a matrix of ",
                   A.rows());
  });
  own.work = modes ? detail::WorkMatrix<Exec>(exec, A, modes->values, modes->width)
                   : detail::WorkMatrix<Exec>(exec, A);
  own.base.rows = own.work.rows();
  own.base.global_rows = A.global_rows();
  constexpr std::int64_t few = 300;  // a basis of all unknowns, where the default would restart
  own.base.restart = options.restart;
  if (options.restart == SparseOptions().restart && A.global_rows() <= few)
    own.base.restart = std::max(options.restart, static_cast<int>(A.global_rows()));
  auto amg = options.amg;
  amg.keeps_patterns = amg.keeps_patterns || has_room_for_patterns<Exec>(A);
  own.method = detail::CandidateRun<Exec>(own.work, amg, options.fill);
  if (old) own.method.preconditioners().keep(old->method.preconditioners().kept());
  own.choose(exec, old);
  own.prepare_first(exec);
  own.method.preconditioners().set_block(std::nullopt);
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
  if (own.base.preconditioner != PreconditionerKind::None)
    own.base.condition_at_least = own.method.condition_bound(exec);
  exec.fence("strata::sparse::SparseSolver::set_up");
  own.base.set_up_seconds = watch.seconds();
}

template <class Exec>
void SparseSolver<Exec>::set_monitor(std::function<void(std::int64_t, double)> monitor) {
  impl_->options.monitor = std::move(monitor);
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
  own.tolerance = own.tolerance_for(detail::norm(exec, own.A.comm(), b, own.A.rows()));
  own.goal = own.tolerance;
  bool const is_hopeless =
      report.solver == SolverKind::ConjugateGradients && report.not_positive_row > 0;
  if (is_hopeless) {
    report.status = KrylovStatus::NotPositiveDefinite;
  } else if (own.work.is_other()) {
    auto const system = own.work.translated(exec, b, x);
    report.contradicts_empty_row = system.has_contradiction;
    report.incompatible = system.incompatible;
    own.goal = Impl::goal_for(own.tolerance, system.incompatible);
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
