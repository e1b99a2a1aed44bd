// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_Ranks.hpp"
#include "sparse/StrataTest_Sparse.hpp"
#include <sparse/formats/detail/Strata_HostCopy.hpp>
#include <sparse/krylov/Strata_KrylovBasis.hpp>
#include <sparse/matrix/Strata_ModelProblems.hpp>
#include <sparse/multigrid/Strata_AlgebraicMultigrid.hpp>
#include <sparse/multigrid/Strata_GaussSeidelSweeps.hpp>
#include <sparse/multigrid/Strata_GeometricMultigrid.hpp>
#include <sparse/multigrid/Strata_GridHierarchy.hpp>
#include <sparse/multigrid/Strata_TransferHierarchy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

// The coarse matrices are R A P, and the cycle is symmetric, positive definite and a contraction.

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;

template <class Exec>
struct Model {
  using Wide = Vector<double, typename Exec::memory_space>;
  Exec exec;
  Communicator comm = test_ranks();
  DistributedMatrix<Exec> A;

  Model(ModelProblem problem, ModelSize const& size, MatrixOptions const& options = {}) {
    auto const first = even_partition(model_rows(problem, size), comm.size());
    auto const rank = static_cast<std::size_t>(comm.rank());
    A = make_matrix(exec, comm, make_model(problem, size, first[rank], first[rank + 1]), options);
  }
  Wide random(std::uint64_t seed, std::int64_t room) const {
    auto const x = allocate<Wide>(exec, "strata::test::x", room);
    Kokkos::deep_copy(exec, x, 0.0);
    auto const numbers = random_vector(A.global_rows(), seed);
    auto const begin = numbers.begin() + A.first_row();
    A.gather(exec, to_device<double>(exec, {begin, begin + A.rows()}), x);
    return x;
  }
  Wide random(std::uint64_t seed) const { return random(seed, A.rows() + A.halo()); }
};

template <class Exec, class Wide>
double product(Exec const& exec, Communicator const& comm, Wide const& x, Wide const& y,
               std::int64_t rows) {
  auto const a = to_host(exec, x), b = to_host(exec, y);
  double sum = 0;
  for (std::int64_t i = 0; i < rows; ++i)
    sum += a[static_cast<std::size_t>(i)] * b[static_cast<std::size_t>(i)];
  comm.sum(std::span(&sum, 1));
  return sum;
}

template <class Exec>
void expect_galerkin(ModelProblem problem, ModelSize const& size) {
  SCOPED_TRACE(name_of(problem));
  Model<Exec> model(problem, size);
  auto const& exec = model.exec;
  AmgOptions options;
  options.coarse_rows = 20;
  options.block_size = unknowns_per_point(problem);
  auto const hierarchy = make_algebraic_hierarchy(exec, model.A, options);
  ASSERT_GE(hierarchy.levels.size(), 2u);
  auto const& fine = hierarchy.levels[0];
  model.A = fine.A;  // in the order of P's rows
  auto const& coarse = hierarchy.levels[1].A;
  EXPECT_LE(10 * coarse.global_rows(), 9 * model.A.global_rows());
  if (model.A.comm().size() <=
      4) {  // aggregates end at ranks: more have too few rows here to halve
    EXPECT_LT(static_cast<double>(coarse.global_rows()),
              (hierarchy.is_classical ? 0.6 : 0.5) * static_cast<double>(model.A.global_rows()));
  }
  // u' A_c v = (P u)' A (P v) for random u and v; w' P u = u' R w
  auto const room = coarse.rows() + std::max(coarse.halo(), fine.P.halo());
  auto const vector = [&](std::uint64_t seed) {
    auto const x = allocate<typename Model<Exec>::Wide>(exec, "strata::test::u", room);
    Kokkos::deep_copy(exec, x, 0.0);
    auto const numbers = random_vector(coarse.global_rows(), seed);
    auto const begin = numbers.begin() + coarse.first_row();
    coarse.gather(exec, to_device<double>(exec, {begin, begin + coarse.rows()}), x);
    return x;
  };
  auto const u = vector(1), v = vector(2), Acv = vector(3);
  coarse.multiply(exec, v, Acv);
  auto const Pu = model.random(4), Pv = model.random(5), APv = model.random(6);
  fine.P.multiply(exec, u, Pu);
  fine.P.multiply(exec, v, Pv);
  model.A.multiply(exec, Pv, APv);
  double const size_of = std::sqrt(product(exec, model.comm, APv, APv, model.A.rows()) *
                                   product(exec, model.comm, Pu, Pu, model.A.rows()));
  EXPECT_NEAR(product(exec, model.comm, u, Acv, coarse.rows()),
              product(exec, model.comm, Pu, APv, model.A.rows()), 1e-12 * size_of);
  auto const w = model.random(7, model.A.rows() + fine.R.halo()), Rw = vector(8);
  fine.R.multiply(exec, w, Rw);
  EXPECT_NEAR(product(exec, model.comm, w, Pu, model.A.rows()),
              product(exec, model.comm, u, Rw, coarse.rows()), 1e-10);
}

template <class Exec>
void expect_contraction(ModelProblem problem, ModelSize const& size, bool amg, Precision precision,
                        double tolerance, Smoother smoother = Smoother::Automatic) {
  SCOPED_TRACE(testing::Message() << name_of(problem) << ' ' << name_of(smoother));
  Model<Exec> const model(problem, size);
  auto const& exec = model.exec;
  AmgOptions options;
  options.coarse_rows = 20;
  options.block_size = unknowns_per_point(problem);
  options.smoother = smoother;
  auto const hierarchy =
      amg ? make_algebraic_hierarchy(exec, model.A, options) : single_level(model.A);
  AlgebraicMultigrid<Exec, double> const cycle(exec, hierarchy, precision);
  auto const rows = model.A.rows();
  auto const r = model.random(1), s = model.random(2), Mr = model.random(3), Ms = model.random(4);
  cycle.apply(exec, r, Mr);
  cycle.apply(exec, s, Ms);
  double const rMr = product(exec, model.comm, r, Mr, rows),
               sMs = product(exec, model.comm, s, Ms, rows);
  EXPECT_GT(rMr, 0);
  EXPECT_NEAR(product(exec, model.comm, r, Ms, rows), product(exec, model.comm, s, Mr, rows),
              tolerance * std::sqrt(rMr * sMs));
  // The energy norm of the error of x = 0, A x = b, falls: (e - M A e)' A (e - M A e) < e' A e.
  auto const e = model.random(5), Ae = model.random(6), MAe = model.random(7), Af = model.random(8);
  double before = 0;
  for (int sweep = 0; sweep < 5; ++sweep) {
    model.A.multiply(exec, e, Ae);
    double const energy = product(exec, model.comm, e, Ae, rows);
    if (sweep > 0) {
      EXPECT_LT(energy, before) << sweep;
    }
    before = energy;
    cycle.apply(exec, Ae, MAe);
    sparse::detail::add(exec, -1.0, MAe, e, rows);
  }
  EXPECT_GT(cycle.bytes(), 0);
}

template <class Space>
struct AlgebraicMultigridTest : testing::Test {};
TYPED_TEST_SUITE(AlgebraicMultigridTest, Spaces, SpaceNames);

constexpr ModelProblem all[] = {ModelProblem::Poisson7,    ModelProblem::Poisson27,
                                ModelProblem::Anisotropic, ModelProblem::Convection,
                                ModelProblem::Elasticity,  ModelProblem::Graph};

ModelSize size_of(ModelProblem problem) {
  if (problem == ModelProblem::Graph) return {300, 1, 1};
  if (problem == ModelProblem::Elasticity) return {5, 4, 6};
  return {8, 9, 10};
}

// More ranks than cores make every message wait: some kinds will do then.
bool worth_running(ModelProblem problem) {
  return test_ranks().size() == 1 || problem == ModelProblem::Anisotropic ||
         problem == ModelProblem::Elasticity || problem == ModelProblem::Graph;
}

TYPED_TEST(AlgebraicMultigridTest, CoarseMatricesAreGalerkinProducts) {
  for (auto const problem : all)
    if (worth_running(problem)) expect_galerkin<TypeParam>(problem, size_of(problem));
}

TYPED_TEST(AlgebraicMultigridTest, TellsHowFarTheLevelsAre) {
  Model<TypeParam> const model(ModelProblem::Poisson7, {9, 8, 10});
  AmgOptions options;
  options.coarse_rows = 10;
  std::vector<double> parts;
  options.on_progress = [&](double part) { parts.push_back(part); };
  auto const hierarchy = make_algebraic_hierarchy(model.exec, model.A, options);
  ASSERT_GT(hierarchy.levels.size(), 1u);
  EXPECT_GE(parts.size(), 3 * (hierarchy.levels.size() - 1));  // three steps make a level
  EXPECT_EQ(std::ranges::adjacent_find(parts, std::ranges::greater_equal()), parts.end());
  EXPECT_GT(parts.front(), 0);
  EXPECT_LT(parts.back(), 1);
}

TYPED_TEST(AlgebraicMultigridTest, IsSymmetricAndContracts) {
  for (auto const problem : all)
    if (problem != ModelProblem::Convection && worth_running(problem))
      for (bool const amg : {false, true})
        expect_contraction<TypeParam>(problem, size_of(problem), amg, Precision::fp64, 1e-12);
}

TYPED_TEST(AlgebraicMultigridTest, IsSymmetricAndContractsWithEverySmoother) {
  for (auto const problem : {ModelProblem::Anisotropic, ModelProblem::Elasticity})
    for (auto const smoother : {Smoother::GaussSeidel, Smoother::Chebyshev, Smoother::L1Jacobi})
      expect_contraction<TypeParam>(problem, size_of(problem), true, Precision::fp64, 1e-12,
                                    smoother);
}

TYPED_TEST(AlgebraicMultigridTest, TakesTheSmootherThatTheMatrixAllows) {
  if (test_ranks().size() > 1) return;
  AmgOptions options;
  options.coarse_rows = 20;
  auto const smoother = [&](ModelProblem problem) {
    Model<TypeParam> const model(problem, {8, 8, 8});
    return make_algebraic_hierarchy(model.exec, model.A, options).smoother;
  };
  EXPECT_EQ(smoother(ModelProblem::Poisson7), Smoother::Chebyshev);
  EXPECT_EQ(smoother(ModelProblem::Convection), Smoother::GaussSeidel);
  options.steps = -1;
  EXPECT_TRUE(throws_with<ValueError>("AMG: -1 steps of a smoother",
                                      [&] { (void)smoother(ModelProblem::Poisson7); }));
}

// NOLINTBEGIN(bugprone-use-after-move)
TYPED_TEST(AlgebraicMultigridTest, WhatWasMovedFromIsRefused) {
  MatrixOptions how;
  how.order = RowOrder::Sweep;
  Model<TypeParam> const model(ModelProblem::Poisson7, {4, 4, 4}, how);
  auto const& exec = model.exec;
  auto const& A = model.A;
  auto const r = A.template allocate<double>(exec, "strata::test::r"),
             z = A.template allocate<double>(exec, "strata::test::z");
  auto const expect_refused = [&](std::string const& name, auto M) {
    auto const other = std::move(M);
    EXPECT_TRUE(throws_with<ValueError>(name + ": moved from", [&] { M.apply(exec, r, z); }));
    other.apply(exec, r, z);
    M = other;  // which shares its vectors
    M.apply(exec, r, z);
  };
  GridHierarchy<TypeParam> const grids{{{A, {}}}};
  using Algebraic = AlgebraicMultigrid<TypeParam, double>;
  using Geometric = GeometricMultigrid<TypeParam, double>;
  using Sweeps = GaussSeidelSweeps<TypeParam, double>;
  expect_refused("AlgebraicMultigrid", Algebraic(exec, single_level(A), Precision::fp64));
  expect_refused("GeometricMultigrid", Geometric(exec, grids));
  expect_refused("GaussSeidelSweeps", Sweeps(exec, A, Precision::fp64));
}
// NOLINTEND(bugprone-use-after-move)

}  // namespace
