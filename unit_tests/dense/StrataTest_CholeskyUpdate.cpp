// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_BackwardError.hpp"
#include "StrataTest_Dense.hpp"
#include "StrataTest_FactorCases.hpp"
#include "StrataTest_FailingAllocations.hpp"
#include "StrataTest_HardMatrices.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <dense/Strata_Cholesky.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// Factors of A +- V V^T, of a bordered A and of a part of A, from A's factor.

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;
using P = strata::Precision;

template <class Space>
class CholeskyUpdateOn : public testing::Test {};
TYPED_TEST_SUITE(CholeskyUpdateOn, Spaces, SpaceNames);

CholeskyOptions leaves(std::int64_t size) {
  CholeskyOptions options;
  options.leaf_size = size;
  return options;
}

// A + sign V V^T, rounded once.
HostMatrix changed(HostMatrix const& A, HostMatrix const& V, int sign) {
  HostMatrix const B("strata::test::B", A.extent(0), A.extent(0));
  for (std::size_t j = 0; j < A.extent(0); ++j)
    for (std::size_t i = 0; i < A.extent(0); ++i) {
      long double sum = A(std::max(i, j), std::min(i, j));
      for (std::size_t k = 0; k < V.extent(1); ++k)
        sum += sign * static_cast<long double>(V(i, k)) * V(j, k);
      B(i, j) = static_cast<double>(sum);
    }
  return B;
}

// The lower triangle that the factor reads is this matrix, and L L^T is that, as far as the
// diagonal of `size` lets one tell.
template <class Space>
void is_factor_of(Space const& exec, CholeskyFactor<Space>& factor, HostMatrix const& A,
                  HostMatrix const& size, double units) {
  auto const n = static_cast<std::int64_t>(A.extent(0));
  ASSERT_EQ(factor.report().n, n);
  EXPECT_TRUE(factor.info().ok());
  HostMatrix const read = on_host(factor.matrix()), L = factor_on_host(exec, factor);
  double worst = 0, off = 0;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = j; i < n; ++i) {
      double const scale = std::sqrt(size(i, i)) * std::sqrt(size(j, j));
      long double t = read(i, j);
      for (std::int64_t l = 0; l <= j; ++l) t -= static_cast<long double>(L(i, l)) * L(j, l);
      worst = std::max(worst, static_cast<double>(std::abs(t)) / scale);
      off = std::max(off, std::abs(read(i, j) - A(i, j)) / scale);
    }
  EXPECT_LE(off, units * roundoff) << n;
  EXPECT_LE(worst, (units + static_cast<double>(n)) * roundoff) << n;
  HostMatrix const b = random_matrix(n, 2, 17);
  if (n == 0) return;
  auto const B = on_device<Space>(b), X = on_device<Space>(b, 1);
  EXPECT_TRUE(factor.solve(exec, B, X).converged);
  HostMatrix full("strata::test::full", A.extent(0), A.extent(0));
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) full(i, j) = read(std::max(i, j), std::min(i, j));
  EXPECT_LE(backward_error(full, on_host(X), b), 1e-14) << n;
}

template <class Space, class Layout>
void follows_updates_and_downdates(std::int64_t n, std::int64_t k, std::int64_t leaf) {
  Space const exec;
  HostMatrix const A = rescaled(easy_matrix(n), 20, 3), V = random_matrix(n, k, 5);
  for (std::int64_t j = 0; j < k; ++j)
    for (std::int64_t i = 0; i < n; ++i) V(i, j) *= std::sqrt(A(i, i));
  HostMatrix const more = changed(A, V, 1);
  auto const matrix = on_device<Space, Layout>(A, 2);
  auto factor = cholesky(exec, matrix, {P::fp64}, leaves(leaf));
  auto const v = on_device<Space, Layout>(V, 3);
  factor.rank_update(exec, v);
  EXPECT_EQ(largest_difference(on_host(v), V), 0);
  Kokkos::deep_copy(matrix, nan_value);  // the caller's matrix is free
  is_factor_of(exec, factor, more, more, 20.0 * static_cast<double>(k + 8));
  ASSERT_TRUE(factor.rank_downdate(exec, v).ok());
  is_factor_of(exec, factor, A, more, 40.0 * static_cast<double>(k + 8));
}
TYPED_TEST(CholeskyUpdateOn, FollowsUpdatesAndDowndates) {
  for (auto const& [n, k, leaf] : {std::array<std::int64_t, 3>{1, 1, 8},
                                   {2, 3, 8},
                                   {31, 1, 32},
                                   {32, 2, 32},
                                   {33, 1, 32},
                                   {63, 5, 64},
                                   {64, 64, 64},
                                   {65, 65, 64},
                                   {150, 1, 40},
                                   {150, 9, 40},
                                   {200, 130, 48}}) {
    follows_updates_and_downdates<TypeParam, Kokkos::LayoutLeft>(n, k, leaf);
    follows_updates_and_downdates<TypeParam, Kokkos::LayoutRight>(n, k, leaf);
  }
}

TYPED_TEST(CholeskyUpdateOn, TakesMatricesOfMixedScalesWhoseDiagonalChangesMuch) {
  std::int64_t const n = 100;
  TypeParam const exec;
  HostMatrix const A = rescaled(easy_matrix(n), 100, 3), V = random_matrix(n, 4, 5);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < 4; ++j) V(i, j) *= 1e3 * std::sqrt(A(i, i));
  HostMatrix const more = changed(A, V, 1);
  auto factor = cholesky(exec, on_device<TypeParam>(A), {P::fp64}, leaves(16));
  factor.rank_update(exec, on_device<TypeParam>(V));
  is_factor_of(exec, factor, more, more, 100);
  ASSERT_TRUE(factor.rank_downdate(exec, on_device<TypeParam>(V)).ok());
  is_factor_of(exec, factor, A, more, 200);  // of A itself six digits are lost
  EXPECT_GT(factor.whitening_error(exec), 1e-11);
}

// The orders of minors are those of the factorisation of what is left.
TYPED_TEST(CholeskyUpdateOn, RefusesDowndatesToIndefiniteMatrices) {
  std::int64_t const n = 90;
  TypeParam const exec;
  HostMatrix const A = easy_matrix(n);
  auto const matrix = on_device<TypeParam>(A);
  auto factor = cholesky(exec, matrix, {P::fp64}, leaves(32));
  HostMatrix const before = factor_on_host(exec, factor), b = random_matrix(n, 1, 2);
  for (std::int64_t const row : {0, 40, 89}) {
    HostMatrix const V("strata::test::V", n, 2);
    V(row, 0) = 1.01 * std::sqrt(A(row, row));
    V(0, 1) = 0.01;
    HostMatrix const left = changed(A, V, -1);
    auto const expected = cholesky(exec, on_device<TypeParam>(left), {P::fp64}).info();
    auto const found = factor.rank_downdate(exec, on_device<TypeParam>(V));
    EXPECT_FALSE(found.ok());
    EXPECT_EQ(found.order(), expected.order());
    EXPECT_TRUE(factor.info().ok());
    EXPECT_EQ(largest_difference(factor_on_host(exec, factor), before), 0);
    EXPECT_EQ(factor.matrix().data(), matrix.data());
  }
  HostMatrix const V = random_matrix(n, 1, 3);
  factor.rank_update(exec, on_device<TypeParam>(V));
  HostMatrix const own = on_host(factor.matrix()), L = factor_on_host(exec, factor);
  HostMatrix const much("strata::test::V", n, 1);
  Kokkos::deep_copy(much, 1.0);
  EXPECT_FALSE(factor.rank_downdate(exec, on_device<TypeParam>(much)).ok());
  EXPECT_EQ(triangle_difference(on_host(factor.matrix()), own), 0);
  EXPECT_EQ(largest_difference(factor_on_host(exec, factor), L), 0);
}

HostMatrix part_of(HostMatrix const& A, std::vector<std::int64_t> const& kept) {
  auto const n = static_cast<std::int64_t>(kept.size());
  HostMatrix const B("strata::test::part", n, n);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i)
      B(i, j) = A(kept[static_cast<std::size_t>(i)], kept[static_cast<std::size_t>(j)]);
  return B;
}

std::vector<std::int64_t> range(std::int64_t n) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < n; ++i) all.push_back(i);
  return all;
}

template <class Space, class Layout>
void appends_and_removes(std::int64_t n, std::int64_t m, std::int64_t leaf) {
  Space const exec;
  HostMatrix const all = rescaled(easy_matrix(n + m), 30, 4);
  HostMatrix const A = part_of(all, range(n)), columns("strata::test::columns", n + m, m);
  for (std::int64_t j = 0; j < m; ++j)
    for (std::int64_t i = 0; i < n + m; ++i)
      columns(i, j) = i >= n && i < n + j ? nan_value : all(i, n + j);
  auto factor = cholesky(exec, on_device<Space, Layout>(A, 1), {P::fp64}, leaves(leaf));
  ASSERT_TRUE(factor.append(exec, on_device<Space, Layout>(columns, 2)).ok());
  is_factor_of(exec, factor, all, all, 40);
  std::vector<std::int64_t> gone, kept;  // in no order
  for (std::int64_t i = n + m; i-- > 0;) (i % 3 == 1 ? gone : kept).push_back(i);
  std::ranges::sort(kept);
  factor.remove(exec, gone);
  HostMatrix const rest = part_of(all, kept);
  is_factor_of(exec, factor, rest, rest, 100);
  auto const again = on_device<Space>(rest);
  factor.refactor(exec, again);
  EXPECT_EQ(factor.matrix().data(), again.data());
}
TYPED_TEST(CholeskyUpdateOn, AppendsAndRemovesRows) {
  for (auto const& [n, m, leaf] : {std::array<std::int64_t, 3>{0, 1, 8},
                                   {0, 5, 8},
                                   {1, 1, 8},
                                   {31, 1, 32},
                                   {32, 1, 32},
                                   {33, 3, 32},
                                   {100, 60, 40},
                                   {200, 40, 48},
                                   {150, 1, 40}}) {
    appends_and_removes<TypeParam, Kokkos::LayoutLeft>(n, m, leaf);
    appends_and_removes<TypeParam, Kokkos::LayoutRight>(n, m, leaf);
  }
}

TYPED_TEST(CholeskyUpdateOn, RemovesTheFirstTheLastAndAll) {
  std::int64_t const n = 45;
  TypeParam const exec;
  HostMatrix const A = easy_matrix(n);
  for (auto const& gone : {std::vector<std::int64_t>{0}, {n - 1}, {}, range(n)}) {
    auto factor = cholesky(exec, on_device<TypeParam>(A), {P::fp64}, leaves(16));
    factor.remove(exec, gone);
    std::vector<std::int64_t> kept;
    for (std::int64_t i = 0; i < n; ++i)
      if (std::ranges::find(gone, i) == gone.end()) kept.push_back(i);
    HostMatrix const rest = part_of(A, kept);
    is_factor_of(exec, factor, rest, rest, 100);
  }
}

TYPED_TEST(CholeskyUpdateOn, RefusesColumnsThatMakeItIndefinite) {
  std::int64_t const n = 40;
  TypeParam const exec;
  HostMatrix const A = easy_matrix(n), columns("strata::test::columns", n + 2, 2);
  columns(n, 0) = 1;  // and the second has 0 on its diagonal
  auto factor = cholesky(exec, on_device<TypeParam>(A), {P::fp64}, leaves(16));
  HostMatrix const before = factor_on_host(exec, factor);
  auto const found = factor.append(exec, on_device<TypeParam>(columns));
  EXPECT_EQ(found.order(), n + 2);
  EXPECT_EQ(factor.report().n, n);
  EXPECT_EQ(largest_difference(factor_on_host(exec, factor), before), 0);
}

// Hundreds of changes one after the other.
TYPED_TEST(CholeskyUpdateOn, StaysAccurateOnline) {
  TypeParam const exec;
  HardMatrices draw(5);
  std::int64_t const most = 60;
  HostMatrix const all = draw.covariance(draw.stations(most + 300, 0, 1), 0.3, 1e-2);
  std::vector<std::int64_t> now = range(most);
  auto factor = cholesky(exec, on_device<TypeParam>(part_of(all, now)), {P::fp64}, leaves(16));
  for (std::int64_t step = 0; step < 200; ++step) {
    now.push_back(most + step);
    auto const n = static_cast<std::int64_t>(now.size());
    HostMatrix const column("strata::test::column", n, 1);
    for (std::int64_t i = 0; i < n; ++i)
      column(i, 0) = all(now[static_cast<std::size_t>(i)], most + step);
    ASSERT_TRUE(factor.append(exec, on_device<TypeParam>(column)).ok());
    std::vector<std::int64_t> const gone{draw.integer(0, n - 1)};
    factor.remove(exec, gone);
    now.erase(now.begin() + gone[0]);
  }
  HostMatrix const left = part_of(all, now);
  is_factor_of(exec, factor, left, left, 400);
}

TYPED_TEST(CholeskyUpdateOn, RefusesWhatDoesNotFit) {
  std::int64_t const n = 20;
  TypeParam const exec;
  auto factor = cholesky(exec, on_device<TypeParam>(easy_matrix(n)), {P::fp64});
  auto const short_one = on_device<TypeParam>(random_matrix(n - 1, 1, 1));
  EXPECT_TRUE(throws_with<ShapeError>("rank_update: V is 19 x 1, A of order 20",
                                      [&] { factor.rank_update(exec, short_one); }));
  EXPECT_TRUE(
      throws_with<ShapeError>("append: B is 19 x 1, must have as many rows as A, 20, and as",
                              [&] { (void)factor.append(exec, short_one); }));
  HostMatrix const bad = random_matrix(n, 1, 1), huge = random_matrix(n, 1, 1);
  bad(3, 0) = nan_value;
  huge(4, 0) = 1e160;
  EXPECT_TRUE(throws_with<ValueError>("column 0 of V holds a non-finite number, in row 3", [&] {
    (void)factor.rank_downdate(exec, on_device<TypeParam>(bad));
  }));
  EXPECT_TRUE(throws_with<ValueError>("V holds 1e+160, whose square is out of range", [&] {
    factor.rank_update(exec, on_device<TypeParam>(huge));
  }));
  EXPECT_TRUE(throws_with<ValueError>("remove: there is a row 20, must be in [0, 20)", [&] {
    factor.remove(exec, std::vector<std::int64_t>{1, 20});
  }));
  EXPECT_TRUE(throws_with<ValueError>("remove: row 4 is there twice", [&] {
    factor.remove(exec, std::vector<std::int64_t>{4, 1, 4});
  }));
  auto low = cholesky(exec, on_device<TypeParam>(easy_matrix(n)), {P::fp32});
  EXPECT_TRUE(throws_with<ValueError>("remove: the factor is in fp32",
                                      [&] { low.remove(exec, std::vector<std::int64_t>{1}); }));
}

// An allocation that fails leaves a factor of A, or of the changed A: few columns change it, more
// are factored anew.
template <class Space>
void keeps_a_factor_when_memory_runs_out(std::int64_t n, std::int64_t k) {
  Space const exec;
  HostMatrix const A = easy_matrix(n), V = random_matrix(n, k, 3), more = changed(A, V, 1);
  auto const matrix = on_device<Space>(A), v = on_device<Space>(V);
  bool failed = true;
  for (std::int64_t number = 1; failed; ++number) {
    auto factor = cholesky(exec, matrix, {P::fp64}, leaves(32));
    bool threw = false;
    {
      FailingAllocations const failing(number);
      try {
        factor.rank_update(exec, v);
      } catch (MemoryError const&) {
        threw = true;
      }
      failed = failing.failed();
    }
    bool const is_changed = on_host(factor.matrix())(0, 0) != A(0, 0);
    EXPECT_TRUE(threw || is_changed);
    is_factor_of(exec, factor, is_changed ? more : A, more, 200);
  }
}
TYPED_TEST(CholeskyUpdateOn, KeepsAFactorWhenMemoryRunsOut) {
  keeps_a_factor_when_memory_runs_out<TypeParam>(70, 2);
  keeps_a_factor_when_memory_runs_out<TypeParam>(70, 5);
}

}  // namespace
