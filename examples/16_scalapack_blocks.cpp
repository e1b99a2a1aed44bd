// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// A matrix that the ranks have in ScaLAPACK's block-cyclic form already: solved to fp64 accuracy
// with tiles of lower precision, its factor put in its place. A descriptor is nine integers. Start
// it with `mpirun -np 2`.
#include <comm/Strata_Communicator.hpp>
#include <ooc/Strata_BlockCyclicTiles.hpp>
#include <ooc/Strata_Cholesky.hpp>

#include <Kokkos_Core.hpp>

#include <mpi.h>

#include <array>
#include <cmath>
#include <iostream>

using namespace strata;

int solve_on(std::shared_ptr<Communicator const> const& ranks) {
  Kokkos::DefaultExecutionSpace const exec;
  int const n = 600, block = 64, P = ranks->size(), p = ranks->rank();
  ProcessGrid const grid{.rows = P, .cols = 1, .row = p, .col = 0};  // what Cblacs_gridinfo says

  std::vector<int> rows;  // that this process has
  for (int i = 0; i < n; ++i)
    if (i / block % P == p) rows.push_back(i);
  std::size_t const ld = rows.size() + 1;  // or more
  std::vector<double> a(ld * n), b(ld);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t k = 0; k < rows.size(); ++k) {
      a[k + j * ld] = std::exp(-0.1 * std::abs(rows[k] - static_cast<int>(j)));
      b[k] += a[k + j * ld];  // all x are 1
    }
  int const lld = static_cast<int>(ld);
  std::array<int, 9> const of_A{1, 0, n, n, block, block, 0, 0, lld},
      of_B{1, 0, n, 1, block, 1, 0, 0, lld};
  BlockCyclic const A(ranks, grid, of_A, a.data()), B(ranks, grid, of_B, b.data());

  ooc::PrecisionRule const rule{1e-5};
  auto factor = ooc::cholesky(ooc::make_devices(1), ooc::from_block_cyclic(exec, A, 100, rule));
  if (!factor.info().ok()) return 3;
  auto const report = ooc::solve(exec, factor, B, B);  // X in B's place
  copy_factor(std::move(factor), A);                   // L in A's, as pdpotrf leaves it
  double error = std::abs(a[0] - (p == 0 ? 1 : a[0]));
  for (std::size_t k = 0; k < rows.size(); ++k) error = std::max(error, std::abs(b[k] - 1));
  error = ranks->max(error);
  if (p == 0) std::cout << P << " ranks, largest error " << error << '\n';
  return report.converged && error < 1e-12 ? 0 : 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Kokkos::initialize(argc, argv);
  int const result = solve_on(std::make_shared<Communicator const>(MPI_COMM_WORLD));
  Kokkos::finalize();
  MPI_Finalize();
  return result;
}
