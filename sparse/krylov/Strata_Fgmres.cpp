// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/krylov/Strata_Fgmres.hpp>

#include <core/Strata_HessenbergLeastSquares.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/krylov/Strata_KrylovBasis.hpp>
#include <sparse/krylov/detail/Strata_OuterIteration.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

namespace strata::sparse {
namespace {

template <class Exec, class Scalar>
void narrow(Exec const& exec, Vector<double, typename Exec::memory_space> const& from,
            Vector<Scalar, typename Exec::memory_space> const& to, std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::Fgmres::narrow", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) { to(i) = static_cast<Scalar>(from(i)); });
}

// Image k = z, which is also widened.
template <class Exec, class Scalar>
void keep(Exec const& exec, Vector<Scalar, typename Exec::memory_space> const& z,
          Vector<double, typename Exec::memory_space> const& wide, Scalar* image,
          std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::Fgmres::keep", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        image[i] = z(i);
        wide(i) = static_cast<double>(z(i));
      });
}

// x += unit Z t
template <class Exec, class Scalar>
void add_images(Exec const& exec, double unit, Scalar const* Z, double const* t, int count,
                Vector<double, typename Exec::memory_space> const& x, std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::Fgmres::update", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        double sum = 0;
        for (int k = 0; k < count; ++k) sum += t[k] * static_cast<double>(Z[i + k * rows]);
        x(i) += unit * sum;
      });
}

}  // namespace

template <class Exec, class Scalar>
struct Fgmres<Exec, Scalar>::Impl final : KrylovMethod<Exec>::Work {
  using MemorySpace = typename Exec::memory_space;
  using Wide = Vector<double, MemorySpace>;

  Impl(Exec const& exec, DistributedMatrix<Exec> const& A,
       Preconditioner<Exec, Scalar> const& preconditioner, KrylovOptions const& options);

  std::int64_t bytes() const override;
  KrylovReport solve(Exec const& exec, Wide const& b, Wide const& x,
                     detail::ResidualNorms<Exec> const* norms) override;

  // x += unit Z t
  void add_combination(Exec const& exec, double unit, std::vector<double> const& t, Wide const& x);
  // One cycle; Breakdown if x was not updated by finite numbers.
  std::optional<KrylovStatus> cycle(Exec const& exec, detail::OuterIteration<Exec>& outer,
                                    Wide const& x);

  DistributedMatrix<Exec> A_;
  Preconditioner<Exec, Scalar> preconditioner_;
  KrylovOptions options_;
  KrylovBasis<Exec, double> basis_;
  Vector<Scalar, MemorySpace> images_;  // z_1, z_2, ... one after the other
  typename detail::OuterIteration<Exec>::Work outer_;
  Vector<double, MemorySpace> wide_, coefficients_;
  Vector<Scalar, MemorySpace> q_, z_;
};

template <class Exec, class Scalar>
Fgmres<Exec, Scalar>::Impl::Impl(Exec const& exec, DistributedMatrix<Exec> const& A,
                                 Preconditioner<Exec, Scalar> const& preconditioner,
                                 KrylovOptions const& options)
    : A_(A),
      preconditioner_(preconditioner),
      options_(detail::checked(options, "FGMRES")),
      basis_(A.comm().agree([&] {
        return KrylovBasis<Exec, double>(exec, A.comm(), A.rows(), options.restart + 1, A.link());
      })) {
  A.comm().agree([&] {
    images_ = strata::allocate<Vector<Scalar, MemorySpace>>(exec, "strata::sparse::Fgmres::images",
                                                            A_.rows() * options_.restart);
    coefficients_ = strata::allocate<Vector<double, MemorySpace>>(
        exec, "strata::sparse::Fgmres::coefficients", options_.restart);
    outer_.r = A_.template allocate<double>(exec, "strata::sparse::Fgmres::r");
    outer_.best = A_.template allocate<double>(exec, "strata::sparse::Fgmres::best");
    wide_ = A_.template allocate<double>(exec, "strata::sparse::Fgmres::wide");
    q_ = A_.template allocate<Scalar>(exec, "strata::sparse::Fgmres::q");
    z_ = A_.template allocate<Scalar>(exec, "strata::sparse::Fgmres::z");
  });
}

template <class Exec, class Scalar>
void Fgmres<Exec, Scalar>::Impl::add_combination(Exec const& exec, double unit,
                                                 std::vector<double> const& t, Wide const& x) {
  using Host = Kokkos::View<double const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
  Kokkos::deep_copy(exec, Kokkos::subview(coefficients_, std::pair(std::size_t(0), t.size())),
                    Host(t.data(), t.size()));
  add_images(exec, unit, static_cast<Scalar const*>(images_.data()),
             static_cast<double const*>(coefficients_.data()), static_cast<int>(t.size()), x,
             A_.rows());
  exec.fence("strata::sparse::Fgmres::update");  // t is the host's
}

template <class Exec, class Scalar>
std::optional<KrylovStatus> Fgmres<Exec, Scalar>::Impl::cycle(Exec const& exec,
                                                              detail::OuterIteration<Exec>& outer,
                                                              Wide const& x) {
  std::int64_t const rows = A_.rows();
  double const rho = outer.norm(), target = outer.target();
  HessenbergLeastSquares givens(rho);
  basis_.start(exec, 1 / rho, outer_.r);  // q_1 = r / rho
  for (int k = 1; k <= options_.restart && outer.has_iterations(); ++k) {
    narrow(exec, basis_[k - 1], q_, rows);
    preconditioner_.apply(exec, q_, z_);  // z_k = M^-1 q_k
    keep(exec, z_, wide_, images_.data() + (k - 1) * rows, rows);
    A_.multiply(exec, wide_, basis_[k]);  // q_{k+1} = A z_k
    basis_.orthogonalise(exec, k);
    auto column = basis_.column(exec, k);
    double const beta = column.beta;
    if (!std::isfinite(beta)) break;
    givens.append(std::move(column.h), beta);
    outer.count(givens.residual());
    if (beta == 0 || givens.residual() <= target) break;
  }
  auto const t = givens.minimiser();
  for (double const entry : t)
    if (!std::isfinite(entry)) return KrylovStatus::Breakdown;
  if (t.empty()) return KrylovStatus::Breakdown;
  add_combination(exec, outer.unit(), t, x);
  if (!outer.estimates() || !(givens.residual() <= outer.target())) return std::nullopt;
  auto const last = givens.last_decade();
  if (!last.empty()) {
    Kokkos::deep_copy(exec, outer.step(), 0.0);
    add_combination(exec, outer.unit(), last, outer.step());
    outer.saw();
  }
  return std::nullopt;
}

template <class Exec, class Scalar>
Fgmres<Exec, Scalar>::Fgmres(Exec const& exec, DistributedMatrix<Exec> const& A,
                             Preconditioner<Exec, Scalar> const& preconditioner,
                             KrylovOptions const& options)
    : KrylovMethod<Exec>("Fgmres", std::make_unique<Impl>(exec, A, preconditioner, options)) {}

template <class Exec, class Scalar>
std::int64_t Fgmres<Exec, Scalar>::Impl::bytes() const {
  return basis_.bytes() + static_cast<std::int64_t>(images_.extent(0) * sizeof(Scalar) +
                                                    3 * wide_.extent(0) * sizeof(double) +
                                                    (q_.extent(0) + z_.extent(0)) * sizeof(Scalar));
}

template <class Exec, class Scalar>
KrylovReport Fgmres<Exec, Scalar>::Impl::solve(Exec const& exec, Wide const& b, Wide const& x,
                                               detail::ResidualNorms<Exec> const* norms) {
  Region const region(exec, "strata::sparse::Fgmres::solve");
  detail::OuterIteration<Exec> outer(exec, A_, options_, b, x, outer_, norms);
  return outer.run(options_.stall_factor, [&](auto& at) { return cycle(exec, at, x); });
}

#define STRATA_INSTANTIATE_FGMRES(Space) \
  template class Fgmres<Space, fp64>;    \
  template class Fgmres<Space, fp32>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_FGMRES)

}  // namespace strata::sparse
