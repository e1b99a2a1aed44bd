// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "StrataTest_SparseSystem.hpp"
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/krylov/Strata_ConjugateGradients.hpp>
#include <sparse/krylov/Strata_Fgmres.hpp>
#include <sparse/krylov/Strata_GmresIr.hpp>
#include <sparse/krylov/Strata_Jacobi.hpp>
#include <sparse/matrix/Strata_MatrixProperties.hpp>
#include <sparse/matrix/Strata_ModelProblems.hpp>
#include <sparse/multigrid/Strata_AlgebraicMultigrid.hpp>
#include <sparse/multigrid/Strata_TransferHierarchy.hpp>
#include <sparse/multigrid/detail/Strata_DirectSolver.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

// Solvers, preconditioners and the ladder, on any number of ranks.

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;

template <class Exec>
SparseReport solved(System<Exec>& system, SparseOptions const& options) {
  SparseSolver<Exec> solver(system.exec, system.A, options);
  auto const report = solver.solve_in_order(system.exec, system.b, system.x);
  if (report.status == KrylovStatus::Converged) {
    EXPECT_LE(report.relative_residual, options.tolerance);
    EXPECT_LE(system.residual(), 1.01 * options.tolerance);
  }
  return report;
}

template <class Space>
struct SparseSolverTest : testing::Test {};
TYPED_TEST_SUITE(SparseSolverTest, Spaces, SpaceNames);

TYPED_TEST(SparseSolverTest, SolvesTheModelProblemsInEveryPrecision) {
  Communicator const comm = test_ranks();
  for (auto const problem :
       {ModelProblem::Poisson7, ModelProblem::Convection, ModelProblem::Elasticity})
    for (auto const precision :
         {Precision::fp64, Precision::fp32, Precision::bf16, Precision::fp16}) {
      SCOPED_TRACE(testing::Message() << name_of(problem) << ' ' << traits(precision).name);
      // More ranks than cores make every message wait: one precision for each problem will do then.
      auto const wanted = problem == ModelProblem::Poisson7     ? Precision::bf16
                          : problem == ModelProblem::Convection ? Precision::fp32
                                                                : Precision::fp16;
      if (comm.size() > 1 && precision != wanted) continue;
      System<TypeParam> system(model(comm, problem, {7, 6, 8}), comm);
      SparseOptions options;
      options.precision = precision;
      options.preconditioner = PreconditionerKind::Amg;
      options.amg.coarse_rows = 30;
      options.amg.block_size = unknowns_per_point(problem);
      auto const report = solved(system, options);
      EXPECT_EQ(report.status, KrylovStatus::Converged);
      EXPECT_EQ(report.symmetric, problem != ModelProblem::Convection);
      EXPECT_EQ(report.solver, report.symmetric               ? SolverKind::ConjugateGradients
                               : traits(precision).bytes == 2 ? SolverKind::Fgmres
                                                              : SolverKind::Gmres);
      EXPECT_LT(report.iterations, 60);
      EXPECT_LT(report.backward_error, 1e-9);
      EXPECT_GT(report.levels.size(), 1u);
    }
}

TYPED_TEST(SparseSolverTest, EverySolverTakesEveryPreconditioner) {
  Communicator const comm = test_ranks();
  for (auto const solver : {SolverKind::ConjugateGradients, SolverKind::Minres, SolverKind::Gmres,
                            SolverKind::Fgmres, SolverKind::BiCgStab})
    for (auto const preconditioner :
         {PreconditionerKind::None, PreconditionerKind::Jacobi, PreconditionerKind::L1Jacobi,
          PreconditionerKind::Chebyshev, PreconditionerKind::GaussSeidel, PreconditionerKind::Ic,
          PreconditionerKind::Ilu, PreconditionerKind::Amg}) {
      SCOPED_TRACE(testing::Message() << name_of(solver) << ' ' << name_of(preconditioner));
      auto const wanted = solver == SolverKind::ConjugateGradients ? PreconditionerKind::GaussSeidel
                          : solver == SolverKind::Minres           ? PreconditionerKind::Ic
                          : solver == SolverKind::Gmres            ? PreconditionerKind::Amg
                          : solver == SolverKind::BiCgStab         ? PreconditionerKind::Ilu
                                                                   : PreconditionerKind::Jacobi;
      if (comm.size() > 1 && preconditioner != wanted) continue;
      System<TypeParam> system(model(comm, ModelProblem::Anisotropic, {9, 6, 5}), comm);
      SparseOptions options;
      options.solver = solver;
      options.preconditioner = preconditioner;
      options.precision = Precision::fp64;
      auto const report = solved(system, options);
      EXPECT_EQ(report.status, KrylovStatus::Converged);
      EXPECT_EQ(report.solver, solver);
      EXPECT_EQ(report.preconditioner, preconditioner);
    }
}

TYPED_TEST(SparseSolverTest, EverySolverTellsItsIterations) {
  Communicator const comm = test_ranks();
  for (auto const solver : {SolverKind::ConjugateGradients, SolverKind::Minres, SolverKind::Gmres,
                            SolverKind::Fgmres, SolverKind::BiCgStab}) {
    SCOPED_TRACE(name_of(solver));
    System<TypeParam> system(model(comm, ModelProblem::Poisson7, {7, 6, 8}), comm);
    std::vector<std::int64_t> iterations;
    double last = 1;
    SparseOptions options;
    options.solver = solver;
    options.preconditioner = PreconditionerKind::Jacobi;
    options.restart = 10;
    options.monitor = [&](std::int64_t iteration, double residual) {
      iterations.push_back(iteration);
      last = residual;
    };
    auto const report = solved(system, options);
    std::vector<std::int64_t> all(static_cast<std::size_t>(report.iterations));
    std::iota(all.begin(), all.end(), 1);
    EXPECT_EQ(iterations, all);
    EXPECT_LE(last, options.tolerance);
  }
}

TYPED_TEST(SparseSolverTest, TakesDisconnectedDiagonalAndSingularParts) {
  Communicator const comm = test_ranks();
  System<TypeParam> diagonal(tridiagonal(comm, 0, [](std::int64_t) { return 1.0; }), comm);
  EXPECT_EQ(solved(diagonal, {}).status, KrylovStatus::Converged);
  // two chains, and rows with a diagonal only between them
  auto const first = even_partition(600, comm.size());
  auto const rank = static_cast<std::size_t>(comm.rank());
  HostRows rows;
  for (auto i = first[rank]; i < first[rank + 1]; ++i) {
    bool const alone = i >= 250 && i < 300;
    auto const joined = [&](std::int64_t j) {
      return !alone && j >= 0 && j < 600 && !(j >= 250 && j < 300);
    };
    if (joined(i - 1)) rows.add(i - 1, -1);
    rows.add(i, alone ? 1e6 : 2.0001);
    if (joined(i + 1)) rows.add(i + 1, -1);
    rows.end_row();
  }
  System<TypeParam> parts(rows, comm);
  SparseOptions options;
  options.preconditioner = PreconditionerKind::Amg;
  options.amg.coarse_rows = 20;
  EXPECT_EQ(solved(parts, options).status, KrylovStatus::Converged);
  // a singular chain, right-hand side in its range
  System<TypeParam> singular(
      tridiagonal(comm, 500, [](std::int64_t i) { return i == 0 || i == 499 ? 1.0 : 2.0; }), comm);
  options.tolerance = 1e-9;
  auto const report = solved(singular, options);
  EXPECT_EQ(report.status, KrylovStatus::Converged);
  EXPECT_EQ(report.attempts.size(), 1u);
  EXPECT_LT(report.iterations, 60);
}

TYPED_TEST(SparseSolverTest, ClimbsFromAPrecisionThatDoesNotDo) {
  Communicator const comm = test_ranks();
  System<TypeParam> system(tridiagonal(comm, 200,
                                       [](std::int64_t i) {
                                         return i == 0 ? 1 + 1e-8 : i == 199 ? 1.0 : 2.0;
                                       }),
                           comm);
  SparseOptions options;
  options.precision = Precision::bf16;
  options.preconditioner = PreconditionerKind::GaussSeidel;
  options.solver = SolverKind::Gmres;
  options.restart = 4;
  options.max_iterations = 40;
  auto const report = solved(system, options);
  ASSERT_GE(report.attempts.size(), 2u);
  EXPECT_EQ(report.attempts[0].precision, Precision::bf16);
  EXPECT_EQ(report.attempts[0].krylov.status, KrylovStatus::Stalled);
  EXPECT_EQ(report.attempts[0].rung, Rung::AsAsked);
  EXPECT_EQ(report.attempts[0].outcome, Outcome::NotConverged);
  EXPECT_EQ(report.attempts[1].rung, Rung::HigherPrecision);
  EXPECT_EQ(report.attempts[1].precision, Precision::fp32);
  EXPECT_LE(report.iterations, 40);
}

// Before a cycle ended where its vectors have no more digits, GMRES took 22 iterations in fp32 and
// bf16 for 17 in fp64.
TYPED_TEST(SparseSolverTest, GmresTakesNoMoreIterationsInLowPrecision) {
  Communicator const comm = test_ranks();
  System<TypeParam> system(model(comm, ModelProblem::Convection, {16, 16, 16}), comm);
  std::int64_t in_fp64 = 0;
  for (auto const precision : {Precision::fp64, Precision::fp32, Precision::bf16}) {
    SCOPED_TRACE(traits(precision).name);
    Kokkos::deep_copy(system.exec, system.x, 0.0);
    SparseOptions options;
    options.solver = SolverKind::Gmres;
    options.preconditioner = PreconditionerKind::Amg;
    options.precision = precision;
    auto const report = solved(system, options);
    EXPECT_EQ(report.status, KrylovStatus::Converged);
    EXPECT_EQ(report.attempts.size(), 1u);
    if (precision == Precision::fp64) in_fp64 = report.iterations;
    EXPECT_LE(report.iterations, in_fp64 + 2);
  }
}

// NOLINTBEGIN(bugprone-use-after-move)
TYPED_TEST(SparseSolverTest, WhatWasMovedFromIsRefused) {
  Communicator const comm = test_ranks();
  System<TypeParam> system(model(comm, ModelProblem::Poisson7, {4, 4, 4}), comm);
  SparseSolver<TypeParam> solver(system.exec, system.A);
  auto other = std::move(solver);
  auto const refused = [](std::string const& name, auto const& call) {
    EXPECT_TRUE(throws_with<ValueError>(name + ": moved from", call));
  };
  refused("SparseSolver", [&] { (void)solver.set_up_report(); });
  refused("SparseSolver", [&] { (void)solver.solve(system.exec, system.b, system.x); });
  refused("SparseSolver", [&] { (void)solver.solve_in_order(system.exec, system.b, system.x); });
  solver = other;
  EXPECT_TRUE(solver.solve_in_order(system.exec, system.b, system.x).solved());
  ConjugateGradients<TypeParam, double> cg(system.exec, system.A, {});
  auto const moved = std::move(cg);
  refused("ConjugateGradients", [&] { (void)cg.solve(system.exec, system.b, system.x); });
  EXPECT_GT(moved.bytes(), 0);
  GmresIr<TypeParam, double> gmres(system.exec, system.A, system.A, {});
  auto const moved_gmres = std::move(gmres);
  refused("GmresIr", [&] { (void)gmres.solve(system.exec, system.b, system.x); });
  EXPECT_GT(moved_gmres.bytes(), 0);
  Fgmres<TypeParam, double> fgmres(system.exec, system.A, {});
  auto const moved_fgmres = std::move(fgmres);
  refused("Fgmres", [&] { (void)fgmres.solve(system.exec, system.b, system.x); });
  EXPECT_GT(moved_fgmres.bytes(), 0);
}
// NOLINTEND(bugprone-use-after-move)

TYPED_TEST(SparseSolverTest, FindsOutThatAMatrixIsNotPositiveDefinite) {
  Communicator const comm = test_ranks();
  SparseOptions options;
  options.preconditioner = PreconditionerKind::None;
  auto const indefinite = [&](double middle) {
    return tridiagonal(comm, 80, [=](std::int64_t i) { return i == 40 ? middle : 1.5; });
  };
  options.solver = SolverKind::ConjugateGradients;
  System<TypeParam> negative(indefinite(-3), comm), positive(indefinite(1e-3), comm);
  auto report = solved(negative, options);
  EXPECT_EQ(report.status, KrylovStatus::NotPositiveDefinite);
  EXPECT_EQ(report.not_positive_row, 41);
  EXPECT_TRUE(report.attempts.empty());
  report = solved(positive, options);
  EXPECT_EQ(report.status, KrylovStatus::NotPositiveDefinite);
  EXPECT_EQ(report.not_positive_row, 0);
  options.solver = SolverKind::Automatic;
  options.restart = 80;
  report = solved(positive, options);
  EXPECT_EQ(report.status, KrylovStatus::Converged);
  EXPECT_EQ(report.solver, SolverKind::Gmres);
  EXPECT_EQ(report.attempts.front().solver, SolverKind::ConjugateGradients);
  EXPECT_EQ(report.attempts.front().outcome, Outcome::BrokeDown);
  EXPECT_EQ(report.attempts.back().rung, Rung::AsAsked);
  EXPECT_NE(report.attempts.back().reason.find("cg with none: not_positive_definite"),
            std::string::npos);
  EXPECT_EQ(report.attempts.back().outcome, Outcome::Held);
}

TYPED_TEST(SparseSolverTest, GoesOnFromAGuessAndTakesZeroAndNotANumber) {
  Communicator const comm = test_ranks();
  System<TypeParam> system(model(comm, ModelProblem::Poisson7, {6, 6, 6}), comm);
  SparseSolver<TypeParam> solver(system.exec, system.A);
  auto const first = solver.solve_in_order(system.exec, system.b, system.x);
  auto const again = solver.solve_in_order(system.exec, system.b, system.x);
  EXPECT_GT(first.iterations, 0);
  EXPECT_EQ(again.iterations, 0);
  EXPECT_EQ(again.status, KrylovStatus::Converged);
  Kokkos::deep_copy(system.exec, system.b, 0.0);
  Kokkos::deep_copy(system.exec, system.x, 0.0);
  EXPECT_EQ(solver.solve_in_order(system.exec, system.b, system.x).status, KrylovStatus::Converged);
  Kokkos::deep_copy(system.exec, system.b, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(solver.solve_in_order(system.exec, system.b, system.x).status, KrylovStatus::Breakdown);
}

TYPED_TEST(SparseSolverTest, RefusesWhatDoesNotFitOnAllRanks) {
  Communicator const comm = test_ranks();
  TypeParam const exec;
  System<TypeParam> const unsymmetric(model(comm, ModelProblem::Convection, {4, 4, 4}), comm);
  System<TypeParam> const hole(
      tridiagonal(comm, 9, [](std::int64_t i) { return i == 6 ? 0.0 : 3.0; }), comm);
  auto const refused = [&](System<TypeParam> const& system, SparseOptions const& options,
                           char const* text) {
    EXPECT_TRUE(
        throws_with<ValueError>(text, [&] { SparseSolver<TypeParam>(exec, system.A, options); }));
  };
  SparseOptions options;
  options.solver = SolverKind::ConjugateGradients;
  refused(unsymmetric, options, "CG needs a symmetric matrix");
  options = {};
  options.precision = Precision::fp8_e4m3;
  refused(unsymmetric, options, "not in fp8_e4m3");
  options = {};
  options.tolerance = 0;
  refused(unsymmetric, options, "tolerance 0");
  options = {};
  options.restart = 0;
  refused(unsymmetric, options, "restart 0");
  options = {};
  options.preconditioner = PreconditionerKind::Amg;
  options.amg.max_levels = 0;
  refused(unsymmetric, options, "0 levels");
  options = {};
  options.preconditioner = PreconditionerKind::Amg;
  options.amg.strength = 1;
  refused(unsymmetric, options, "strength 1");
  options = {};
  options.preconditioner = PreconditionerKind::Amg;
  options.amg.coarse_rows = 20000;
  refused(unsymmetric, options, "20000 rows to be solved directly");
  options = {};
  options.preconditioner = PreconditionerKind::GaussSeidel;
  refused(hole, options, "Gauss-Seidel: 1 diagonal entries are 0 or missing");
  options.preconditioner = PreconditionerKind::Jacobi;
  refused(hole, options, "is 7 of 9");
  auto const found = SparseSolver<TypeParam>(exec, hole.A).solve_in_order(exec, hole.b, hole.x);
  EXPECT_TRUE(found.solved());
  EXPECT_EQ(found.preconditioner,
            comm.size() > 1 ? PreconditionerKind::None : PreconditionerKind::Direct);
  if (comm.size() == 1) return;
  options = {};
  options.solver = SolverKind::Direct;
  refused(hole, options, "ranks, must be on one");
}

TYPED_TEST(SparseSolverTest, RefusesMethodsThatDoNotFitOnAllRanks) {
  Communicator const comm = test_ranks();
  System<TypeParam> const unsymmetric(model(comm, ModelProblem::Convection, {4, 4, 4}), comm);
  auto const refused = [&](SparseOptions const& options, char const* text) {
    EXPECT_TRUE(throws_with<ValueError>(
        text, [&] { SparseSolver<TypeParam>(unsymmetric.exec, unsymmetric.A, options); }));
  };
  SparseOptions options;
  options.preconditioner = PreconditionerKind::Ic;
  refused(options, "incomplete Cholesky needs a symmetric matrix");
  options.preconditioner = PreconditionerKind::Ilu;
  options.fill = 21;
  refused(options, "fill 21 must be 0 to 20");
  options.fill = 0;
  options.precision = Precision::fp16;
  refused(options, "not in fp16");
  options = {};
  options.solver = SolverKind::Minres;
  refused(options, "MINRES needs a symmetric matrix");
}

TEST(SparseSolver, KnowsItsNames) {
  EXPECT_EQ(from_name<SolverKind>("cg"), SolverKind::ConjugateGradients);
  EXPECT_EQ(name_of(SolverKind::Fgmres), "fgmres");
  EXPECT_EQ(from_name<PreconditionerKind>("gs"), PreconditionerKind::GaussSeidel);
  EXPECT_EQ(name_of(PreconditionerKind::Amg), "amg");
  EXPECT_EQ(from_name<ModelProblem>("elasticity"), ModelProblem::Elasticity);
  EXPECT_TRUE(
      throws_with<ValueError>("no solver 'x'; there are auto, cg, minres, gmres, fgmres, bicgstab",
                              [] { (void)from_name<SolverKind>("x"); }));
  EXPECT_TRUE(throws_with<ValueError>("gs, ic, ilu, amg, direct",
                                      [] { (void)from_name<PreconditionerKind>("x"); }));
  EXPECT_TRUE(throws_with<ValueError>("poisson7", [] { (void)from_name<ModelProblem>("x"); }));
}

TYPED_TEST(SparseSolverTest, WorksOnAPartOfTheRanks) {
  Communicator const all = test_ranks();
  auto const part = all.first((all.size() + 1) / 2);
  if (!part) return;
  System<TypeParam> system(model(*part, ModelProblem::Poisson7, {6, 5, 7}), *part);
  EXPECT_EQ(system.A.comm().size(), (all.size() + 1) / 2);
  EXPECT_EQ(solved(system, {}).status, KrylovStatus::Converged);
}

TEST(DirectSolver, InvertsWhatCanBeInverted) {
  std::size_t const n = 12;
  for (std::size_t rank : {n, n - 1, std::size_t{3}, std::size_t{0}}) {
    // G' G with `rank` rows
    auto const g = random_vector(static_cast<std::int64_t>(n * n), 3);
    std::vector<double> A(n * n, 0.0);
    for (std::size_t k = 0; k < rank; ++k)
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) A[i * n + j] += g[k * n + i] * g[k * n + j];
    auto const X = sparse::detail::generalised_inverse(A, n);
    auto const multiply = [&](std::vector<double> const& B, std::vector<double> const& C) {
      std::vector<double> D(n * n, 0.0);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t k = 0; k < n; ++k)
          for (std::size_t j = 0; j < n; ++j) D[i * n + j] += B[i * n + k] * C[k * n + j];
      return D;
    };
    auto const AXA = multiply(multiply(A, X), A);
    for (std::size_t k = 0; k < n * n; ++k) EXPECT_NEAR(AXA[k], A[k], 1e-9) << rank;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) EXPECT_EQ(X[i * n + j], X[j * n + i]);
  }
}

}  // namespace
