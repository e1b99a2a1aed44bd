// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_Sparse.hpp"
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/coarsening/Strata_NearNullSpace.hpp>
#include <sparse/coarsening/detail/Strata_Coarsening.hpp>
#include <sparse/coarsening/detail/Strata_Prolongator.hpp>
#include <sparse/formats/detail/Strata_HostCopy.hpp>
#include <sparse/matrix/Strata_ModelProblems.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

// Near-null spaces of several vectors, and nodes of several unknowns.

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;
namespace inner = strata::sparse::detail;

std::vector<double> places(ModelSize const& size) {
  std::vector<double> result;
  for (std::int64_t z = 0; z < size.nz; ++z)
    for (std::int64_t y = 0; y < size.ny; ++y)
      for (std::int64_t x = 0; x < size.nx; ++x)
        for (auto const along : {x, y, z}) result.push_back(static_cast<double>(along));
  return result;
}

template <class Exec>
DistributedMatrix<Exec> model(Exec const& exec, ModelProblem problem, ModelSize const& size) {
  return make_matrix(exec, Communicator(), make_model(problem, size, 0, model_rows(problem, size)));
}

// The points of a line, each coupled to its neighbours by a block of three unknowns.
HostRows chain(std::int64_t nodes) {
  HostRows rows;
  for (std::int64_t node = 0; node < nodes; ++node)
    for (std::int64_t r = 0; r < 3; ++r) {
      for (std::int64_t const other : {node - 1, node, node + 1})
        for (std::int64_t c = 0; c < 3 && other >= 0 && other < nodes; ++c)
          rows.add(3 * other + c, (other == node ? 2.0 : -1.0) * (r == c ? 1.0 : 0.3));
      rows.end_row();
    }
  return rows;
}

template <class Exec>
std::vector<double> on_host(Exec const& exec, inner::PooledVector<double, Exec> const& x) {
  return inner::to_host(exec, x.view());
}

/// A level of elasticity with its modes, and what it leads to.
template <class Exec>
struct Level {
  static constexpr ModelSize size{7, 5, 6};
  Exec exec;
  inner::WholeLevel<Exec> whole =
      inner::finest_level(exec, model(exec, ModelProblem::Elasticity, size),
                          {0, rigid_body_modes(places(size), 3), {}});
  inner::StrongGraph<Exec> F = inner::strong_graph(exec, whole.A.nodes, {}, 0.5);
  inner::RowAggregates<Exec> aggregates = inner::aggregates_of(exec, whole.A.nodes, F, {});
  inner::Tentative<Exec> tentative =
      inner::tentative_of(exec, whole.A.height, aggregates, whole.modes);
};

// Of each row: the tentative prolongator times the coarse modes.
template <class Exec>
void expect_modes_kept(double tolerance) {
  Level<Exec> const level;
  auto const B = on_host(level.exec, level.whole.modes.value),
             Q = on_host(level.exec, level.tentative.P0.value),
             R = on_host(level.exec, level.tentative.coarse.value);
  auto const of = inner::to_host(level.exec, level.aggregates.of.view());
  constexpr std::size_t k = 6;
  ASSERT_EQ(level.whole.modes.width, 6);
  ASSERT_EQ(level.whole.A.height, 3);
  std::vector<double> gram(static_cast<std::size_t>(level.aggregates.count) * k * k, 0.0);
  for (std::size_t row = 0; 3 * k * of.size() > row * k; ++row) {
    ASSERT_GE(of[row / 3], 0);
    auto const aggregate = static_cast<std::size_t>(of[row / 3]);
    for (std::size_t c = 0; c < k; ++c) {
      double sum = 0;
      for (std::size_t d = 0; d < k; ++d) {
        sum += Q[row * k + d] * R[(aggregate * k + d) * k + c];
        gram[(aggregate * k + c) * k + d] += Q[row * k + c] * Q[row * k + d];
      }
      EXPECT_NEAR(sum, B[row * k + c], tolerance) << row << ", " << c;
    }
  }
  for (std::size_t e = 0; e < gram.size(); ++e)
    EXPECT_NEAR(gram[e], (e / k) % k == e % k ? 1 : 0, tolerance) << e;
}

// P R = B - w D^-1 A B, whatever is weak.
template <class Exec>
void expect_smoothed(double tolerance) {
  Level<Exec> const level;
  constexpr double largest = 2.5;
  auto const& exec = level.exec;
  auto const P = inner::smoothed_prolongator(exec, level.whole.A, level.F, level.aggregates,
                                             level.whole.modes, level.tentative, largest);
  auto const numbers = inner::to_numbers(exec, P), A = inner::to_numbers(exec, level.whole.A);
  auto const begin = inner::to_host(exec, numbers.begin.view()),
             first = inner::to_host(exec, A.begin.view());
  auto const column = inner::to_host(exec, numbers.column.view()),
             j_of = inner::to_host(exec, A.column.view());
  auto const p = on_host(exec, numbers.value), a = on_host(exec, A.value),
             B = on_host(exec, level.whole.modes.value),
             R = on_host(exec, level.tentative.coarse.value);
  constexpr std::size_t k = 6;
  std::int64_t weak = 0;
  for (std::size_t row = 0; row + 1 < begin.size(); ++row) {
    double diagonal = 0, image[k] = {}, found[k] = {};
    for (auto e = static_cast<std::size_t>(first[row]);
         e < static_cast<std::size_t>(first[row + 1]); ++e) {
      auto const j = static_cast<std::size_t>(j_of[e]);
      if (j == row) diagonal = a[e];
      for (std::size_t c = 0; c < k; ++c) image[c] += a[e] * B[j * k + c];
    }
    for (auto e = static_cast<std::size_t>(begin[row]);
         e < static_cast<std::size_t>(begin[row + 1]); ++e)
      for (std::size_t c = 0; c < k; ++c)
        found[c] += p[e] * R[static_cast<std::size_t>(column[e]) * k + c];
    for (std::size_t c = 0; c < k; ++c)
      EXPECT_NEAR(found[c], B[row * k + c] - 4.0 / 3 / largest / diagonal * image[c], tolerance)
          << row << ", " << c;
  }
  auto const strong = level.F.column.size() + level.whole.A.nodes.rows;
  weak = level.whole.A.nodes.entries() - strong;
  EXPECT_GT(weak, 0) << "nothing is filtered";
}

template <class Space>
struct ModesTest : testing::Test {};
TYPED_TEST_SUITE(ModesTest, Spaces, SpaceNames);

TYPED_TEST(ModesTest, TentativeColumnsAreOrthonormalAndHoldTheModes) {
  expect_modes_kept<TypeParam>(60 * std::numeric_limits<double>::epsilon());
}

TYPED_TEST(ModesTest, WhatIsWeakLeavesTheModesAsTheyAre) {
  expect_smoothed<TypeParam>(600 * std::numeric_limits<double>::epsilon());
}

TYPED_TEST(ModesTest, NodesAreFoundFromThePattern) {
  TypeParam const exec;
  auto const found = [&](DistributedMatrix<TypeParam> const& A) {
    return inner::finest_level(exec, A, {0, {}, {}}).block_size;
  };
  EXPECT_EQ(found(model(exec, ModelProblem::Elasticity, {5, 4, 3})), 3);
  EXPECT_EQ(found(make_matrix(exec, Communicator(), chain(40))), 3);
  for (auto const problem : {ModelProblem::Poisson7, ModelProblem::Poisson27})
    EXPECT_EQ(found(model(exec, problem, {6, 6, 6})), 1) << name_of(problem);
  HostRows band;  // which fills blocks wherever they begin
  for (std::int64_t i = 0; i < 60; ++i) {
    for (std::int64_t j = std::max<std::int64_t>(i - 4, 0); j <= std::min<std::int64_t>(i + 4, 59);
         ++j)
      band.add(j, i == j ? 8 : -1);
    band.end_row();
  }
  EXPECT_EQ(found(make_matrix(exec, Communicator(), band)), 1);
}

TYPED_TEST(ModesTest, ProductsOfBlocksAreThoseOfTheirNumbers) {
  Level<TypeParam> const level;
  auto const& exec = level.exec;
  auto const P = inner::smoothed_prolongator(exec, level.whole.A, level.F, level.aggregates,
                                             level.whole.modes, level.tentative, 2.5);
  auto const index = inner::transposed_index(exec, P.nodes);
  auto const AP = inner::product(exec, level.whole.A, P);
  auto const C = inner::to_numbers(exec, inner::product(exec, index, P, AP));
  auto const numbers = inner::to_numbers(exec, P);
  auto const D =
      inner::product(exec, inner::transposed_index(exec, numbers), numbers,
                     inner::product(exec, inner::to_numbers(exec, level.whole.A), numbers));
  ASSERT_EQ(inner::to_host(exec, C.begin.view()), inner::to_host(exec, D.begin.view()));
  ASSERT_EQ(inner::to_host(exec, C.column.view()), inner::to_host(exec, D.column.view()));
  auto const c = on_host(exec, C.value), d = on_host(exec, D.value);
  for (std::size_t k = 0; k < c.size(); ++k) EXPECT_NEAR(c[k], d[k], 1e-12) << k;
}

template <class Exec>
SparseReport solved(HostRows const& rows, std::shared_ptr<NearNullSpace const> const& modes) {
  Exec const exec;
  auto const A = make_matrix(exec, Communicator(), rows);
  SparseOptions options;
  options.preconditioner = PreconditionerKind::Amg;
  options.amg.coarse_rows = 30;
  options.amg.near_null_space = modes;
  SparseSolver<Exec> solver(exec, A, options);
  auto const b = to_device<double>(exec, random_vector(A.rows(), 3)),
             x = to_device<double>(exec,
                                   std::vector<double>(static_cast<std::size_t>(A.rows()), 0));
  return solver.solve(exec, b, x);
}

TYPED_TEST(ModesTest, RigidBodyModesOfABeamSaveIterations) {
  ModelSize const size{40, 4, 4};
  auto const rows =
      make_model(ModelProblem::Elasticity, size, 0, model_rows(ModelProblem::Elasticity, size));
  auto const constants = solved<TypeParam>(rows, nullptr),
             modes = solved<TypeParam>(rows, rigid_body_modes(places(size), 3));
  EXPECT_TRUE(constants.solved());
  EXPECT_TRUE(modes.solved());
  EXPECT_EQ(constants.block_size, 3);
  EXPECT_EQ(constants.modes, 1);
  EXPECT_EQ(modes.modes, 6);
  EXPECT_LE(2 * modes.iterations, constants.iterations);
}

// Points of a line do not turn about it: one of the six is dead.
TYPED_TEST(ModesTest, DeadUnknownsAreHeld) {
  auto const rows = chain(200);
  std::vector<double> line(600, 0.0);
  for (std::size_t node = 0; node < 200; ++node) line[3 * node] = static_cast<double>(node);
  auto const report = solved<TypeParam>(rows, rigid_body_modes(line, 3));
  EXPECT_TRUE(report.solved()) << name_of(report.status);
  EXPECT_GT(report.levels.size(), 1u);
}

TYPED_TEST(ModesTest, RefusesWhatDoesNotFit) {
  TypeParam const exec;
  EXPECT_TRUE(throws_with<ShapeError>("places of 4 coordinates, must be 2 or 3",
                                      [] { (void)rigid_body_modes(std::vector<double>(8), 4); }));
  EXPECT_TRUE(throws_with<ShapeError>("7 numbers are no whole rows of 3",
                                      [] { (void)rigid_body_modes(std::vector<double>(7), 3); }));
  std::vector<double> const bad{0, 1, 2, std::nan("")};
  EXPECT_TRUE(throws_with<ValueError>("nan in row 1, column 1, must be finite",
                                      [&] { (void)rigid_body_modes(bad, 2); }));
  EXPECT_TRUE(throws_with<ValueError>("17 vectors, must be 1 to 16",
                                      [&] { (void)near_null_space(bad, 17); }));
  EXPECT_TRUE(throws_with<ShapeError>("near-null space: 12 rows for a matrix of 60", [&] {
    auto const modes = near_null_space(std::vector<double>(24, 1.0), 2);
    (void)solved<TypeParam>(chain(20), modes);
  }));
}

}  // namespace
