// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_SparseSystem.hpp"
#include <core/problems/Strata_Random.hpp>
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/krylov/Strata_ConjugateGradients.hpp>
#include <sparse/multigrid/Strata_AlgebraicMultigrid.hpp>
#include <sparse/multigrid/Strata_TransferHierarchy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

// When a preconditioner's vectors are rounded, on any number of ranks.

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;

// A preconditioner that notes the relative residual of each call.
template <class Exec, class Vec>
struct Counted {
  Preconditioner<Exec, typename Vec::value_type> M;
  std::vector<double> const* residuals;
  std::shared_ptr<std::vector<double>> noted;
  void apply(Exec const& exec, Vec const& r, Vec const& z) const {
    noted->push_back(residuals->back());
    M.apply(exec, r, z);
  }
};

template <class Space>
struct ConjugateGradientsTest : testing::Test {};
TYPED_TEST_SUITE(ConjugateGradientsTest, Spaces, SpaceNames);

// A slender body under forces everywhere: before its vectors were fp64 at the beginning, CG took 70
// iterations with a preconditioner in fp32 where it takes 53 in fp64.
TYPED_TEST(ConjugateGradientsTest, TakesNoMoreIterationsInLowPrecision) {
  Communicator const comm = test_ranks();
  for (auto const& size : {ModelSize{20, 4, 4}, ModelSize{40, 3, 3}}) {
    System<TypeParam> system(model(comm, ModelProblem::Elasticity, size), comm);
    system.A.gather(
        system.exec,
        natural(system.exec, system.A, [](std::int64_t i) { return uniform(1, i) - 0.5; }),
        system.b);
    std::int64_t in_fp64 = 0;
    for (auto const precision :
         {Precision::fp64, Precision::fp32, Precision::bf16, Precision::fp16}) {
      SCOPED_TRACE(testing::Message() << size.nx << ' ' << traits(precision).name);
      Kokkos::deep_copy(system.exec, system.x, 0.0);
      SparseOptions options;
      options.precision = precision;
      options.preconditioner = PreconditionerKind::Amg;
      options.amg.block_size = 3;
      SparseSolver<TypeParam> solver(system.exec, system.A, options);
      auto const report = solver.solve_in_order(system.exec, system.b, system.x);
      EXPECT_LE(system.residual(), 1.01 * std::max(report.relative_residual, options.tolerance));
      EXPECT_TRUE(report.solved());  // on some ranks at the limit of fp64
      if (precision == Precision::fp64) in_fp64 = report.iterations;
      // Aggregates end at the ranks: of many small ones the cycle in 16 bits may be too poor, and
      // the ladder is climbed.
      if (traits(precision).bytes == 2 && comm.size() > 4) continue;
      EXPECT_EQ(report.attempts.size(),
                1u);  // and none is given up while x improves but the residual stays
      EXPECT_LE(report.iterations, in_fp64 + 2);
    }
  }
}

// Where CG is far from the tolerance M has vectors in fp64, near it in Scalar, and a cycle made
// from another has its matrices.
TYPED_TEST(ConjugateGradientsTest, RoundsThePreconditionersVectorsWhereThatCostsNothing) {
  using Wide = Vector<double, typename TypeParam::memory_space>;
  using Narrow = Vector<float, typename TypeParam::memory_space>;
  Communicator const comm = test_ranks();
  System<TypeParam> system(model(comm, ModelProblem::Poisson7, {12, 11, 10}), comm);
  auto const& [exec, A, b, x] = system;
  AlgebraicMultigrid<TypeParam, double> const cycle(exec, make_algebraic_hierarchy(exec, A, {}),
                                                    Precision::fp32);
  AlgebraicMultigrid<TypeParam, float> const narrow(exec, cycle);
  EXPECT_LT(narrow.bytes(), cycle.bytes() / 2);
  auto const s = A.template allocate<float>(exec, "strata::test::s"),
             z = A.template allocate<float>(exec, "strata::test::z");
  auto const wide_z = A.template allocate<double>(exec, "strata::test::wide_z");
  Kokkos::deep_copy(exec, s, b);
  narrow.apply(exec, s, z);
  cycle.apply(exec, b, wide_z);
  auto const rounded = to_host(exec, z);
  auto const unrounded = to_host(exec, wide_z);
  double const largest = sparse::detail::max_norm(exec, comm, wide_z, A.rows());
  for (std::size_t i = 0; i < static_cast<std::size_t>(A.rows()); ++i)
    EXPECT_NEAR(rounded[i], unrounded[i], 1e-5 * largest);

  for (double const tolerance : {1e-12, 1e-10, 1e-5}) {
    std::vector<double> residuals{1};
    auto const of_narrow = std::make_shared<std::vector<double>>(),
               of_wide = std::make_shared<std::vector<double>>();
    Counted<TypeParam, Narrow> const M{narrow, &residuals, of_narrow};
    Counted<TypeParam, Wide> const unrounded_M{cycle, &residuals, of_wide};
    KrylovOptions options{.tolerance = tolerance};
    options.monitor = [&](std::int64_t, double residual) { residuals.push_back(residual); };
    Kokkos::deep_copy(exec, x, 0.0);
    ConjugateGradients<TypeParam, float> cg(exec, A, M, options, unrounded_M);
    EXPECT_EQ(cg.solve(exec, b, x).status, KrylovStatus::Converged);
    EXPECT_FALSE(of_narrow->empty());
    for (double const r : *of_wide) EXPECT_GT(r * 0x1p-21, tolerance);
    for (double const r : *of_narrow) EXPECT_LE(r * 0x1p-21, tolerance);
    EXPECT_EQ(of_wide->empty(), tolerance == 1e-5);
  }
}

// Residuals of the biharmonic operator rise far above what they were. Wherever CG is ended, it
// leaves an x that is no worse than ten times the best one before.
TYPED_TEST(ConjugateGradientsTest, LeavesAnXNearTheBestThatItMet) {
  Communicator const comm = test_ranks();
  System<TypeParam> system(biharmonic(comm, 60), comm);
  int risen = 0;
  for (std::int64_t most = 1; most <= 140; ++most) {
    Kokkos::deep_copy(system.exec, system.x, 0.0);
    double least = 1, last = 1;
    KrylovOptions options;
    options.max_iterations = most;
    options.monitor = [&](std::int64_t, double residual) {
      least = std::min(least, residual);
      last = residual;
    };
    auto const report = ConjugateGradients<TypeParam, double>(system.exec, system.A, {}, options)
                            .solve(system.exec, system.b, system.x);
    EXPECT_EQ(report.status, KrylovStatus::IterationLimit);
    EXPECT_LE(system.residual(), 10 * least * (1 + 1e-9)) << most;
    EXPECT_LE(report.relative_residual, 10 * least * (1 + 1e-9)) << most;
    risen += last > 10 * least;
  }
  EXPECT_GT(risen, 0);
}

}  // namespace
