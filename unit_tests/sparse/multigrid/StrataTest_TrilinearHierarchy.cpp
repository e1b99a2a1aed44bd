// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_Ranks.hpp"
#include "sparse/StrataTest_Sparse.hpp"
#include <sparse/hpgmxp/Strata_HpgmxpFree.hpp>
#include <sparse/hpgmxp/Strata_ProcessGrid.hpp>
#include <sparse/matrix/Strata_ModelProblems.hpp>
#include <sparse/multigrid/Strata_GridHierarchy.hpp>
#include <sparse/multigrid/Strata_TrilinearHierarchy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;

/// What both hierarchies on grids tell of their assembly, three steps a level.
TEST(GridHierarchies, TellHowFarTheirMatricesAre) {
  using Exec = Kokkos::DefaultExecutionSpace;
  Exec const exec;
  Communicator const comm = test_ranks();
  std::vector<double> parts;
  MatrixOptions options;
  options.on_progress = [&](double part) { parts.push_back(part); };
  auto const expect_steps = [&](std::size_t levels) {
    ASSERT_GT(levels, 1u);
    EXPECT_EQ(parts.size(), 3 * levels);
    EXPECT_EQ(std::ranges::adjacent_find(parts, std::ranges::greater_equal()), parts.end());
    EXPECT_GT(parts.front(), 0);
    EXPECT_GT(parts.back(), 0.95);
    EXPECT_LT(parts.back(), 1);
    parts.clear();
  };
  auto const grid = process_grid(comm.size());
  StencilProblem box{8, 8, 8, grid[0], grid[1], grid[2]};
  box.px = comm.rank() % grid[0];
  box.py = comm.rank() / grid[0] % grid[1];
  box.pz = comm.rank() / (grid[0] * grid[1]);
  expect_steps(make_grid_hierarchy(exec, comm, box, 3, options).levels.size());
  expect_steps(make_trilinear_hierarchy(exec, comm, {{9, 8, 10}, 0}, options, 10).levels.size());
}

/// u' C v of the coarse matrix is (P u)' A (P v), for random vectors in natural order.
template <class Exec>
void expect_galerkin(StencilGrid const& grid) {
  SCOPED_TRACE(testing::Message() << grid.points[0] << ' ' << grid.points[1] << ' '
                                  << grid.points[2] << ' ' << grid.beta);
  Exec const exec;
  Communicator const comm = test_ranks();
  auto const hierarchy = make_trilinear_hierarchy(exec, comm, grid, {}, 4);
  ASSERT_GE(hierarchy.levels.size(), 2u);
  for (std::size_t l = 0; l + 1 < hierarchy.levels.size(); ++l) {
    auto const& fine = hierarchy.levels[l];
    auto const& coarse = hierarchy.levels[l + 1].A;
    auto const vector = [&](DistributedMatrix<Exec> const& A, std::int64_t room,
                            std::uint64_t seed) {
      auto const x = allocate<Vector<double, typename Exec::memory_space>>(exec, "strata::test::x",
                                                                           A.rows() + room);
      Kokkos::deep_copy(exec, x, 0.0);
      auto const numbers = random_vector(A.global_rows(), seed);
      auto const begin = numbers.begin() + A.first_row();
      A.gather(exec, to_device<double>(exec, {begin, begin + A.rows()}), x);
      return x;
    };
    auto const room = std::max(coarse.halo(), fine.P.halo());
    auto const u = vector(coarse, room, 1), v = vector(coarse, room, 2), Cv = vector(coarse, 0, 3);
    auto const Pu = vector(fine.A, fine.A.halo(), 4), Pv = vector(fine.A, fine.A.halo(), 5),
               APv = vector(fine.A, 0, 6), w = vector(fine.A, fine.R.halo(), 7),
               Rw = vector(coarse, 0, 8);
    coarse.multiply(exec, v, Cv);
    fine.P.multiply(exec, u, Pu);
    fine.P.multiply(exec, v, Pv);
    fine.A.multiply(exec, Pv, APv);
    fine.R.multiply(exec, w, Rw);
    auto const dot = [&](auto const& x, auto const& y, std::int64_t rows) {
      auto const a = to_host(exec, x), b = to_host(exec, y);
      double sum = 0;
      for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) sum += a[i] * b[i];
      comm.sum(std::span(&sum, 1));
      return sum;
    };
    double const scale = 27 * static_cast<double>(fine.A.global_rows());
    EXPECT_NEAR(dot(u, Cv, coarse.rows()), dot(Pu, APv, fine.A.rows()), 1e-12 * scale) << l;
    EXPECT_NEAR(dot(w, Pu, fine.A.rows()), dot(u, Rw, coarse.rows()), 1e-12 * scale) << l;
  }
}

template <class Space>
struct TrilinearHierarchyTest : testing::Test {};
TYPED_TEST_SUITE(TrilinearHierarchyTest, Spaces, SpaceNames);

TYPED_TEST(TrilinearHierarchyTest, CoarseMatricesAreGalerkinProducts) {
  for (StencilGrid const& grid :
       {StencilGrid{{8, 8, 8}, 0}, StencilGrid{{7, 9, 5}, 0}, StencilGrid{{13, 6, 1}, 0},
        StencilGrid{{2, 2, 30}, 0}, StencilGrid{{6, 7, 8}, 0.5}})
    if (test_ranks().size() == 1 || grid.beta != 0) expect_galerkin<TypeParam>(grid);
}

TYPED_TEST(TrilinearHierarchyTest, TheFinestMatrixIsTheBenchmarks) {
  Communicator const comm = test_ranks();
  ModelSize const size{5, 4, 6};
  auto const first = even_partition(120, comm.size());
  auto const rank = static_cast<std::size_t>(comm.rank());
  auto const hierarchy = make_trilinear_hierarchy(TypeParam(), comm, StencilGrid{{5, 4, 6}, 0});
  auto const rows = rows_of(TypeParam(), hierarchy.levels.front().A);
  auto const expected = make_model(ModelProblem::Poisson27, size, first[rank], first[rank + 1]);
  EXPECT_EQ(rows.begin, expected.begin);
  EXPECT_EQ(rows.column, expected.column);
  EXPECT_EQ(rows.value, expected.value);
}

TYPED_TEST(TrilinearHierarchyTest, FreeModeNeedsFewIterationsOnAnyGrid) {
  Communicator const comm = test_ranks();
  for (std::int64_t const n : {14, 15, 16})
    for (double const beta : {0.0, 0.5}) {
      if (comm.size() > 1 && n == 16) continue;
      HpgmxpOptions options;
      options.nx = n, options.ny = n + 1, options.nz = n;
      options.beta = beta;
      auto const result = solve_free(TypeParam(), comm, options);
      EXPECT_EQ(result.krylov.status, KrylovStatus::Converged);
      EXPECT_LE(result.krylov.iterations, 15) << n << ' ' << beta;
      EXPECT_EQ(result.conjugate_gradients, beta == 0);
      EXPECT_GE(result.levels.size(), 3u);
    }
}

TYPED_TEST(TrilinearHierarchyTest, RefusesWhatIsNoGrid) {
  Communicator const comm = test_ranks();
  TypeParam const exec;
  EXPECT_TRUE(throws_with<ShapeError>("grid of 4 x 0 x 4", [&] {
    (void)make_trilinear_hierarchy(exec, comm, StencilGrid{{4, 0, 4}, 0});
  }));
  EXPECT_TRUE(throws_with<ValueError>("0 rows to be solved directly", [&] {
    (void)make_trilinear_hierarchy(exec, comm, StencilGrid{{4, 4, 4}, 0}, {}, 0);
  }));
}

}  // namespace
