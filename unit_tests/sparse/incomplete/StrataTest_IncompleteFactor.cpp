// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "../StrataTest_HardMatrices.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <sparse/incomplete/Strata_IncompleteFactor.hpp>
#include <sparse/incomplete/detail/Strata_HostFactor.hpp>
#include <sparse/incomplete/detail/Strata_TriangularSweeps.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;
using sparse::detail::HostCsr;
using sparse::detail::HostFactor;
using Dense = std::vector<double>;

HostCsr csr(HostRows const& rows) {
  HostCsr A;
  A.begin = rows.begin;
  A.value = rows.value;
  A.column.assign(rows.column.begin(), rows.column.end());
  return A;
}

Dense dense(HostCsr const& A) {
  auto const n = static_cast<std::size_t>(A.rows());
  Dense full(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (auto k = static_cast<std::size_t>(A.begin[i]);
         k < static_cast<std::size_t>(A.begin[i + 1]); ++k)
      full[i * n + static_cast<std::size_t>(A.column[k])] += A.value[k];
  return full;
}

// (I + L) D (I + U)
Dense product(HostFactor const& factor) {
  auto const n = factor.inverse.size();
  auto L = dense(factor.L), U = dense(factor.U);
  Dense M(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) L[i * n + i] = U[i * n + i] = 1;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t j = 0; j < n; ++j)
        M[i * n + j] += L[i * n + k] * U[k * n + j] / factor.inverse[k];
  return M;
}

// The largest difference on a pattern, over A's largest entry.
double difference(HostCsr const& pattern, Dense const& M, Dense const& A) {
  auto const n = static_cast<std::size_t>(pattern.rows());
  double most = 0, size = 0;
  for (double const a : A) size = std::max(size, std::abs(a));
  for (std::size_t i = 0; i < n; ++i)
    for (auto k = static_cast<std::size_t>(pattern.begin[i]);
         k < static_cast<std::size_t>(pattern.begin[i + 1]); ++k) {
      auto const at = i * n + static_cast<std::size_t>(pattern.column[k]);
      most = std::max(most, std::abs(M[at] - A[at]));
    }
  return most / size;
}

TEST(HostFactor, AgreesWithTheMatrixOnItsPattern) {
  double const bound = 100 * std::numeric_limits<double>::epsilon();
  for (int const fill : {0, 1, 3}) {
    SCOPED_TRACE(fill);
    auto const symmetric = csr(poisson_map(7).rows());
    auto const cholesky = sparse::detail::incomplete_cholesky(symmetric, fill);
    auto const pattern = sparse::detail::filled_pattern(symmetric, fill);
    EXPECT_LT(difference(pattern, product(cholesky), dense(symmetric)), bound);
    EXPECT_EQ(cholesky.shift, 0);
    EXPECT_EQ(2 * cholesky.L.entries() + symmetric.rows(), pattern.entries());
    auto const general = csr(upwind(7, 0.01));
    auto const lu = sparse::detail::incomplete_lu(general, fill);
    EXPECT_LT(
        difference(sparse::detail::filled_pattern(general, fill), product(lu), dense(general)),
        bound);
    EXPECT_EQ(lu.replaced, 0);
  }
}

TEST(HostFactor, FillsByLevels) {
  auto const A = csr(poisson_map(6).rows());
  std::int64_t before = A.entries();
  for (int fill = 1; fill < 5; ++fill) {
    auto const entries = sparse::detail::filled_pattern(A, fill).entries();
    EXPECT_GT(entries, before) << fill;
    before = entries;
  }
  // 1 at the corner of each square of the grid, on both sides of the diagonal
  EXPECT_EQ(sparse::detail::filled_pattern(A, 1).entries(), A.entries() + 2 * 25);
}

TEST(HostFactor, IsThatOfTheWholeWithAllFill) {
  auto const A = csr(poisson_map(5).rows());
  HostCsr all = A;
  auto const lu = sparse::detail::incomplete_lu(A, 20);
  auto const cholesky = sparse::detail::incomplete_cholesky(A, 20);
  all.begin.clear(), all.column.clear(), all.value.clear();
  for (std::int64_t i = 0; i <= 25; ++i) all.begin.push_back(25 * i);
  for (std::int64_t k = 0; k < 625; ++k) all.column.push_back(static_cast<std::int32_t>(k % 25));
  all.value.assign(625, 0.0);
  EXPECT_LT(difference(all, product(lu), dense(A)), 1e-14);
  EXPECT_LT(difference(all, product(cholesky), dense(A)), 1e-14);
}

// D. Kershaw's, J. Comput. Phys. 26, 1978: positive definite, the fourth pivot on its pattern is
// -5.
TEST(HostFactor, ShiftsWhereAPivotIsNotPositive) {
  EntryMap A(4);
  double const entries[4][4] = {{3, -2, 0, 2}, {-2, 3, -2, 0}, {0, -2, 3, -2}, {2, 0, -2, 3}};
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      if (entries[i][j] != 0) A.add(i, j, entries[i][j]);
  auto const factor = sparse::detail::incomplete_cholesky(csr(A.rows()), 0);
  EXPECT_GT(factor.shift, 0);
  EXPECT_LT(factor.shift, 2);
  for (double const d : factor.inverse) EXPECT_GT(d, 0);
  EXPECT_EQ(sparse::detail::incomplete_cholesky(csr(A.rows()), 1).shift, 0);
}

TEST(HostFactor, ReplacesPivotsThatAreZero) {
  auto const lu = sparse::detail::incomplete_lu(csr(cyclic_shift(9, 2)), 0);
  EXPECT_GT(lu.replaced, 0);
  for (double const d : lu.inverse) EXPECT_TRUE(std::isfinite(d));
}

TEST(LevelSchedule, PutsEachRowBehindWhatItNeeds) {
  auto const check = [](HostCsr const& triangle, bool first_to_last, std::int64_t levels) {
    auto const schedule = sparse::detail::level_schedule(triangle, first_to_last);
    EXPECT_EQ(schedule.levels(), levels);
    std::vector<std::int64_t> level(static_cast<std::size_t>(triangle.rows()), -1);
    for (std::int64_t l = 0; l < schedule.levels(); ++l)
      for (auto k = schedule.begin[static_cast<std::size_t>(l)];
           k < schedule.begin[static_cast<std::size_t>(l) + 1]; ++k)
        level[static_cast<std::size_t>(schedule.rows[static_cast<std::size_t>(k)])] = l;
    for (std::size_t i = 0; i < level.size(); ++i) {
      EXPECT_GE(level[i], 0);
      for (auto k = static_cast<std::size_t>(triangle.begin[i]);
           k < static_cast<std::size_t>(triangle.begin[i + 1]); ++k)
        EXPECT_LT(level[static_cast<std::size_t>(triangle.column[k])], level[i]);
    }
  };
  auto const grid = sparse::detail::incomplete_cholesky(csr(poisson_map(8).rows()), 0);
  check(grid.L, true, 15);
  check(grid.U, false, 15);
  HostCsr const none{std::vector<std::int64_t>(6, 0), {}, {}}, empty;
  check(none, true, 1);
  check(empty, true, 0);
}

template <class Space>
struct IncompleteFactorTest : testing::Test {};
TYPED_TEST_SUITE(IncompleteFactorTest, Spaces, SpaceNames);

// (A M^-1 r)_i / r_i of the largest entries where M = A.
template <class Exec>
double error_of_inverse(HostRows const& rows, IncompleteKind kind, int fill, Precision precision) {
  System<Exec> system(rows, test_ranks());
  IncompleteFactor<Exec, double> const M(system.exec, system.A, kind, fill, precision);
  M.apply(system.exec, system.b, system.x);
  return system.residual();
}

TYPED_TEST(IncompleteFactorTest, SolvesWithATriangularAndATridiagonalMatrix) {
  Communicator const comm = test_ranks();
  if (comm.size() > 1) return;  // each factors its own block
  auto const chain = tridiagonal(comm, 5000, [](std::int64_t i) { return i % 3 == 0 ? 2.5 : 2.1; });
  for (auto const kind : {IncompleteKind::Cholesky, IncompleteKind::Lu}) {
    EXPECT_LT(error_of_inverse<TypeParam>(chain, kind, 0, Precision::fp64), 1e-13);
    EXPECT_LT(error_of_inverse<TypeParam>(chain, kind, 0, Precision::fp32), 1e-5);
    EXPECT_GT(error_of_inverse<TypeParam>(chain, kind, 0, Precision::fp32), 1e-9);
  }
  EXPECT_LT(
      error_of_inverse<TypeParam>(poisson_map(9).rows(), IncompleteKind::Lu, 20, Precision::fp64),
      1e-13);
}

TYPED_TEST(IncompleteFactorTest, IsSymmetricAndTheSameForNarrowVectors) {
  Communicator const comm = test_ranks();
  System<TypeParam> system(model(comm, ModelProblem::Elasticity, {5, 4, 4}), comm);
  auto const& A = system.A;
  IncompleteFactor<TypeParam, double> const M(system.exec, A, IncompleteKind::Cholesky, 1);
  auto const apply = [&](std::uint64_t seed) {
    auto const r = A.template allocate<double>(system.exec, "strata::test::r"),
               z = A.template allocate<double>(system.exec, "strata::test::z");
    auto const numbers = random_vector(A.global_rows(), seed);
    A.gather(system.exec,
             natural(system.exec, A, [&](std::int64_t i) { return numbers[std::size_t(i)]; }), r);
    M.apply(system.exec, r, z);
    return std::pair(to_host(system.exec, r), to_host(system.exec, z));
  };
  auto const [r, Mr] = apply(1);
  auto const [s, Ms] = apply(2);
  double sums[3] = {};
  for (std::size_t i = 0; i < static_cast<std::size_t>(A.rows()); ++i)
    sums[0] += s[i] * Mr[i], sums[1] += r[i] * Ms[i], sums[2] += r[i] * Mr[i];
  comm.sum(sums);
  EXPECT_GT(sums[2], 0);
  EXPECT_LT(std::abs(sums[0] - sums[1]), 1e-12 * sums[2]);
  IncompleteFactor<TypeParam, float> const narrow(system.exec, M);
  EXPECT_LT(narrow.bytes(), M.bytes());
  EXPECT_EQ(narrow.report().entries, M.report().entries);
  auto const single = to_device<float>(system.exec, r);
  auto const image = to_device<float>(system.exec, std::vector<double>(r.size(), 0.0));
  narrow.apply(system.exec, single, image);
  auto const found = to_host(system.exec, image);
  for (std::size_t i = 0; i < static_cast<std::size_t>(A.rows()); ++i)
    EXPECT_NEAR(found[i], Mr[i], 1e-4 * (1 + std::abs(Mr[i])));
}

TYPED_TEST(IncompleteFactorTest, RefusesWhatDoesNotFit) {
  Communicator const comm = test_ranks();
  TypeParam const exec;
  System<TypeParam> const hole(
      tridiagonal(comm, 9, [](std::int64_t i) { return i == 6 ? 0.0 : 3.0; }), comm);
  auto const refused = [&](IncompleteKind kind, int fill, Precision precision, char const* text) {
    EXPECT_TRUE(throws_with<ValueError>(
        text, [&] { IncompleteFactor<TypeParam, float>(exec, hole.A, kind, fill, precision); }));
  };
  refused(IncompleteKind::Lu, -1, Precision::fp32, "fill -1 must be 0 to 20");
  refused(IncompleteKind::Lu, 0, Precision::bf16, "not in bf16");
  refused(IncompleteKind::Cholesky, 0, Precision::fp32, "the first entry that is not is 7 of 9");
}

}  // namespace
