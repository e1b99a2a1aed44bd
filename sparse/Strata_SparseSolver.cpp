// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <array>
#include <chrono>
#include <cmath>
#include <core/detail/Strata_Instantiate.hpp>
#include <sparse/Strata_ConjugateGradients.hpp>
#include <sparse/Strata_Fgmres.hpp>
#include <sparse/Strata_GmresIr.hpp>
#include <sparse/Strata_Jacobi.hpp>
#include <sparse/Strata_MatrixProperties.hpp>
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/Strata_VCycle.hpp>
#include <string>
#include <utility>

namespace strata::sparse {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <class Kind, std::size_t N>
using Names = std::array<std::pair<Kind, std::string_view>, N>;

constexpr Names<SolverKind, 4> solver_names{{{SolverKind::Automatic, "auto"},
                                             {SolverKind::ConjugateGradients, "cg"},
                                             {SolverKind::Gmres, "gmres"},
                                             {SolverKind::Fgmres, "fgmres"}}};
constexpr Names<PreconditionerKind, 5> preconditioner_names{
    {{PreconditionerKind::Automatic, "auto"},
     {PreconditionerKind::None, "none"},
     {PreconditionerKind::Jacobi, "jacobi"},
     {PreconditionerKind::GaussSeidel, "gs"},
     {PreconditionerKind::Amg, "amg"}}};

template <class Kind, std::size_t N>
std::string_view name_in(Names<Kind, N> const& names, Kind kind) {
  for (auto const& [value, name] : names)
    if (value == kind) return name;
  return names.front().second;
}

template <class Kind, std::size_t N>
Kind from_name(Names<Kind, N> const& names, std::string_view what, std::string_view text) {
  std::string list;
  for (auto const& [value, name] : names) {
    if (name == text) return value;
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  throw ValueError(strata::detail::message("no ", what, " is called '", text, "', only ", list));
}

template <class Exec>
double max_abs(Exec const& exec, Communicator const& comm,
               Vector<double, typename Exec::memory_space> const& x, std::int64_t rows) {
  double most = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::SparseSolver::max_abs",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, double& value) {
        double const size = Kokkos::abs(x(i));
        value = size > value || size != size ? size : value;
      },
      Kokkos::Max<double>(most));
  exec.fence("strata::sparse::SparseSolver::max_abs");
  return comm.max(rows > 0 ? most : 0);
}

bool is_16_bit(Precision precision) { return traits(precision).bytes == 2; }

Precision next_higher(Precision precision) {
  return is_16_bit(precision) ? Precision::fp32 : Precision::fp64;
}

}  // namespace

std::string_view name_of(SolverKind kind) { return name_in(solver_names, kind); }
SolverKind solver_from_name(std::string_view name) {
  return from_name(solver_names, "solver", name);
}
std::string_view name_of(PreconditionerKind kind) { return name_in(preconditioner_names, kind); }
PreconditionerKind preconditioner_from_name(std::string_view name) {
  return from_name(preconditioner_names, "preconditioner", name);
}
std::string_view name_of(KrylovStatus status) {
  switch (status) {
    case KrylovStatus::Converged:
      return "converged";
    case KrylovStatus::IterationLimit:
      return "iteration_limit";
    case KrylovStatus::Breakdown:
      return "breakdown";
    case KrylovStatus::Stalled:
      return "stalled";
    case KrylovStatus::NotPositiveDefinite:
      break;
  }
  return "not_positive_definite";
}

template <class Exec>
struct SparseSolver<Exec>::Impl {
  using Wide = Vector<double, MemorySpace>;
  template <class Scalar>
  struct Ready {
    Precision precision = Precision::fp64;
    Preconditioner<Exec, Scalar> M;
    std::int64_t bytes = 0;
  };

  DistributedMatrix<Exec> A;
  SparseOptions options;
  SparseReport base;  // what set-up knows
  TransferHierarchy<Exec> hierarchy;
  std::optional<Ready<double>> wide;
  std::optional<Ready<float>> narrow;

  void choose(Exec const& exec);
  template <class Scalar>
  Ready<Scalar> make(Exec const& exec, Precision precision) const;
  void prepare(Exec const& exec, Precision precision);
  template <class Scalar>
  KrylovReport run_with(Exec const& exec, SolverKind solver, Precision precision,
                        Preconditioner<Exec, Scalar> const& M, KrylovOptions const& krylov,
                        Wide const& b, Wide const& x) const;
  KrylovReport run(Exec const& exec, SolverKind solver, Precision precision, std::int64_t used,
                   Wide const& b, Wide const& x);
  void measure(Exec const& exec, Wide const& b, Wide const& x, SparseReport& report) const;
};

template <class Exec>
void SparseSolver<Exec>::Impl::choose(Exec const& exec) {
  auto const kind = kind_of_diagonal(exec, A);
  base.symmetric = is_symmetric(exec, A);
  base.not_positive_row = kind.first + 1;
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
  Ready<Scalar> ready{precision, {}, 0};
  if (base.preconditioner == PreconditionerKind::Jacobi) {
    ready.M = Jacobi<Exec, Scalar>(exec, A);
    ready.bytes = A.rows() * static_cast<std::int64_t>(sizeof(Scalar));
  } else if (base.preconditioner != PreconditionerKind::None) {
    VCycle<Exec, Scalar> const cycle(exec, hierarchy, precision);
    ready.bytes = cycle.bytes();
    ready.M = cycle;
  }
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
                                                Precision precision,
                                                Preconditioner<Exec, Scalar> const& M,
                                                KrylovOptions const& krylov, Wide const& b,
                                                Wide const& x) const {
  if (solver == SolverKind::ConjugateGradients)
    return ConjugateGradients<Exec, Scalar>(exec, A, M, krylov).solve(exec, b, x);
  if (solver == SolverKind::Fgmres)
    return Fgmres<Exec, Scalar>(exec, A, M, krylov).solve(exec, b, x);
  auto const inner = A.stored_in(exec, precision == Precision::fp64 ? precision : Precision::fp32);
  return GmresIr<Exec, Scalar>(exec, A, inner, M, krylov).solve(exec, b, x);
}

template <class Exec>
KrylovReport SparseSolver<Exec>::Impl::run(Exec const& exec, SolverKind solver, Precision precision,
                                           std::int64_t used, Wide const& b, Wide const& x) {
  constexpr double low_precision_factor = 0.5, restart_factor = 0.999;
  prepare(exec, precision);
  KrylovOptions krylov{options.restart, options.tolerance, options.max_iterations - used};
  krylov.stall_factor = precision != Precision::fp64               ? low_precision_factor
                        : solver == SolverKind::ConjugateGradients ? 0
                                                                   : restart_factor;
  return precision == Precision::fp64 ? run_with(exec, solver, precision, wide->M, krylov, b, x)
                                      : run_with(exec, solver, precision, narrow->M, krylov, b, x);
}

template <class Exec>
void SparseSolver<Exec>::Impl::measure(Exec const& exec, Wide const& b, Wide const& x,
                                       SparseReport& report) const {
  auto const& comm = A.comm();
  auto const r = comm.agree(
      [&] { return A.template allocate<double>(exec, "strata::sparse::SparseSolver::r"); });
  A.residual(exec, b, x, r);
  double const size =
      norm_inf(exec, A) * max_abs(exec, comm, x, A.rows()) + max_abs(exec, comm, b, A.rows());
  double const rest = max_abs(exec, comm, r, A.rows());
  report.backward_error = rest > 0 || std::isnan(rest) ? rest / size : 0;
  double const norm_b = detail::norm(exec, comm, b, A.rows()),
               norm_r = detail::norm(exec, comm, r, A.rows());
  report.relative_residual = norm_b > 0 ? norm_r / norm_b : norm_r;
}

template <class Exec>
SparseSolver<Exec>::SparseSolver(Exec const& exec, DistributedMatrix<Exec> const& A,
                                 SparseOptions const& options)
    : impl_(std::make_shared<Impl>()) {
  Kokkos::Profiling::ScopedRegion const region("strata::sparse::SparseSolver::set_up");
  auto const start = Clock::now();
  auto& own = *impl_;
  own.A = A;
  own.options = options;
  own.choose(exec);
  bool const amg = own.base.preconditioner == PreconditionerKind::Amg;
  own.hierarchy = amg ? make_algebraic_hierarchy(exec, A, options.amg) : single_level(A);
  for (auto const& level : own.hierarchy.levels)
    own.base.levels.push_back({level.A.global_rows(), level.A.global_entries()});
  own.base.operator_complexity = own.hierarchy.operator_complexity();
  own.base.direct_coarse_solve = own.hierarchy.coarse == CoarseSolve::Direct;
  own.prepare(exec, options.precision);
  exec.fence("strata::sparse::SparseSolver::set_up");
  own.base.set_up_seconds = since(start);
}

template <class Exec>
SparseReport SparseSolver<Exec>::solve(Exec const& exec, Vector<double, MemorySpace> const& b,
                                       Vector<double, MemorySpace> const& x) {
  Kokkos::Profiling::ScopedRegion const region("strata::sparse::SparseSolver::solve");
  auto const start = Clock::now();
  auto& own = *impl_;
  SparseReport report = own.base;
  bool const may_switch = own.options.solver == SolverKind::Automatic;
  bool const hopeless =
      report.solver == SolverKind::ConjugateGradients && report.not_positive_row > 0;
  if (hopeless) report.status = KrylovStatus::NotPositiveDefinite;
  for (bool going = !hopeless; going;) {
    auto const krylov = own.run(exec, report.solver, report.precision, report.iterations, b, x);
    report.attempts.push_back({report.solver, report.precision, krylov});
    report.status = krylov.status;
    report.iterations += krylov.iterations;
    if (!std::isfinite(krylov.relative_residual)) Kokkos::deep_copy(exec, x, 0.0);
    bool const failed =
        krylov.status != KrylovStatus::Converged && krylov.status != KrylovStatus::IterationLimit;
    going = failed && report.iterations < own.options.max_iterations;
    if (!going) break;
    if (report.precision != Precision::fp64)
      report.precision = next_higher(report.precision);
    else if (krylov.status == KrylovStatus::NotPositiveDefinite && may_switch)
      report.solver = SolverKind::Gmres;
    else
      going = false;
  }
  report.preconditioner_bytes = own.base.preconditioner_bytes;
  own.measure(exec, b, x, report);
  exec.fence("strata::sparse::SparseSolver::solve");
  report.solve_seconds = since(start);
  return report;
}

#define STRATA_INSTANTIATE_SPARSE_SOLVER(Space) template class SparseSolver<Space>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_SPARSE_SOLVER)

}  // namespace strata::sparse
