// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Solves a sparse system whose matrix is a KokkosSparse::CrsMatrix: Poisson's equation on a grid,
// by five points. The solver sees that the matrix is symmetric and takes conjugate gradients with
// algebraic multigrid.
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/matrix/Strata_KernelsMatrix.hpp>

#include <KokkosSparse_CrsMatrix.hpp>
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <vector>

using namespace strata;
using Exec = Kokkos::DefaultExecutionSpace;
using CrsMatrix = KokkosSparse::CrsMatrix<double, int, Exec>;

CrsMatrix poisson(int points) {
  int const n = points * points;
  std::vector<int> begin{0}, column;
  std::vector<double> value;
  auto const add = [&](bool inside, int j, double a) {
    if (inside) column.push_back(j), value.push_back(a);
  };
  for (int i = 0; i < n; ++i) {
    add(i >= points, i - points, -1);
    add(i % points > 0, i - 1, -1);
    add(true, i, 4);
    add(i % points < points - 1, i + 1, -1);
    add(i < n - points, i + points, -1);
    begin.push_back(static_cast<int>(column.size()));
  }
  return CrsMatrix("A", n, n, column.size(), value.data(), begin.data(), column.data());
}

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Exec const exec;
  int const points = 200;
  auto const A = sparse::make_matrix(exec, sparse::Communicator(), poisson(points));
  // A mode of the membrane, which A multiplies by lambda: b = lambda u has the solution u.
  double const h = std::acos(-1.0) / (points + 1), lambda = 8 * std::pow(std::sin(h / 2), 2);
  Kokkos::View<double*> const b("b", A.rows()), x("x", A.rows());
  auto const u = Kokkos::create_mirror_view(b);
  for (int i = 0; i < A.rows(); ++i)
    u(i) = lambda * std::sin(h * (i % points + 1)) * std::sin(h * (i / points + 1));
  Kokkos::deep_copy(b, u);

  sparse::SparseSolver<Exec> solver(exec, A);    // chooses the method and sets it up
  auto const report = solver.solve(exec, b, x);  // from x as it is, which is 0
  auto const x_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  double error = 0;
  for (int i = 0; i < A.rows(); ++i) error = std::max(error, std::abs(x_host(i) - u(i) / lambda));
  std::cout << name_of(report.solver) << " with " << name_of(report.preconditioner) << ": "
            << report.iterations << " iterations, " << name_of(report.status) << ", largest error "
            << error << '\n';
  return report.solved() && error < 1e-8 ? 0 : 1;
}
