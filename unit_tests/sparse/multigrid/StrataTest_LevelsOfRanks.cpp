// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_Ranks.hpp"
#include "sparse/StrataTest_SparseSystem.hpp"
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/coarsening/Strata_NearNullSpace.hpp>
#include <sparse/coarsening/detail/Strata_SpreadLevel.hpp>
#include <sparse/krylov/Strata_ConjugateGradients.hpp>
#include <sparse/multigrid/Strata_AlgebraicMultigrid.hpp>
#include <sparse/multigrid/Strata_TransferHierarchy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
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

// The body's rows: a rank's share of a `shares`-th of them, and nothing on ranks behind these.
struct SpreadBody {
  ModelSize size{5, 4, 4};
  HostRows all = whole(ModelProblem::Elasticity, size);
  std::shared_ptr<NearNullSpace const> modes = motions(size);
  std::int64_t begin = 0, end = 0;

  SpreadBody(Communicator const& comm, int shares) {
    auto const first = even_partition(all.rows() / 3, shares);
    auto const rank = static_cast<std::size_t>(std::min(comm.rank(), shares));
    begin = 3 * first[rank];
    end = comm.rank() < shares ? 3 * first[rank + 1] : begin;
  }
  // The first `width` motions of this rank's rows.
  std::shared_ptr<NearNullSpace const> given(int width) const {
    std::vector<double> values;
    for (auto row = begin; row < end; ++row)
      for (int c = 0; c < width; ++c)
        values.push_back(modes->values[static_cast<std::size_t>(row * modes->width + c)]);
    return std::make_shared<NearNullSpace const>(NearNullSpace{width, values});
  }
};

TYPED_TEST(LevelsOfRanksTest, NeedNoModesOfARankWithoutRows) {
  auto const comm = test_ranks();
  if (comm.size() == 1) return;
  SpreadBody const body(comm, comm.size() - 1);
  System<TypeParam> system(part(body.all, body.begin, body.end), comm);
  SparseOptions options;
  options.amg.block_size = 3;
  options.amg.coarse_rows = 20;
  options.preconditioner = PreconditionerKind::Amg;
  if (body.end > body.begin) options.amg.near_null_space = body.given(6);
  SparseSolver<TypeParam> solver(system.exec, system.A, options);
  auto const report = solver.solve_in_order(system.exec, system.b, system.x);
  EXPECT_TRUE(report.solved());
  EXPECT_EQ(report.modes, 6);
  EXPECT_LT(system.residual(), 1e-9);
}

TYPED_TEST(LevelsOfRanksTest, RefuseModesThatDifferFromRankToRank) {
  auto const comm = test_ranks();
  if (comm.size() == 1) return;
  SpreadBody const body(comm, comm.size());
  System<TypeParam> system(part(body.all, body.begin, body.end), comm);
  SparseOptions options;
  options.amg.block_size = 3;
  bool const is_last = comm.rank() == comm.size() - 1;
  auto const expect_refused = [&](std::string const& text) {
    EXPECT_TRUE(throws_with<ShapeError>(
        text, [&] { SparseSolver<TypeParam>(system.exec, system.A, options); }));
    EXPECT_TRUE(throws_with<ShapeError>(
        text, [&] { (void)make_algebraic_hierarchy(system.exec, system.A, options.amg); }));
  };
  options.amg.near_null_space = body.given(is_last ? 3 : 6);
  expect_refused("near-null space: ranks have 3 to 6 vectors");
  if (is_last) options.amg.near_null_space = nullptr;
  expect_refused("near-null space: ranks have 0 to ");
  options.amg.near_null_space = body.given(6);
  options.amg.block_size = is_last ? 0 : 3;
  expect_refused("AMG: ranks have blocks of 0 to 3");
}

// A level's matrix whole, as every rank gets it, each row by ascending columns.
struct Whole {
  std::vector<double> lengths, columns, values;
};

Whole gathered(Communicator const& comm, HostRows rows) {
  for (std::size_t i = 1; i < rows.begin.size(); ++i) {
    std::vector<std::pair<std::int64_t, double>> row;
    auto const begin = static_cast<std::size_t>(rows.begin[i - 1]),
               end = static_cast<std::size_t>(rows.begin[i]);
    for (auto k = begin; k < end; ++k) row.emplace_back(rows.column[k], rows.value[k]);
    std::sort(row.begin(), row.end());
    for (auto k = begin; k < end; ++k) std::tie(rows.column[k], rows.value[k]) = row[k - begin];
  }
  auto const of_all = [&](std::vector<double> const& own) {
    return comm.gather(std::span<double const>(own));
  };
  std::vector<double> lengths;
  for (std::size_t i = 1; i < rows.begin.size(); ++i)
    lengths.push_back(static_cast<double>(rows.begin[i] - rows.begin[i - 1]));
  return {of_all(lengths), of_all({rows.column.begin(), rows.column.end()}), of_all(rows.value)};
}

// Levels that the ranks made, and what they are with.
template <class Exec>
struct SpreadLevels {
  TransferHierarchy<Exec> hierarchy;
  std::vector<Whole> A, P;
  std::vector<std::int64_t> ranks;  // with rows, of each level
};

template <class Exec>
SpreadLevels<Exec> spread_levels(Exec const& exec, DistributedMatrix<Exec> const& A,
                                 AmgOptions const& options, bool is_classical,
                                 std::int64_t least_rows) {
  SpreadLevels<Exec> result{single_level(A), {}, {}, {}};
  auto& levels = result.hierarchy.levels;
  result.hierarchy.smoother = Smoother::Chebyshev;
  result.hierarchy.coarse = CoarseSolve::Direct;
  sparse::detail::SpreadChoice choice;
  choice.is_classical = is_classical;
  choice.strength = choice.of_aggregates = options.strength;
  choice.least_rows = least_rows;
  auto level = sparse::detail::finest_spread(
      exec, A, {options.block_size, options.near_null_space, {}, true});
  while (level.first_row().back() > options.coarse_rows) {
    choice.most_rows = static_cast<double>(level.first_row().back()) - 1;
    auto next = sparse::detail::coarsened(exec, A.comm(), level, choice);
    if (!next) break;
    level = std::move(next->coarse);
    choice.of_aggregates /= 2;
    auto const coarse = make_matrix(exec, A.comm(), level.rows, options.matrix);
    auto& fine = levels.back();
    fine.P = Transfer<Exec>(exec, fine.A, coarse, next->P);
    fine.R = Transfer<Exec>(exec, coarse, fine.A, next->R);
    levels.push_back({coarse, {}, {}, 0});
    result.A.push_back(gathered(A.comm(), level.rows));
    result.P.push_back(gathered(A.comm(), next->P));
    std::int64_t ranks = 0;
    for (auto const rows : A.comm().gather(level.rows.rows())) ranks += rows > 0;
    result.ranks.push_back(ranks);
  }
  return result;
}

void expect_same(Whole const& there, Whole const& here) {
  EXPECT_EQ(there.lengths, here.lengths);
  EXPECT_EQ(there.columns, here.columns);
  ASSERT_EQ(there.values.size(), here.values.size());
  double largest = 0;
  for (auto const value : here.values) largest = std::max(largest, std::abs(value));
  for (std::size_t k = 0; k < here.values.size(); ++k)
    ASSERT_NEAR(there.values[k], here.values[k], 1e3 * 0x1p-53 * largest) << "entry " << k;
}

template <class Exec>
std::int64_t iterations_with(System<Exec> const& system, TransferHierarchy<Exec> const& hierarchy) {
  Kokkos::deep_copy(system.exec, system.x, 0.0);
  AlgebraicMultigrid<Exec, double> const cycle(system.exec, hierarchy, Precision::fp64);
  KrylovOptions options;
  options.tolerance = 1e-9;
  ConjugateGradients<Exec, double> cg(system.exec, system.A, cycle, options, cycle);
  auto const report = cg.solve(system.exec, system.b, system.x);
  EXPECT_EQ(report.status, KrylovStatus::Converged);
  EXPECT_LT(system.residual(), 1e-8);
  return report.iterations;
}

// On half of the ranks, which are neither one nor all where there are four.
template <class Exec>
void expect_the_same_on_some(ModelProblem problem, ModelSize const& size, bool is_classical) {
  SCOPED_TRACE(testing::Message() << name_of(problem) << (is_classical ? " classical" : ""));
  auto const comm = test_ranks();
  auto const all = whole(problem, size);
  AmgOptions options;
  options.coarse_rows = 10;
  bool const is_body = problem == ModelProblem::Elasticity;
  options.block_size = is_body ? 3 : 1;
  auto first = even_partition(all.rows() / options.block_size, comm.size());
  for (auto& row : first) row *= options.block_size;
  auto const rank = static_cast<std::size_t>(comm.rank());
  if (is_body) {
    auto const modes = motions(size)->values.begin();
    options.near_null_space = std::make_shared<NearNullSpace const>(
        NearNullSpace{6, {modes + 6 * first[rank], modes + 6 * first[rank + 1]}});
  }
  System<Exec> system(part(all, first[rank], first[rank + 1]), comm);
  auto const on_all = spread_levels(system.exec, system.A, options, is_classical, 0);
  ASSERT_GE(on_all.A.size(), 1u);
  auto const rows = static_cast<std::int64_t>(on_all.A.front().lengths.size());
  auto const on_some = spread_levels(system.exec, system.A, options, is_classical, rows * 2 / 5);
  if (comm.size() == 4) {
    EXPECT_EQ(on_some.ranks.front(), 2);
  }
  ASSERT_EQ(on_some.A.size(), on_all.A.size());
  for (std::size_t l = 0; l < on_all.A.size(); ++l) {
    SCOPED_TRACE(testing::Message() << "level " << l + 1 << " on " << on_some.ranks[l]);
    expect_same(on_some.A[l], on_all.A[l]);
    expect_same(on_some.P[l], on_all.P[l]);
  }
  EXPECT_EQ(iterations_with(system, on_some.hierarchy), iterations_with(system, on_all.hierarchy));
}

TYPED_TEST(LevelsOfRanksTest, AreTheSameOnSomeRanksAsOnAll) {
  if (test_ranks().size() == 1) GTEST_SKIP() << "one rank has levels of its own";
  expect_the_same_on_some<TypeParam>(ModelProblem::Poisson7, {12, 13, 11}, false);
  expect_the_same_on_some<TypeParam>(ModelProblem::Poisson7, {12, 13, 11}, true);
  expect_the_same_on_some<TypeParam>(ModelProblem::Elasticity, {7, 6, 8}, false);
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
  // 2 nodes of 6 rows, of which half a node is enough, and one more than a node
  Partition const two{0, 0, 1, 1, 2};
  EXPECT_EQ(on_fewer_ranks(two, 3, 6), (Partition{0, 1, 1, 2, 2}));
  EXPECT_EQ(on_fewer_ranks(two, 7, 6), (Partition{0, 2, 2, 2, 2}));
}

}  // namespace
