// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_Ranks.hpp"
#include "sparse/StrataTest_SparseSystem.hpp"
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/coarsening/Strata_NearNullSpace.hpp>
#include <sparse/coarsening/detail/Strata_SpreadLevel.hpp>
#include <sparse/multigrid/Strata_TransferHierarchy.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

// Multigrid of several ranks has the levels, and takes the iterations, of one.

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;

// A matrix that one rank makes whole, and its modes, if there are any.
struct Problem {
  std::string name;
  HostRows rows;
  std::shared_ptr<NearNullSpace const> modes;
  int block_size = 1;
};

HostRows whole(ModelProblem model, ModelSize const& size) {
  return make_model(model, size, 0, model_rows(model, size));
}

std::shared_ptr<NearNullSpace const> motions(ModelSize const& size) {
  std::vector<double> places;
  for (std::int64_t z = 0; z < size.nz; ++z)
    for (std::int64_t y = 0; y < size.ny; ++y)
      for (std::int64_t x = 0; x < size.nx; ++x)
        for (auto const along : {x, y, z}) places.push_back(static_cast<double>(along));
  return rigid_body_modes(places, 3);
}

// D A D, D from 1 to 1e6: unknowns in other units.
HostRows in_units(HostRows rows) {
  auto const unit = [](std::int64_t i) {
    return std::pow(10.0, static_cast<double>(i * 7 % 13) / 2);
  };
  for (std::int64_t i = 0; i < rows.rows(); ++i)
    for (auto k = static_cast<std::size_t>(rows.begin[static_cast<std::size_t>(i)]);
         k < static_cast<std::size_t>(rows.begin[static_cast<std::size_t>(i) + 1]); ++k)
      rows.value[k] *= unit(i) * unit(rows.column[k]);
  return rows;
}

std::vector<Problem> problems() {
  ModelSize const grid{12, 13, 11}, body{7, 6, 8};
  return {{"poisson7", whole(ModelProblem::Poisson7, grid), nullptr, 1},
          {"anisotropic", whole(ModelProblem::Anisotropic, grid), nullptr, 1},
          {"convection", whole(ModelProblem::Convection, grid), nullptr, 1},
          {"in units", in_units(whole(ModelProblem::Poisson7, grid)), nullptr, 1},
          {"graph", whole(ModelProblem::Graph, {2000, 1, 1}), nullptr, 1},
          {"elasticity", whole(ModelProblem::Elasticity, body), nullptr, 3},
          {"elasticity with modes", whole(ModelProblem::Elasticity, body), motions(body), 3}};
}

// Rows [first, end) of all.
HostRows part(HostRows const& all, std::int64_t first, std::int64_t end) {
  HostRows rows;
  for (std::int64_t i = first; i < end; ++i) {
    for (auto k = static_cast<std::size_t>(all.begin[static_cast<std::size_t>(i)]);
         k < static_cast<std::size_t>(all.begin[static_cast<std::size_t>(i) + 1]); ++k)
      rows.add(all.column[k], all.value[k]);
    rows.end_row();
  }
  return rows;
}

template <class Exec>
SparseReport solved(Problem const& problem, Communicator const& comm) {
  std::int64_t const size = problem.block_size;
  auto const first = even_partition(problem.rows.rows() / size, comm.size());
  auto const rank = static_cast<std::size_t>(comm.rank());
  std::int64_t const begin = first[rank] * size, end = first[rank + 1] * size;
  System<Exec> system(part(problem.rows, begin, end), comm);
  SparseOptions options;
  options.preconditioner = PreconditionerKind::Amg;
  options.amg.coarse_rows = 40;
  if (problem.modes) {
    auto const all = problem.modes->values.begin();
    int const width = problem.modes->width;
    options.amg.near_null_space = std::make_shared<NearNullSpace const>(
        NearNullSpace{width, {all + begin * width, all + end * width}});
    options.amg.block_size = problem.block_size;
  }
  SparseSolver<Exec> solver(system.exec, system.A, options);
  auto const report = solver.solve_in_order(system.exec, system.b, system.x);
  EXPECT_LT(system.residual(), 1e-9);
  return report;
}

template <class Space>
struct LevelsOfRanksTest : testing::Test {};
TYPED_TEST_SUITE(LevelsOfRanksTest, Spaces, SpaceNames);

TYPED_TEST(LevelsOfRanksTest, AreThoseOfOneRank) {
  auto const comm = test_ranks();
  for (auto const& problem : problems()) {
    SCOPED_TRACE(problem.name);
    auto const alone = solved<TypeParam>(problem, Communicator());
    auto const together = solved<TypeParam>(problem, comm);
    EXPECT_EQ(together.block_size, alone.block_size);
    EXPECT_EQ(together.modes, alone.modes);
    ASSERT_EQ(together.levels.size(), alone.levels.size());
    EXPECT_GT(alone.levels.size(), 2u);
    for (std::size_t l = 0; l < alone.levels.size(); ++l)
      EXPECT_EQ(together.levels[l].rows, alone.levels[l].rows) << "level " << l;
    EXPECT_TRUE(together.solved());
    EXPECT_LE(static_cast<double>(together.iterations),
              1.15 * static_cast<double>(alone.iterations) + 1)
        << "one rank takes " << alone.iterations;
  }
}

TYPED_TEST(LevelsOfRanksTest, RefuseModesThatDoNotFit) {
  TypeParam const exec;
  auto const comm = test_ranks();
  if (comm.size() == 1) return;
  ModelSize const body{5, 4, 4};
  auto const all = whole(ModelProblem::Elasticity, body);
  auto first = even_partition(all.rows() / 3, comm.size());
  for (auto& row : first) row *= 3;
  first[1] -= 1;  // a node of two ranks
  auto const rank = static_cast<std::size_t>(comm.rank());
  auto const A = make_matrix(exec, comm, part(all, first[rank], first[rank + 1]));
  AmgOptions options;
  options.block_size = 3;
  auto const given = [&](std::int64_t rows) {
    std::vector<double> const ones(static_cast<std::size_t>(rows), 1.0);
    return std::make_shared<NearNullSpace const>(NearNullSpace{1, ones});
  };
  options.near_null_space = given(A.rows());
  EXPECT_TRUE(throws_with<ShapeError>("no whole number of blocks of 3",
                                      [&] { (void)make_algebraic_hierarchy(exec, A, options); }));
  options.near_null_space = given(A.rows() + 1);
  EXPECT_TRUE(throws_with<ShapeError>("near-null space: ",
                                      [&] { (void)make_algebraic_hierarchy(exec, A, options); }));
}

TEST(LevelsOfRanks, GoToTheFirstOfNeighbours) {
  using Partition = std::vector<std::int64_t>;
  using sparse::detail::on_fewer_ranks;
  Partition const four{0, 30, 60, 80, 100}, five{0, 10, 20, 30, 40, 50};
  EXPECT_EQ(on_fewer_ranks(four, 25), four);
  EXPECT_EQ(on_fewer_ranks(four, 50), (Partition{0, 60, 60, 100, 100}));
  EXPECT_EQ(on_fewer_ranks(four, 51), (Partition{0, 100, 100, 100, 100}));
  EXPECT_EQ(on_fewer_ranks(four, 1000), (Partition{0, 100, 100, 100, 100}));
  EXPECT_EQ(on_fewer_ranks(four, 0), four);
  EXPECT_EQ(on_fewer_ranks(five, 25), (Partition{0, 30, 30, 30, 50, 50}));
}

}  // namespace
