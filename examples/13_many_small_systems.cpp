// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Many small systems in one call: kriging by neighbours. Each of 20000 places on a line is
// predicted from the 24 nearest of its observations, which takes the solution of a system of 24
// unknowns a place.
#include <dense/Strata_BatchedCholesky.hpp>

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstdint>
#include <iostream>

using Exec = Kokkos::DefaultExecutionSpace;
using Matrices = Kokkos::View<double***, Kokkos::LayoutLeft>;
using Vectors = Kokkos::View<double**, Kokkos::LayoutLeft>;
constexpr int n = 24, places = 20000;

// Where neighbour i of place b lies, from the place, in ranges: half of them to its left, about
// half a range apart.
KOKKOS_INLINE_FUNCTION double offset(int i, int b) {
  return (i - n / 2 + 0.5 + 0.4 * Kokkos::sin(0.7 * i + 0.3 * b)) / 2;
}

// C(i, j, b) = exp(-distance) between neighbours, and from each to the place: c(i, b). One triangle
// will do.
void fill_covariances(Exec const& exec, Matrices const& C, Vectors const& c) {
  Kokkos::parallel_for(
      "fill_covariances", Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2>>(exec, {0, 0}, {n, places}),
      KOKKOS_LAMBDA(int i, int b) {
        double const x = offset(i, b);
        for (int j = 0; j <= i; ++j) C(i, j, b) = Kokkos::exp(-Kokkos::abs(x - offset(j, b)));
        c(i, b) = Kokkos::exp(-Kokkos::abs(x));
      });
}

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Exec const exec;
  Matrices const C("C", n, n, places), L("L", n, n, places);
  Vectors const c("c", n, places), w("w", n, places);
  fill_covariances(exec, C, c);
  Kokkos::deep_copy(exec, L, C);
  Kokkos::deep_copy(exec, w, c);

  strata::dense::BatchedCholesky<Exec> batch(exec);
  Kokkos::View<std::int64_t*> const info("info", places);
  Kokkos::View<double*> const logs("logs", places), errors("errors", places);
  batch.factor_and_solve(strata::Uplo::Lower, L, w, info);  // C = L L^T, w = C^-1 c
  batch.log_determinants(L, info, logs);
  batch.backward_errors(strata::Uplo::Lower, C, w, c, errors);

  // Here log det C is the sum of log(1 - exp(-2 distance)) over neighbours side by side.
  auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), logs);
  auto const backward = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), errors);
  for (int b = 0; b < places; ++b) {
    double log_det = 0;
    for (int i = 1; i < n; ++i)
      log_det += std::log(1 - std::exp(2 * (offset(i - 1, b) - offset(i, b))));
    if (!(backward(b) < 1e-14 && std::abs(found(b) - log_det) < 1e-12)) return 1;
  }
  std::cout << places << " systems of " << n << " unknowns: backward errors below 1e-14\n";
}
