// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/krylov/Strata_Minres.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/krylov/detail/Strata_KeptIterate.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

namespace strata::sparse {
namespace {

template <class Exec>
using LanczosVector = Vector<double, typename Exec::memory_space>;

template <class Exec>
double inner(Exec const& exec, Communicator const& comm, LanczosVector<Exec> const& a,
             LanczosVector<Exec> const& b, std::int64_t rows) {
  double sum = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::Minres::product", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, double& total) { total += a(i) * b(i); }, sum);
  exec.fence("strata::sparse::Minres::product");
  comm.sum(std::span(&sum, 1));
  return sum;
}

// old = q - a v - b old
template <class Exec>
void new_lanczos(Exec const& exec, LanczosVector<Exec> const& q, double a,
                 LanczosVector<Exec> const& v, double b, LanczosVector<Exec> const& old,
                 std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::Minres::lanczos", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        double const before = b == 0 ? 0 : b * old(i);
        old(i) = q(i) - a * v(i) - before;
      });
}

// older = (z - a3 older - a2 old) / a1: the direction that comes next, or its image.
template <class Exec>
void new_direction_of(Exec const& exec, LanczosVector<Exec> const& z, double a1, double a2,
                      LanczosVector<Exec> const& old, double a3, LanczosVector<Exec> const& older,
                      std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::Minres::direction", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) { older(i) = (z(i) - a3 * older(i) - a2 * old(i)) / a1; });
}

// x += unit step w, r -= step q; ||r||
template <class Exec>
double take_minres_step(Exec const& exec, Communicator const& comm, double unit, double step,
                        LanczosVector<Exec> const& w, LanczosVector<Exec> const& q,
                        LanczosVector<Exec> const& x, LanczosVector<Exec> const& r,
                        std::int64_t rows) {
  double square = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::Minres::advance", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, double& sum) {
        x(i) += unit * step * w(i);
        double const rest = r(i) - step * q(i);
        r(i) = rest;
        sum += rest * rest;
      },
      square);
  exec.fence("strata::sparse::Minres::advance");
  comm.sum(std::span(&square, 1));
  return std::sqrt(square);
}

}  // namespace

template <class Exec>
struct Minres<Exec>::Impl final : KrylovMethod<Exec>::Work {
  using MemorySpace = typename Exec::memory_space;
  using Wide = Vector<double, MemorySpace>;
  /// What one iteration leaves to the next.
  struct State {
    double norm = 0;                  // ||r||
    double gamma = 0, gamma_old = 1;  // lengths of Lanczos vectors
    double eta = 0;                   // of the residual, in the norm of M^-1
    double c = 1, c_old = 1, s = 0, s_old = 0;
    bool is_first = true, is_over = false;  // is_over: the Krylov space is invariant
  };

  Impl(Exec const& exec, DistributedMatrix<Exec> const& A,
       Preconditioner<Exec, fp64> const& preconditioner, KrylovOptions const& options);

  std::int64_t bytes() const override;
  KrylovReport solve(Exec const& exec, Wide const& b, Wide const& x,
                     detail::ResidualNorms<Exec> const* norms) override;

  std::optional<KrylovStatus> start(Exec const& exec, State& state);
  std::optional<KrylovStatus> step(Exec const& exec, double unit, Wide const& x, State& state);
  std::optional<KrylovStatus> cycle(Exec const& exec, detail::OuterIteration<Exec>& outer,
                                    Wide const& x);

  DistributedMatrix<Exec> A_;
  Preconditioner<Exec, fp64> M_;
  KrylovOptions options_;
  typename detail::OuterIteration<Exec>::Work outer_;
  Wide v_, v_old_, z_, z_next_, image_, w_, w_old_, q_, q_old_, kept_;
};

template <class Exec>
Minres<Exec>::Impl::Impl(Exec const& exec, DistributedMatrix<Exec> const& A,
                         Preconditioner<Exec, fp64> const& preconditioner,
                         KrylovOptions const& options)
    : A_(A), M_(preconditioner), options_(detail::checked(options, "MINRES")) {
  auto const wide = [&](char const* label) { return A_.template allocate<double>(exec, label); };
  A.comm().agree([&] {
    outer_ = {wide("strata::sparse::Minres::r"), wide("strata::sparse::Minres::best")};
    for (auto* vector : {&v_, &v_old_, &z_, &z_next_, &image_, &w_, &w_old_, &q_, &q_old_})
      *vector = wide("strata::sparse::Minres::lanczos");
    kept_ = wide("strata::sparse::Minres::kept");
  });
}

template <class Exec>
std::optional<KrylovStatus> Minres<Exec>::Impl::start(Exec const& exec, State& state) {
  std::int64_t const rows = A_.rows();
  for (auto const& vector : {v_old_, w_, w_old_, q_, q_old_}) Kokkos::deep_copy(exec, vector, 0.0);
  detail::scale(exec, 1.0, outer_.r, v_, rows);
  M_.apply(exec, v_, z_);
  double const square = inner(exec, A_.comm(), z_, v_, rows);
  if (!std::isfinite(square)) return KrylovStatus::Breakdown;
  if (!(square > 0)) return KrylovStatus::NotPositiveDefinite;
  state.gamma = state.eta = std::sqrt(square);
  return std::nullopt;
}

template <class Exec>
std::optional<KrylovStatus> Minres<Exec>::Impl::step(Exec const& exec, double unit, Wide const& x,
                                                     State& state) {
  constexpr double rounding = 1e-15;
  auto const& comm = A_.comm();
  std::int64_t const rows = A_.rows();
  double const gamma = state.gamma;
  detail::scale(exec, 1 / gamma, z_, z_, rows);
  A_.multiply(exec, z_, image_);
  double const delta = inner(exec, comm, image_, z_, rows);
  new_lanczos(exec, image_, delta / gamma, v_, state.is_first ? 0.0 : gamma / state.gamma_old,
              v_old_, rows);
  std::swap(v_, v_old_);
  M_.apply(exec, v_, z_next_);
  double const square = inner(exec, comm, z_next_, v_, rows);
  if (!std::isfinite(square) || !std::isfinite(delta)) return KrylovStatus::Breakdown;
  double const next = square > 0 ? std::sqrt(square) : 0;
  double const a0 = state.c * delta - state.c_old * state.s * gamma, a1 = std::hypot(a0, next),
               a2 = state.s * delta + state.c_old * state.c * gamma, a3 = state.s_old * gamma;
  if (!(a1 > 0)) return KrylovStatus::Breakdown;  // A is singular, b outside its range
  new_direction_of(exec, z_, a1, a2, w_, a3, w_old_, rows);
  new_direction_of(exec, image_, a1, a2, q_, a3, q_old_, rows);
  std::swap(w_, w_old_);
  std::swap(q_, q_old_);
  state.c_old = std::exchange(state.c, a0 / a1);
  state.s_old = std::exchange(state.s, next / a1);
  state.norm = take_minres_step(exec, comm, unit, state.c * state.eta, w_, q_, x, outer_.r, rows);
  state.eta *= -state.s;
  state.gamma_old = std::exchange(state.gamma, next);
  state.is_first = false;
  std::swap(z_, z_next_);
  state.is_over = !(next > rounding * std::abs(delta));
  bool const is_negative = square < 0 && -square > rounding * gamma * gamma;
  return is_negative ? std::optional(KrylovStatus::NotPositiveDefinite) : std::nullopt;
}

template <class Exec>
std::optional<KrylovStatus> Minres<Exec>::Impl::cycle(Exec const& exec,
                                                      detail::OuterIteration<Exec>& outer,
                                                      Wide const& x) {
  State state;
  state.norm = outer.norm();
  if (auto const failed = start(exec, state)) return failed;
  detail::RecurrenceWatch<Exec> watch(exec, outer, x, kept_, A_.rows(),
                                      std::max(50, options_.restart), options_.stall_factor);
  std::optional<KrylovStatus> failed;
  for (bool is_over = false; outer.has_iterations() && !is_over;) {
    failed = step(exec, outer.unit(), x, state);
    if (failed) break;
    is_over = watch.ends(state.norm) || state.is_over;
  }
  auto const ended = watch.leave(state.norm);
  return failed ? failed : ended;
}

template <class Exec>
Minres<Exec>::Minres(Exec const& exec, DistributedMatrix<Exec> const& A,
                     Preconditioner<Exec, fp64> const& preconditioner, KrylovOptions const& options)
    : KrylovMethod<Exec>("Minres", std::make_unique<Impl>(exec, A, preconditioner, options)) {}

template <class Exec>
std::int64_t Minres<Exec>::Impl::bytes() const {
  return static_cast<std::int64_t>(v_.extent(0) * 12 * sizeof(double));
}

template <class Exec>
KrylovReport Minres<Exec>::Impl::solve(Exec const& exec, Wide const& b, Wide const& x,
                                       detail::ResidualNorms<Exec> const* norms) {
  Region const region(exec, "strata::sparse::Minres::solve");
  constexpr double halved = 0.5;
  detail::OuterIteration<Exec> outer(exec, A_, options_, b, x, outer_, norms);
  return outer.run(halved, [&](auto& at) { return cycle(exec, at, x); });
}

#define STRATA_INSTANTIATE_MINRES(Space) template class Minres<Space>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_MINRES)

}  // namespace strata::sparse
