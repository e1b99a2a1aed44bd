// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_FailingAllocations.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_SparseSystem.hpp"
#include "sparse/krylov/StrataTest_AllSolvers.hpp"
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/formats/detail/Strata_Norms.hpp>
#include <sparse/krylov/Strata_Fgmres.hpp>
#include <sparse/krylov/Strata_GmresIr.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

// When a sparse solve ends, what it then says, and which x it leaves: whatever the size of the
// numbers.

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;

template <class Space>
struct OuterIterationTest : testing::Test {};
TYPED_TEST_SUITE(OuterIterationTest, Spaces, SpaceNames);

TEST(Norms, AreThoseOfAnyNumbers) {
  Kokkos::DefaultHostExecutionSpace const exec;
  Communicator const one;
  for (int const e : {-1070, -600, -1, 0, 600, 1000}) {
    auto const x = to_device<double>(exec, {std::ldexp(3.0, e), std::ldexp(-4.0, e), 0.0});
    EXPECT_EQ(sparse::detail::norm(exec, one, x, 3), std::ldexp(5.0, e)) << e;
    EXPECT_EQ(sparse::detail::max_norm(exec, one, x, 3), std::ldexp(4.0, e)) << e;
  }
  double const nan = std::numeric_limits<double>::quiet_NaN(),
               infinity = std::numeric_limits<double>::infinity();
  auto const none = to_device<double>(exec, {1.0, nan}), many = to_device<double>(exec, {infinity});
  EXPECT_TRUE(std::isnan(sparse::detail::norm(exec, one, none, 2)));
  EXPECT_EQ(sparse::detail::max_norm(exec, one, none, 2), infinity);
  EXPECT_EQ(sparse::detail::norm(exec, one, many, 1), infinity);
  using sparse::detail::backward_error;
  EXPECT_DOUBLE_EQ(backward_error(1e200, 1e200, 0, 1e250), 1e-150);
  EXPECT_EQ(backward_error(1e-200, 1e-200, 1e-300, 1e-300), 1);
  EXPECT_EQ(backward_error(2, 3, 2, 4), 0.5);
  EXPECT_EQ(backward_error(1, 0, 4, 4), 1);
  EXPECT_EQ(backward_error(1, 1, 1, 0), 0);
  EXPECT_EQ(backward_error(0, 1, 0, 1), infinity);
  EXPECT_TRUE(std::isnan(backward_error(infinity, 1, 1, 1)));
}

/// The solution of 2^of_A A x = 2^of_b b is 2^(of_b - of_A) times that of A x = b, and is found as
/// well.
template <class Exec>
void expect_any_scale(SolverKind solver, Precision precision, int of_A, int of_b) {
  SCOPED_TRACE(testing::Message() << name_of(solver) << " 2^" << of_A << " 2^" << of_b);
  Exec const exec;
  Communicator const comm = test_ranks();
  auto const rows = times(model(comm, ModelProblem::Poisson7, {4, 5, 6}), std::ldexp(1.0, of_A));
  auto const A = make_matrix(exec, comm, rows);
  auto const numbers = random_vector(A.global_rows(), 5);
  auto const b = natural(exec, A, [&](std::int64_t i) {
    return std::ldexp(numbers[static_cast<std::size_t>(i)], of_b);
  });
  auto const x = natural(exec, A, [](std::int64_t) { return 0.0; });
  SparseOptions options;
  options.solver = solver;
  options.precision = precision;
  options.amg.coarse_rows = 20;
  auto const report = SparseSolver<Exec>(exec, A, options).solve(exec, b, x);
  EXPECT_EQ(report.status, KrylovStatus::Converged);
  EXPECT_EQ(report.attempts.size(), 1u);
  EXPECT_GT(report.iterations, 0);
  EXPECT_LE(true_residual(exec, rows, A, b, x), 1.01e-10);
  EXPECT_LE(report.backward_error, 1e-9);
}

TYPED_TEST(OuterIterationTest, SolvesForNumbersOfAnySize) {
  int const scales[][2] = {{0, -900}, {0, -565}, {0, 531}, {0, 1000}, {531, -400}, {-531, 400}};
  for (auto const& [of_A, of_b] : scales) {
    expect_any_scale<TypeParam>(SolverKind::ConjugateGradients, Precision::fp32, of_A, of_b);
    if (test_ranks().size() > 1) continue;
    expect_any_scale<TypeParam>(SolverKind::Gmres, Precision::fp32, of_A, of_b);
    expect_any_scale<TypeParam>(SolverKind::Gmres, Precision::fp64, of_A, of_b);
    expect_any_scale<TypeParam>(SolverKind::Fgmres, Precision::bf16, of_A, of_b);
  }
}

// Each method by itself says of a tiny b what it says of a large one.
TYPED_TEST(OuterIterationTest, NoMethodTakesATinyRightHandSideForZero) {
  Communicator const comm = test_ranks();
  System<TypeParam> system(model(comm, ModelProblem::Poisson7, {4, 4, 4}), comm);
  auto const& A = system.A;
  sparse::detail::scale_by_power(system.exec, -565, system.b, A.rows());
  KrylovOptions options;
  options.max_iterations = 0;
  auto const exec = system.exec;
  auto const report =
      GmresIr<TypeParam, float>(exec, A, A.stored_in(exec, Precision::fp32), {}, options)
          .solve(exec, system.b, system.x);
  EXPECT_EQ(report.status, KrylovStatus::IterationLimit);
  EXPECT_EQ(report.relative_residual, 1);
  options.max_iterations = 200;
  auto const solved =
      Fgmres<TypeParam, double>(exec, A, {}, options).solve(exec, system.b, system.x);
  EXPECT_EQ(solved.status, KrylovStatus::Converged);
  EXPECT_GT(solved.iterations, 3);
}

TYPED_TEST(OuterIterationTest, SolvesForZeroByZeroFromAnyGuess) {
  Communicator const comm = test_ranks();
  TypeParam const exec;
  auto const A =
      make_matrix(exec, comm, times(model(comm, ModelProblem::Poisson7, {3, 3, 3}), 1e-20));
  auto const b = natural(exec, A, [](std::int64_t) { return 0.0; });
  auto const x = natural(exec, A, [](std::int64_t i) { return 1.0 + static_cast<double>(i); });
  auto const report = SparseSolver<TypeParam>(exec, A).solve(exec, b, x);
  EXPECT_EQ(report.status, KrylovStatus::Converged);
  EXPECT_EQ(report.backward_error, 0);
  for (double const entry : to_host(exec, x)) EXPECT_EQ(entry, 0);
}

TYPED_TEST(OuterIterationTest, StartsFromZeroIfTheGuessIsNoNumber) {
  Communicator const comm = test_ranks();
  System<TypeParam> system(model(comm, ModelProblem::Poisson7, {4, 4, 4}), comm);
  SparseSolver<TypeParam> solver(system.exec, system.A);
  Kokkos::deep_copy(system.exec, system.x, std::numeric_limits<double>::quiet_NaN());
  auto const report = solver.solve_in_order(system.exec, system.b, system.x);
  EXPECT_EQ(report.status, KrylovStatus::Converged);
  EXPECT_EQ(report.attempts.size(), 1u);
}

// b is not in the range: residuals fall a little, then rise without end as x grows along the null
// space.
TYPED_TEST(OuterIterationTest, LeavesTheBestOfTheIterates) {
  Communicator const comm = test_ranks();
  TypeParam const exec;
  auto const rows = floating_chain(comm, 400);
  auto const A = make_matrix(exec, comm, rows);
  auto const b = natural(exec, A, [](std::int64_t i) { return i < 100 ? 1.0 : -0.1; });
  for (auto const solver : all_solvers)
    for (auto const kind : {PreconditionerKind::Amg, PreconditionerKind::GaussSeidel}) {
      SCOPED_TRACE(testing::Message() << name_of(solver) << ' ' << name_of(kind));
      if (comm.size() > 1 && kind == PreconditionerKind::GaussSeidel) continue;
      SparseOptions options;
      options.solver = solver;
      options.preconditioner = kind;
      options.precision = solver == SolverKind::Fgmres ? Precision::bf16 : Precision::fp32;
      options.amg.coarse_rows = 20;
      options.restart = 20;
      options.max_iterations = 300;
      auto const x = natural(exec, A, [](std::int64_t) { return 0.0; });
      auto const report = SparseSolver<TypeParam>(exec, A, options).solve(exec, b, x);
      EXPECT_FALSE(report.solved());
      EXPECT_TRUE(report.rows.maps_constants_to_zero);
      EXPECT_LE(report.relative_residual, 1);
      double size = 0;
      for (double const value : to_host(exec, x)) size = std::max(size, std::abs(value));
      // Of four terms a row, up to 2 ||x||, in fp64: 8 eps ||x|| a row, and 20 rows' worth of it
      // beside ||b|| = 10.
      EXPECT_NEAR(true_residual(exec, rows, A, b, x), report.relative_residual,
                  1e-12 + 16 * 0x1p-52 * comm.max(size));
      double before = 1;
      for (auto const& attempt : report.attempts) {
        EXPECT_LE(attempt.krylov.relative_residual, before);
        before = attempt.krylov.relative_residual;
      }
    }
}

// A is far from 1, so that x is found as a multiple, which fp64 then rounds to few digits, to 0 or
// to infinity. The result is judged by b - A x, with A and the numbers that are given back.
TYPED_TEST(OuterIterationTest, LeavesNoWorseXThanTheGuessWhereFp64HasNotTheSolution) {
  Communicator const comm = test_ranks();
  TypeParam const exec;
  struct Case {
    int of_A, of_b;
    double guess, most;  // of x, and of the residual beside that of the guess
    KrylovStatus status;
  };
  double const nan = std::numeric_limits<double>::quiet_NaN();
  constexpr auto stalled = KrylovStatus::Stalled, breakdown = KrylovStatus::Breakdown;
  Case const cases[] = {{400, -682, 0, 1, stalled},  // x is up to 2^-1074
                        {400, -660, 0, 1e-2, stalled},
                        {400, -682, 0x1p-1060, 1, stalled},
                        {-600, 500, 0, 1, breakdown},  // x is up to 2^1108
                        {-600, 500, nan, 1, breakdown}};
  for (auto const& [of_A, of_b, guess, most, status] : cases)
    for (auto const solver : all_solvers) {
      SCOPED_TRACE(testing::Message()
                   << name_of(solver) << " 2^" << of_A << " 2^" << of_b << " from " << guess);
      auto const rows =
          times(tridiagonal(comm, 60, [](std::int64_t) { return 2.0; }), std::ldexp(1.0, of_A));
      auto const A = make_matrix(exec, comm, rows);
      auto const b = natural(exec, A, [&](std::int64_t) { return std::ldexp(0.7, of_b); });
      auto const x = natural(exec, A, [&](std::int64_t) { return guess; });
      auto const zero = natural(exec, A, [](std::int64_t) { return 0.0; });
      double const before = true_residual(exec, rows, A, b, std::isnan(guess) ? zero : x);
      SparseOptions options;
      options.solver = solver;
      auto const report = SparseSolver<TypeParam>(exec, A, options).solve(exec, b, x);
      double const after = true_residual(exec, rows, A, b, x);
      EXPECT_EQ(report.status, status);
      EXPECT_LE(after, most * before * (1 + 1e-12));
      EXPECT_NEAR(report.relative_residual, after, 1e-9 * after);
    }
}

// ||A|| ||x|| is 1e9 ||b|| and more: 1e-10 of b is below what rounding x to fp64 changes.
TYPED_TEST(OuterIterationTest, EndsWhereFp64CanDoNoBetter) {
  Communicator const comm = test_ranks();
  TypeParam const exec;
  for (std::int64_t const n : {150, 900}) {
    auto const rows = biharmonic(comm, n);
    auto const A = make_matrix(exec, comm, rows);
    auto const b = natural(exec, A, [&](std::int64_t i) {
      return std::sin(3.14159265358979 * static_cast<double>(i + 1) / static_cast<double>(n + 1));
    });
    for (auto const solver : all_solvers) {
      SCOPED_TRACE(testing::Message() << n << ' ' << name_of(solver));
      if (comm.size() > 1 && (n > 150 || solver != SolverKind::ConjugateGradients)) continue;
      auto const x = natural(exec, A, [](std::int64_t) { return 0.0; });
      SparseOptions options;
      options.solver = solver;
      auto const report = SparseSolver<TypeParam>(exec, A, options).solve(exec, b, x);
      EXPECT_EQ(report.status, KrylovStatus::RoundingLimit);
      EXPECT_TRUE(report.solved());
      EXPECT_GT(report.relative_residual, 1e-10);
      EXPECT_LE(report.relative_residual, 1e-3);
      EXPECT_LE(report.backward_error, 30 * 0x1p-52);
      EXPECT_LE(report.iterations, 1500);
      EXPECT_LE(true_residual(exec, rows, A, b, x), 2 * report.relative_residual);
      EXPECT_EQ(name_of(report.status), "rounding_limit");
    }
  }
}

// The preconditioner inverts A, so that the first step leaves nothing but rounding of the guess, to
// which no direction is orthogonal. CG once went on from there with steps that made the residual
// grow, to the last iteration.
TYPED_TEST(OuterIterationTest, EndsWhereOneStepLeavesOnlyRounding) {
  TypeParam const exec;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    auto const numbers = random_vector(13 * 4, seed);
    auto const number = [&](std::int64_t i, std::size_t kind) {
      return numbers[static_cast<std::size_t>(i) * 4 + kind];  // of [-1, 1]
    };
    auto const coupling = [&](std::int64_t i) {
      return i < 0 || i + 1 == 13 ? 0.0 : 1.1 + number(i, 0);
    };
    HostRows rows;
    for (std::int64_t i = 0; i < 13; ++i) {
      if (i > 0) rows.add(i - 1, -coupling(i - 1));
      rows.add(i, coupling(i - 1) + coupling(i) + 1.3 + 0.8 * number(i, 1));
      if (i + 1 < 13) rows.add(i + 1, -coupling(i));
      rows.end_row();
    }
    auto const A = make_matrix(exec, Communicator(), rows);
    auto const b = natural(exec, A, [&](std::int64_t i) { return 0.2 * number(i, 2); });
    auto const x = natural(exec, A, [&](std::int64_t i) { return 2 * number(i, 3); });
    SparseOptions options;
    options.solver = SolverKind::ConjugateGradients;
    options.precision = Precision::fp64;
    options.tolerance = 1e-16;
    options.amg.coarse_rows = 20;
    auto const report = SparseSolver<TypeParam>(exec, A, options).solve(exec, b, x);
    EXPECT_TRUE(report.solved()) << seed << ' ' << name_of(report.status);
    EXPECT_LE(report.iterations, 150) << seed;
    EXPECT_LE(true_residual(exec, rows, A, b, x), 1e-14) << seed;
  }
}

TYPED_TEST(OuterIterationTest, GivesEmptyRowsZeroAndSaysWhereThereIsNoSolution) {
  Communicator const comm = test_ranks();
  TypeParam const exec;
  std::int64_t const n = 60;
  HostRows whole;
  for (std::int64_t i = 0; i < n; ++i) {
    bool const is_empty = i == 5 || i == 40;
    for (std::int64_t j = i - 1; j <= i + 1; ++j)
      if (!is_empty && j >= 0 && j < n && j != 5 && j != 40) whole.add(j, i == j ? 2.5 : -1);
    whole.end_row();
  }
  auto const rows = part_of(comm, whole);
  auto const A = make_matrix(exec, comm, rows);
  SparseOptions multigrid;
  multigrid.preconditioner = PreconditionerKind::Amg;
  SparseSolver<TypeParam> solver(exec, A, multigrid);
  EXPECT_EQ(solver.set_up_report().rows.empty, 2);
  EXPECT_EQ(solver.set_up_report().rows.first_empty, 5);
  EXPECT_EQ(solver.set_up_report().preconditioner, PreconditionerKind::Amg);
  auto const b = natural(exec, A, [](std::int64_t i) { return i == 5 || i == 40 ? 0.0 : 1.0; });
  auto x = natural(exec, A, [](std::int64_t) { return 7.0; });
  auto report = solver.solve(exec, b, x);
  EXPECT_EQ(report.status, KrylovStatus::Converged);
  EXPECT_EQ(report.solver, SolverKind::ConjugateGradients);
  EXPECT_FALSE(report.contradicts_empty_row);
  EXPECT_LE(true_residual(exec, rows, A, b, x), 1.01e-10);
  auto const found = to_host(exec, x);
  for (std::int64_t const i : {5, 40})
    if (i >= A.first_row() && i < A.first_row() + A.rows()) {
      EXPECT_EQ(found[static_cast<std::size_t>(i - A.first_row())], 0);
    }
  auto const ones = natural(exec, A, [](std::int64_t) { return 1.0; });
  report = solver.solve(exec, ones, x);
  EXPECT_FALSE(report.solved());
  EXPECT_TRUE(report.contradicts_empty_row);
  EXPECT_NEAR(report.relative_residual, std::sqrt(2.0 / 60), 1e-6);
}

TYPED_TEST(OuterIterationTest, TellsNaturalVectorsFromThoseInTheMatrixOrder) {
  Communicator const comm = test_ranks();
  TypeParam const exec;
  auto const rows = model(comm, ModelProblem::Poisson7, {4, 4, 5});
  auto const A = make_matrix(exec, comm, rows);
  auto const b = natural(exec, A, [](std::int64_t i) { return 1.0 / static_cast<double>(i + 1); });
  auto const x = natural(exec, A, [](std::int64_t) { return 0.0; });
  auto const own_b = A.template allocate<double>(exec, "strata::test::b"),
             own_x = A.template allocate<double>(exec, "strata::test::x");
  SparseSolver<TypeParam> solver(exec, A);
  EXPECT_EQ(solver.solve(exec, b, x).status, KrylovStatus::Converged);
  EXPECT_LE(true_residual(exec, rows, A, b, x), 1.01e-10);
  A.gather(exec, b, own_b);
  EXPECT_EQ(solver.solve_in_order(exec, own_b, own_x).status, KrylovStatus::Converged);
  auto const back = natural(exec, A, [](std::int64_t) { return 0.0; });
  A.scatter(exec, own_x, back);
  EXPECT_EQ(to_host(exec, back), to_host(exec, x));
  auto const refused = [](char const* text, auto const& call) {
    EXPECT_TRUE(throws_with<ShapeError>(text, call));
  };
  refused("solve: b has", [&] { solver.solve(exec, own_b, x); });
  refused("solve: x has", [&] { solver.solve(exec, b, own_x); });
  refused("natural order", [&] { solver.solve(exec, own_b, own_x); });
  refused("solve_in_order: b has", [&] { solver.solve_in_order(exec, b, own_x); });
  refused("solve_in_order: x has", [&] { solver.solve_in_order(exec, own_b, x); });
  refused("b has", [&] { Fgmres<TypeParam, double>(exec, A, {}).solve(exec, b, own_x); });
  refused("x has", [&] { GmresIr<TypeParam, double>(exec, A, A, {}).solve(exec, own_b, x); });
}

TYPED_TEST(OuterIterationTest, RefusesVectorsOfOtherLengths) {
  Communicator const comm = test_ranks();
  TypeParam const exec;
  MatrixOptions how;
  how.order = RowOrder::Sweep;
  auto const A = make_matrix(exec, comm, model(comm, ModelProblem::Poisson7, {4, 4, 5}), how);
  using Vec = Vector<double, typename TypeParam::memory_space>;
  auto const vector = [](std::int64_t n) { return Vec("strata::test::vector", n); };
  auto const full = A.template allocate<double>(exec, "strata::test::full");
  Vec const small = vector(A.rows() - 1), enough = vector(A.rows());
  auto const refused = [](char const* text, auto const& call) {
    EXPECT_TRUE(throws_with<ShapeError>(text, call));
  };
  SparseSolver<TypeParam> solver(exec, A);
  refused("SparseSolver::solve: b has", [&] { solver.solve(exec, small, enough); });
  refused("SparseSolver::solve: x has", [&] { solver.solve(exec, enough, small); });
  refused("gather: the source has", [&] { A.gather(exec, small, full); });
  refused("gather: the result has", [&] { A.gather(exec, enough, small); });
  refused("scatter: the source has", [&] { A.scatter(exec, small, enough); });
  refused("scatter: the result has", [&] { A.scatter(exec, full, small); });
  refused("x has", [&] { A.multiply(exec, small, full); });
  refused("y has", [&] { A.multiply(exec, full, small); });
  refused("b has", [&] { A.residual(exec, small, full, full); });
  refused("r has", [&] { A.residual(exec, full, full, small); });
  refused("x has", [&] { A.gauss_seidel(exec, full, small); });
  refused("r has", [&] { A.gauss_seidel(exec, small, full); });
  Kokkos::deep_copy(exec, small, 7.0);
  refused("x has", [&] { A.gauss_seidel(exec, full, small, Sweep::Forward, Guess::Zero); });
  auto const kept = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), small);
  for (std::size_t i = 0; i < kept.extent(0); ++i) EXPECT_EQ(kept(i), 7) << i;
  if (A.halo() > 0) refused("halo: x has", [&] { A.fill_halo(exec, enough); });
  Kokkos::deep_copy(exec, full, 1.0);
  A.multiply(exec, full, enough);  // all messages are still paired
  EXPECT_GT(sparse::detail::norm(exec, comm, enough, A.rows()), 1);
}

// On one rank after the other: all throw the same, or all have the best x so far, and the solver
// still works.
TYPED_TEST(OuterIterationTest, OutlivesEachAllocationThatFails) {
  Communicator const comm = test_ranks();
  TypeParam const exec;
  auto const rows = floating_chain(comm, 60);
  auto const A = make_matrix(exec, comm, rows);
  auto const b = natural(exec, A, [](std::int64_t i) { return i < 30 ? 1.0 : -1.0; });
  SparseOptions options;
  options.precision = Precision::bf16;  // climbs, since the chain is singular to 16 bits
  options.preconditioner = PreconditionerKind::GaussSeidel;
  options.solver = SolverKind::Gmres;
  options.restart = 5;
  options.max_iterations = 60;
  std::int64_t failures = 0, climbs_without_memory = 0;
  bool any = true;
  std::int64_t const step = comm.size() > 1 ? 7 : 1;
  for (std::int64_t k = 1; any; k += step) {
    bool const fails_here = k % comm.size() == comm.rank();
    auto const x = natural(exec, A, [](std::int64_t) { return 0.0; });
    std::optional<SparseSolver<TypeParam>> solver;
    FailingAllocations failing(fails_here ? k : std::numeric_limits<std::int64_t>::max());
    bool threw = false;
    SparseReport report;
    try {
      solver.emplace(exec, A, options);
      report = solver->solve(exec, b, x);
    } catch (MemoryError const&) {
      threw = true;
    }
    failing.relent();
    any = comm.max(failing.failed() ? 1 : 0) > 0;
    EXPECT_EQ(comm.max(threw ? 1 : 0), threw ? 1 : 0) << "some ranks only, k = " << k;
    failures += any;
    climbs_without_memory += !report.obstacle.empty();
    if (any && !threw) {
      EXPECT_FALSE(report.obstacle.empty()) << k;
    }
    if (!threw) {
      EXPECT_LE(report.relative_residual, 1);
    } else {
      for (double const entry : to_host(exec, x)) EXPECT_EQ(entry, 0);  // nothing was written
      if (!solver) solver.emplace(exec, A, options);
    }
    Kokkos::deep_copy(exec, x, 0.0);
    EXPECT_LE(solver->solve(exec, b, x).relative_residual, 1) << k;
  }
  EXPECT_GT(failures, comm.size() > 1 ? 3 : 30);
  if (comm.size() == 1) {
    EXPECT_GT(climbs_without_memory, 5);
  }
}

}  // namespace
