// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/multigrid/detail/Strata_PolynomialSmoother.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/problems/Strata_Random.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace strata::sparse::detail {
namespace {

template <class Exec>
using Iterate = Vector<double, typename Exec::memory_space>;

// D^-1 of either kind, and the largest ratio of a row's absolute sum to its diagonal; infinity where one is not positive. Fences.
template <class Exec, class Matrix>
double invert_rows(Exec const& exec, Matrix const& A, bool of_sums, Iterate<Exec> const& inverse) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double ratio = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::PolynomialSmoother::invert", RowPolicy<Exec>(exec, 0, A.rows()),
      KOKKOS_LAMBDA(std::int64_t i, double& most) {
        auto const row = A.row(i);
        double diagonal = 0, sum = 0;
        for (int k = 0; k < row.width; ++k) {
          auto const a = static_cast<double>(A.values()[row.first + k * row.stride]);
          sum += Kokkos::abs(a);
          if (A.column(i, k) == i) diagonal += a;
        }
        double const own = diagonal > 0 ? sum / diagonal : infinity;
        most = own > most ? own : most;
        double const divisor = of_sums ? (diagonal < 0 ? -sum : sum) : diagonal;
        inverse(i) = 1 / divisor;
      },
      Kokkos::Max<double>(ratio));
  exec.fence("strata::sparse::PolynomialSmoother::inverted");
  return A.rows() > 0 ? ratio : 0;
}

template <class Exec, class Rows>
void draw(Exec const& exec, Rows const& old_row, std::int64_t first, Iterate<Exec> const& v) {
  Kokkos::parallel_for(
      "strata::sparse::PolynomialSmoother::draw",
      RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(old_row.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i) { v(i) = 2 * uniform(1, first + old_row(i)) - 1; });
}

// u = D^-1/2 v, v scaled by `factor` first; v' v before.
template <class Exec>
void scale_start(Exec const& exec, double factor, Iterate<Exec> const& inverse,
                 Iterate<Exec> const& v, Iterate<Exec> const& u, std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::PolynomialSmoother::scale", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        v(i) *= factor;
        u(i) = Kokkos::sqrt(inverse(i)) * v(i);
      });
}

template <class Exec>
double square_of(Exec const& exec, Communicator const& comm, Iterate<Exec> const& v,
                 std::int64_t rows) {
  double sum = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::PolynomialSmoother::square", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, double& total) { total += v(i) * v(i); }, sum);
  exec.fence("strata::sparse::PolynomialSmoother::square");
  comm.sum(std::span(&sum, 1));
  return sum;
}

// w = D^-1/2 w - beta old, in the place of `old`; v' w.
template <class Exec>
double next_vector(Exec const& exec, Communicator const& comm, Iterate<Exec> const& inverse,
                   Iterate<Exec> const& w, double beta, Iterate<Exec> const& old,
                   Iterate<Exec> const& v, std::int64_t rows) {
  double sum = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::PolynomialSmoother::next", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, double& total) {
        double const next = Kokkos::sqrt(inverse(i)) * w(i) - beta * old(i);
        old(i) = next;
        total += v(i) * next;
      },
      sum);
  exec.fence("strata::sparse::PolynomialSmoother::next");
  comm.sum(std::span(&sum, 1));
  return sum;
}

// next -= alpha v; its square.
template <class Exec>
double make_orthogonal(Exec const& exec, Communicator const& comm, double alpha,
                       Iterate<Exec> const& v, Iterate<Exec> const& next, std::int64_t rows) {
  double sum = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::PolynomialSmoother::orthogonal", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, double& total) {
        double const rest = next(i) - alpha * v(i);
        next(i) = rest;
        total += rest * rest;
      },
      sum);
  exec.fence("strata::sparse::PolynomialSmoother::orthogonal");
  comm.sum(std::span(&sum, 1));
  return sum;
}

// Whether all eigenvalues of the tridiagonal matrix are below x: all pivots of T - x I are negative.
bool all_below(std::vector<double> const& alpha, std::vector<double> const& beta, double x) {
  double pivot = -1;
  for (std::size_t k = 0; k < alpha.size(); ++k) {
    pivot = alpha[k] - x - (k > 0 ? beta[k - 1] * beta[k - 1] / pivot : 0);
    if (!(pivot < 0)) return false;
  }
  return true;
}

double largest_of(std::vector<double> const& alpha, std::vector<double> const& beta) {
  double low = 0, high = 1;
  while (!all_below(alpha, beta, high) && high < 0x1p60) high *= 2;
  for (int k = 0; k < 50; ++k) {
    double const middle = 0.5 * (low + high);
    (all_below(alpha, beta, middle) ? high : low) = middle;
  }
  return high;
}

// Of D^-1 A, from below.
template <class Exec>
double largest_eigenvalue(Exec const& exec, DistributedMatrix<Exec> const& A,
                          Iterate<Exec> const& inverse) {
  constexpr int most_steps = 8;
  auto const& comm = A.comm();
  std::int64_t const rows = A.rows();
  auto const vector = [&] {
    return comm.agree(
        [&] { return A.template allocate<double>(exec, "strata::sparse::PolynomialSmoother"); });
  };
  auto v = vector(), old = vector();
  auto const u = vector(), w = vector();
  draw(exec, A.order().old_row, A.first_row(), v);
  std::vector<double> alpha, beta;
  double length = std::sqrt(square_of(exec, comm, v, rows));
  for (int step = 0; step < most_steps && length > 0; ++step) {
    scale_start(exec, 1 / length, inverse, v, u, rows);
    A.multiply(exec, u, w);
    double const back = step > 0 ? beta.back() : 0;
    alpha.push_back(next_vector(exec, comm, inverse, w, back, old, v, rows));
    length = std::sqrt(make_orthogonal(exec, comm, alpha.back(), v, old, rows));
    beta.push_back(length);
    std::swap(v, old);
    if (!(length > 1e-7 * std::abs(alpha.front()))) break;  // an invariant subspace
  }
  return alpha.empty() ? 1 : largest_of(alpha, beta);
}

double rounded_up(double x) {
  double const base = std::log(1.02);
  return std::exp(base * std::ceil(std::log(x) / base));
}

template <class Exec, class From, class To>
void copy_in_type(Exec const& exec, From const& from, To const& to) {
  Kokkos::parallel_for(
      "strata::sparse::PolynomialSmoother::convert",
      RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(to.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i) {
        to(i) = static_cast<typename To::non_const_value_type>(from(i));
      });
}

template <class Exec, class Vec>
void take_step(Exec const& exec, double keep, double take, Vec const& inverse, Vec const& residual,
               Vec const& step, Vec const& x, bool from_zero) {
  using Scalar = typename Vec::non_const_value_type;
  auto const a = static_cast<Scalar>(keep), b = static_cast<Scalar>(take);
  bool const keeps = keep != 0;
  Kokkos::parallel_for(
      "strata::sparse::PolynomialSmoother::step",
      RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(inverse.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i) {
        Scalar const s = (keeps ? a * step(i) : Scalar(0)) + b * inverse(i) * residual(i);
        step(i) = s;
        x(i) = from_zero ? s : x(i) + s;
      });
}

}  // namespace

template <class Exec, class Scalar>
PolynomialSmoother<Exec, Scalar>::PolynomialSmoother(Exec const& exec,
                                                     DistributedMatrix<Exec> const& D,
                                                     DistributedMatrix<Exec> const& A,
                                                     Smoother kind, int steps) {
  constexpr double dominated = 2 + 1e-12;
  bool const is_chebyshev = kind == Smoother::Chebyshev;
  auto const& comm = A.comm();
  auto const wide = comm.agree([&] {
    inverse_ = strata::allocate<Vec>(exec, "strata::sparse::PolynomialSmoother::inverse", A.rows());
    step_ = strata::allocate<Vec>(exec, "strata::sparse::PolynomialSmoother::step", A.rows());
    return strata::allocate<Iterate<Exec>>(exec, "strata::sparse::PolynomialSmoother::wide",
                                           A.rows());
  });
  double const ratio = comm.max(
      std::visit([&](auto const& stored) { return invert_rows(exec, stored, !is_chebyshev, wide); },
                 D.stored()));
  if (is_chebyshev && !std::isfinite(ratio)) {  // a diagonal that is not positive
    *this = PolynomialSmoother(exec, D, A, Smoother::L1Jacobi, steps);
    return;
  }
  copy_in_type(exec, wide, inverse_);
  keep_.assign(static_cast<std::size_t>(steps), 0);
  take_.assign(static_cast<std::size_t>(steps), 1);
  if (is_chebyshev)
    set_steps(ratio <= dominated ? 2 : rounded_up(largest_eigenvalue(exec, A, wide)));
  exec.fence("strata::sparse::PolynomialSmoother::set_up");
}

template <class Exec, class Scalar>
void PolynomialSmoother<Exec, Scalar>::set_steps(double largest) {
  constexpr double least_of_largest = 0.125, safety = 1.05;
  double const high = safety * largest, low = least_of_largest * largest;
  double const middle = 0.5 * (high + low), half = 0.5 * (high - low);
  double rho = half / middle;
  take_[0] = 1 / middle;
  for (std::size_t k = 1; k < take_.size(); ++k) {
    double const next = 1 / (2 * middle / half - rho);
    keep_[k] = next * rho;
    take_[k] = 2 * next / half;
    rho = next;
  }
}

template <class Exec, class Scalar>
PolynomialSmoother<Exec, Scalar>::PolynomialSmoother(Exec const& exec,
                                                     PolynomialSmoother<Exec, fp64> const& other)
    : keep_(other.keep_), take_(other.take_) {
  auto const rows = static_cast<std::int64_t>(other.inverse_.extent(0));
  inverse_ = strata::allocate<Vec>(exec, "strata::sparse::PolynomialSmoother::inverse", rows);
  step_ = strata::allocate<Vec>(exec, "strata::sparse::PolynomialSmoother::step", rows);
  copy_in_type(exec, other.inverse_, inverse_);
}

template <class Exec, class Scalar>
std::int64_t PolynomialSmoother<Exec, Scalar>::bytes() const {
  return static_cast<std::int64_t>((inverse_.extent(0) + step_.extent(0)) * sizeof(Scalar));
}

template <class Exec, class Scalar>
void PolynomialSmoother<Exec, Scalar>::apply(Exec const& exec, DistributedMatrix<Exec> const& A,
                                             Vec const& r, Vec const& x, Vec const& residual,
                                             Guess guess) const {
  for (std::size_t k = 0; k < take_.size(); ++k) {
    bool const from_zero = k == 0 && guess == Guess::Zero;
    if (!from_zero) A.residual(exec, r, x, residual);
    take_step(exec, keep_[k], take_[k], inverse_, from_zero ? r : residual, step_, x, from_zero);
  }
}

#define STRATA_INSTANTIATE_POLYNOMIAL(Space)      \
  template class PolynomialSmoother<Space, fp64>; \
  template class PolynomialSmoother<Space, fp32>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_POLYNOMIAL)

}  // namespace strata::sparse::detail
