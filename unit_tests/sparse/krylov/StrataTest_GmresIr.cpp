// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_Ranks.hpp"
#include "sparse/StrataTest_Sparse.hpp"
#include <sparse/hpgmxp/Strata_ProcessGrid.hpp>
#include <sparse/krylov/Strata_GmresIr.hpp>
#include <sparse/multigrid/Strata_GeometricMultigrid.hpp>
#include <sparse/multigrid/Strata_GridHierarchy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

// The counts and residuals that two public codes of HPG-MxP and an independent simulation give.

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;

struct Oracle {
  int points;
  std::int64_t iterations;
  double residual;  // 0: not known
};

StencilProblem problem_on(Communicator const& comm, int points, double beta = 0) {
  auto const grid = process_grid(comm.size());
  StencilProblem box{points, points, points, grid[0], grid[1], grid[2]};
  box.px = comm.rank() % grid[0];
  box.py = comm.rank() / grid[0] % grid[1];
  box.pz = comm.rank() / (grid[0] * grid[1]);
  box.beta = beta;
  return box;
}

/// b = A 1 in the matrix' order.
template <class Exec>
Vector<double, typename Exec::memory_space> row_sums(Exec const& exec,
                                                     DistributedMatrix<Exec> const& A) {
  auto const ones = A.template allocate<double>(exec, "strata::test::ones");
  auto const b = A.template allocate<double>(exec, "strata::test::b");
  Kokkos::deep_copy(exec, ones, 1.0);
  A.multiply(exec, ones, b);
  return b;
}

/// Solves the benchmark's problem from zero, with matrices in `precision` inside.
template <class Exec, class Scalar, class Stored = Scalar>
KrylovReport solved(Communicator const& comm, StencilProblem const& box,
                    MatrixOptions const& options, Precision precision,
                    KrylovOptions const& gmres = {}) {
  Exec const exec;
  auto const hierarchy = make_grid_hierarchy(exec, comm, box, 4, options);
  auto const& A = hierarchy.levels.front().A;
  GeometricMultigrid<Exec, Scalar> const preconditioner(exec, hierarchy.stored_in(exec, precision));
  GmresIr<Exec, Scalar, Stored> solver(exec, A, preconditioner, gmres);
  auto const b = row_sums(exec, A);
  auto const x = A.template allocate<double>(exec, "strata::test::x");
  auto const report = solver.solve(exec, b, x);
  double error = 0;
  for (auto const value : to_host(exec, Kokkos::subview(x, std::pair(std::int64_t(0), A.rows()))))
    error = std::max(error, std::abs(value - 1));
  EXPECT_TRUE(report.status != KrylovStatus::Converged || error < 1e-5) << error;
  return report;
}

MatrixOptions lexicographic() {
  MatrixOptions options;
  options.colouring = ColouringMethod::Levels;
  return options;
}
MatrixOptions eight_colours() {
  MatrixOptions options;
  options.colouring = ColouringMethod::Greedy;
  options.colour_order = {7, 0, 6, 1, 5, 2, 4, 3};
  return options;
}

void expect_oracle(KrylovReport const& report, Oracle const& oracle) {
  SCOPED_TRACE(oracle.points);
  EXPECT_EQ(report.status, KrylovStatus::Converged);
  EXPECT_EQ(report.iterations, oracle.iterations);
  double const known = oracle.residual > 0 ? oracle.residual : report.relative_residual;
  EXPECT_NEAR(report.relative_residual / known, 1, 1e-5);
}

template <class Space>
struct GmresIrTest : testing::Test {};
TYPED_TEST_SUITE(GmresIrTest, Spaces, SpaceNames);

TYPED_TEST(GmresIrTest, CountsOfLexicographicSweeps) {
  Communicator const comm = test_ranks();
  std::map<int, Oracle> const of_ranks{{1, {16, 21, 2.09866e-10}},
                                       {2, {16, 29, 4.30328e-10}},
                                       {4, {16, 33, 9.62892e-10}},
                                       {8, {16, 42, 6.60867e-10}}};
  auto const oracle = of_ranks.find(comm.size());
  if (oracle == of_ranks.end()) GTEST_SKIP() << "no count is known for " << comm.size() << " ranks";
  expect_oracle(
      solved<TypeParam, double>(comm, problem_on(comm, 16), lexicographic(), Precision::fp64),
      oracle->second);
  if (comm.size() > 1) return;
  expect_oracle(
      solved<TypeParam, double>(comm, problem_on(comm, 32), lexicographic(), Precision::fp64),
      {32, 41, 8.53424e-10});
  expect_oracle(
      solved<TypeParam, double>(comm, problem_on(comm, 16, 0.5), lexicographic(), Precision::fp64),
      {16, 20, 4.20896e-10});
}

TYPED_TEST(GmresIrTest, CountsOfEightColours) {
  Communicator const comm = test_ranks();
  if (comm.size() > 1) GTEST_SKIP() << "counts are known for one rank";
  for (auto const& oracle : {Oracle{16, 16, 0}, Oracle{32, 28, 0}}) {
    auto const box = problem_on(comm, oracle.points);
    auto const wide = solved<TypeParam, double>(comm, box, eight_colours(), Precision::fp64);
    expect_oracle(wide, oracle);
    // The values are exact in 16 bits: the same arithmetic, to the bit.
    auto const narrow = solved<TypeParam, double>(comm, box, eight_colours(), Precision::fp16);
    EXPECT_EQ(narrow.relative_residual, wide.relative_residual);
  }
}

TYPED_TEST(GmresIrTest, Fp32InsideNeedsAFewIterationsMore) {
  Communicator const comm = test_ranks();
  if (comm.size() > 1) GTEST_SKIP() << "counts are known for one rank";
  for (auto const& oracle : {Oracle{16, 20, 0}, Oracle{32, 38, 0}}) {
    auto const box = problem_on(comm, oracle.points);
    auto const first = solved<TypeParam, float>(comm, box, eight_colours(), Precision::fp32);
    EXPECT_EQ(first.status, KrylovStatus::Converged);
    EXPECT_LE(first.iterations, oracle.iterations + 1);
    for (auto const precision : {Precision::fp16, Precision::bf16, Precision::fp8_e4m3}) {
      auto const narrow = solved<TypeParam, float>(comm, box, eight_colours(), precision);
      EXPECT_EQ(narrow.relative_residual, first.relative_residual);
    }
  }
}

// A cycle of a basis in fp16 gains no more than its unit roundoff lets it; several reach what one
// of fp32 does.
TYPED_TEST(GmresIrTest, StoresTheBasisInFp16) {
  Communicator const comm = test_ranks();
  KrylovOptions gmres;
  gmres.restart = 10;
  auto const box = problem_on(comm, 32);
  auto const wide = solved<TypeParam, float>(comm, box, eight_colours(), Precision::bf16, gmres);
  auto const narrow =
      solved<TypeParam, float, fp16>(comm, box, eight_colours(), Precision::bf16, gmres);
  auto const again =
      solved<TypeParam, float, fp16>(comm, box, eight_colours(), Precision::bf16, gmres);
  EXPECT_EQ(narrow.status, KrylovStatus::Converged);
  EXPECT_LE(narrow.iterations, wide.iterations + wide.iterations / 10);
  EXPECT_EQ(narrow.relative_residual, again.relative_residual);
}

TYPED_TEST(GmresIrTest, ConvergesOnAnyRanksWithAnyColours) {
  Communicator const comm = test_ranks();
  auto box = problem_on(comm, 16);
  box.nx = 24;
  for (auto const method : {ColouringMethod::JonesPlassmannLuby, ColouringMethod::Greedy}) {
    MatrixOptions options;
    options.colouring = method;
    options.columns = Columns::Wide;
    KrylovOptions gmres;
    gmres.restart = 40;
    auto const first = solved<TypeParam, double>(comm, box, options, Precision::bf16, gmres);
    auto const again = solved<TypeParam, double>(comm, box, options, Precision::bf16, gmres);
    auto const mixed = solved<TypeParam, float>(comm, box, options, Precision::fp32, gmres);
    EXPECT_EQ(first.status, KrylovStatus::Converged);
    EXPECT_EQ(mixed.status, KrylovStatus::Converged);
    EXPECT_EQ(first.relative_residual, again.relative_residual);
    EXPECT_EQ(first.iterations, again.iterations);
  }
}

// In fp64, where what a cycle estimates is so.
TYPED_TEST(GmresIrTest, EndsACycleAtItsFloor) {
  Communicator const comm = test_ranks();
  KrylovOptions gmres;
  gmres.tolerance = 1e-8;
  std::vector<double> residuals;
  gmres.monitor = [&](std::int64_t, double residual) { residuals.push_back(residual); };
  for (double const floor : {1e-2, 0.0}) {
    gmres.cycle_floor = floor;
    residuals.clear();
    auto const report = solved<TypeParam, double>(comm, problem_on(comm, 16), eight_colours(),
                                                  Precision::fp64, gmres);
    EXPECT_EQ(report.status, KrylovStatus::Converged);
    std::int64_t cycles = 0;
    double begun = 1;
    for (double const residual : residuals)
      if (residual <= std::max(floor * begun, gmres.tolerance)) begun = residual, ++cycles;
    EXPECT_EQ(report.cycles, cycles);
    EXPECT_EQ(report.cycles > 1, floor > 0);
  }
}

TYPED_TEST(GmresIrTest, StopsAtTheLimit) {
  Communicator const comm = test_ranks();
  KrylovOptions gmres;
  gmres.tolerance = 0;
  gmres.restart = 4;
  for (std::int64_t const limit : {0, 1, 4, 10}) {
    gmres.max_iterations = limit;
    auto const report = solved<TypeParam, float>(comm, problem_on(comm, 16), eight_colours(),
                                                 Precision::fp16, gmres);
    EXPECT_EQ(report.status, KrylovStatus::IterationLimit);
    EXPECT_EQ(report.iterations, limit);
    EXPECT_EQ(report.cycles, (limit + 3) / 4);
    EXPECT_LE(report.relative_residual, 1);
  }
}

template <class Exec>
void expect_special_right_sides() {
  Exec const exec;
  Communicator const comm = test_ranks();
  auto const hierarchy = make_grid_hierarchy(exec, comm, problem_on(comm, 16), 4, {});
  auto const& A = hierarchy.levels.front().A;
  GeometricMultigrid<Exec, double> const preconditioner(exec, hierarchy);
  GmresIr<Exec, double> solver(exec, A, preconditioner);
  auto const b = A.template allocate<double>(exec, "strata::test::b");
  auto const x = A.template allocate<double>(exec, "strata::test::x");
  auto const zero = solver.solve(exec, b, x);
  EXPECT_EQ(zero.status, KrylovStatus::Converged);
  EXPECT_EQ(zero.iterations, 0);
  Kokkos::deep_copy(exec, b, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(solver.solve(exec, b, x).status, KrylovStatus::Breakdown);
}
TYPED_TEST(GmresIrTest, TakesZeroAndNotANumber) { expect_special_right_sides<TypeParam>(); }

template <class Exec>
void expect_refusals() {
  Exec const exec;
  Communicator const comm = test_ranks();
  auto const refused = [&](StencilProblem const& box, int levels, char const* text) {
    EXPECT_TRUE(
        throws_with<ShapeError>(text, [&] { (void)make_grid_hierarchy(exec, comm, box, levels); }));
  };
  auto box = problem_on(comm, 16);
  refused(box, 0, "0 levels");
  refused(box, 5, "5 levels need a multiple of 16, at least 32");
  box.ny = 20;
  refused(box, 4, "16 x 20 x 16");
  box.ny = 16, box.grid_x += 1;
  refused(box, 4, "process grid");
  auto const hierarchy = make_grid_hierarchy(exec, comm, problem_on(comm, 16), 2);
  KrylovOptions options;
  options.restart = 0;
  auto const make = [&] {
    GmresIr<Exec, double>(exec, hierarchy.levels[0].A,
                          GeometricMultigrid<Exec, double>(exec, hierarchy), options);
  };
  EXPECT_TRUE(throws_with<ValueError>("restart 0", make));
  options.restart = std::numeric_limits<int>::max();
  EXPECT_TRUE(throws_with<ValueError>("restart 2147483647 must be at most 1000000", make));
  options.restart = 30;
  for (auto const& [floor, text] : {std::pair{1.0, "cycle floor 1 must be in [0, 1)"},
                                    std::pair{-0.5, "cycle floor -0.5 must be"},
                                    std::pair{std::nan(""), "cycle floor nan must be"}}) {
    options.cycle_floor = floor;
    EXPECT_TRUE(throws_with<ValueError>(text, make));
  }
  auto const& fine = hierarchy.levels[0].A;
  auto const& coarse = hierarchy.levels[1].A;
  EXPECT_TRUE(throws_with<ShapeError>("GMRES: the inner matrix has 512 rows", [&] {
    GmresIr<Exec, double>(exec, fine, coarse, Preconditioner<Exec, double>());
  }));
}
TYPED_TEST(GmresIrTest, RefusesWhatDoesNotFit) { expect_refusals<TypeParam>(); }

}  // namespace
