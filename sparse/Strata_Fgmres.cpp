// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <chrono>
#include <cmath>
#include <core/detail/Strata_Instantiate.hpp>
#include <sparse/Strata_Fgmres.hpp>
#include <sparse/detail/Strata_Givens.hpp>

namespace strata::sparse {
namespace {

template <class Exec>
using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;

template <class Exec, class Scalar>
void narrow(Exec const& exec, Vector<double, typename Exec::memory_space> const& from,
            Vector<Scalar, typename Exec::memory_space> const& to, std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::Fgmres::narrow", Policy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) { to(i) = static_cast<Scalar>(from(i)); });
}

// Image k = z, which is also widened.
template <class Exec, class Scalar>
void keep(Exec const& exec, Vector<Scalar, typename Exec::memory_space> const& z,
          Vector<double, typename Exec::memory_space> const& wide, Scalar* image,
          std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::Fgmres::keep", Policy<Exec>(exec, 0, rows), KOKKOS_LAMBDA(std::int64_t i) {
        image[i] = z(i);
        wide(i) = static_cast<double>(z(i));
      });
}

// x += Z t
template <class Exec, class Scalar>
void add_images(Exec const& exec, Scalar const* Z, double const* t, int count,
                Vector<double, typename Exec::memory_space> const& x, std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::Fgmres::update", Policy<Exec>(exec, 0, rows), KOKKOS_LAMBDA(std::int64_t i) {
        double sum = 0;
        for (int k = 0; k < count; ++k) sum += t[k] * static_cast<double>(Z[i + k * rows]);
        x(i) += sum;
      });
}

}  // namespace

template <class Exec, class Scalar>
Fgmres<Exec, Scalar>::Fgmres(Exec const& exec, DistributedMatrix<Exec> const& A,
                             Preconditioner<Exec, Scalar> const& preconditioner,
                             KrylovOptions const& options)
    : A_(A),
      preconditioner_(preconditioner),
      options_(detail::checked(options, "FGMRES")),
      basis_(A.comm().agree([&] {
        return detail::KrylovBasis<Exec, double>(exec, A.comm(), A.rows(), options.restart + 1,
                                                 A.link());
      })) {
  A.comm().agree([&] {
    images_ = detail::allocate<Vector<Scalar, MemorySpace>>(exec, "strata::sparse::Fgmres::images",
                                                            A_.rows() * options_.restart);
    coefficients_ = detail::allocate<Vector<double, MemorySpace>>(
        exec, "strata::sparse::Fgmres::coefficients", options_.restart);
    r_ = A_.template allocate<double>(exec, "strata::sparse::Fgmres::r");
    wide_ = A_.template allocate<double>(exec, "strata::sparse::Fgmres::wide");
    q_ = A_.template allocate<Scalar>(exec, "strata::sparse::Fgmres::q");
    z_ = A_.template allocate<Scalar>(exec, "strata::sparse::Fgmres::z");
  });
}

template <class Exec, class Scalar>
std::int64_t Fgmres<Exec, Scalar>::bytes() const {
  return basis_.bytes() +
         static_cast<std::int64_t>(images_.extent(0) * sizeof(Scalar) +
                                   (r_.extent(0) + wide_.extent(0)) * sizeof(double) +
                                   (q_.extent(0) + z_.extent(0)) * sizeof(Scalar));
}

template <class Exec, class Scalar>
bool Fgmres<Exec, Scalar>::cycle(Exec const& exec, double rho, Vector<double, MemorySpace> const& x,
                                 KrylovReport& report) {
  std::int64_t const rows = A_.rows();
  detail::Givens givens(rho);
  basis_.start(exec, 1 / rho, r_);  // q_1 = r / rho
  for (int k = 1; k <= options_.restart && report.iterations < options_.max_iterations; ++k) {
    narrow(exec, basis_[k - 1], q_, rows);
    preconditioner_.apply(exec, q_, z_);  // z_k = M^-1 q_k
    keep(exec, z_, wide_, images_.data() + (k - 1) * rows, rows);
    A_.multiply(exec, wide_, basis_[k]);  // q_{k+1} = A z_k
    basis_.orthogonalise(exec, k);
    auto column = basis_.column(exec, k);
    double const beta = column.beta;
    if (!std::isfinite(beta)) break;
    givens.append(std::move(column.h), beta);
    ++report.iterations;
    if (beta == 0 || givens.residual() <= options_.tolerance * report.initial_residual) break;
  }
  auto const t = givens.minimiser();
  for (double const entry : t)
    if (!std::isfinite(entry)) return false;
  if (t.empty()) return false;
  using Host = Kokkos::View<double const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
  Kokkos::deep_copy(exec, Kokkos::subview(coefficients_, std::pair(std::size_t(0), t.size())),
                    Host(t.data(), t.size()));
  add_images(exec, static_cast<Scalar const*>(images_.data()),
             static_cast<double const*>(coefficients_.data()), static_cast<int>(t.size()), x, rows);
  exec.fence("strata::sparse::Fgmres::update");  // t is the host's
  return true;
}

template <class Exec, class Scalar>
KrylovReport Fgmres<Exec, Scalar>::solve(Exec const& exec, Vector<double, MemorySpace> const& b,
                                         Vector<double, MemorySpace> const& x) {
  Kokkos::Profiling::ScopedRegion const region("strata::sparse::Fgmres::solve");
  exec.fence("strata::sparse::Fgmres::start");
  auto const start = std::chrono::steady_clock::now();
  KrylovReport report;
  report.initial_residual = detail::norm(exec, A_.comm(), b, A_.rows());
  double before = 0;
  for (bool going = true;; ++report.cycles) {
    A_.residual(exec, b, x, r_);
    double const rho = detail::norm(exec, A_.comm(), r_, A_.rows());
    report.relative_residual = report.initial_residual > 0 ? rho / report.initial_residual : rho;
    if (!going || !std::isfinite(rho))
      report.status = KrylovStatus::Breakdown;
    else if (report.relative_residual <= options_.tolerance)
      report.status = KrylovStatus::Converged;
    else if (report.cycles > 0 && options_.stall_factor > 0 && rho > options_.stall_factor * before)
      report.status = KrylovStatus::Stalled;
    else if (report.iterations < options_.max_iterations) {
      before = rho;
      going = cycle(exec, rho, x, report);
      continue;
    }
    break;
  }
  exec.fence("strata::sparse::Fgmres::end");
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

#define STRATA_INSTANTIATE_FGMRES(Space) \
  template class Fgmres<Space, fp64>;    \
  template class Fgmres<Space, fp32>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_FGMRES)

}  // namespace strata::sparse
