// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Chooses the layers of precision by hand, in the type: fp16 far from the diagonal, fp32 near and
// on it. Prints what the factorisation and the refined solve report.
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

  // A matrix with the condition number 1e4, and B = A X for a known X.
  int const n = 1024;
  auto const A = Kokkos::create_mirror_view_and_copy(
      memory, generate(MatrixKind::Geometric, n, {.condition = 1e4}));
  auto const known = known_solution(n);
  auto const X_known = Kokkos::create_mirror_view_and_copy(memory, known);
  Kokkos::View<double**, Kokkos::LayoutLeft> const B("B", n, 1), X("X", n, 1);
  dense::gemm(exec, "N", "N", 1.0, A, X_known, 0.0, B);

  // The largest block of the recursion first, the leaves on the diagonal last.
  using Layers = dense::Layers<fp16, fp16, fp32>;
  auto factor = dense::cholesky<Layers>(exec, A);
  auto const& made = factor.report();
  for (auto const& attempt : made.attempts)
    std::cout << "tried " << attempt.layers.name() << " (" << name_of(attempt.rung)
              << "): " << (attempt.info == 0 ? "positive definite" : "broke down") << '\n';
  if (!factor.info().ok()) return 1;
  std::cout << "the factor takes " << 100 * static_cast<double>(made.stored_bytes) / (8.0 * n * n)
            << " % of the matrix in fp64\n";

  auto const report = factor.solve(exec, B, X, {.refine = dense::Refine::Gmres});
  auto const X_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), X);
  double error = 0;
  for (int i = 0; i < n; ++i) error = std::max(error, std::abs(X_host(i, 0) - known(i, 0)));
  std::cout << name_of(report.refinement.method) << ": " << report.iterations
            << " iterations, backward error " << report.backward_error << ", largest error of X "
            << error << '\n';
  if (!report.converged || !(error < 1e-10)) {
    std::cerr << "X is wrong\n";
    return 1;
  }
}
