// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Many small systems in one call: kriging by neighbours. Each of 20000 places on a line is predicted from the 24 nearest
// of its observations, which takes the solution of a system of 24 unknowns a place.
#include <dense/Strata_BatchedCholesky.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <iostream>

using Exec = Kokkos::DefaultExecutionSpace;
using Matrices = Kokkos::View<double***, Kokkos::LayoutLeft>;
using Vectors = Kokkos::View<double**, Kokkos::LayoutLeft>;
using Numbers = Kokkos::View<double*>;

double const range = 2.0;

// Where neighbour i of place b lies, from the place: half of them to its left, about 1 apart.
KOKKOS_INLINE_FUNCTION double offset(int i, int b, int n) {
  return i - n / 2 + 0.5 + 0.4 * Kokkos::sin(0.7 * i + 0.3 * b);
}

// C(i, j, b) = exp(-distance / range) between neighbours, and from each to the place: c(i, b). One triangle will do.
void fill_covariances(Exec const& exec, Matrices const& C, Vectors const& c) {
  auto const n = static_cast<int>(C.extent(0)), places = static_cast<int>(C.extent(2));
  double const r = range;
  Kokkos::parallel_for(
      "fill_covariances", Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2>>(exec, {0, 0}, {n, places}),
      KOKKOS_LAMBDA(int i, int b) {
        double const x = offset(i, b, n);
        for (int j = 0; j <= i; ++j)
          C(i, j, b) = Kokkos::exp(-Kokkos::abs(x - offset(j, b, n)) / r);
        c(i, b) = Kokkos::exp(-Kokkos::abs(x) / r);
      });
}

// With this covariance the two nearest neighbours screen the others off: the largest difference from their weights.
double largest_error(Exec const& exec, Vectors const& w) {
  auto const n = static_cast<int>(w.extent(0)), places = static_cast<int>(w.extent(1));
  double const r = range;
  double error = 0;
  Kokkos::parallel_reduce(
      "largest_error", Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2>>(exec, {0, 0}, {n, places}),
      KOKKOS_LAMBDA(int i, int b, double& most) {
        double const left = -offset(n / 2 - 1, b, n) / r, right = offset(n / 2, b, n) / r;
        double const exact = i == n / 2 - 1 ? Kokkos::sinh(right) / Kokkos::sinh(left + right)
                             : i == n / 2   ? Kokkos::sinh(left) / Kokkos::sinh(left + right)
                                            : 0;
        most = Kokkos::max(most, Kokkos::abs(w(i, b) - exact));
      },
      Kokkos::Max<double>(error));
  return error;
}

// The same of log det C, the sum of log(1 - exp(-2 distance / range)) over neighbours side by side.
double largest_error_of_logarithms(Exec const& exec, int n, Numbers const& log_determinants) {
  double const r = range;
  double error = 0;
  Kokkos::parallel_reduce(
      "largest_error_of_logarithms", Kokkos::RangePolicy<Exec>(exec, 0, log_determinants.extent(0)),
      KOKKOS_LAMBDA(int b, double& most) {
        double exact = 0;
        for (int i = 1; i < n; ++i)
          exact += Kokkos::log(1 - Kokkos::exp(-2 * (offset(i, b, n) - offset(i - 1, b, n)) / r));
        most = Kokkos::max(most, Kokkos::abs(log_determinants(b) - exact));
      },
      Kokkos::Max<double>(error));
  return error;
}

// How many of the systems broke down, and the largest backward error.
std::int64_t count_failed(Exec const& exec, Kokkos::View<std::int64_t*> const& info) {
  std::int64_t failed = 0;
  Kokkos::parallel_reduce(
      "count_failed", Kokkos::RangePolicy<Exec>(exec, 0, info.extent(0)),
      KOKKOS_LAMBDA(int b, std::int64_t& sum) { sum += info(b) != 0; }, failed);
  return failed;
}
double largest(Exec const& exec, Numbers const& numbers) {
  double result = 0;
  Kokkos::parallel_reduce(
      "largest", Kokkos::RangePolicy<Exec>(exec, 0, numbers.extent(0)),
      KOKKOS_LAMBDA(int b, double& most) { most = Kokkos::max(most, numbers(b)); },
      Kokkos::Max<double>(result));
  return result;
}

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Exec const exec;

  int const n = 24, places = 20000;
  Matrices const C("C", n, n, places), L("L", n, n, places);
  Vectors const c("c", n, places), w("w", n, places);
  fill_covariances(exec, C, c);  // C to measure errors with
  Kokkos::deep_copy(exec, L, C);
  Kokkos::deep_copy(exec, w, c);

  strata::dense::BatchedCholesky<Exec> batch(exec);
  Kokkos::View<std::int64_t*> const info("info", places);
  Numbers const log_determinants("log_determinants", places), errors("errors", places);
  batch.factor_and_solve(strata::Uplo::Lower, L, w, info);  // C = L L^T, w = C^-1 c
  batch.log_determinants(L, info, log_determinants);
  batch.backward_errors(strata::Uplo::Lower, C, w, c, errors);

  auto const failed = count_failed(exec, info);
  double const error = largest_error(exec, w),
               log_error = largest_error_of_logarithms(exec, n, log_determinants);
  std::cout << places << " systems of " << n << " unknowns, " << failed
            << " not positive definite\nlargest backward error " << largest(exec, errors)
            << "\nlargest error of a weight " << error << ", of a log-determinant " << log_error
            << '\n';
  if (failed == 0 && error < 1e-13 && log_error < 1e-12) return 0;
  std::cerr << "the weights or the log-determinants are wrong\n";
  return 1;
}
