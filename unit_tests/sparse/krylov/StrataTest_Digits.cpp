// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_SparseSystem.hpp"
#include "sparse/krylov/StrataTest_AllSolvers.hpp"
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/krylov/Strata_ConjugateGradients.hpp>
#include <sparse/krylov/detail/Strata_ConditionBound.hpp>
#include <sparse/krylov/detail/Strata_ResidualNorms.hpp>
#include <sparse/matrix/Strata_MatrixProperties.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

// What a sparse solve says of the condition and of x's digits, and what it does where they are few.

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;

template <class Space>
struct DigitsTest : testing::Test {};
TYPED_TEST_SUITE(DigitsTest, Spaces, SpaceNames);

/// A solve and the true error of its x, max |x - known| / max |x|.
struct Solved {
  SparseReport report;
  double error = 0;
};

template <class Exec>
Solved solved(HostRows const& rows, SparseOptions const& options) {
  System<Exec> system(rows, test_ranks());
  auto const& A = system.A;
  Solved result;
  result.report =
      SparseSolver<Exec>(system.exec, A, options).solve_in_order(system.exec, system.b, system.x);
  auto const natural_x =
      to_device<double>(system.exec, std::vector<double>(static_cast<std::size_t>(A.rows())));
  A.scatter(system.exec, system.x, natural_x);
  auto const x = to_host(system.exec, natural_x), known = random_vector(A.global_rows(), 1);
  double error = 0, size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto const row = static_cast<std::size_t>(A.first_row()) + i;
    error = std::max(error, std::abs(x[i] - known[row]));
    size = std::max(size, std::abs(x[i]));
  }
  result.error = A.comm().max(error) / A.comm().max(size);
  return result;
}

/// The condition of `biharmonic` of order 100: a chain has (2 (n + 1) / pi)^2, and this its square.
constexpr double biharmonic_condition = 1.71e7;

HostRows held_chain(Communicator const& comm, std::int64_t n) {
  return tridiagonal(comm, n, [](std::int64_t) { return 2.0; });
}

// ||A||_oo ||A^-1||_oo of tridiag(-1, 2, -1) is 4 times (n + 1)^2 / 8.
TYPED_TEST(DigitsTest, TheConditionIsABoundFromBelowAndNoEmptyOne) {
  Communicator const comm = test_ranks();
  for (std::int64_t const n : {40, 301})
    for (auto const solver : all_solvers)
      for (auto const precision : {Precision::fp64, Precision::fp32}) {
        SCOPED_TRACE(testing::Message()
                     << n << ' ' << name_of(solver) << ' ' << traits(precision).name);
        SparseOptions options;
        options.solver = solver;
        options.precision = precision;
        options.amg.coarse_rows = 10;
        auto const [report, error] = solved<TypeParam>(held_chain(comm, n), options);
        double const m = static_cast<double>(n) + 1, truth = m * m / 2;
        EXPECT_TRUE(report.solved());
        EXPECT_LE(report.condition_at_least, 1.001 * truth);
        EXPECT_GE(report.condition_at_least, truth / 300);
      }
}

TYPED_TEST(DigitsTest, TheErrorIsNearTheTruth) {
  Communicator const comm = test_ranks();
  for (auto const solver : all_solvers)
    for (auto const problem :
         {ModelProblem::Poisson7, ModelProblem::Anisotropic, ModelProblem::Elasticity})
      for (auto const kind : {PreconditionerKind::Jacobi, PreconditionerKind::Amg}) {
        SCOPED_TRACE(testing::Message()
                     << name_of(solver) << ' ' << name_of(problem) << ' ' << name_of(kind));
        if (comm.size() > 1 && kind == PreconditionerKind::Jacobi) continue;
        SparseOptions options;
        options.solver = solver;
        options.preconditioner = kind;
        options.amg.coarse_rows = 20;
        auto const [report, error] = solved<TypeParam>(model(comm, problem, {8, 7, 6}), options);
        ASSERT_EQ(report.status, KrylovStatus::Converged);
        EXPECT_GE(report.forward_error, error / 30);
        EXPECT_LE(report.forward_error, error * 300);
        EXPECT_LE(report.digits(), static_cast<int>(2.5 - std::log10(error)));
        EXPECT_GE(report.digits(), 5);
        EXPECT_TRUE(report.remarks_on_solution().empty());
      }
}

// A residual of 1e-10 leaves an error of 1e-5 and more here; what the residual still gains costs
// little.
TYPED_TEST(DigitsTest, GoesOnWhereFewDigitsWouldBeRight) {
  Communicator const comm = test_ranks();
  if (comm.size() > 1) return;
  SparseOptions options;
  options.preconditioner = PreconditionerKind::Jacobi;
  options.max_iterations = 100000;
  for (auto const solver : {SolverKind::ConjugateGradients, SolverKind::Gmres}) {
    SCOPED_TRACE(name_of(solver));
    options.solver = solver;
    options.restart = 120;
    auto const [report, error] = solved<TypeParam>(biharmonic(comm, 100), options);
    EXPECT_EQ(report.status, KrylovStatus::Converged);
    EXPECT_LE(report.relative_residual, 1e-11);
    if (solver == SolverKind::ConjugateGradients) {
      // what rounding leaves: some multiple of condition times roundoff, as threads' sums go
      EXPECT_LE(error, 50 * biharmonic_condition * 0x1p-53);
    }
  }
  // well conditioned: the tolerance is met and no more is done
  System<TypeParam> system(model(comm, ModelProblem::Poisson7, {8, 8, 8}), comm);
  auto const plain = SparseSolver<TypeParam>(system.exec, system.A)
                         .solve_in_order(system.exec, system.b, system.x);
  EXPECT_GT(plain.relative_residual, 1e-13);
}

// What CG says of diag(d) x = b after so many iterations from 0.
template <class Exec>
KrylovReport diagonal_solve(std::vector<double> const& d, std::vector<double> const& b,
                            std::int64_t most) {
  HostRows rows;
  for (std::size_t i = 0; i < d.size(); ++i) {
    rows.add(static_cast<std::int64_t>(i), d[i]);
    rows.end_row();
  }
  System<Exec> system(rows, test_ranks());
  auto const& A = system.A;
  A.gather(system.exec, to_device<double>(system.exec, b), system.b);
  KrylovOptions options;
  options.max_iterations = most;
  options.norm_A = *std::ranges::max_element(d);
  strata::sparse::detail::ResidualNorms<Exec> const norms{
      {},
      options.norm_A,
      options.norm_A,
      {},
      A.template allocate<double>(system.exec, "strata::test::spare"),
      A.template allocate<double>(system.exec, "strata::test::step")};
  return ConjugateGradients<Exec, double>(system.exec, A, {}, options)
      .solve(system.exec, system.b, system.x, &norms);
}

// x moved by d while r went from b to b - A d, so that ||A d|| is at most the sum of both norms.
TYPED_TEST(DigitsTest, TheConditionIsAtLeastWhatOneStepTells) {
  if (test_ranks().size() > 1) return;
  // One step: alpha = 25 / 27, r = (6, -18) / 27.
  auto const report = diagonal_solve<TypeParam>({1, 1.8}, {3, 1}, 1);
  EXPECT_NEAR(report.condition, 1.8 * 75 / 99, 1e-14);
  // alpha = 101 / 111: 1.1 times 9.10 over 10.09 would be a condition below 1.
  EXPECT_EQ(diagonal_solve<TypeParam>({1, 1.1}, {1, 10}, 1).condition, 1);
}

TYPED_TEST(DigitsTest, NoErrorIsBelowRounding) {
  if (test_ranks().size() > 1) return;
  EXPECT_EQ(diagonal_solve<TypeParam>({1, 1, 1}, {3, 1, 2}, 5).forward_error, 0x1p-53);
}

// The first ten rows have small numbers in large units. So the tolerance in the norm of r is met
// long before the one in the units of x. CG goes on instead of beginning anew.
TYPED_TEST(DigitsTest, ACycleGoesOnToTheToleranceInBothNorms) {
  Communicator const comm = test_ranks();
  if (comm.size() > 1) return;
  std::int64_t const n = 300;
  System<TypeParam> system(tridiagonal(comm, n, [](std::int64_t) { return 2.2; }), comm);
  std::vector<double> b = random_vector(n, 9), ones(static_cast<std::size_t>(n), 1.0), units = ones;
  std::fill_n(b.begin(), 10, 0x1p-12);
  std::fill_n(units.begin(), 10, 0x1p12);
  auto const in_order = [&](std::vector<double> const& numbers) {
    auto const v = system.A.template allocate<double>(system.exec, "strata::test::v");
    system.A.gather(system.exec, to_device<double>(system.exec, numbers), v);
    return v;
  };
  strata::sparse::detail::ResidualNorms<TypeParam> const norms{
      {in_order(ones), in_order(units), 12}, 4.2, 4.2, {}, in_order(ones), in_order(ones)};
  KrylovOptions options;
  options.tolerance = 1e-6;
  auto const right = in_order(b);
  auto const report = ConjugateGradients<TypeParam, double>(system.exec, system.A, {}, options)
                          .solve(system.exec, right, system.x, &norms);
  EXPECT_EQ(report.status, KrylovStatus::Converged);
  EXPECT_LE(report.relative_residual, options.tolerance);
  EXPECT_EQ(report.cycles, 1);
}

TYPED_TEST(DigitsTest, NothingIsSaidWhereNothingIsKnown) {
  Communicator const comm = test_ranks();
  System<TypeParam> system(model(comm, ModelProblem::Poisson7, {5, 5, 5}), comm);
  SparseSolver<TypeParam> solver(system.exec, system.A);
  (void)solver.solve_in_order(system.exec, system.b, system.x);
  auto const again = solver.solve_in_order(system.exec, system.b, system.x);
  EXPECT_EQ(again.iterations, 0);
  EXPECT_EQ(again.digits(), -1);
  EXPECT_TRUE(again.remarks_on_solution().empty());
}

/// z = r.
template <class Exec>
struct Same {
  using Vec = Vector<double, typename Exec::memory_space>;
  void apply(Exec const& exec, Vec const& r, Vec const& z) const { Kokkos::deep_copy(exec, z, r); }
};

// By hand: of ones the image is 1.5 at the ends and 0.5 between, ||A|| is 4.5; in any unit.
TYPED_TEST(DigitsTest, TheBoundOfTheConditionIsANormTimesAQuotient) {
  TypeParam const exec;
  Communicator const comm = test_ranks();
  for (double const unit : {1.0, 0x1p40}) {
    auto const A = make_matrix(
        exec, comm, times(tridiagonal(comm, 50, [](std::int64_t) { return 2.5; }), unit));
    Preconditioner<TypeParam, double> const M = Same<TypeParam>{};
    EXPECT_DOUBLE_EQ(sparse::detail::condition_bound(exec, A, norm_inf(exec, A), M), 3);
  }
}

}  // namespace
