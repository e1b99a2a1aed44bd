// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <core/Strata_Errors.hpp>
#include <core/problems/Strata_Random.hpp>
#include <dense/varied/Strata_SolveEach.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;

template <class Space>
class SolveEachOn : public testing::Test {};
TYPED_TEST_SUITE(SolveEachOn, Spaces, SpaceNames);

// A system of T, padded, in the space's memory; the triangle that is not read holds NaN.
template <class Space, class T>
struct OneSystem {
  using Array = Kokkos::View<T**, Kokkos::LayoutLeft, typename Space::memory_space>;
  using Host = Kokkos::View<T**, Kokkos::LayoutLeft, Kokkos::HostSpace>;

  OneSystem(std::int64_t order, std::int64_t columns, Uplo triangle, std::uint64_t seed)
      : n(order),
        m(columns),
        uplo(triangle),
        A("strata::test::A", static_cast<std::size_t>(n + 2), static_cast<std::size_t>(n)),
        B("strata::test::B", static_cast<std::size_t>(n + 1), static_cast<std::size_t>(m)),
        a(A.label(), A.extent(0), A.extent(1)),
        b(B.label(), B.extent(0), B.extent(1)) {
    Kokkos::deep_copy(a, std::numeric_limits<T>::quiet_NaN());
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = j; i < n; ++i) at(i, j) = static_cast<T>(entry(seed, i, j));
    for (std::int64_t c = 0; c < m; ++c)
      for (std::int64_t i = 0; i < n; ++i) b(i, c) = static_cast<T>(uniform(seed + 7, i, c) - 0.5);
  }
  double entry(std::uint64_t seed, std::int64_t i, std::int64_t j) const {
    double const r = 2 * uniform(seed, i, j) - 1;
    return i == j ? 2 + r : r / static_cast<double>(n);
  }
  T& at(std::int64_t i, std::int64_t j) {
    auto const [low, high] = std::minmax(i, j);
    return uplo == Uplo::Lower ? a(high, low) : a(low, high);
  }
  VariedSystem<typename Space::memory_space> given() {
    Kokkos::deep_copy(A, a);
    Kokkos::deep_copy(B, b);
    return {
        uplo, {A.data(), n, n, n + 2, precision_of<T>}, {B.data(), n, m, n + 1, precision_of<T>}};
  }
  Host solution() const {
    Host const x("strata::test::x", B.extent(0), B.extent(1));
    Kokkos::deep_copy(x, B);
    return x;
  }
  // max |b - A x| over (max |a| n max |x| + max |b|)
  double backward_error() {
    auto const x = solution();
    double worst = 0, largest = 1;
    for (std::int64_t c = 0; c < m; ++c)
      for (std::int64_t i = 0; i < n; ++i) {
        double r = b(i, c);
        for (std::int64_t j = 0; j < n; ++j) r -= static_cast<double>(at(i, j)) * x(j, c);
        worst = std::max(worst, std::abs(r));
        largest = std::max(largest, std::abs(static_cast<double>(x(i, c))));
        if (!std::isfinite(r)) return r * 0 + std::numeric_limits<double>::infinity();
      }
    return worst / largest;
  }
  // By elimination in long double.
  double log_determinant() {
    std::vector<long double> w(static_cast<std::size_t>(n * n));
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i) w[static_cast<std::size_t>(i + j * n)] = at(i, j);
    long double sum = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      long double const d = w[static_cast<std::size_t>(k + k * n)];
      sum += std::log(d);
      for (std::int64_t j = k + 1; j < n; ++j)
        for (std::int64_t i = j; i < n; ++i)
          w[static_cast<std::size_t>(i + j * n)] -=
              w[static_cast<std::size_t>(i + k * n)] * w[static_cast<std::size_t>(j + k * n)] / d;
    }
    return static_cast<double>(sum);
  }

  std::int64_t n, m;
  Uplo uplo;
  Array A, B;
  Host a, b;
};

template <class Space, class T>
std::vector<OneSystem<Space, T>> mixed() {
  std::vector<OneSystem<Space, T>> all;
  std::uint64_t seed = 1;
  for (std::int64_t const n : {0, 1, 2, 7, 33, 8, 64, 1, 40, 65, 130, 36, 35, 0, 520, 37, 34, 39})
    for (std::int64_t const m : {1, 0, 3}) {
      all.emplace_back(n, m, seed % 2 == 0 ? Uplo::Lower : Uplo::Upper, seed);
      ++seed;
    }
  return all;
}

template <class System>
auto given(std::vector<System>& all) {
  std::vector<decltype(all.front().given())> systems;
  for (auto& one : all) systems.push_back(one.given());
  return systems;
}

template <class Space, class T>
void expect_each_is_solved(double u) {
  auto all = mixed<Space, T>();
  auto const result = solve_each(Space(), given(all));
  EXPECT_EQ(result.first_failed(), -1);
  for (std::size_t s = 0; s < all.size(); ++s) {
    auto const size = static_cast<double>(std::max<std::int64_t>(1, all[s].n));
    EXPECT_LE(all[s].backward_error(), 8 * size * u) << s;
    double const log = all[s].log_determinant();
    EXPECT_NEAR(result.log_determinants[s], log, 4 * size * u * std::max(1.0, std::abs(log))) << s;
  }
}

TYPED_TEST(SolveEachOn, SolvesSystemsOfAllOrders) {
  expect_each_is_solved<TypeParam, double>(0x1p-53);
  expect_each_is_solved<TypeParam, float>(0x1p-24);
}

TYPED_TEST(SolveEachOn, NamesTheSystemsWithoutAFactorAndSolvesTheOthers) {
  auto all = mixed<TypeParam, double>(), alone = mixed<TypeParam, double>();
  std::size_t const indefinite = 12, nan = 26, large = 42;
  all[indefinite].at(4, 4) = -1;
  all[nan].at(20, 3) = std::numeric_limits<double>::quiet_NaN();
  all[large].at(517, 517) = -3;
  auto const result = solve_each(TypeParam(), given(all));
  EXPECT_EQ(result.first_failed(), static_cast<std::int64_t>(indefinite));
  (void)solve_each(TypeParam(), given(alone));
  for (std::size_t s = 0; s < all.size(); ++s) {
    bool const failed = s == indefinite || s == nan || s == large;
    EXPECT_EQ(result.info[s] != 0, failed) << s;
    EXPECT_EQ(std::isnan(result.log_determinants[s]), failed) << s;
    auto const x = all[s].solution();
    auto const expected = failed ? all[s].b : alone[s].solution();
    for (std::int64_t c = 0; c < all[s].m; ++c)
      for (std::int64_t i = 0; i < all[s].n; ++i) EXPECT_EQ(x(i, c), expected(i, c)) << s;
  }
  EXPECT_EQ(result.info[indefinite], 5);
  EXPECT_EQ(result.info[large], 518);
}

TYPED_TEST(SolveEachOn, TakesNoSystems) { EXPECT_TRUE(solve_each(TypeParam(), {}).info.empty()); }

TYPED_TEST(SolveEachOn, NamesTheSystemThatDoesNotFit) {
  OneSystem<TypeParam, double> one(3, 1, Uplo::Lower, 1), other(4, 1, Uplo::Lower, 2);
  auto a = one.given(), b = other.given();
  auto wrong = b;
  wrong.B.rows = 3;
  EXPECT_TRUE(throws_with<ShapeError>("solve_each: system 1: A is 4 x 4, B 3 x 1",
                                      [&] { (void)solve_each(TypeParam(), {a, wrong}); }));
  OneSystem<TypeParam, float> narrow(2, 1, Uplo::Lower, 3);
  EXPECT_TRUE(throws_with<ValueError>(
      "system 2 is of fp32", [&] { (void)solve_each(TypeParam(), {a, b, narrow.given()}); }));
}

}  // namespace
