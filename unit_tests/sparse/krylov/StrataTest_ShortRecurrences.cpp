// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "../StrataTest_HardMatrices.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <sparse/krylov/Strata_BiCgStab.hpp>
#include <sparse/krylov/Strata_Jacobi.hpp>
#include <sparse/krylov/Strata_Minres.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

// BiCGStab and MINRES, on any number of ranks.

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;

template <class Space>
struct ShortRecurrencesTest : testing::Test {};
TYPED_TEST_SUITE(ShortRecurrencesTest, Spaces, SpaceNames);

KrylovOptions options_of(double tolerance, std::int64_t most = 2000) {
  KrylovOptions options;
  options.tolerance = tolerance;
  options.max_iterations = most;
  options.stall_factor = 0.999;
  return options;
}

template <class Scalar, class Exec>
KrylovReport by_bicgstab(System<Exec>& system, KrylovOptions const& options) {
  Jacobi<Exec, Scalar> const M(system.exec, system.A);
  return BiCgStab<Exec, Scalar>(system.exec, system.A, M, options)
      .solve(system.exec, system.b, system.x);
}

TYPED_TEST(ShortRecurrencesTest, BicgstabSolvesWithRoundedPreconditioners) {
  Communicator const comm = test_ranks();
  for (bool const narrow : {false, true}) {
    System<TypeParam> system(model(comm, ModelProblem::Convection, {9, 8, 7}), comm);
    auto const report = narrow ? by_bicgstab<float>(system, options_of(1e-12))
                               : by_bicgstab<double>(system, options_of(1e-12));
    EXPECT_EQ(report.status, KrylovStatus::Converged);
    EXPECT_LE(system.residual(), 1.01e-12);
    EXPECT_LT(report.iterations, 120);
  }
}

TYPED_TEST(ShortRecurrencesTest, MinresSolvesIndefiniteMatrices) {
  Communicator const comm = test_ranks();
  System<TypeParam> system(part_of(comm, poisson_map(16, 0.5).rows()), comm);
  auto const report = Minres<TypeParam>(system.exec, system.A, {}, options_of(1e-11))
                          .solve(system.exec, system.b, system.x);
  EXPECT_EQ(report.status, KrylovStatus::Converged);
  EXPECT_LE(system.residual(), 1.01e-11);
  EXPECT_LE(report.iterations, 256);
}

TYPED_TEST(ShortRecurrencesTest, MinresRefusesAPreconditionerThatIsNotPositive) {
  Communicator const comm = test_ranks();
  System<TypeParam> system(
      tridiagonal(comm, 80, [](std::int64_t i) { return i % 2 == 0 ? 3.0 : -3.0; }), comm);
  Jacobi<TypeParam, double> const M(system.exec, system.A);
  auto const report = Minres<TypeParam>(system.exec, system.A, M, options_of(1e-10))
                          .solve(system.exec, system.b, system.x);
  EXPECT_EQ(report.status, KrylovStatus::NotPositiveDefinite);
}

TYPED_TEST(ShortRecurrencesTest, BothTellTheirIterationsAndEndWhereTheyAreTold) {
  Communicator const comm = test_ranks();
  auto const rows = model(comm, ModelProblem::Poisson7, {8, 8, 8});
  for (bool const is_minres : {false, true}) {
    SCOPED_TRACE(is_minres);
    System<TypeParam> system(rows, comm);
    std::vector<std::int64_t> told;
    auto options = options_of(1e-10);
    options.monitor = [&](std::int64_t iteration, double) { told.push_back(iteration); };
    auto const solve = [&] {
      return is_minres ? Minres<TypeParam>(system.exec, system.A, {}, options)
                             .solve(system.exec, system.b, system.x)
                       : by_bicgstab<double>(system, options);
    };
    auto const report = solve();
    EXPECT_EQ(report.status, KrylovStatus::Converged);
    std::vector<std::int64_t> all(static_cast<std::size_t>(report.iterations));
    std::iota(all.begin(), all.end(), 1);
    EXPECT_EQ(told, all);
    EXPECT_EQ(solve().iterations, 0);  // x is the solution
    Kokkos::deep_copy(system.exec, system.x, 0.0);
    options.gives_up = [](std::int64_t iteration, double) { return iteration == 5; };
    auto const given_up = solve();
    EXPECT_EQ(given_up.status, KrylovStatus::Stalled);
    EXPECT_EQ(given_up.iterations, 5);
    EXPECT_LT(system.residual(), 1);
  }
}

TYPED_TEST(ShortRecurrencesTest, NeitherReturnsAWorseVectorThanItsGuess) {
  Communicator const comm = test_ranks();
  System<TypeParam> skew(part_of(comm, cyclic_shift(60, 1)), comm);
  auto const report = BiCgStab<TypeParam, double>(skew.exec, skew.A, {}, options_of(1e-10, 40))
                          .solve(skew.exec, skew.b, skew.x);
  EXPECT_LE(report.relative_residual, 1);
  EXPECT_LE(skew.residual(), 1.0000001);
  System<TypeParam> singular(floating_chain(comm, 60), comm);
  auto const found = Minres<TypeParam>(singular.exec, singular.A, {}, options_of(1e-12, 200))
                         .solve(singular.exec, singular.b, singular.x);
  EXPECT_LE(found.relative_residual, 1e-8);
}

}  // namespace
