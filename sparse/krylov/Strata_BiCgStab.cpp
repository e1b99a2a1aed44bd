// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/krylov/Strata_BiCgStab.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/formats/detail/Strata_Norms.hpp>
#include <sparse/krylov/detail/Strata_KeptIterate.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

namespace strata::sparse {
namespace {

template <class Exec>
using BiVector = Vector<double, typename Exec::memory_space>;

// (a'b, a'c)
template <class Exec>
std::array<double, 2> products(Exec const& exec, Communicator const& comm, BiVector<Exec> const& a,
                               BiVector<Exec> const& b, BiVector<Exec> const& c,
                               std::int64_t rows) {
  std::array<double, 2> sums{};
  Kokkos::parallel_reduce(
      "strata::sparse::BiCgStab::products", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, double& with_b, double& with_c) {
        with_b += a(i) * b(i);
        with_c += a(i) * c(i);
      },
      sums[0], sums[1]);
  exec.fence("strata::sparse::BiCgStab::products");
  comm.sum(sums);
  return sums;
}

// p = r + beta (p - omega v)
template <class Exec>
void new_search(Exec const& exec, BiVector<Exec> const& r, double beta, double omega,
                BiVector<Exec> const& v, BiVector<Exec> const& p, std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::BiCgStab::direction", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        double const old = beta == 0 ? 0 : beta * (p(i) - omega * v(i));
        p(i) = r(i) + old;
      });
}

// x += unit alpha y, r -= alpha q; ||r||
template <class Exec>
double advance_by(Exec const& exec, Communicator const& comm, double unit, double alpha,
                  BiVector<Exec> const& y, BiVector<Exec> const& q, BiVector<Exec> const& x,
                  BiVector<Exec> const& r, std::int64_t rows) {
  double square = 0;
  double const step = unit * alpha;
  Kokkos::parallel_reduce(
      "strata::sparse::BiCgStab::advance", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, double& sum) {
        x(i) += step * y(i);
        double const rest = r(i) - alpha * q(i);
        r(i) = rest;
        sum += rest * rest;
      },
      square);
  exec.fence("strata::sparse::BiCgStab::advance");
  comm.sum(std::span(&square, 1));
  return std::sqrt(square);
}

}  // namespace

template <class Exec, class Scalar>
struct BiCgStab<Exec, Scalar>::Impl final : KrylovMethod<Exec>::Work {
  using MemorySpace = typename Exec::memory_space;
  using Wide = Vector<double, MemorySpace>;
  /// What one iteration leaves to the next.
  struct State {
    double norm = 0, length = 0;  // of r, and of the shadow residual
    double rho = 1, alpha = 1, omega = 1;
    bool is_first = true, is_stuck = false;
  };

  Impl(Exec const& exec, DistributedMatrix<Exec> const& A,
       Preconditioner<Exec, Scalar> const& preconditioner, KrylovOptions const& options);

  std::int64_t bytes() const override;
  KrylovReport solve(Exec const& exec, Wide const& b, Wide const& x,
                     detail::ResidualNorms<Exec> const* norms) override;

  // image = A M^-1 p, with M^-1 p in `wide`, for a p of that length.
  void multiply(Exec const& exec, Wide const& p, double length, Wide const& image);
  std::optional<KrylovStatus> cycle(Exec const& exec, detail::OuterIteration<Exec>& outer,
                                    Wide const& x);
  // One iteration: false if a number is not finite.
  bool step(Exec const& exec, double unit, Wide const& x, State& state);

  DistributedMatrix<Exec> A_;
  Preconditioner<Exec, Scalar> M_;
  KrylovOptions options_;
  typename detail::OuterIteration<Exec>::Work outer_;
  Wide shadow_, p_, v_, t_, wide_, kept_;
  Vector<Scalar, MemorySpace> s_, z_;
};

template <class Exec, class Scalar>
BiCgStab<Exec, Scalar>::Impl::Impl(Exec const& exec, DistributedMatrix<Exec> const& A,
                                   Preconditioner<Exec, Scalar> const& preconditioner,
                                   KrylovOptions const& options)
    : A_(A), M_(preconditioner), options_(detail::checked(options, "BiCGStab")) {
  auto const wide = [&](char const* label) { return A_.template allocate<double>(exec, label); };
  A.comm().agree([&] {
    outer_ = {wide("strata::sparse::BiCgStab::r"), wide("strata::sparse::BiCgStab::best")};
    shadow_ = wide("strata::sparse::BiCgStab::shadow");
    p_ = wide("strata::sparse::BiCgStab::p");
    v_ = wide("strata::sparse::BiCgStab::v");
    t_ = wide("strata::sparse::BiCgStab::t");
    wide_ = wide("strata::sparse::BiCgStab::wide");
    kept_ = wide("strata::sparse::BiCgStab::kept");
    s_ = A_.template allocate<Scalar>(exec, "strata::sparse::BiCgStab::s");
    z_ = A_.template allocate<Scalar>(exec, "strata::sparse::BiCgStab::z");
  });
}

template <class Exec, class Scalar>
void BiCgStab<Exec, Scalar>::Impl::multiply(Exec const& exec, Wide const& p, double length,
                                            Wide const& image) {
  detail::scale(exec, length > 0 ? 1 / length : 1.0, p, s_, A_.rows());
  M_.apply(exec, s_, z_);
  detail::scale(exec, length > 0 ? length : 1.0, z_, wide_, A_.rows());
  A_.multiply(exec, wide_, image);
}

template <class Exec, class Scalar>
bool BiCgStab<Exec, Scalar>::Impl::step(Exec const& exec, double unit, Wide const& x,
                                        State& state) {
  constexpr double rounding = 16 * std::numeric_limits<double>::epsilon();
  auto const& comm = A_.comm();
  std::int64_t const rows = A_.rows();
  auto const& r = outer_.r;
  double const rho = products(exec, comm, shadow_, r, r, rows)[0];
  if (!(std::abs(rho) > rounding * state.length * state.norm)) {
    state.is_stuck = true;
    return std::isfinite(rho);
  }
  double const beta = state.is_first ? 0 : rho / state.rho * (state.alpha / state.omega);
  new_search(exec, r, beta, state.omega, v_, p_, rows);
  state.is_first = false;
  state.rho = rho;
  multiply(exec, p_, detail::norm(exec, comm, p_, rows), v_);  // v = A M^-1 p
  double const slope = products(exec, comm, shadow_, v_, v_, rows)[0];
  state.alpha = rho / slope;
  if (!std::isfinite(state.alpha)) return false;
  double const half = advance_by(exec, comm, unit, state.alpha, wide_, v_, x, r, rows);
  if (!(half > 0)) {
    state.norm = half;
    return half == 0;
  }
  multiply(exec, r, half, t_);  // t = A M^-1 r
  auto const [tr, tt] = products(exec, comm, t_, r, t_, rows);
  state.omega = tr / tt;
  if (!std::isfinite(state.omega)) return false;
  state.norm = advance_by(exec, comm, unit, state.omega, wide_, t_, x, r, rows);
  state.is_stuck = std::abs(tr) <= rounding * std::sqrt(tt) * half;
  return std::isfinite(state.norm);
}

template <class Exec, class Scalar>
std::optional<KrylovStatus> BiCgStab<Exec, Scalar>::Impl::cycle(Exec const& exec,
                                                                detail::OuterIteration<Exec>& outer,
                                                                Wide const& x) {
  State state;
  state.norm = state.length = outer.norm();
  detail::scale(exec, 1.0, outer_.r, shadow_, A_.rows());
  detail::RecurrenceWatch<Exec> watch(exec, outer, x, kept_, A_.rows(),
                                      std::max(50, options_.restart), options_.stall_factor);
  bool is_finite = true, is_over = false;
  while (outer.has_iterations() && !is_over) {
    is_finite = step(exec, outer.unit(), x, state);
    if (!is_finite) break;
    is_over = watch.ends(state.norm) || state.is_stuck;
  }
  auto const ended = watch.leave(is_finite ? state.norm : std::nan(""));
  if (!is_finite && !ended) return KrylovStatus::Breakdown;
  return ended;
}

template <class Exec, class Scalar>
BiCgStab<Exec, Scalar>::BiCgStab(Exec const& exec, DistributedMatrix<Exec> const& A,
                                 Preconditioner<Exec, Scalar> const& preconditioner,
                                 KrylovOptions const& options)
    : KrylovMethod<Exec>("BiCgStab", std::make_unique<Impl>(exec, A, preconditioner, options)) {}

template <class Exec, class Scalar>
std::int64_t BiCgStab<Exec, Scalar>::Impl::bytes() const {
  return static_cast<std::int64_t>(p_.extent(0) * (8 * sizeof(double) + 2 * sizeof(Scalar)));
}

template <class Exec, class Scalar>
KrylovReport BiCgStab<Exec, Scalar>::Impl::solve(Exec const& exec, Wide const& b, Wide const& x,
                                                 detail::ResidualNorms<Exec> const* norms) {
  Region const region(exec, "strata::sparse::BiCgStab::solve");
  constexpr double little = 0.999;
  detail::OuterIteration<Exec> outer(exec, A_, options_, b, x, outer_, norms);
  return outer.run(little, [&](auto& at) { return cycle(exec, at, x); });
}

#define STRATA_INSTANTIATE_BICGSTAB(Space) \
  template class BiCgStab<Space, fp64>;    \
  template class BiCgStab<Space, fp32>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_BICGSTAB)

}  // namespace strata::sparse
