// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include "StrataTest_SparseSystem.hpp"
#include <sparse/Strata_SparseSolver.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// Several right-hand sides at once.

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;

/// A, and columns B and X in the caller's order, X = 0.
template <class Exec>
struct ColumnSystem {
  using Space = typename Exec::memory_space;
  Exec exec;
  HostRows rows;
  DistributedMatrix<Exec> A;
  VectorBlock<Space> B, X;

  ColumnSystem(HostRows const& given, int count)
      : rows(given),
        A(make_matrix(exec, Communicator(), rows)),
        B("strata::test::B", static_cast<std::size_t>(A.rows()), static_cast<std::size_t>(count)),
        X("strata::test::X", B.extent(0), B.extent(1)) {
    for (int j = 0; j < count; ++j) set(j, random_vector(A.rows(), static_cast<unsigned>(j) + 1));
  }
  sparse::Vector<double, Space> column(VectorBlock<Space> const& block, int j) const {
    return sparse::Vector<double, Space>(Kokkos::subview(block, Kokkos::ALL, j));
  }
  void set(int j, std::vector<double> const& numbers) {
    Kokkos::deep_copy(exec, column(B, j), to_device<double>(exec, numbers));
    exec.fence();
  }
  double residual(int j) const { return true_residual(exec, rows, A, column(B, j), column(X, j)); }
};

template <class Space>
struct ColumnsTest : testing::Test {};
TYPED_TEST_SUITE(ColumnsTest, Spaces, SpaceNames);

HostRows poisson(std::int64_t n) {
  return model(Communicator(), ModelProblem::Poisson7, {n, n, n});
}

TYPED_TEST(ColumnsTest, EveryPreconditionerThatGoesAbreastSolvesEachColumnAsIfItWereAlone) {
  for (auto const kind :
       {PreconditionerKind::None, PreconditionerKind::Jacobi, PreconditionerKind::L1Jacobi,
        PreconditionerKind::Chebyshev, PreconditionerKind::Ic, PreconditionerKind::Amg})
    for (auto const precision : {Precision::fp32, Precision::fp64}) {
      SCOPED_TRACE(testing::Message() << name_of(kind) << ' ' << traits(precision).name);
      ColumnSystem<TypeParam> system(poisson(9), 11);  // eight and three
      SparseOptions options;
      options.solver = SolverKind::ConjugateGradients;
      options.preconditioner = kind;
      options.precision = precision;
      options.amg.coarse_rows = 30;
      SparseSolver<TypeParam> solver(system.exec, system.A, options);
      auto const reports = solver.solve(system.exec, system.B, system.X);
      ASSERT_EQ(reports.size(), 11u);
      for (int j = 0; j < 11; ++j) {
        auto const& report = reports[static_cast<std::size_t>(j)];
        EXPECT_EQ(report.columns_abreast, j < 8 ? 8 : 3);
        EXPECT_EQ(report.attempts.size(), 1u);
        EXPECT_EQ(report.status, KrylovStatus::Converged);
        EXPECT_LE(system.residual(j), 1.01 * options.tolerance);
        EXPECT_NEAR(report.relative_residual, system.residual(j), 1e-13);
        auto const alone = to_device<double>(
            system.exec, std::vector<double>(static_cast<std::size_t>(system.A.rows()), 0.0));
        auto const by_itself = solver.solve(system.exec, system.column(system.B, j), alone);
        EXPECT_NEAR(static_cast<double>(report.iterations),
                    static_cast<double>(by_itself.iterations), 2);
        EXPECT_EQ(report.attempts.front().krylov.history.size(),
                  static_cast<std::size_t>(report.iterations));
        EXPECT_LE(std::abs(report.digits() - by_itself.digits()), 2);
      }
    }
}

TYPED_TEST(ColumnsTest, ALimitOfIterationsIsOneForAllAttempts) {
  ColumnSystem<TypeParam> system(poisson(12), 3);
  SparseOptions options;
  options.solver = SolverKind::ConjugateGradients;
  options.preconditioner = PreconditionerKind::Jacobi;
  options.max_iterations = 7;
  SparseSolver<TypeParam> solver(system.exec, system.A, options);
  for (auto const& report : solver.solve(system.exec, system.B, system.X)) {
    EXPECT_EQ(report.iterations, 7);
    EXPECT_EQ(report.status, KrylovStatus::IterationLimit);
    EXPECT_EQ(report.columns_abreast, 3);
  }
}

TYPED_TEST(ColumnsTest, EachColumnHasAnEndOfItsOwn) {
  ColumnSystem<TypeParam> system(poisson(12), 5);
  auto const rows = static_cast<std::size_t>(system.A.rows());
  system.set(1, std::vector<double>(rows, 0.0));     // whose solution is 0
  system.set(2, std::vector<double>(rows, 1e-200));  // beyond squares of fp64
  auto infinite = random_vector(system.A.rows(), 7);
  infinite[3] = std::nan("");
  system.set(3, infinite);
  SparseOptions options;
  options.solver = SolverKind::ConjugateGradients;
  options.preconditioner = PreconditionerKind::Amg;
  options.amg.coarse_rows = 100;
  SparseSolver<TypeParam> solver(system.exec, system.A, options);
  // a guess that is the solution
  (void)solver.solve(system.exec, system.column(system.B, 4), system.column(system.X, 4));
  auto const reports = solver.solve(system.exec, system.B, system.X);
  for (int const j : {0, 1, 2, 4}) {
    SCOPED_TRACE(j);
    EXPECT_TRUE(reports[static_cast<std::size_t>(j)].solved());
  }
  EXPECT_LE(system.residual(0), 1.01e-10);
  EXPECT_LE(system.residual(2), 1.01e-10);
  EXPECT_GT(reports[0].iterations, 3);
  EXPECT_EQ(reports[1].iterations, 0);
  EXPECT_EQ(reports[4].iterations, 0);
  EXPECT_FALSE(reports[3].solved());
  for (double const x : to_host(system.exec, system.column(system.X, 1))) EXPECT_EQ(x, 0);
  for (double const x : to_host(system.exec, system.column(system.X, 0)))
    EXPECT_TRUE(std::isfinite(x));
}

// Scaled systems, singular ones, methods that are not for it: column after column, or begun
// abreast.
TYPED_TEST(ColumnsTest, WhatCanNotGoAbreastIsSolvedToo) {
  struct Case {
    HostRows rows;
    int abreast;
  };
  Case const cases[] = {
      {times(poisson(9), 1e12), 3},
      {model(Communicator(), ModelProblem::Convection, {8, 8, 8}), 1},
      {tridiagonal(Communicator(), 200, [](std::int64_t) { return 2.5; }), 1},
  };
  for (auto const& [rows, abreast] : cases) {
    ColumnSystem<TypeParam> system(rows, 3);
    SparseOptions options;
    if (abreast > 1) options.preconditioner = PreconditionerKind::Amg;
    SparseSolver<TypeParam> solver(system.exec, system.A, options);
    auto const reports = solver.solve(system.exec, system.B, system.X);
    for (int j = 0; j < 3; ++j) {
      auto const& report = reports[static_cast<std::size_t>(j)];
      EXPECT_TRUE(report.solved());
      EXPECT_EQ(report.columns_abreast, abreast);
      EXPECT_LE(system.residual(j), 1.01e-10);
    }
  }
}

TYPED_TEST(ColumnsTest, AMonitorThatThrowsEndsTheSolveAndLeavesX) {
  ColumnSystem<TypeParam> system(poisson(9), 4);
  SparseOptions options;
  options.solver = SolverKind::ConjugateGradients;
  options.preconditioner = PreconditionerKind::Jacobi;
  std::int64_t told = 0;
  options.monitor = [&](std::int64_t iteration, double residual) {
    EXPECT_GT(residual, 0);
    told = iteration;
    if (iteration == 4) throw std::runtime_error("enough");
  };
  SparseSolver<TypeParam> solver(system.exec, system.A, options);
  for (bool const is_block : {true, false}) {
    try {
      if (is_block)
        (void)solver.solve(system.exec, system.B, system.X);
      else
        (void)solver.solve(system.exec, system.column(system.B, 0), system.column(system.X, 0));
      ADD_FAILURE() << "nothing was thrown";
    } catch (std::runtime_error const& error) {
      EXPECT_NE(std::string(error.what()).find("enough"), std::string::npos);
    }
    EXPECT_EQ(told, 4);
    for (double const x : to_host(system.exec, system.column(system.X, 0))) EXPECT_EQ(x, 0);
  }
}

TYPED_TEST(ColumnsTest, ThrowsShapeErrorForBlocksThatDoNotFit) {
  ColumnSystem<TypeParam> system(poisson(4), 3);
  SparseSolver<TypeParam> solver(system.exec, system.A);
  using Block = VectorBlock<typename TypeParam::memory_space>;
  EXPECT_THROW((void)solver.solve(system.exec, system.B, Block("strata::test::X", 64, 2)),
               ShapeError);
  EXPECT_THROW((void)solver.solve(system.exec, Block("strata::test::B", 63, 3), system.X),
               ShapeError);
  EXPECT_TRUE(
      solver.solve(system.exec, Block("strata::test::B", 64, 0), Block("strata::test::X", 64, 0))
          .empty());
}

}  // namespace
