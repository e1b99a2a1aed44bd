// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What is a solution worth? A small backward error is no small error where A is ill-conditioned:
// the condition number, which the factor estimates, tells how many digits of x to trust.
#include <core/problems/Strata_Generators.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/Strata_KokkosNames.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>

int main(int argc, char** argv) {
  using namespace strata;
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Kokkos::DefaultExecutionSpace const exec;
  Kokkos::DefaultExecutionSpace::memory_space const memory;

  int const n = 600;
  auto const known = known_solution(n);
  auto const X_known = Kokkos::create_mirror_view_and_copy(memory, known);
  Kokkos::View<double**, Kokkos::LayoutLeft> const B("B", n, 1), X("X", n, 1);
  for (double const condition : {1e2, 1e6, 1e10}) {
    auto const A = Kokkos::create_mirror_view_and_copy(
        memory, generate(MatrixKind::Geometric, n, {.condition = condition}));
    dense::gemm(exec, "N", "N", 1.0, A, X_known, 0.0, B);

    auto factor = dense::cholesky(exec, A);
    if (!factor.info().ok()) {
      std::cerr << "the matrix is not positive definite\n";
      return 1;
    }
    auto const solve = factor.solve(exec, B, X);
    auto const estimate = factor.condition(exec);
    double const bound = dense::forward_error(solve.refinement, estimate);

    auto const X_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), X);
    double error = 0, largest = 0;
    for (int i = 0; i < n; ++i) {
      error = std::max(error, std::abs(X_host(i, 0) - known(i, 0)));
      largest = std::max(largest, std::abs(known(i, 0)));
    }
    std::cout << "condition " << estimate.value << ", backward error " << solve.backward_error
              << ": trust " << std::floor(dense::digits(bound)) << " digits; the error is "
              << error / largest << '\n';
    if (!solve.converged || estimate.value < condition / 3 || error / largest > bound) {
      std::cerr << "fewer digits are right\n";
      return 1;
    }
  }
}
