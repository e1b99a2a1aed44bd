// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_Sparse.hpp"
#include <sparse/coarsening/Strata_NearNullSpace.hpp>
#include <sparse/coarsening/detail/Strata_Coarsening.hpp>
#include <sparse/coarsening/detail/Strata_IndependentSet.hpp>
#include <sparse/coarsening/detail/Strata_Prolongator.hpp>
#include <sparse/formats/detail/Strata_HostCopy.hpp>
#include <sparse/matrix/Strata_ModelProblems.hpp>
#include <sparse/multigrid/detail/Strata_PolynomialSmoother.hpp>
#include <sparse/multigrid/detail/Strata_SymmetricInverse.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

// The steps of smoothed aggregation against their definitions.

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;
namespace inner = strata::sparse::detail;

/// A graph on the host, of each row its strong neighbours.
using Graph = std::vector<std::vector<std::int32_t>>;

template <class Exec>
struct Level {
  Exec exec;
  DistributedMatrix<Exec> A;
  inner::WholeLevel<Exec> whole;
  inner::StrongGraph<Exec> F;

  Level(ModelProblem problem, ModelSize const& size, double strength = 0.25) {
    A = make_matrix(exec, Communicator(), make_model(problem, size, 0, model_rows(problem, size)));
    whole = inner::finest_level(exec, A, {unknowns_per_point(problem), {}, {}});
    F = inner::strong_graph(exec, whole.A.nodes, whole.component, strength);
  }
  Graph graph() const {
    auto const begin = inner::to_host(exec, F.begin.view());
    auto const column = inner::to_host(exec, F.column.view());
    Graph result(begin.size() - 1);
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i].assign(column.begin() + begin[i], column.begin() + begin[i + 1]);
    return result;
  }
};

constexpr ModelProblem all[] = {ModelProblem::Poisson7,    ModelProblem::Poisson27,
                                ModelProblem::Anisotropic, ModelProblem::Elasticity,
                                ModelProblem::Graph,       ModelProblem::Convection};

ModelSize size_of(ModelProblem problem) {
  return problem == ModelProblem::Graph ? ModelSize{700, 1, 1} : ModelSize{9, 8, 10};
}

// The rows within two couplings of row i, itself among them.
std::set<std::int32_t> within_two(Graph const& graph, std::int32_t i) {
  std::set<std::int32_t> result{i};
  for (auto const j : graph[static_cast<std::size_t>(i)]) {
    result.insert(j);
    auto const& theirs = graph[static_cast<std::size_t>(j)];
    result.insert(theirs.begin(), theirs.end());
  }
  return result;
}

template <class Exec>
void expect_independent(ModelProblem problem) {
  SCOPED_TRACE(name_of(problem));
  Level<Exec> const level(problem, size_of(problem));
  auto const graph = level.graph();
  auto const root = inner::to_host(level.exec, inner::independent_set(level.exec, level.F).view());
  std::int64_t roots = 0;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    auto const near = within_two(graph, static_cast<std::int32_t>(i));
    auto const count = std::count_if(near.begin(), near.end(), [&](std::int32_t j) {
      return root[static_cast<std::size_t>(j)] > 0;
    });
    roots += root[i];
    if (graph[i].empty())
      EXPECT_EQ(root[i], 0) << i;
    else if (root[i] > 0)
      EXPECT_EQ(count, 1) << "two roots near " << i;
    else
      EXPECT_GE(count, 1) << "no root near " << i;
  }
  EXPECT_GT(roots, 0);
}

template <class Exec>
void expect_all_aggregated(ModelProblem problem) {
  SCOPED_TRACE(name_of(problem));
  Level<Exec> const level(problem, size_of(problem));
  auto const graph = level.graph();
  auto const aggregates =
      inner::aggregates_of(level.exec, level.whole.A.nodes, level.F, level.whole.component);
  auto const of = inner::to_host(level.exec, aggregates.of.view());
  std::vector<std::int64_t> members(static_cast<std::size_t>(aggregates.count), 0);
  for (std::size_t i = 0; i < of.size(); ++i) {
    EXPECT_EQ(of[i] < 0, graph[i].empty()) << i;
    if (of[i] >= 0) ++members[static_cast<std::size_t>(of[i])];
  }
  EXPECT_EQ(std::ranges::count(members, 0), 0);
  if (level.whole.component.size() > 0) {
    auto const component = inner::to_host(level.exec, level.whole.component.view()),
               theirs = inner::to_host(level.exec, aggregates.component.view());
    for (std::size_t i = 0; i < of.size(); ++i)
      if (of[i] >= 0) {
        EXPECT_EQ(component[i], theirs[static_cast<std::size_t>(of[i])]);
      }
  }
}

// A hash of all aggregates, the same on every backend: rows and couplings that tie are decided
// alike.
template <class Exec>
std::uint64_t fingerprint(ModelProblem problem) {
  Level<Exec> const level(problem, size_of(problem));
  auto const aggregates =
      inner::aggregates_of(level.exec, level.whole.A.nodes, level.F, level.whole.component);
  std::uint64_t sum = 0;
  for (auto const number : inner::to_host(level.exec, aggregates.of.view()))
    sum = sum * 0x9e3779b97f4a7c15ull + static_cast<std::uint64_t>(number + 2);
  return sum;
}

template <class Space>
struct CoarseningTest : testing::Test {};
TYPED_TEST_SUITE(CoarseningTest, Spaces, SpaceNames);

TYPED_TEST(CoarseningTest, RootsAreAMaximalSetThatNoTwoCouplingsConnect) {
  for (auto const problem : all)
    if (problem != ModelProblem::Convection) expect_independent<TypeParam>(problem);
}

TYPED_TEST(CoarseningTest, EveryRowWithAStrongCouplingHasAnAggregateOfItsComponent) {
  for (auto const problem : all)
    if (problem != ModelProblem::Convection) expect_all_aggregated<TypeParam>(problem);
}

TYPED_TEST(CoarseningTest, AggregatesAreTheSameOnEveryBackend) {
  for (auto const problem : all)
    EXPECT_EQ(fingerprint<TypeParam>(problem),
              fingerprint<Kokkos::DefaultHostExecutionSpace>(problem))
        << name_of(problem);
  EXPECT_EQ(fingerprint<TypeParam>(ModelProblem::Poisson7), 14274419535851112862u);
  EXPECT_EQ(fingerprint<TypeParam>(ModelProblem::Poisson27), 5963961473789208090u);
}

TYPED_TEST(CoarseningTest, PrioritiesAreAPermutationInEveryRound) {
  for (int const bits : {2, 3, 7, 16})
    for (int round = 0; round < 12; ++round) {
      std::vector<char> seen(std::size_t{1} << bits, 0);
      for (std::uint32_t x = 0; x < seen.size(); ++x) ++seen[inner::mixed(x, bits, round)];
      EXPECT_EQ(std::ranges::count(seen, 1), static_cast<std::ptrdiff_t>(seen.size())) << bits;
    }
}

/// A dense copy of compressed rows.
template <class Exec>
std::vector<std::vector<long double>> dense(Exec const& exec, inner::LocalCsr<Exec> const& A) {
  auto const begin = inner::to_host(exec, A.begin.view());
  auto const column = inner::to_host(exec, A.column.view());
  auto const value = inner::to_host(exec, A.value.view());
  std::vector<std::vector<long double>> rows(
      static_cast<std::size_t>(A.rows),
      std::vector<long double>(static_cast<std::size_t>(A.cols), 0));
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (auto k = static_cast<std::size_t>(begin[i]); k < static_cast<std::size_t>(begin[i + 1]);
         ++k)
      rows[i][static_cast<std::size_t>(column[k])] += value[k];
  return rows;
}

template <class Exec>
void expect_galerkin(ModelProblem problem) {
  SCOPED_TRACE(name_of(problem));
  Level<Exec> const level(problem, {5, 4, 6});
  auto const next = inner::coarsened(level.exec, level.whole, 0.25, 1e9);
  ASSERT_TRUE(next);
  auto const numbers = [&](auto const& blocks) {
    return dense(level.exec, inner::to_numbers(level.exec, blocks));
  };
  auto const A = numbers(level.whole.A), P = numbers(next->P), C = numbers(next->coarse.A);
  std::size_t const n = A.size(), m = C.size();
  for (std::size_t I = 0; I < m; ++I)
    for (std::size_t J = 0; J < m; ++J) {
      long double sum = 0, size = 0;
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) {
          sum += P[i][I] * A[i][j] * P[j][J];
          size += std::abs(P[i][I] * A[i][j] * P[j][J]);
        }
      EXPECT_LE(std::abs(C[I][J] - sum), 1e-14L * size) << I << ", " << J;
    }
}

TYPED_TEST(CoarseningTest, CoarseMatricesAreGalerkinProducts) {
  for (auto const problem :
       {ModelProblem::Poisson7, ModelProblem::Elasticity, ModelProblem::Convection})
    expect_galerkin<TypeParam>(problem);
}

// Where a row's entries add up to 0, P leaves constants as they are.
template <class Exec>
void expect_constants_kept() {
  Exec const exec;
  HostRows rows;
  constexpr std::int64_t n = 200;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t const j : {(i + n - 1) % n, (i + 1) % n}) rows.add(j, -1);
    rows.add(i, 2);
    rows.end_row();
  }
  auto const A = make_matrix(exec, Communicator(), rows);
  auto const level = inner::finest_level(exec, A, {1, {}, {}});
  auto const next = inner::coarsened(exec, level, 0.25, 1e9);
  ASSERT_TRUE(next);
  for (auto const& row : dense(exec, next->P.nodes)) {
    long double sum = 0;
    for (auto const p : row) sum += p;
    EXPECT_NEAR(static_cast<double>(sum), 1, 1e-14);
  }
}

TYPED_TEST(CoarseningTest, ConstantsStayWhereRowsAddUpToZero) {
  expect_constants_kept<TypeParam>();
}

template <class Exec>
void expect_inverse(std::int64_t n) {
  Exec const exec;
  std::vector<double> A(static_cast<std::size_t>(n * n));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j <= i; ++j)
      A[static_cast<std::size_t>(i * n + j)] = A[static_cast<std::size_t>(j * n + i)] =
          i == j ? 1 : 0.9 / static_cast<double>(n) * (2 * uniform(3, i, j) - 1);
  auto const X = to_device<double>(exec, A);
  ASSERT_TRUE(inner::invert_symmetric(exec, X, n));
  auto const inverse = inner::to_host(exec, X);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      long double sum = 0;
      for (std::int64_t k = 0; k < n; ++k)
        sum += static_cast<long double>(A[static_cast<std::size_t>(i * n + k)]) *
               inverse[static_cast<std::size_t>(k * n + j)];
      EXPECT_NEAR(static_cast<double>(sum), i == j ? 1 : 0, 1e-14) << i << ", " << j;
      EXPECT_EQ(inverse[static_cast<std::size_t>(i * n + j)],
                inverse[static_cast<std::size_t>(j * n + i)]);
    }
}

TYPED_TEST(CoarseningTest, InvertsDefiniteMatricesAndRefusesOthers) {
  TypeParam const exec;
  for (std::int64_t const n : {0, 1, 2, 31, 64, 70}) expect_inverse<TypeParam>(n);
  auto const refuses = [&](std::vector<double> const& A, std::int64_t n) {
    return !inner::invert_symmetric(exec, to_device<double>(exec, A), n);
  };
  EXPECT_TRUE(refuses({1, -1, -1, 1}, 2)) << "singular";
  EXPECT_TRUE(refuses({1, 2, 2, 1}, 2)) << "indefinite";
  EXPECT_TRUE(refuses({1, 0.5, 0, 1}, 2)) << "not symmetric";
  EXPECT_TRUE(refuses({1, std::nan(""), std::nan(""), 1}, 2)) << "not a number";
}

}  // namespace
