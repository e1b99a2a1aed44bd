// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Solves a dense symmetric positive definite system A x = b with the defaults. The matrix is the
// covariance of a time series, and x the weights of the best linear estimate of its mean, which a
// formula gives as well.
#include <dense/Strata_Cholesky.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Kokkos::DefaultExecutionSpace const exec;

  int const n = 1000;
  double const rho = 0.98;  // the correlation of neighbours in time
  Kokkos::View<double**> const A("A", n, n);
  auto const A_host = Kokkos::create_mirror_view(A);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) A_host(i, j) = std::pow(rho, std::abs(i - j));
  Kokkos::deep_copy(A, A_host);
  Kokkos::View<double*> const b("b", n), x("x", n);
  Kokkos::deep_copy(b, 1.0);

  auto factor = strata::dense::cholesky(exec, A);  // A is kept as it is
  if (!factor.info().ok()) {
    std::cerr << "the leading minor of order " << factor.info().order() << " is not positive\n";
    return 1;
  }
  auto const report = factor.solve(exec, b, x);

  // The inverse of A has three diagonals, so that each row of it is summed by hand.
  auto const x_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  double error = 0;
  for (int i = 0; i < n; ++i) {
    double const exact = (i == 0 || i == n - 1 ? 1.0 : 1.0 - rho) / (1.0 + rho);
    error = std::max(error, std::abs(x_host(i) - exact));
  }
  std::cout << "layers " << factor.report().layers.name() << ", " << report.iterations
            << " solves with the factor\n"
            << "backward error " << report.backward_error << ", largest error of x " << error
            << '\n';
  if (!report.converged || !(error < 1e-11)) {
    std::cerr << "x is wrong\n";
    return 1;
  }
}
