// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "../StrataTest_HardMatrices.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <sparse/direct/Strata_SparseFactor.hpp>
#include <sparse/direct/detail/Strata_HostLu.hpp>
#include <sparse/direct/detail/Strata_MinimumDegree.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;
using sparse::detail::HostCsr;

HostCsr csr_of(HostRows const& rows) {
  HostCsr A;
  A.begin = rows.begin;
  A.value = rows.value;
  A.column.assign(rows.column.begin(), rows.column.end());
  return A;
}

std::vector<std::int32_t> natural_order(std::int64_t n) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

TEST(MinimumDegree, IsAPermutationThatSavesFill) {
  for (auto const& [name, rows] : hard_matrices()) {
    SCOPED_TRACE(name);
    auto const A = csr_of(rows);
    auto order = sparse::detail::minimum_degree(A);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, natural_order(A.rows()));
  }
  auto const grid = csr_of(poisson_map(60).rows());
  auto const size = sparse::detail::size_of_factor(grid, sparse::detail::minimum_degree(grid)),
             band = sparse::detail::size_of_factor(grid, natural_order(grid.rows()));
  EXPECT_LT(size.entries, 0.35 * band.entries);
  EXPECT_LT(size.flops, 0.2 * band.flops);
  // unknowns of a node are alike: three times the rows cost nine times the entries, no more
  auto const elastic = csr_of(make_model(ModelProblem::Elasticity, {6, 6, 6}, 0,
                                         model_rows(ModelProblem::Elasticity, {6, 6, 6})));
  auto const of_elastic =
      sparse::detail::size_of_factor(elastic, sparse::detail::minimum_degree(elastic));
  EXPECT_LT(of_elastic.entries, 1.2e5);
  EXPECT_TRUE(sparse::detail::minimum_degree(HostCsr()).empty());
}

TEST(HostLu, SizesAreThoseOfTheFactor) {
  auto const A = csr_of(poisson_map(12).rows());
  auto const order = sparse::detail::minimum_degree(A);
  auto const factor = sparse::detail::factor_symmetric(A, order, {});
  ASSERT_TRUE(factor);
  EXPECT_EQ(static_cast<double>(factor->entries()),
            sparse::detail::size_of_factor(A, order).entries);
  EXPECT_TRUE(throws_with<MemoryError>("at most 100 are allowed", [&] {
    (void)sparse::detail::factor_symmetric(A, order, {100, 1e12});
  }));
  EXPECT_TRUE(throws_with<MemoryError>("at most 100 are allowed", [&] {
    (void)sparse::detail::factor_general(A, order, {100, 1e12});
  }));
  EXPECT_TRUE(throws_with<MemoryError>(
      "operations", [&] { (void)sparse::detail::factor_symmetric(A, order, {1e9, 10}); }));
  auto const indefinite = csr_of(poisson_map(12, 3).rows());
  EXPECT_FALSE(sparse::detail::factor_symmetric(indefinite, order, {}));
}

template <class Space>
struct SparseFactorTest : testing::Test {};
TYPED_TEST_SUITE(SparseFactorTest, Spaces, SpaceNames);

TYPED_TEST(SparseFactorTest, SolvesTheHardMatrices) {
  Communicator const comm = test_ranks();
  if (comm.size() > 1) return;
  for (auto const& [name, rows] : hard_matrices()) {
    SCOPED_TRACE(name);
    if (name == "other units") continue;  // those SparseSolver takes away before
    System<TypeParam> system(rows, comm);
    bool const is_symmetric = name == "plate" || name == "graded 1e6";
    SparseFactor<TypeParam> const M(system.exec, system.A, is_symmetric);
    EXPECT_EQ(M.report().symmetric, is_symmetric);
    EXPECT_EQ(M.report().replaced, 0);
    EXPECT_GT(M.bytes(), 12 * M.report().entries);
    M.apply(system.exec, system.b, system.x);
    EXPECT_LT(system.residual(), 1e-9);
  }
}

TYPED_TEST(SparseFactorTest, TakesSingularAndIndefiniteMatrices) {
  Communicator const comm = test_ranks();
  if (comm.size() > 1) {
    System<TypeParam> system(model(comm, ModelProblem::Poisson7, {6, 6, 6}), comm);
    EXPECT_TRUE(throws_with<ValueError>(
        "ranks, must be on one", [&] { SparseFactor<TypeParam>(system.exec, system.A, true); }));
    return;
  }
  System<TypeParam> singular(floating_chain(comm, 50), comm);
  SparseFactor<TypeParam> const M(singular.exec, singular.A, true);
  EXPECT_FALSE(M.report().symmetric);
  EXPECT_EQ(M.report().replaced, 1);
  System<TypeParam> indefinite(poisson_map(20, 3).rows(), comm);
  SparseFactor<TypeParam> const N(indefinite.exec, indefinite.A, true);
  EXPECT_FALSE(N.report().symmetric);
  N.apply(indefinite.exec, indefinite.b, indefinite.x);
  EXPECT_LT(indefinite.residual(), 1e-11);
  System<TypeParam> none(HostRows(), comm);
  SparseFactor<TypeParam>(none.exec, none.A, true).apply(none.exec, none.b, none.x);
}

}  // namespace
