// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_Ranks.hpp"
#include <sparse/hpgmxp/Strata_Hpgmxp.hpp>
#include <sparse/hpgmxp/Strata_ProcessGrid.hpp>
#include <sparse/krylov/Strata_GmresIr.hpp>
#include <sparse/multigrid/Strata_GeometricMultigrid.hpp>
#include <sparse/multigrid/Strata_GridHierarchy.hpp>

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <vector>

// What is summed over the ranks: this program's MPI_Allreduce comes before the library's (MPI's
// profiling interface).

namespace {

std::vector<int> sums;  // numbers of values, in the order of the calls

}  // namespace

extern "C" int MPI_Allreduce(void const* send, void* receive, int count, MPI_Datatype type,
                             MPI_Op operation, MPI_Comm comm) {
  if (type == MPI_DOUBLE && operation == MPI_SUM) sums.push_back(count);
  return PMPI_Allreduce(send, receive, count, type, operation, comm);
}

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;

/// The sums of a cycle: two for the products with k vectors, and one for the norm, by itself or
/// with the second of them.
std::vector<int> sums_of_a_cycle(int restart, BasisNorm norm) {
  std::vector<int> expected;
  for (int k = 1; k <= restart; ++k) {
    expected.push_back(k);
    if (norm == BasisNorm::Summed) expected.insert(expected.end(), {k, 1});
    if (norm == BasisNorm::Derived) expected.push_back(k + 1);
  }
  return expected;
}

template <class Exec>
void expect_sums_of_a_solve(BasisNorm norm) {
  Exec const exec;
  auto const comm = test_ranks();
  if (comm.size() == 1) GTEST_SKIP() << "one rank sends nothing";
  auto const grid = process_grid(comm.size());
  StencilProblem box{16, 16, 16, grid[0], grid[1], grid[2]};
  box.px = comm.rank() % grid[0];
  box.py = comm.rank() / grid[0] % grid[1];
  box.pz = comm.rank() / (grid[0] * grid[1]);
  MatrixOptions staged;
  staged.transport = Transport::Staged;  // of devices, too, by MPI
  auto const hierarchy = make_grid_hierarchy(exec, comm, box, 2, staged);
  auto const& A = hierarchy.levels.front().A;
  auto const b = A.template allocate<double>(exec, "strata::test::b"),
             x = A.template allocate<double>(exec, "strata::test::x");
  Kokkos::deep_copy(exec, b, 1.0);
  GeometricMultigrid<Exec, float> const multigrid(exec, hierarchy);
  KrylovOptions options{10, 0, 10};
  options.norm = norm;
  GmresIr<Exec, float> solver(exec, A, multigrid, options);
  sums.clear();
  EXPECT_EQ(solver.solve(exec, b, x).iterations, 10);
  auto expected = sums_of_a_cycle(10, norm);
  expected.insert(expected.begin(), {1, 1});  // ||b|| and the residual
  expected.push_back(1);
  EXPECT_EQ(sums, expected);
}

/// The benchmark's cycles: of a warm-up, of one timed solve and of the recorded one, 33 of 30
/// iterations.
template <class Exec>
void expect_sums_of_the_benchmark() {
  auto const comm = test_ranks();
  if (comm.size() != 2) GTEST_SKIP() << "990 iterations; one rank sends nothing, many take long";
  HpgmxpOptions options;
  options.nx = options.ny = options.nz = 16;
  options.seconds = 0;
  options.run = RunType::StandaloneMixed;
  options.matrix.transport = Transport::Staged;
  sums.clear();
  EXPECT_EQ(run_hpgmxp(Exec(), comm, options).mixed->iterations, 330);
  auto const cycle = sums_of_a_cycle(30, BasisNorm::Summed);
  int cycles = 0;
  for (auto at = sums.begin();; at += static_cast<std::ptrdiff_t>(cycle.size()), ++cycles) {
    at = std::search(at, sums.end(), cycle.begin(), cycle.end());
    if (at == sums.end()) break;
  }
  EXPECT_EQ(cycles, 33);
  EXPECT_EQ(std::count(sums.begin(), sums.end(), 31), 0);  // no norm beside products
}

template <class Space>
struct AllReduces : testing::Test {};
TYPED_TEST_SUITE(AllReduces, Spaces, SpaceNames);
TYPED_TEST(AllReduces, OfGmresAreTwoOrThreeAnIteration) {
  expect_sums_of_a_solve<TypeParam>(BasisNorm::Derived);
  expect_sums_of_a_solve<TypeParam>(BasisNorm::Summed);
}
TYPED_TEST(AllReduces, OfTheBenchmarkAreAsItsRulesWriteThem) {
  expect_sums_of_the_benchmark<TypeParam>();
}

}  // namespace
