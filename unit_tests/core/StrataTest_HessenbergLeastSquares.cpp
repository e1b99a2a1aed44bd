// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_HessenbergLeastSquares.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace {

using strata::HessenbergLeastSquares;
using Column = std::vector<double>;  // down to the entry below the diagonal

void append(HessenbergLeastSquares& problem, Column column) {
  double const below = column.back();
  column.pop_back();
  problem.append(column, below);
}

// beta e_1 - H y.
Column residual_of(std::vector<Column> const& H, double beta, Column const& y) {
  Column r(H.size() + 1, 0.0);
  r[0] = beta;
  for (std::size_t c = 0; c < y.size(); ++c)
    for (std::size_t i = 0; i < H[c].size(); ++i) r[i] -= H[c][i] * y[c];
  return r;
}

double product(Column const& a, Column const& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

std::vector<Column> random_hessenberg(std::size_t columns) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> number(-1, 1);
  std::vector<Column> H(columns);
  for (std::size_t j = 0; j < columns; ++j)
    for (std::size_t i = 0; i <= j + 1; ++i) H[j].push_back(number(random));
  return H;
}

// Normal equations: the residual is orthogonal to every column, and as long as said.
TEST(HessenbergLeastSquares, MinimisesTheResidual) {
  auto const H = random_hessenberg(6);
  HessenbergLeastSquares problem(3);
  EXPECT_EQ(problem.residual(), 3);
  for (std::size_t j = 0; j < H.size(); ++j) {
    append(problem, H[j]);
    ASSERT_EQ(problem.columns(), j + 1);
    auto const r = residual_of(H, 3, problem.minimiser());
    EXPECT_NEAR(std::sqrt(product(r, r)), problem.residual(), 1e-14);
    for (std::size_t c = 0; c <= j; ++c) EXPECT_NEAR(product(H[c], r), 0, 1e-13) << c << ' ' << j;
  }
}

TEST(HessenbergLeastSquares, KnowsTheMinimisersOfFewerColumns) {
  auto const H = random_hessenberg(5);
  HessenbergLeastSquares all(2), some(2);
  for (Column const& column : H) append(all, column);
  for (std::size_t j = 0; j < 3; ++j) append(some, H[j]);
  auto const y = all.minimiser(3), expected = some.minimiser();
  ASSERT_EQ(y.size(), 3u);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(y[k], expected[k], 1e-14);
}

TEST(HessenbergLeastSquares, LeavesOutColumnsThatDependOnOthers) {
  HessenbergLeastSquares problem(1);
  problem.append({2}, 1);
  double const residual = problem.residual();
  problem.append({4, 2}, 0);  // twice the first column
  EXPECT_EQ(problem.residual(), residual);
  auto const y = problem.minimiser();
  EXPECT_NEAR(y[0], 0.4, 1e-15);
  EXPECT_EQ(y[1], 0);
  problem.append({1, 1, 3}, 2);  // one more behind it
  auto const z = problem.minimiser();
  EXPECT_EQ(z[1], 0);
  std::vector<Column> const H = {{2, 1}, {4, 2, 0}, {1, 1, 3, 2}};
  auto const r = residual_of(H, 1, z);
  EXPECT_NEAR(product(H[0], r), 0, 1e-15);
  EXPECT_NEAR(product(H[2], r), 0, 1e-15);
  EXPECT_NEAR(std::sqrt(product(r, r)), problem.residual(), 1e-15);
}

// A column of rounding alone is no direction: with a pivot of 1e-17 its entry of y would be of the
// order of 1e16.
TEST(HessenbergLeastSquares, TakesNoPivotOfRounding) {
  HessenbergLeastSquares problem(1);
  problem.append({2}, 1);
  double const residual = problem.residual();
  problem.append({4, 2}, 1e-17);
  EXPECT_EQ(problem.residual(), residual);
  EXPECT_EQ(problem.minimiser()[1], 0);
  HessenbergLeastSquares nothing(3);
  nothing.append({0}, 0);
  EXPECT_EQ(nothing.residual(), 3);
  EXPECT_EQ(nothing.minimiser(), std::vector<double>{0});
}

TEST(HessenbergLeastSquares, TellsWhatTheLastDecadeAdded) {
  HessenbergLeastSquares problem(1);
  problem.append({1}, 1e-2);  // leaves 1e-2
  EXPECT_TRUE(problem.last_decade().empty());
  problem.append({0, 1}, 1e-2);  // leaves 1e-4
  auto const all = problem.minimiser(), first = problem.minimiser(1), last = problem.last_decade();
  ASSERT_EQ(last.size(), 2u);
  EXPECT_EQ(last[0], all[0] - first[0]);
  EXPECT_EQ(last[1], all[1]);
  HessenbergLeastSquares slow(1);
  for (Column const& column : {Column{1, 0.5}, {0, 1, 0.1}, {0, 0, 1, 0.4}}) append(slow, column);
  auto const both = slow.last_decade();  // 0.45, 0.050, 0.019 are left: two columns gain the decade
  ASSERT_EQ(both.size(), 3u);
  EXPECT_EQ(both[1], slow.minimiser()[1]);
}

}  // namespace
