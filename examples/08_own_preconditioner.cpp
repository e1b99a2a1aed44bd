// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// A preconditioner of one's own under conjugate gradients. Couplings along x are a hundred times stronger than those along
// y, so each line along x is solved exactly, in fp32, and the iteration does the rest.
#include <sparse/krylov/Strata_ConjugateGradients.hpp>
#include <sparse/matrix/Strata_HostRows.hpp>
#include <sparse/matrix/Strata_ModelProblems.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>

using namespace strata;
using Exec = Kokkos::DefaultExecutionSpace;
using Floats = sparse::Vector<float, Exec::memory_space>;

constexpr int points = 128, n = points * points;  // each way, in all

// Gauss' elimination on each line, (-1, 2.0202, -1): the pivots 2.0202, 2.0202 - 1 / 2.0202, ... soon are one number.
constexpr float pivot = 1.152585f;
void solve_lines(Exec const& exec, Floats const& v) {
  Kokkos::parallel_for(
      "solve_lines", Kokkos::RangePolicy<Exec>(exec, 0, points), KOKKOS_LAMBDA(int line) {
        int const first = line * points, last = first + points - 1;
        for (int i = first; i < last; ++i) v(i + 1) += v(i) / pivot;
        v(last) /= pivot;
        for (int i = last - 1; i >= first; --i) v(i) = (v(i) + v(i + 1)) / pivot;
      });
}

// What a preconditioner must have is `apply`, z = M^-1 r. The solver has unknowns in an order of its own: A.scatter brings
// a vector to the order in which the rows were given, A.gather brings it back.
struct Lines {
  sparse::DistributedMatrix<Exec> A;
  Floats v;
  void apply(Exec const& exec, Floats const& r, Floats const& z) const {
    A.scatter(exec, r, v);
    solve_lines(exec, v);
    A.gather(exec, v, z);
  }
};

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Exec const exec;
  auto const rows =
      sparse::make_model(sparse::ModelProblem::Anisotropic, {points, points, 1}, 0, n);
  auto const A = sparse::make_matrix(exec, sparse::Communicator(), rows);
  auto const x = A.allocate<double>(exec, "x"), b = A.allocate<double>(exec, "b");
  Kokkos::deep_copy(exec, x, 1.0);
  A.multiply(exec, x, b);  // the solution is all ones
  Kokkos::deep_copy(exec, x, 0.0);
  sparse::Preconditioner<Exec, float> const M = Lines{A, Floats("v", n)};
  sparse::ConjugateGradients<Exec, float> solver(exec, A, M, {.tolerance = 1e-10});
  auto const report = solver.solve(exec, b, x);
  auto const x_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  double error = 0;
  for (int i = 0; i < n; ++i) error = std::max(error, std::abs(x_host(i) - 1));
  std::cout << report.iterations << " iterations, largest error " << error << '\n';
  bool const converged = report.status == sparse::KrylovStatus::Converged;
  return converged && error < 1e-6 && report.iterations < 200 ? 0 : 1;
}
