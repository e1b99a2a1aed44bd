// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "../StrataTest_HardMatrices.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/choice/Strata_Candidates.hpp>
#include <sparse/choice/Strata_MatrixFacts.hpp>
#include <sparse/products/detail/Strata_HostCsr.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

// What `auto` chooses, and that it goes on where that does not do.

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;
using Kind = PreconditionerKind;

MatrixFacts facts_of_grid(std::int64_t side, bool is_symmetric) {
  MatrixFacts facts;
  facts.rows = side * side * side;
  facts.entries = 7 * facts.rows;
  facts.symmetric = facts.positive = is_symmetric;
  facts.positive = true;
  facts.hops = 3 * side;
  facts.widest = side * side;
  return facts;
}

bool has(std::vector<Candidate> const& list, SolverKind solver, Kind kind) {
  return std::any_of(list.begin(), list.end(), [&](auto const& candidate) {
    return candidate.solver == solver && candidate.preconditioner == kind;
  });
}

TEST(Candidates, BeginWithTheFastestForecastAndEndWithWhatAlwaysWorks) {
  for (bool const is_symmetric : {true, false})
    for (std::int64_t const side : {10, 30, 100, 300}) {
      SCOPED_TRACE(side);
      auto const list = candidates(facts_of_grid(side, is_symmetric), {});
      ASSERT_GT(list.size(), 3u);
      for (std::size_t k = 1; k < 3; ++k) EXPECT_LE(list[0].seconds(), list[k].seconds());
      EXPECT_NE(list[0].reason.find("forecast"), std::string::npos);
      EXPECT_TRUE(has(list, SolverKind::Direct, Kind::Direct));
      EXPECT_EQ(has(list, SolverKind::ConjugateGradients, Kind::Ic), is_symmetric);
      EXPECT_TRUE(has(list, SolverKind::BiCgStab, Kind::Ilu));
    }
  // multigrid wins where there are many rows, incomplete factors where there are few
  EXPECT_EQ(candidates(facts_of_grid(300, true), {}).front().preconditioner, Kind::Amg);
  EXPECT_EQ(candidates(facts_of_grid(12, true), {}).front().preconditioner, Kind::Ic);
  EXPECT_EQ(candidates(facts_of_grid(12, false), {}).front().preconditioner, Kind::Ilu);
}

TEST(Candidates, TakeWhatWasAskedForAlone) {
  auto const grid = facts_of_grid(20, true);
  for (auto const& candidate : candidates(grid, {SolverKind::Automatic, Kind::Amg}))
    EXPECT_EQ(candidate.preconditioner, Kind::Amg);
  auto const by_cg = candidates(grid, {SolverKind::ConjugateGradients, Kind::Automatic});
  EXPECT_GT(by_cg.size(), 3u);
  for (auto const& candidate : by_cg) EXPECT_EQ(candidate.solver, SolverKind::ConjugateGradients);
  auto const both = candidates(grid, {SolverKind::Fgmres, Kind::Jacobi});
  ASSERT_EQ(both.size(), 1u);
  EXPECT_EQ(both.front().solver, SolverKind::Fgmres);
  auto const direct = candidates(grid, {SolverKind::Direct, Kind::Automatic});
  ASSERT_EQ(direct.size(), 1u);
  EXPECT_EQ(direct.front().preconditioner, Kind::Direct);
  auto few = grid;
  few.rows = 200, few.entries = 1400;
  EXPECT_EQ(candidates(few, {}).front().preconditioner, Kind::Direct);
  few.ranks = 2;
  EXPECT_FALSE(has(candidates(few, {}), SolverKind::Direct, Kind::Direct));
  EXPECT_EQ(candidates(grid, {SolverKind::Automatic, Kind::Automatic, Precision::fp16})
                .front()
                .preconditioner,
            Kind::Amg);
}

// Local methods take longer where coefficients jump, multigrid does not.
TEST(Candidates, TakeMultigridEarlierWhereCoefficientsJump) {
  auto grid = facts_of_grid(30, true);
  EXPECT_EQ(candidates(grid, {}).front().preconditioner, Kind::Ic);
  grid.jumps = 3;
  EXPECT_EQ(candidates(grid, {}).front().preconditioner, Kind::Amg);
}

TEST(Candidates, ForecastChosenRowsOnSeveralRanksToo) {
  auto grid = facts_of_grid(30, false);
  AskedMethod const asked{SolverKind::Gmres, Kind::Amg};
  auto const alone = candidates(grid, asked).front();
  grid.ranks = 4;
  auto const together = candidates(grid, asked).front();
  EXPECT_EQ(together.set_up_seconds, alone.set_up_seconds);
  EXPECT_EQ(together.iteration_seconds, alone.iteration_seconds);
}

TEST(Patience, EndsWhereAnotherOneIsFaster) {
  Candidate own, weak, strong, direct;
  own.iteration_seconds = weak.iteration_seconds = 1, strong.iteration_seconds = 4;
  own.iterations = 30, weak.iterations = 60, strong.iterations = 10;
  direct.preconditioner = Kind::Direct;
  std::size_t next = 0;
  auto const steps_of = [&](double factor, double direct_seconds) {
    direct.set_up_seconds = direct_seconds;
    Patience patience(own, {weak, strong, direct}, 1e-10);
    double residual = 1;
    for (std::int64_t k = 1; k <= 10000; ++k, residual *= factor) {
      bool const is_over = residual <= 1e-10 || patience.gives_up(k, residual);
      next = patience.next();
      if (is_over) return k;
    }
    return std::int64_t{10000};
  };
  EXPECT_EQ(steps_of(0.9, 1e9), 220);  // slow, as the others would be
  EXPECT_EQ(steps_of(0.9, 100), 24);   // the direct one does not depend on that
  EXPECT_EQ(next, 2u);
  EXPECT_EQ(steps_of(1, 1e9), 24);  // nothing is gained
  EXPECT_EQ(next, 1u);
  EXPECT_EQ(Patience(own, {}, 1e-10).gives_up(1, 1), false);
}

// A plateau is left by what takes as long from the start as was spent on it, not before.
TEST(Patience, WaitsAsLongAsAnotherOneTakes) {
  Candidate own, direct;
  own.iteration_seconds = 1, own.iterations = 50;
  own.solver = SolverKind::ConjugateGradients;
  direct.preconditioner = Kind::Direct, direct.set_up_seconds = 150;
  Patience patience(own, {direct}, 1e-10);
  std::int64_t ended = 0;
  for (std::int64_t k = 1; k <= 1000 && ended == 0; ++k) {
    double const rate = k < 40 ? 0.7 : 0.97;  // which then needs 300 more
    double const residual = std::pow(0.7, std::min<double>(static_cast<double>(k), 40)) *
                            std::pow(rate, std::max<double>(0, static_cast<double>(k) - 40));
    if (patience.gives_up(k, residual)) ended = k;
  }
  EXPECT_GE(ended, 80);
  EXPECT_LE(ended, 150);
}

TEST(Patience, AsksOnceWhatADirectSolverTakes) {
  Candidate own, direct;
  own.iteration_seconds = 1, own.iterations = 30;
  direct.preconditioner = Kind::Direct, direct.set_up_seconds = 1e9, direct.analysis_seconds = 50;
  int asked = 0;
  auto const ended = [&](double factor, double seconds) {
    asked = 0;
    Patience patience(own, {direct}, 1e-10, [&] { return ++asked, seconds; });
    double residual = 1;
    for (std::int64_t k = 1; k <= 10000 && residual > 1e-10; ++k, residual *= factor)
      if (patience.gives_up(k, residual)) return k;
    return std::int64_t{0};
  };
  EXPECT_EQ(ended(0.99, 60), 24);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(ended(0.9, 1e6), 0);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(ended(0.5, 1), 0);  // ends before the question pays
  EXPECT_EQ(asked, 0);
}

template <class Space>
struct ChoiceTest : testing::Test {};
TYPED_TEST_SUITE(ChoiceTest, Spaces, SpaceNames);

TEST(MatrixFacts, AreThoseOfAGrid) {
  Communicator const comm = test_ranks();
  if (comm.size() > 1) return;
  Kokkos::DefaultHostExecutionSpace const exec;
  auto const facts_of = [&](HostRows const& rows) {
    MatrixFacts facts;
    auto const A = make_matrix(exec, comm, rows);
    look_at_rows(sparse::detail::own_block(exec, A), facts);
    return facts;
  };
  auto const grid = facts_of(poisson_map(20).rows());
  EXPECT_EQ(grid.hops, 39);
  EXPECT_EQ(grid.widest, 20);
  EXPECT_EQ(grid.padding, 64);  // the rim has 80 couplings less, the last 16 rows a width of 4
  EXPECT_EQ(grid.dominance, 0);
  EXPECT_EQ(grid.positive_share, 0);
  EXPECT_EQ(grid.spread, 1);
  EXPECT_GT(facts_of(upwind(20, 1e-4)).spread, 1.9);
  EXPECT_GT(facts_of(plate(20)).positive_share, 0.1);
  EXPECT_NEAR(facts_of(poisson_map(20, -4).rows()).dominance, 0.5, 1e-15);
  auto crossed = poisson_map(21);  // of which one row is coupled to all
  for (std::int64_t i = 1; i < 441; ++i) {
    crossed.add(0, i, -0.01);
    crossed.add(i, 0, -0.01);
  }
  auto const cross = facts_of(crossed.rows());
  EXPECT_GE(cross.hops, 39);
  EXPECT_LE(cross.widest, 21);
}

// A diagonal that was made 1 hides jumps, and units, which are none.
TEST(MatrixFacts, KnowJumpsFromUnits) {
  Communicator const comm = test_ranks();
  if (comm.size() > 1) return;
  Kokkos::DefaultHostExecutionSpace const exec;
  auto const block_of = [&](HostRows const& rows) {
    return sparse::detail::own_block(exec, make_matrix(exec, comm, rows));
  };
  auto const laplacian = poisson_map(20).rows();
  auto scaled = laplacian;
  std::vector<double> scale;
  for (std::int64_t i = 0; i < 400; ++i) scale.push_back(i % 2 == 0 ? 1 : 1e3);
  for (std::size_t i = 0; i < 400; ++i)
    for (auto k = static_cast<std::size_t>(scaled.begin[i]);
         k < static_cast<std::size_t>(scaled.begin[i + 1]); ++k)
      scaled.value[k] *= scale[i] * scale[static_cast<std::size_t>(scaled.column[k])];
  EXPECT_NEAR(jumps_of(block_of(scaled), scale), 3, 1e-12);
  EXPECT_EQ(jumps_of(block_of(laplacian), scale), 0);
  EXPECT_EQ(jumps_of(block_of(laplacian), {}), 0);
}

// Of each hard matrix: solved by what is chosen first, or by what comes after it.
TYPED_TEST(ChoiceTest, SolvesWhatNoSingleMethodSolves) {
  Communicator const comm = test_ranks();
  if (comm.size() > 1) return;
  for (auto const& [name, rows] : hard_matrices()) {
    SCOPED_TRACE(name);
    System<TypeParam> system(rows, comm);
    SparseSolver<TypeParam> solver(system.exec, system.A);
    auto const report = solver.solve_in_order(system.exec, system.b, system.x);
    EXPECT_TRUE(report.solved()) << name_of(report.status) << ' ' << report.relative_residual;
    EXPECT_LE(system.residual(), 1e-8);
    for (auto const& attempt : report.attempts) {
      EXPECT_FALSE(attempt.reason.empty());
      EXPECT_NE(attempt.solver, SolverKind::Automatic);
      EXPECT_NE(attempt.preconditioner, Kind::Automatic);
    }
    EXPECT_EQ(report.attempts.back().preconditioner, report.preconditioner);
    // the next solve begins with what did
    Kokkos::deep_copy(system.exec, system.x, 0.0);
    auto const again = solver.solve_in_order(system.exec, system.b, system.x);
    EXPECT_TRUE(again.solved());
    EXPECT_EQ(again.attempts.front().preconditioner, report.preconditioner);
  }
}

// In fp64, and with more steps; in fp32 with two steps multigrid takes 164 iterations.
TYPED_TEST(ChoiceTest, SmoothsSliversMore) {
  Communicator const comm = test_ranks();
  System<TypeParam> system(part_of(comm, slivers(60, 6)), comm);
  SparseOptions options;
  options.preconditioner = Kind::Amg;
  SparseSolver<TypeParam> solver(system.exec, system.A, options);
  auto const report = solver.solve_in_order(system.exec, system.b, system.x);
  EXPECT_TRUE(report.solved());
  EXPECT_EQ(report.precision, Precision::fp64);
  EXPECT_LE(report.iterations, 140);
  ASSERT_FALSE(report.attempts.empty());
  EXPECT_EQ(report.attempts.front().reason.find("asked for, in fp64: the diagonal spans 2^"), 0u);
  options.amg.steps = 2;  // as was asked for, though four would take fewer iterations
  Kokkos::deep_copy(system.exec, system.x, 0.0);
  SparseSolver<TypeParam> two(system.exec, system.A, options);
  EXPECT_GT(two.solve_in_order(system.exec, system.b, system.x).iterations, report.iterations);
  options.precision = Precision::bf16;
  EXPECT_EQ(SparseSolver<TypeParam>(system.exec, system.A, options).set_up_report().precision,
            Precision::bf16);
}

TYPED_TEST(ChoiceTest, GoesOnToAnotherPreconditionerAndSaysWhy) {
  Communicator const comm = test_ranks();
  System<TypeParam> system(part_of(comm, upwind(60, 1e-4)), comm);
  SparseOptions options;
  options.solver = SolverKind::Gmres;
  options.precision = Precision::bf16;                   // begins with multigrid
  options.amg.coarsening = CoarseningKind::Aggregation;  // which stalls
  SparseSolver<TypeParam> solver(system.exec, system.A, options);
  auto const report = solver.solve_in_order(system.exec, system.b, system.x);
  EXPECT_TRUE(report.solved());
  ASSERT_GE(report.attempts.size(), 2u);
  EXPECT_EQ(report.attempts.front().preconditioner, Kind::Amg);
  EXPECT_NE(report.preconditioner, Kind::Amg);
  EXPECT_NE(report.attempts.back().reason.find("gmres with "), std::string::npos);
}

}  // namespace
