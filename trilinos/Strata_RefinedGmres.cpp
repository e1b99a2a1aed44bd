// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <trilinos/Strata_RefinedGmres.hpp>

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/krylov/Strata_GmresIr.hpp>
#include <sparse/krylov/Strata_Jacobi.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>
#include <sparse/matrix/Strata_MatrixProperties.hpp>
#include <sparse/multigrid/Strata_AlgebraicMultigrid.hpp>
#include <sparse/multigrid/Strata_GaussSeidelSweeps.hpp>
#include <sparse/multigrid/Strata_TransferHierarchy.hpp>

#include <BelosTypes.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ostream>

namespace strata::trilinos {
namespace {

using Clock = std::chrono::steady_clock;
using sparse::PreconditionerKind;
double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// ||b|| and ||b - A x|| / ||b||, or ||A x|| where b = 0.
template <class Exec>
sparse::KrylovReport residual_of(Exec const& exec, sparse::DistributedMatrix<Exec> const& A,
                                 typename RefinedGmres<Exec>::Vector const& b,
                                 typename RefinedGmres<Exec>::Vector const& x) {
  sparse::KrylovOptions const none{.restart = 1, .tolerance = 0, .max_iterations = 0};
  return sparse::GmresIr<Exec, double>(exec, A, A, {}, none).solve(exec, b, x);
}

// The size that residuals are compared with.
double scale_of(GmresIrOptions::Scaling scaling, double norm_b, double norm_r) {
  switch (scaling) {
    case GmresIrOptions::Scaling::InitialResidual:
      return norm_r;
    case GmresIrOptions::Scaling::RightSide:
      return norm_b > 0 ? norm_b : 1;
    case GmresIrOptions::Scaling::None:
      break;
  }
  return 1;
}

// Where a cycle stalls: a lower precision is left early, fp64 not before nothing moves.
double stall_factor(Precision precision) { return precision == Precision::fp64 ? 0.999 : 0.5; }

}  // namespace

template <class Exec, class Scalar>
sparse::Preconditioner<Exec, Scalar> make_preconditioner(Exec const& exec,
                                                         sparse::DistributedMatrix<Exec> const& A,
                                                         PreconditionerOptions const& options) {
  auto kind = options.kind;
  if (kind == PreconditionerKind::Automatic)
    kind = sparse::kind_of_diagonal(exec, A).zero == 0 ? PreconditionerKind::Amg
                                                       : PreconditionerKind::None;
  A.comm().agree([&] {
    STRATA_REQUIRE(ValueError, options.sweeps == 1 || kind == PreconditionerKind::GaussSeidel,
                   "a preconditioner of type '", sparse::name_of(kind), "' has no sweeps, but ",
                   options.sweeps, " were asked for; only 'gs' has");
    bool const is_here = kind == PreconditionerKind::None || kind == PreconditionerKind::Jacobi ||
                         kind == PreconditionerKind::GaussSeidel || kind == PreconditionerKind::Amg;
    STRATA_REQUIRE(ValueError, is_here, "a preconditioner of type '", sparse::name_of(kind),
                   "' is not there for Tpetra matrices; auto, none, jacobi, gs and amg are");
  });
  switch (kind) {
    case PreconditionerKind::Jacobi:
      return sparse::Jacobi<Exec, Scalar>(exec, A);
    case PreconditionerKind::GaussSeidel:
      return sparse::GaussSeidelSweeps<Exec, Scalar>(exec, A, options.precision, options.sweeps,
                                                     options.sweep);
    case PreconditionerKind::Amg: {
      auto amg = options.amg;
      amg.matrix = matrix_options(exec, options);
      return sparse::AlgebraicMultigrid<Exec, Scalar>(
          exec, sparse::make_algebraic_hierarchy(exec, A, amg), options.precision);
    }
    default:
      break;
  }
  return {};
}

template <class Exec>
RefinedGmres<Exec>::RefinedGmres(Exec const& exec, sparse::DistributedMatrix<Exec> const& A,
                                 GmresIrOptions const& options,
                                 std::optional<PreconditionerPair<Exec>> const& given)
    : A_(A), is_given_(given.has_value()) {
  if (given) {
    wide_ = given->wide;
    narrow_ = given->narrow;
  }
  set_options(options);
  prepare(exec, options_.preconditioner.precision);
}

template <class Exec>
void RefinedGmres<Exec>::set_options(GmresIrOptions const& options) {
  options_ = options;
  auto& precision = options_.preconditioner.precision;
  if (is_given_ && precision != Precision::fp64) precision = Precision::fp32;  // it has no other
}

template <class Exec>
void RefinedGmres<Exec>::prepare(Exec const& exec, Precision precision) {
  if (is_given_) return;
  auto options = options_.preconditioner;
  options.precision = precision;
  if (precision == Precision::fp64) {
    if (!wide_) wide_ = make_preconditioner<Exec, double>(exec, A_, options);
  } else if (!narrow_ || narrow_precision_ != precision) {
    narrow_ = make_preconditioner<Exec, float>(exec, A_, options);
    narrow_precision_ = precision;
  }
}

template <class Exec>
template <class Scalar>
sparse::KrylovReport RefinedGmres<Exec>::run(Exec const& exec,
                                             sparse::Preconditioner<Exec, Scalar> const& M,
                                             sparse::KrylovOptions const& krylov, Vector const& b,
                                             Vector const& x) const {
  auto const inner = A_.stored_in(exec, precision_of<Scalar>);
  return sparse::GmresIr<Exec, Scalar>(exec, A_, inner, M, krylov).solve(exec, b, x);
}

template <class Exec>
bool RefinedGmres<Exec>::prints(int type) const {
  return A_.comm().rank() == 0 && (options_.verbosity & type) != 0;
}

template <class Exec>
RefinedReport RefinedGmres<Exec>::solve(Exec const& exec, Vector const& b, Vector const& x) {
  Region const region(exec, "strata::trilinos::RefinedGmres::solve");
  auto const start = Clock::now();
  double set_up = 0, estimate = 0;
  auto const first = residual_of(exec, A_, b, x);
  double const norm_b = first.initial_residual, unit = norm_b > 0 ? norm_b : 1;
  STRATA_REQUIRE(ValueError, std::isfinite(norm_b) && std::isfinite(first.relative_residual),
                 "Strata GMRES-IR: ||b|| is ", norm_b, " and ||b - A x|| is ",
                 first.relative_residual * unit, " at the start, must be finite");
  double const scale = scale_of(options_.scaling, norm_b, first.relative_residual * unit);
  RefinedReport report{.precision = options_.preconditioner.precision};
  if (scale == 0) report.converged = true;  // x is the solution
  std::int64_t const limit = std::min<std::int64_t>(
      options_.max_iterations, std::int64_t(options_.num_blocks) * (options_.max_restarts + 1));
  sparse::KrylovOptions krylov;
  krylov.restart = static_cast<int>(
      std::clamp<std::int64_t>(std::min(limit, A_.global_rows()), 1, options_.num_blocks));
  krylov.tolerance = options_.tolerance * scale / unit;
  for (bool going = scale != 0; going;) {
    auto const set_up_start = Clock::now();
    prepare(exec, report.precision);
    set_up += since(set_up_start);
    krylov.max_iterations = limit - report.iterations;
    krylov.stall_factor = stall_factor(report.precision);
    krylov.cycle_floor = report.precision == Precision::fp64 ? 0 : sparse::cycle_floor_of_fp32;
    krylov.monitor = [&](std::int64_t iteration, double residual) {
      estimate = residual;
      auto const count = report.iterations + iteration;
      if (options_.output_frequency > 0 && count % options_.output_frequency == 0 &&
          prints(Belos::StatusTestDetails))
        *options_.output << "Strata GMRES-IR, iteration " << count
                         << ": estimated residual / scaling = " << residual * unit / scale << "\n";
    };
    bool const wide = report.precision == Precision::fp64;
    auto const result = wide ? run(exec, *wide_, krylov, b, x) : run(exec, *narrow_, krylov, b, x);
    report.iterations += result.iterations;
    report.residual = result.relative_residual * unit / scale;
    report.converged = result.status == sparse::KrylovStatus::Converged;
    going = !report.converged && !wide && report.iterations < limit;
    if (!going) break;
    report.precision = report.precision == Precision::fp32 ? Precision::fp64 : Precision::fp32;
  }
  report.loss_of_accuracy =
      !report.converged && report.iterations > 0 && estimate <= krylov.tolerance;
  print(report, set_up, since(start) - set_up);
  return report;
}

template <class Exec>
void RefinedGmres<Exec>::print(RefinedReport const& report, double set_up_seconds,
                               double solve_seconds) const {
  if (prints(Belos::Warnings) && report.loss_of_accuracy)
    *options_.output << "Strata GMRES-IR: loss of accuracy: the estimate met the tolerance "
                     << options_.tolerance << ", the residual is " << report.residual << "\n";
  if (prints(Belos::FinalSummary))
    *options_.output << "Strata GMRES-IR: " << (report.converged ? "converged" : "not converged")
                     << " after " << report.iterations
                     << " iterations, residual / scaling = " << report.residual << ", tolerance "
                     << options_.tolerance << ", last basis and preconditioner in "
                     << traits(report.precision).name << "\n";
  if (prints(Belos::TimingDetails))
    *options_.output << "Strata GMRES-IR: " << set_up_seconds << " s of further set-up, "
                     << solve_seconds << " s of solve\n";
}

#define STRATA_INSTANTIATE_REFINED_GMRES(Space)                                             \
  template class RefinedGmres<Space>;                                                       \
  template sparse::Preconditioner<Space, double> make_preconditioner(                       \
      Space const&, sparse::DistributedMatrix<Space> const&, PreconditionerOptions const&); \
  template sparse::Preconditioner<Space, float> make_preconditioner(                        \
      Space const&, sparse::DistributedMatrix<Space> const&, PreconditionerOptions const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_REFINED_GMRES)

}  // namespace strata::trilinos
