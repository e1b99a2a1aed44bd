// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/krylov/Strata_ConjugateGradients.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/krylov/Strata_KrylovBasis.hpp>
#include <sparse/krylov/detail/Strata_KeptIterate.hpp>
#include <sparse/krylov/detail/Strata_OuterIteration.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>
#include <optional>
#include <span>

namespace strata::sparse {
namespace {

template <class Exec>
using Wide = Vector<double, typename Exec::memory_space>;

// (z' r, z' q)
template <class Exec, class Scalar>
std::array<double, 2> two_products(Exec const& exec, Communicator const& comm,
                                   Vector<Scalar, typename Exec::memory_space> const& z,
                                   Wide<Exec> const& r, Wide<Exec> const& q, std::int64_t rows) {
  std::array<double, 2> sums{};
  Kokkos::parallel_reduce(
      "strata::sparse::ConjugateGradients::products", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, double& with_r, double& with_q) {
        double const value = static_cast<double>(z(i));
        with_r += value * r(i);
        with_q += value * q(i);
      },
      sums[0], sums[1]);
  exec.fence("strata::sparse::ConjugateGradients::products");
  comm.sum(sums);
  return sums;
}

// p = scale z + beta p
template <class Exec, class Scalar>
void new_direction(Exec const& exec, double scale,
                   Vector<Scalar, typename Exec::memory_space> const& z, double beta,
                   Wide<Exec> const& p, std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::ConjugateGradients::direction", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        double const old = beta == 0 ? 0 : beta * p(i);
        p(i) = scale * static_cast<double>(z(i)) + old;
      });
}

// x += unit alpha p, r -= alpha q; ||r||
template <class Exec>
double advance(Exec const& exec, Communicator const& comm, double unit, double alpha,
               Wide<Exec> const& p, Wide<Exec> const& q, Wide<Exec> const& x, Wide<Exec> const& r,
               std::int64_t rows) {
  double square = 0;
  double const step = unit * alpha;
  Kokkos::parallel_reduce(
      "strata::sparse::ConjugateGradients::advance", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, double& sum) {
        x(i) += step * p(i);
        double const rest = r(i) - alpha * q(i);
        r(i) = rest;
        sum += rest * rest;
      },
      square);
  exec.fence("strata::sparse::ConjugateGradients::advance");
  comm.sum(std::span(&square, 1));
  return std::sqrt(square);
}

}  // namespace

template <class Exec, class Scalar>
struct ConjugateGradients<Exec, Scalar>::Impl final : KrylovMethod<Exec>::Work {
  using MemorySpace = typename Exec::memory_space;
  using Wide = Vector<double, MemorySpace>;
  /// What one iteration leaves to the next.
  struct State {
    double unit = 1;       // of r and p
    double norm = 0;       // ||r||
    double curvature = 0;  // p' A p of the last iteration; 0: none
    double energy = 0;     // by which the square of the error's A-norm has fallen
    double product = 0;    // r' M^-1 r before the last iteration
    double gain = 0;       // of `energy` by it
  };
  /// What norms other than the residual's know of a solve, whatever the unit.
  struct Stop {
    double first_product = 0, energy = 0;
    std::deque<double> gains;  // of the last iterations
  };

  /// A preconditioner, its argument and its result.
  template <class Number>
  struct Preconditioning {
    Preconditioner<Exec, Number> M;
    Vector<Number, MemorySpace> s, z;
  };

  Impl(Exec const& exec, DistributedMatrix<Exec> const& A,
       Preconditioner<Exec, Scalar> const& preconditioner, KrylovOptions const& options,
       Preconditioner<Exec, fp64> const* unrounded);

  std::int64_t bytes() const override;
  KrylovReport solve(Exec const& exec, Wide const& b, Wide const& x,
                     detail::ResidualNorms<Exec> const* norms) override;

  // From one true residual to the next; why it ended before its time, if it did.
  std::optional<KrylovStatus> cycle(Exec const& exec, detail::OuterIteration<Exec>& outer,
                                    Wide const& x);
  // One iteration; why it went wrong, if it did.
  template <class Number>
  std::optional<KrylovStatus> step(Exec const& exec, Preconditioning<Number> const& with,
                                   Wide const& x, State& state);

  // Whether the tolerance is met in the norm that was asked for, unless that is the residual's.
  bool meets(State const& state);

  DistributedMatrix<Exec> A_;
  KrylovOptions options_;
  Stop stop_;
  Preconditioning<Scalar> rounded_;
  std::optional<Preconditioning<fp64>> unrounded_;
  typename detail::OuterIteration<Exec>::Work outer_;
  Vector<double, MemorySpace> p_, q_, kept_;  // kept_: of a run
};

template <class Exec, class Scalar>
ConjugateGradients<Exec, Scalar>::Impl::Impl(Exec const& exec, DistributedMatrix<Exec> const& A,
                                             Preconditioner<Exec, Scalar> const& preconditioner,
                                             KrylovOptions const& options,
                                             Preconditioner<Exec, fp64> const* unrounded)
    : A_(A), options_(detail::checked(options, "CG")), rounded_{preconditioner, {}, {}} {
  A.comm().agree([&] {
    outer_.r = A_.template allocate<double>(exec, "strata::sparse::ConjugateGradients::r");
    outer_.best = A_.template allocate<double>(exec, "strata::sparse::ConjugateGradients::best");
    kept_ = A_.template allocate<double>(exec, "strata::sparse::ConjugateGradients::kept");
    p_ = A_.template allocate<double>(exec, "strata::sparse::ConjugateGradients::p");
    q_ = A_.template allocate<double>(exec, "strata::sparse::ConjugateGradients::q");
    rounded_.s = A_.template allocate<Scalar>(exec, "strata::sparse::ConjugateGradients::s");
    rounded_.z = A_.template allocate<Scalar>(exec, "strata::sparse::ConjugateGradients::z");
    if (unrounded)
      unrounded_ = {*unrounded,
                    A_.template allocate<double>(exec, "strata::sparse::ConjugateGradients::s"),
                    A_.template allocate<double>(exec, "strata::sparse::ConjugateGradients::z")};
  });
}

template <class Exec, class Scalar>
ConjugateGradients<Exec, Scalar>::ConjugateGradients(
    Exec const& exec, DistributedMatrix<Exec> const& A,
    Preconditioner<Exec, Scalar> const& preconditioner, KrylovOptions const& options)
    : KrylovMethod<Exec>("ConjugateGradients",
                         std::make_unique<Impl>(exec, A, preconditioner, options, nullptr)) {}
template <class Exec, class Scalar>
ConjugateGradients<Exec, Scalar>::ConjugateGradients(
    Exec const& exec, DistributedMatrix<Exec> const& A,
    Preconditioner<Exec, Scalar> const& preconditioner, KrylovOptions const& options,
    Preconditioner<Exec, fp64> const& unrounded)
    : KrylovMethod<Exec>("ConjugateGradients",
                         std::make_unique<Impl>(exec, A, preconditioner, options, &unrounded)) {}

template <class Exec, class Scalar>
std::int64_t ConjugateGradients<Exec, Scalar>::Impl::bytes() const {
  std::size_t const wide = unrounded_ ? 7 : 5;
  return static_cast<std::int64_t>(p_.extent(0) * (wide * sizeof(double) + 2 * sizeof(Scalar)));
}

template <class Exec, class Scalar>
template <class Number>
std::optional<KrylovStatus> ConjugateGradients<Exec, Scalar>::Impl::step(
    Exec const& exec, Preconditioning<Number> const& with, Wide const& x, State& state) {
  auto const& comm = A_.comm();
  std::int64_t const rows = A_.rows();
  double const norm = state.norm;
  auto const& r = outer_.r;
  detail::scale(exec, 1 / norm, r, with.s, rows);
  with.M.apply(exec, with.s, with.z);  // z = M^-1 r / ||r||
  auto const [zr, zq] = two_products(exec, comm, with.z, r, q_, rows);
  double const beta = state.curvature == 0 ? 0 : -zq * norm / state.curvature;
  new_direction(exec, norm, with.z, beta, p_, rows);
  A_.multiply(exec, p_, q_);
  // p' r is r' z but for rounding, which is all of an r that a good preconditioner leaves
  auto const [pr, curvature] = two_products(exec, comm, p_, r, q_, rows);
  if (!std::isfinite(zr) || !std::isfinite(curvature) || !std::isfinite(beta))
    return KrylovStatus::Breakdown;
  if (!(zr > 0) || !(curvature > 0)) return KrylovStatus::NotPositiveDefinite;
  double const alpha = pr / curvature;
  state.curvature = curvature;
  state.product = zr * norm;
  state.gain = alpha * pr;
  state.energy += state.gain;
  state.norm = advance(exec, comm, state.unit, alpha, p_, q_, x, r, rows);
  if (!std::isfinite(state.norm)) return KrylovStatus::Breakdown;
  return std::nullopt;
}

// The error's A-norm falls by each gain; that of some iterations ago is little more than the gains
// since then.
template <class Exec, class Scalar>
bool ConjugateGradients<Exec, Scalar>::Impl::meets(State const& state) {
  constexpr std::size_t delay = 8;
  if (options_.stop == StopNorm::Residual) return false;
  double const square = options_.tolerance * options_.tolerance, unit = state.unit * state.unit;
  double const product = unit * state.product;
  if (stop_.first_product == 0) stop_.first_product = product;
  if (options_.stop == StopNorm::Preconditioned) return product <= square * stop_.first_product;
  stop_.energy += unit * state.gain;
  stop_.gains.push_back(unit * state.gain);
  if (stop_.gains.size() > delay) stop_.gains.pop_front();
  double const left = std::accumulate(stop_.gains.begin(), stop_.gains.end(), 0.0);
  return stop_.gains.size() == delay && left <= square * stop_.energy;
}

template <class Exec, class Scalar>
std::optional<KrylovStatus> ConjugateGradients<Exec, Scalar>::Impl::cycle(
    Exec const& exec, detail::OuterIteration<Exec>& outer, Wide const& x) {
  constexpr double much_less = 0.1, halved = 0.5;
  constexpr double rounding = 4 * std::numeric_limits<Scalar>::epsilon();  // of M's vectors
  std::int64_t const rows = A_.rows(), window = std::max(50, options_.restart);
  State state{outer.unit(), outer.norm()};
  Kokkos::deep_copy(exec, q_, 0.0);
  bool may_round = true;
  std::optional<KrylovStatus> ended;
  double least = state.norm, before = state.norm, energy_before = 0;
  detail::KeptIterate<Exec> kept(kept_, rows, state.norm);
  for (std::int64_t k = 1; outer.has_iterations(); ++k) {
    bool const rounds =
        !unrounded_ || (may_round && rounding * outer.relative(state.norm) <= options_.tolerance);
    ended = rounds ? step(exec, rounded_, x, state) : step(exec, *unrounded_, x, state);
    if (ended) break;
    outer.count(state.norm);
    bool const is_by_residual = options_.stop == StopNorm::Residual;
    if (meets(state)) return KrylovStatus::Converged;
    bool const is_met = is_by_residual && state.norm <= outer.target() && outer.meets(state.norm);
    if (is_met || state.norm <= much_less * kept.norm()) kept.keep(exec, outer, x, state.norm);
    if (is_met) return std::nullopt;
    least = std::min(least, state.norm);
    if (k % window != 0) continue;
    if (outer.is_below_rounding()) return std::nullopt;
    if (outer.is_extra() && least > halved * before) break;
    if (least > halved * before) may_round = false;
    bool const has_gained = state.energy - energy_before > much_less * state.energy;
    if (options_.stall_factor > 0 && least > options_.stall_factor * before && !has_gained) {
      ended = KrylovStatus::Stalled;
      break;
    }
    before = least;
    energy_before = state.energy;
  }
  kept.restore(exec, outer, x, state.norm);
  return ended;
}

template <class Exec, class Scalar>
KrylovReport ConjugateGradients<Exec, Scalar>::Impl::solve(
    Exec const& exec, Wide const& b, Wide const& x, detail::ResidualNorms<Exec> const* norms) {
  Region const region(exec, "strata::sparse::ConjugateGradients::solve");
  constexpr double halved = 0.5;
  stop_ = {};
  detail::OuterIteration<Exec> outer(exec, A_, options_, b, x, outer_, norms);
  return outer.run(halved, [&](auto& at) { return cycle(exec, at, x); });
}

#define STRATA_INSTANTIATE_CG(Space)              \
  template class ConjugateGradients<Space, fp64>; \
  template class ConjugateGradients<Space, fp32>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_CG)

}  // namespace strata::sparse
