// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "../StrataTest_HardMatrices.hpp"
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_Sparse.hpp"
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/coarsening/detail/Strata_Coarsening.hpp>
#include <sparse/coarsening/detail/Strata_ExtendedInterpolation.hpp>
#include <sparse/formats/detail/Strata_HostCopy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

// The steps of classical multigrid against their definitions, and what it is for.

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;
namespace inner = strata::sparse::detail;

using Row = std::map<std::int64_t, double>;
using Rows = std::vector<Row>;

/// Linear elements on triangles, two a cell of an m x m grid. Sides shrink towards a corner, and
/// points are moved: couplings have many sizes and both signs. One side is held.
HostRows triangles(std::int64_t m) {
  auto const place = [&](std::int64_t k, std::int64_t point, std::int64_t axis) {
    double const moved = static_cast<double>(k) + 0.6 * (uniform(7, point, axis) - 0.5);
    return std::pow(std::max(0.0, moved) / static_cast<double>(m), 3);
  };
  EntryMap A(m * m);
  auto const add = [&](std::int64_t const(&corner)[3]) {
    double x[3], y[3];
    for (int c = 0; c < 3; ++c) {
      x[c] = place(corner[c] % m + 1, corner[c], 0);
      y[c] = place(corner[c] / m + 1, corner[c], 1);
    }
    double const area = (x[1] - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (y[1] - y[0]);
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c) {
        int const r1 = (r + 1) % 3, r2 = (r + 2) % 3, c1 = (c + 1) % 3, c2 = (c + 2) % 3;
        A.add(corner[r], corner[c],
              ((y[r1] - y[r2]) * (y[c1] - y[c2]) + (x[r2] - x[r1]) * (x[c2] - x[c1])) /
                  (2 * std::abs(area)));
      }
  };
  for (std::int64_t y = 0; y + 1 < m; ++y)
    for (std::int64_t x = 0; x + 1 < m; ++x) {
      std::int64_t const i = x + m * y;
      add({i, i + 1, i + m});
      add({i + 1, i + m + 1, i + m});
    }
  for (std::int64_t y = 0; y < m; ++y) A.add(y * m + m - 1, y * m + m - 1, 1);
  return A.rows();
}

std::vector<std::pair<std::string, HostRows>> matrices() {
  HostRows negative = poisson_map(12).rows();
  for (auto& a : negative.value) a = -a;
  return {{"triangles", triangles(14)},
          {"upwind", upwind(14, 1e-3)},
          {"upwind, weak", upwind(14, 1e-1)},
          {"graded", graded(12, 1e3)},
          {"plate", plate(10)},
          {"negative", negative}};
}

template <class Exec>
struct Level {
  Exec exec;
  inner::LocalCsr<Exec> A;
  inner::StrongGraph<Exec> S;
  inner::RowAggregates<Exec> split;

  explicit Level(HostRows const& rows) {
    auto const stored = make_matrix(exec, Communicator(), rows);
    A = inner::finest_level(exec, stored, {1, {}, {}}).A.nodes;
    S = inner::dependence_graph(exec, A, 0.25);
    split = inner::splitting(exec, S);
  }
  Rows dense(inner::LocalCsr<Exec> const& M) const {
    auto const begin = inner::to_host(exec, M.begin.view());
    auto const column = inner::to_host(exec, M.column.view());
    auto const value = inner::to_host(exec, M.value.view());
    Rows rows(static_cast<std::size_t>(M.rows));
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (auto k = static_cast<std::size_t>(begin[i]); k < static_cast<std::size_t>(begin[i + 1]);
           ++k)
        rows[i][column[k]] = value[k];
    return rows;
  }
  // Of each row the columns on which it depends.
  std::vector<std::vector<std::int64_t>> graph() const {
    auto const begin = inner::to_host(exec, S.begin.view());
    auto const column = inner::to_host(exec, S.column.view());
    std::vector<std::vector<std::int64_t>> rows(begin.size() - 1);
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i].assign(column.begin() + begin[i], column.begin() + begin[i + 1]);
    return rows;
  }
  std::vector<std::int32_t> numbers() const { return inner::to_host(exec, split.of.view()); }
};

double entry(Row const& row, std::int64_t j) {
  auto const found = row.find(j);
  return found == row.end() ? 0 : found->second;
}

template <class Exec>
void expect_dependences(HostRows const& rows) {
  Level<Exec> const level(rows);
  auto const A = level.dense(level.A);
  auto const graph = level.graph();
  for (std::size_t i = 0; i < A.size(); ++i) {
    double const sign = std::copysign(1.0, entry(A[i], static_cast<std::int64_t>(i)));
    double most = 0, sum = 0;
    for (auto const& [j, a] : A[i])
      if (j != static_cast<std::int64_t>(i)) most = std::max(most, -sign * a), sum += std::abs(a);
    if (sum < 0.2 * std::abs(entry(A[i], static_cast<std::int64_t>(i)))) most = 0;
    for (auto const& [j, a] : A[i]) {
      if (j == static_cast<std::int64_t>(i)) continue;
      bool const is_strong = most > 0 && -sign * a >= 0.25 * most * (1 - 0x1p-16);
      EXPECT_EQ(std::ranges::count(graph[i], j), is_strong ? 1 : 0) << i << ", " << j;
    }
  }
}

template <class Exec>
void expect_split(HostRows const& rows, bool is_symmetric) {
  Level<Exec> const level(rows);
  auto const graph = level.graph();
  auto const number = level.numbers();
  std::vector<int> dependent(graph.size(), 0);
  for (auto const& row : graph)
    for (auto const j : row) ++dependent[static_cast<std::size_t>(j)];
  std::int32_t next = 0;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    auto const coarse = std::ranges::count_if(
        graph[i], [&](std::int64_t j) { return number[static_cast<std::size_t>(j)] >= 0; });
    if (number[i] >= 0) {
      EXPECT_EQ(number[i], next++) << "in the order of rows";
    }
    if (number[i] >= 0 && is_symmetric) {
      EXPECT_EQ(coarse, 0) << i;
    }
    if (number[i] < 0 && dependent[i] > 0) {
      EXPECT_GE(coarse, 1) << i;
    }
    if (dependent[i] == 0) {
      EXPECT_LT(number[i], 0) << i;
    }
  }
  EXPECT_EQ(next, level.split.count);
  EXPECT_GT(next, 0);
}

/// P by the definition, loop by loop, before entries are left out.
Rows interpolation(Rows const& A, std::vector<std::vector<std::int64_t>> const& graph,
                   std::vector<std::int32_t> const& number) {
  auto const at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  auto const strong = [&](std::size_t i, std::int64_t j) {
    return std::ranges::count(graph[i], j) > 0;
  };
  Rows P(A.size());
  for (std::size_t i = 0; i < A.size(); ++i) {
    if (number[i] >= 0) {
      P[i][number[i]] = 1;
      continue;
    }
    double d = 0;
    Row sums;
    for (auto const& [k, a] : A[i]) {
      if (!strong(i, k)) {
        d += a;
      } else if (number[at(k)] >= 0) {
        sums[number[at(k)]] += a;
      } else {
        double coarse = 0, back = entry(A[at(k)], static_cast<std::int64_t>(i));
        if (back * entry(A[at(k)], k) > 0) back = 0;
        for (auto const j : graph[at(k)])
          if (number[at(j)] >= 0) coarse += entry(A[at(k)], j);
        double const t = coarse + back == 0 ? 0 : a / (coarse + back);
        d += coarse + back == 0 ? a : t * back;
        for (auto const j : graph[at(k)])
          if (number[at(j)] >= 0) sums[number[at(j)]] += t * entry(A[at(k)], j);
      }
    }
    for (auto const& [j, sum] : sums) P[i][j] = -sum / d;
  }
  return P;
}

template <class Exec>
void expect_interpolation(HostRows const& rows) {
  Level<Exec> const level(rows);
  auto const A = level.dense(level.A);
  auto const P =
      level.dense(inner::extended_interpolation(level.exec, level.A, level.S, level.split));
  auto const all = interpolation(A, level.graph(), level.numbers());
  for (std::size_t i = 0; i < P.size(); ++i) {
    ASSERT_LE(P[i].size(), 4u);
    EXPECT_EQ(P[i].size(), std::min<std::size_t>(4, all[i].size())) << i;
    double sum = 0, kept = 0, wanted = 0, least = INFINITY, most = 0, of_row = 0, size = 0;
    for (auto const& [j, p] : P[i]) sum += p, kept += entry(all[i], j);
    for (auto const& [j, a] : A[i]) of_row += a, size += std::abs(a);
    for (auto const& [j, p] : all[i]) {
      wanted += p;
      if (P[i].contains(j))
        least = std::min(least, std::abs(p));
      else
        most = std::max(most, std::abs(p));
    }
    EXPECT_GE(least, most * (1 - 0x1p-11)) << i << ": the largest stay";
    EXPECT_NEAR(sum, wanted, 1e-13 * std::abs(wanted)) << i;
    for (auto const& [j, p] : P[i])
      EXPECT_NEAR(p, entry(all[i], j) * wanted / kept, 1e-11 * std::abs(p)) << i << ", " << j;
    bool const keeps_constants = std::abs(of_row) <= 1e-14 * size && !P[i].empty();
    if (keeps_constants) {
      EXPECT_NEAR(sum, 1, 1e-12) << i;
    }
  }
}

template <class Exec>
std::uint64_t fingerprint(HostRows const& rows) {
  std::uint64_t sum = 0;
  for (auto const number : Level<Exec>(rows).numbers())
    sum = sum * 0x9e3779b97f4a7c15ull + static_cast<std::uint64_t>(number + 2);
  return sum;
}

template <class Exec>
SparseReport solve(HostRows const& rows, SparseOptions const& options) {
  System<Exec> system(rows, Communicator());
  SparseSolver<Exec> solver(system.exec, system.A, options);
  auto const report = solver.solve_in_order(system.exec, system.b, system.x);
  EXPECT_TRUE(report.solved()) << name_of(report.status) << ' ' << report.relative_residual;
  return report;
}

SparseOptions by_multigrid(CoarseningKind kind = CoarseningKind::Automatic) {
  SparseOptions options;
  options.preconditioner = PreconditionerKind::Amg;
  options.amg.coarsening = kind;
  return options;
}

template <class Space>
struct ClassicalTest : testing::Test {};
TYPED_TEST_SUITE(ClassicalTest, Spaces, SpaceNames);

TYPED_TEST(ClassicalTest, RowsDependOnTheLargestOfTheOtherSign) {
  for (auto const& [name, rows] : matrices()) {
    SCOPED_TRACE(name);
    expect_dependences<TypeParam>(rows);
  }
}

TYPED_TEST(ClassicalTest, FineRowsDependOnCoarseOnes) {
  for (auto const& [name, rows] : matrices()) {
    SCOPED_TRACE(name);
    expect_split<TypeParam>(rows, name == "negative");
  }
}

TYPED_TEST(ClassicalTest, InterpolationIsThatOfTheDefinition) {
  for (auto const& [name, rows] : matrices()) {
    SCOPED_TRACE(name);
    expect_interpolation<TypeParam>(rows);
  }
}

TYPED_TEST(ClassicalTest, CoarseRowsAreTheSameOnEveryBackend) {
  for (auto const& [name, rows] : matrices())
    EXPECT_EQ(fingerprint<TypeParam>(rows), fingerprint<Kokkos::DefaultHostExecutionSpace>(rows))
        << name;
}

// Aggregates stall where the flow is fast.
TYPED_TEST(ClassicalTest, TakesFewIterationsForFlowsOfAnySpeed) {
  for (double const eps : {1e-1, 1e-2, 1e-3, 1e-4})
    EXPECT_LE(solve<TypeParam>(upwind(100, eps), by_multigrid()).iterations, 30) << eps;
  EXPECT_LE(solve<TypeParam>(central(60, 1e-2), by_multigrid()).iterations, 30);
  EXPECT_LE(solve<TypeParam>(plate(40), by_multigrid()).iterations, 80);
  // grids are for aggregates
  auto const poisson = poisson_map(40).rows();
  EXPECT_EQ(solve<TypeParam>(poisson, by_multigrid()).levels.size(),
            solve<TypeParam>(poisson, by_multigrid(CoarseningKind::Aggregation)).levels.size());
}

/// -div K grad with K of up to 10^decades, at random in each cell; one side is held.
HostRows rough(std::int64_t m, double decades) {
  EntryMap A(m * m);
  auto const k = [&](std::int64_t i) { return std::pow(10.0, decades * uniform(3, i, 0)); };
  for_each_coupling(m, [&](std::int64_t i, std::int64_t j) {
    double const a = 2 * k(i) * k(j) / (k(i) + k(j));
    A.add(i, j, -a), A.add(i, i, a);
  });
  for (std::int64_t i = 0; i < m; ++i) A.add(i, i, k(i));
  return A.rows();
}

// Scales that make the diagonal 1 hide that rows add up to 0: the levels were those of another
// operator, and took 60 iterations.
TYPED_TEST(ClassicalTest, ConstantsAreThoseOfTheGivenUnknowns) {
  EXPECT_LE(solve<TypeParam>(rough(60, 8), by_multigrid()).iterations, 40);
  auto const aggregates = by_multigrid(CoarseningKind::Aggregation);
  EXPECT_LE(solve<TypeParam>(rough(60, 4), aggregates).iterations, 50);
  // and where unknowns are in other units, those of the scaled ones
  auto rows = poisson_map(40).rows();
  for (std::int64_t i = 0; i < rows.rows(); ++i)
    for (auto k = rows.begin[static_cast<std::size_t>(i)];
         k < rows.begin[static_cast<std::size_t>(i) + 1]; ++k) {
      auto const at = static_cast<std::size_t>(k);
      auto const unit = [](std::int64_t j) { return std::ldexp(1.0, static_cast<int>(j % 23)); };
      rows.value[at] *= unit(i) * unit(rows.column[at]);
    }
  EXPECT_LE(solve<TypeParam>(rows, by_multigrid()).iterations, 30);
}

// GMRES with its usual restart once stalled at 1.
TYPED_TEST(ClassicalTest, SolvesTheBiharmonicEquationOnALine) {
  auto const rows = biharmonic(Communicator(), 900);
  auto options = by_multigrid();
  EXPECT_LE(solve<TypeParam>(rows, options).iterations, 400);
  options.solver = SolverKind::Gmres;
  EXPECT_LE(solve<TypeParam>(rows, options).iterations, 400);
}

}  // namespace
