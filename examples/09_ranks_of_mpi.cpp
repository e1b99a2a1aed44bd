// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The same solver on the ranks of MPI. Each rank makes its own rows of the matrix of a heated rod,
// with columns numbered over all ranks. It gets its own part of the solution. Start it with `mpirun
// -np 3`.
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/matrix/Strata_HostRows.hpp>

#include <Kokkos_Core.hpp>

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>

using namespace strata;
using Exec = Kokkos::DefaultExecutionSpace;

int solve_on(sparse::Communicator const& ranks) {
  Exec const exec;
  std::int64_t const n = 3000, first = n * ranks.rank() / ranks.size(),
                     end = n * (ranks.rank() + 1) / ranks.size();
  sparse::HostRows rows;
  for (std::int64_t i = first; i < end; ++i) {
    if (i > 0) rows.add(i - 1, -1);
    rows.add(i, 2);
    if (i < n - 1) rows.add(i + 1, -1);
    rows.end_row();
  }
  auto const A = sparse::make_matrix(exec, ranks, rows);

  // One entry for each row of this rank, in the order in which it gave the rows.
  sparse::Vector<double, Exec::memory_space> const b("b", A.rows()), x("x", A.rows());
  Kokkos::deep_copy(exec, b, 1.0);
  sparse::SparseSolver<Exec> solver(exec, A);
  auto const report = solver.solve(exec, b, x);

  // Heat all along, the ends kept cold: the temperatures are on a parabola.
  auto const x_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  double error = 0;
  for (std::int64_t i = first; i < end; ++i) {
    double const exact = 0.5 * static_cast<double>(i + 1) * static_cast<double>(n - i);
    error = std::max(error, std::abs(x_host(i - first) / exact - 1));
  }
  error = ranks.max(error);
  if (ranks.rank() == 0)
    std::cout << ranks.size() << " ranks, " << report.iterations
              << " iterations, largest relative error " << error << '\n';
  return report.solved() && error < 1e-6 ? 0 : 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Kokkos::initialize(argc, argv);
  int const result = solve_on(sparse::Communicator(MPI_COMM_WORLD));
  Kokkos::finalize();
  MPI_Finalize();
  return result;
}
