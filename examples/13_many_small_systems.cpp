// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Many small systems in one call: kriging by neighbours. Each of 20000 places on a line is predicted from the 24 nearest
// of its observations, which takes the solution of a system of 24 unknowns a place.
#include <dense/Strata_BatchedCholesky.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>

using Exec = Kokkos::DefaultExecutionSpace;
using Matrices = Kokkos::View<double***, Kokkos::LayoutLeft>;
using Vectors = Kokkos::View<double**, Kokkos::LayoutLeft>;
using Numbers = Kokkos::View<double*>;

constexpr double range = 2.0;

// Where neighbour i of place b lies, from the place: half of them to its left, about 1 apart.
KOKKOS_INLINE_FUNCTION double offset(int i, int b, int n) {
  return i - n / 2 + 0.5 + 0.4 * Kokkos::sin(0.7 * i + 0.3 * b);
}

// C(i, j, b) = exp(-distance / range) between neighbours, and from each to the place: c(i, b). One triangle will do.
void fill_covariances(Exec const& exec, Matrices const& C, Vectors const& c) {
  auto const n = static_cast<int>(C.extent(0)), places = static_cast<int>(C.extent(2));
  Kokkos::parallel_for(
      "fill_covariances", Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2>>(exec, {0, 0}, {n, places}),
      KOKKOS_LAMBDA(int i, int b) {
        double const x = offset(i, b, n);
        for (int j = 0; j <= i; ++j)
          C(i, j, b) = Kokkos::exp(-Kokkos::abs(x - offset(j, b, n)) / range);
        c(i, b) = Kokkos::exp(-Kokkos::abs(x) / range);
      });
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

  // With this covariance the two nearest neighbours screen the others off, and log det C is the sum of
  // log(1 - exp(-2 distance / range)) over neighbours side by side.
  auto const on_host = [](auto const& view) {
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  };
  auto const weights = on_host(w);
  auto const failed = on_host(info);
  auto const logs = on_host(log_determinants), backward = on_host(errors);
  double worst = 0, error = 0, log_error = 0;
  for (int b = 0; b < places; ++b) {
    if (failed(b) != 0) return 1;
    double const left = -offset(n / 2 - 1, b, n) / range, right = offset(n / 2, b, n) / range;
    double log_det = 0;
    for (int i = 1; i < n; ++i)
      log_det += std::log(1 - std::exp(-2 * (offset(i, b, n) - offset(i - 1, b, n)) / range));
    double const exact = std::sinh(right) / std::sinh(left + right);
    error = std::max(error, std::abs(weights(n / 2 - 1, b) - exact));
    log_error = std::max(log_error, std::abs(logs(b) - log_det));
    worst = std::max(worst, backward(b));
  }
  std::cout << places << " systems of " << n << " unknowns: largest backward error " << worst
            << "\nlargest error of a weight " << error << ", of a log-determinant " << log_error
            << '\n';
  return worst < 1e-14 && error < 1e-13 && log_error < 1e-12 ? 0 : 1;
}
