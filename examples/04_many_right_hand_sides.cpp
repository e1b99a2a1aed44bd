// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// One factor, many right-hand sides: n bodies that all exchange heat, for 32 initial states at
// once, in implicit steps of time. Each step solves (1 + dt K) T_new = T in place; the matrix is
// factored once.
#include <dense/Strata_Cholesky.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>

using Exec = Kokkos::DefaultExecutionSpace;
using Matrix = Kokkos::View<double**, Kokkos::LayoutLeft>;

// 1 + dt K for heat that flows between each two bodies: K_ij = -1, and each row adds up to 0.
void fill_step(Exec const& exec, double dt, Matrix const& A) {
  auto const n = static_cast<int>(A.extent(0));
  Kokkos::parallel_for(
      "fill_step", Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2>>(exec, {0, 0}, {n, n}),
      KOKKOS_LAMBDA(int i, int j) { A(i, j) = i == j ? 1 + dt * (n - 1) : -dt; });
}

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Exec const exec;
  int const n = 800, states = 32, steps = 10;
  double const dt = 1.0 / n, pi = std::acos(-1.0);
  Matrix const A("A", n, n), T("T", n, states);
  fill_step(exec, dt, A);
  auto const T_host = Kokkos::create_mirror(T);  // memory of its own, on hosts too
  for (int j = 0; j < states; ++j)               // 300 on average
    for (int i = 0; i < n; ++i) T_host(i, j) = 300 + 10 * std::cos(pi * (j + 1) * (i + 0.5) / n);
  Kokkos::deep_copy(T, T_host);

  auto factor = strata::dense::cholesky(exec, A);
  if (!factor.info().ok()) {
    std::cerr << "the matrix is not positive definite\n";
    return 1;
  }
  double worst = 0;
  for (int step = 0; step < steps; ++step) {
    auto const report = factor.solve(exec, T, T);
    if (!report.converged) return 1;
    worst = std::max(worst, report.backward_error);
  }

  // The mean stays, and what differs from it is divided by 1 + dt n in each step.
  auto const T_end = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), T);
  double error = 0;
  for (int j = 0; j < states; ++j)
    for (int i = 0; i < n; ++i) {
      double const exact = 300 + (T_host(i, j) - 300) / std::pow(1 + dt * n, steps);
      error = std::max(error, std::abs(T_end(i, j) - exact));
    }
  std::cout << factor.report().attempts.size() << " factorisation, " << steps << " solves of "
            << states << " columns\nlargest backward error " << worst << ", largest error " << error
            << " of about 300\n";
  return error < 1e-10 ? 0 : 1;
}
