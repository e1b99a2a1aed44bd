// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <chrono>
#include <cmath>
#include <core/detail/Strata_Instantiate.hpp>
#include <sparse/Strata_GmresIr.hpp>
#include <sparse/detail/Strata_Givens.hpp>

namespace strata::sparse {
namespace {

// What residuals are relative to: nothing where b = 0.
double positive(double norm_b) { return norm_b > 0 ? norm_b : 1; }

}  // namespace

template <class Exec, class Scalar, class Stored>
GmresIr<Exec, Scalar, Stored>::GmresIr(Exec const& exec, DistributedMatrix<Exec> const& A,
                                       DistributedMatrix<Exec> const& inner,
                                       Preconditioner<Exec, Scalar> const& preconditioner,
                                       GmresOptions const& options)
    : A_(A),
      inner_(inner),
      preconditioner_(preconditioner),
      options_(detail::checked(options, "GMRES")),
      basis_(A.comm().agree([&] {
        return detail::KrylovBasis<Exec, Scalar, Stored>(
            exec, A.comm(), A.rows(), options.restart + 1, A.link(), options.norm);
      })),
      steps_(static_cast<std::size_t>(options.restart)) {
  A.comm().agree([&] {
    r_ = A_.template allocate<double>(exec, "strata::sparse::GmresIr::r");
    y_ = A_.template allocate<Scalar>(exec, "strata::sparse::GmresIr::y");
    z_ = A_.template allocate<Scalar>(exec, "strata::sparse::GmresIr::z");
  });
}

template <class Exec, class Scalar, class Stored>
std::int64_t GmresIr<Exec, Scalar, Stored>::bytes() const {
  return basis_.bytes() + static_cast<std::int64_t>(r_.extent(0) * sizeof(double) +
                                                    (y_.extent(0) + z_.extent(0)) * sizeof(Scalar));
}

template <class Exec, class Scalar, class Stored>
bool GmresIr<Exec, Scalar, Stored>::records(MotifTimes const* times) const {
  if constexpr (strata::detail::runs_on_host<Exec>) return false;
  bool const can = times == nullptr && !inner_.trace() && A_.is_enqueued() &&
                   inner_.is_enqueued() && preconditioner_.is_enqueued() &&
                   strata::detail::Recording<Exec>::is_possible();
  return A_.comm().max(can ? 0 : 1) == 0;
}

template <class Exec, class Scalar, class Stored>
bool GmresIr<Exec, Scalar, Stored>::cycle(Exec const& exec, double rho,
                                          Vector<double, MemorySpace> const& x, bool records,
                                          GmresReport& report, MotifTimes* times) {
  auto const timed = [&](Motif motif, auto const& work) {
    MotifTimes::time(times, exec, motif, work);
  };
  detail::Givens givens(rho);
  timed(Motif::Update, [&] { basis_.start(exec, 1 / rho, r_); });  // q_1 = r / rho
  for (int k = 1; k <= options_.restart && report.iterations < options_.max_iterations; ++k) {
    auto const step = [&] {
      preconditioner_.apply(exec, basis_[k - 1], z_, times);                  // z = M^-1 q_k
      timed(Motif::Multiply, [&] { inner_.multiply(exec, z_, basis_[k]); });  // q_{k+1} = A z
      timed(Motif::Orthogonalise, [&] {
        auto const work = [&] { basis_.orthogonalise(exec, k); };
        inner_.trace().enqueue(exec, TraceRow::Work, work, "orthogonalisation");
      });
    };
    records ? steps_[static_cast<std::size_t>(k - 1)].run(exec, step) : step();
    detail::HessenbergColumn column = basis_.column(exec, k);
    double const beta = column.beta;
    if (!std::isfinite(beta)) break;
    givens.append(std::move(column.h), beta);
    ++report.iterations;
    if (options_.monitor)
      options_.monitor(report.iterations, givens.residual() / positive(report.initial_residual));
    if (beta == 0 || givens.residual() <= options_.tolerance * positive(report.initial_residual))
      break;
  }
  auto const t = givens.minimiser();
  for (double const entry : t)
    if (!std::isfinite(entry)) return false;
  if (t.empty()) return false;
  timed(Motif::Update, [&] { basis_.combine(exec, t, y_); });  // r = Q t
  preconditioner_.apply(exec, y_, z_, times);
  timed(Motif::Update, [&] { detail::add(exec, z_, x, A_.rows()); });  // x += M^-1 r
  return true;
}

template <class Exec, class Scalar, class Stored>
GmresReport GmresIr<Exec, Scalar, Stored>::solve(Exec const& exec,
                                                 Vector<double, MemorySpace> const& b,
                                                 Vector<double, MemorySpace> const& x,
                                                 MotifTimes* times) {
  Kokkos::Profiling::ScopedRegion const region("strata::sparse::GmresIr::solve");
  exec.fence("strata::sparse::GmresIr::start");
  auto const start = std::chrono::steady_clock::now();
  GmresReport report;
  report.initial_residual = detail::norm(exec, A_.comm(), b, A_.rows());
  bool const records = this->records(times);
  double before = 0;
  for (bool going = true;;) {
    double rho = 0;
    MotifTimes::time(times, exec, Motif::Multiply, [&] { A_.residual(exec, b, x, r_); });
    MotifTimes::time(times, exec, Motif::Update,
                     [&] { rho = detail::norm(exec, A_.comm(), r_, A_.rows()); });
    report.relative_residual = rho / positive(report.initial_residual);
    if (!going || !std::isfinite(rho))
      report.status = GmresStatus::Breakdown;
    else if (report.relative_residual <= options_.tolerance)
      report.status = GmresStatus::Converged;
    else if (report.cycles > 0 && options_.stall_factor > 0 && rho > options_.stall_factor * before)
      report.status = GmresStatus::Stalled;
    else if (report.iterations < options_.max_iterations) {
      before = rho;
      going = cycle(exec, rho, x, records, report, times);
      ++report.cycles;
      continue;
    }
    break;
  }
  exec.fence("strata::sparse::GmresIr::end");
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

#define STRATA_INSTANTIATE_GMRES(Space) \
  template class GmresIr<Space, fp64>;  \
  template class GmresIr<Space, fp32>;  \
  template class GmresIr<Space, fp32, fp16>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_GMRES)

}  // namespace strata::sparse
