// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "sparse/StrataTest_Ranks.hpp"

#include <Kokkos_Core.hpp>

#include <gtest/gtest.h>
#include <mpi.h>

strata::sparse::Communicator strata::test::test_ranks() {
  return sparse::Communicator(MPI_COMM_WORLD);
}

// Every rank runs every test and reports.
int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;  // Kokkos may have threads beside this one
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  testing::InitGoogleTest(&argc, argv);
  int failed = 0;
  {
    Kokkos::ScopeGuard kokkos(argc, argv);
    failed = RUN_ALL_TESTS();
  }
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}
