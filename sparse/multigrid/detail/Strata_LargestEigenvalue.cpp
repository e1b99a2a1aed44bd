// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/multigrid/detail/Strata_LargestEigenvalue.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/problems/Strata_Random.hpp>

#include <cmath>
#include <span>
#include <utility>
#include <vector>

namespace strata::sparse::detail {
namespace {

template <class Exec>
using Iterate = Vector<double, typename Exec::memory_space>;

template <class Exec, class Rows>
void draw(Exec const& exec, Rows const& old_row, std::int64_t first, Iterate<Exec> const& v) {
  Kokkos::parallel_for(
      "strata::sparse::largest_eigenvalue::draw",
      RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(old_row.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i) { v(i) = 2 * uniform(1, first + old_row(i)) - 1; });
}

// u = D^-1/2 v, v scaled by `factor` first; v' v before.
template <class Exec>
void scale_start(Exec const& exec, double factor, Iterate<Exec> const& inverse,
                 Iterate<Exec> const& v, Iterate<Exec> const& u, std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::largest_eigenvalue::scale", RowPolicy<Exec>(exec, 0, rows),
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
      "strata::sparse::largest_eigenvalue::square", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, double& total) { total += v(i) * v(i); }, sum);
  exec.fence("strata::sparse::largest_eigenvalue::square");
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
      "strata::sparse::largest_eigenvalue::next", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, double& total) {
        double const next = Kokkos::sqrt(inverse(i)) * w(i) - beta * old(i);
        old(i) = next;
        total += v(i) * next;
      },
      sum);
  exec.fence("strata::sparse::largest_eigenvalue::next");
  comm.sum(std::span(&sum, 1));
  return sum;
}

// next -= alpha v; its square.
template <class Exec>
double make_orthogonal(Exec const& exec, Communicator const& comm, double alpha,
                       Iterate<Exec> const& v, Iterate<Exec> const& next, std::int64_t rows) {
  double sum = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::largest_eigenvalue::orthogonal", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, double& total) {
        double const rest = next(i) - alpha * v(i);
        next(i) = rest;
        total += rest * rest;
      },
      sum);
  exec.fence("strata::sparse::largest_eigenvalue::orthogonal");
  comm.sum(std::span(&sum, 1));
  return sum;
}

// Whether all eigenvalues of the tridiagonal matrix are below x: all pivots of T - x I are
// negative.
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

double rounded_up(double x) {
  double const base = std::log(1.02);
  return std::exp(base * std::ceil(std::log(x) / base));
}

}  // namespace

template <class Exec>
double largest_eigenvalue(Exec const& exec, DistributedMatrix<Exec> const& A,
                          Vector<double, typename Exec::memory_space> const& inverse) {
  constexpr int most_steps = 8;
  auto const& comm = A.comm();
  std::int64_t const rows = A.rows();
  auto const vector = [&] {
    return comm.agree(
        [&] { return A.template allocate<double>(exec, "strata::sparse::largest_eigenvalue"); });
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
  return alpha.empty() ? 1 : rounded_up(largest_of(alpha, beta));
}

#define STRATA_INSTANTIATE_LARGEST(Space)                                           \
  template double largest_eigenvalue(Space const&, DistributedMatrix<Space> const&, \
                                     Vector<double, Space::memory_space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_LARGEST)

}  // namespace strata::sparse::detail
