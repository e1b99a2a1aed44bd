// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "dense/StrataTest_HardMatrices.hpp"
#include <core/kokkos_ext/Strata_Team.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/Strata_Definiteness.hpp>
#include <dense/refine/detail/Strata_Breakdown.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>

// Matrices at the limit of fp64: what their factor is like, what refuses them, and what is said of
// it.

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;

template <class Space>
class BreakdownOn : public testing::Test {};
TYPED_TEST_SUITE(BreakdownOn, Spaces, SpaceNames);

bool holds(std::string const& text, char const* part) {
  return text.find(part) != std::string::npos;
}

/// The root of the mean square of A - L L^T below the diagonal and on it, of some rows, in units of
/// 2^-53.
template <class Space>
double rounding_of(HostMatrix const& A) {
  auto const n = static_cast<std::int64_t>(A.extent(0));
  Space const exec;
  auto const factor = cholesky(exec, on_device<Space>(A), {Precision::fp64});
  if (!factor.info().ok()) return std::numeric_limits<double>::infinity();
  Kokkos::View<double**, Kokkos::LayoutLeft, typename Space::memory_space> const L(
      "strata::test::L", A.extent(0), A.extent(1));
  factor.copy_factor(exec, {L.data(), n, n, n, Precision::fp64, nullptr});
  exec.fence();
  HostMatrix const l = on_host(L);
  long double squares = 0;
  std::int64_t count = 0;
  for (std::int64_t i = 7 % n; i < n; i += 13)
    for (std::int64_t j = 0; j <= i; j += 5) {
      long double e = A(i, j);
      for (std::int64_t k = 0; k <= j; ++k) e -= static_cast<long double>(l(i, k)) * l(j, k);
      squares += e * e;
      ++count;
    }
  return static_cast<double>(std::sqrt(squares / count)) * 0x1p53;
}

// One sum of all terms loses small ones beside the first, all to one side: 50 units and more.
TYPED_TEST(BreakdownOn, TheFactorOfOnesIsAsGoodAsRoundingAllows) {
  if constexpr (!runs_on_host<TypeParam>)
    GTEST_SKIP() << "sums are the vendor's";
  else
    for (std::int64_t const n : {60, 300, 400, 512, 700, 1100})
      for (double const e : {1e-9, 1e-11, 1e-12, 3e-13})
        EXPECT_LE(rounding_of<TypeParam>(ones_and(e, n)), 4) << n << " " << e;
}

// `cholesky` in fp64, in layers and with other leaves, and the question alone.
TYPED_TEST(BreakdownOn, AllSayTheSameOfAMatrix) {
  TypeParam const exec;
  HardMatrices draws(3);
  int refused = 0;
  int const cases = setting("STRATA_TEST_CASES", 60);
  for (int r = 0; r < cases; ++r) {
    std::int64_t const n = draws.integer(20, 700);
    HostMatrix const A = r % 3 == 0   ? ones_and(draws.power_of_ten(-16, -12), n)
                         : r % 3 == 1 ? draws.near_pairs(20, 300)
                                      : draws.covariance(draws.stations(n, 0, 0), 1.0, 1e-15);
    auto const matrix = on_device<TypeParam>(A);
    auto const in_fp64 = cholesky(exec, matrix, {Precision::fp64});
    EXPECT_EQ(is_positive_definite(exec, matrix).order(), in_fp64.info().order()) << r;
    auto const in_layers = cholesky(exec, matrix, {Precision::fp16, Precision::fp32});
    if (!in_layers.info().ok()) {
      EXPECT_EQ(in_layers.info().order(), in_fp64.info().order()) << r;
    }
    if (in_fp64.info().ok()) continue;
    ++refused;
    if (runs_on_host<TypeParam>) {
      EXPECT_TRUE(in_fp64.report().breakdown.numerical) << describe(in_fp64.report().breakdown);
    }
  }
  EXPECT_GT(refused, 5);
  if (std::getenv("STRATA_TEST_CASES") != nullptr)
    std::printf("%d cases, %d of them refused\n", cases, refused);
}

TYPED_TEST(BreakdownOn, SaysWhetherRoundingExplainsItAndWhatToDo) {
  TypeParam const exec;
  std::int64_t const n = 90;
  HardMatrices draws(4);
  HostMatrix const A = draws.covariance(draws.stations(n, 0, 0), 0.05, 0);
  for (std::int64_t k = 0; k < n; ++k) {  // station 71 is station 12, and a little is missing
    if (k == 71) continue;
    A(71, k) = A(k, 71) = A(12, k);
  }
  A(71, 12) = A(12, 71) = A(12, 12) * (1 + 1e-15);
  auto factor = cholesky(exec, on_device<TypeParam>(A), {Precision::fp64});
  ASSERT_FALSE(factor.info().ok());
  Breakdown const& found = factor.report().breakdown;
  EXPECT_EQ(found.order, factor.info().order());
  EXPECT_EQ(factor.report().factor_flop_per_s, 0);
  auto const text = describe(found);
  EXPECT_TRUE(holds(text, "the leading minor of order 72 is not positive")) << text;
  EXPECT_TRUE(found.numerical);
  EXPECT_GT(found.condition, 1e12);
  EXPECT_EQ(found.row, 71);
  EXPECT_EQ(found.other_row, 12);
  EXPECT_TRUE(holds(text, "numerically not positive definite")) << text;
  EXPECT_TRUE(holds(text, "Rows 12 and 71 (from 0) are equal to within")) << text;
  A(40, 30) = A(30, 40) = 1.5;
  auto const indefinite = cholesky(exec, on_device<TypeParam>(A), {Precision::fp64});
  EXPECT_EQ(indefinite.info().order(), 41);
  EXPECT_FALSE(indefinite.report().breakdown.numerical);
  EXPECT_TRUE(holds(describe(indefinite.report().breakdown), ": A is not positive definite"));
}

// The smallest power of ten with which there is a factor, of which solves and reports are.
TYPED_TEST(BreakdownOn, AJitterIsTheSmallestThatServesAndIsReported) {
  TypeParam const exec;
  std::int64_t const n = 200;
  HostMatrix const A("strata::test::A", n, n), b = random_matrix(n, 1, 3);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i)
      A(i, j) = 4 * std::exp(-std::pow(static_cast<double>(i - j) / 60, 2));
  auto const matrix = on_device<TypeParam>(A), B = on_device<TypeParam>(b),
             X = on_device<TypeParam>(b);
  ASSERT_FALSE(cholesky(exec, matrix, {Precision::fp64}).info().ok());
  auto factor = cholesky(exec, matrix, {Precision::fp64}, {.jitter = true});
  ASSERT_TRUE(factor.info().ok());
  double const jitter = factor.report().jitter;
  EXPECT_GE(jitter, 1e-15);
  EXPECT_LE(jitter, 1e-12);
  EXPECT_NEAR(std::log10(jitter), std::round(std::log10(jitter)), 1e-9);
  auto const with = [&](double part) {
    HostMatrix const larger("strata::test::larger", n, n);
    Kokkos::deep_copy(larger, A);
    for (std::int64_t i = 0; i < n; ++i) larger(i, i) += 4 * part;
    return larger;
  };
  EXPECT_FALSE(
      cholesky(exec, on_device<TypeParam>(with(jitter / 10)), {Precision::fp64}).info().ok());
  EXPECT_TRUE(factor.solve(exec, B, X).converged);
  HostMatrix const larger = with(jitter), x = on_host(X);
  double residual = 0, size = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    long double sum = b(i, 0);
    for (std::int64_t k = 0; k < n; ++k) sum -= static_cast<long double>(larger(i, k)) * x(k, 0);
    residual = std::max(residual, std::abs(static_cast<double>(sum)));
    size = std::max(size, std::abs(x(i, 0)));
  }
  EXPECT_LE(residual, 1e-13 * norm_of(larger) * size);
  EXPECT_EQ(largest_difference(on_host(matrix), A), 0);
  EXPECT_EQ(cholesky(exec, on_device<TypeParam>(with(1e-6)), {Precision::fp64}, {.jitter = true})
                .report()
                .jitter,
            0);
  A(3, 2) = A(2, 3) = 9;  // no jitter helps
  auto const refused = cholesky(exec, on_device<TypeParam>(A), {Precision::fp64}, {.jitter = true});
  EXPECT_EQ(refused.info().order(), 4);
  EXPECT_EQ(refused.report().jitter, 0);
}

// For next to nothing: where digits are few it is not left out, and where there are many it is.
TYPED_TEST(BreakdownOn, ThePivotsTellWhenAConditionIsWorthItsTime) {
  TypeParam const exec;
  HardMatrices draws(7);
  int few = 0, many = 0;
  for (int r = 0; r < 60; ++r) {
    HostMatrix const A = r % 3 == 0 ? ones_and(draws.power_of_ten(-15, -2), draws.integer(20, 150))
                                    : draws.near_pairs(20, 150);
    auto const n = static_cast<std::int64_t>(A.extent(0));
    auto const b = on_device<TypeParam>(random_matrix(n, 1, static_cast<unsigned>(r))),
               X = on_device<TypeParam>(random_matrix(n, 1, 1));
    auto factor =
        cholesky(exec, on_device<TypeParam>(A), {r % 2 ? Precision::fp64 : Precision::fp32});
    if (!factor.info().ok()) continue;
    auto const report = factor.solve(exec, b, X);
    if (!factor.info().ok() || !report.converged) continue;
    bool const needs = factor.needs_condition(exec, report);
    double const left = digits(forward_error(report.refinement, factor.condition(exec)));
    if (left < 3) {
      EXPECT_TRUE(needs) << r << " " << left;
      ++few;
    } else if (left > 8) {
      EXPECT_FALSE(needs) << r << " " << left;
      ++many;
    }
  }
  EXPECT_GT(few, 3);
  EXPECT_GT(many, 10);
}

// The caller's own indices, where the upper triangle is the one that is given.
TEST(NonFiniteEntry, IsNamedAsItStandsInTheTriangleThatWasGiven) {
  auto const fails = [] { throw NonFiniteEntry(2, 0); };
  EXPECT_TRUE(throws_with<ValueError>("A(2, 0)", [&] { in_terms_of_triangle(false, fails); }));
  EXPECT_TRUE(throws_with<ValueError>("A(0, 2)", [&] { in_terms_of_triangle(true, fails); }));
}

// By hand at n = 100: rounding is 8 n u = 8.9e-14 of a diagonal entry, magnified by what the least
// pivot is below 1.
TEST(BreakdownJudgement, TellsRoundingFromAMatrixThatIsIndefinite) {
  double const error = 800 * 0x1p-53;
  auto const judged = [](double pivot, double least) {
    Breakdown breakdown;
    breakdown.order = 7;
    breakdown.pivot = pivot;
    breakdown.least_pivot = least;
    dense::detail::judge(100, 50, breakdown);
    return breakdown;
  };
  auto const plain = judged(-1e-14, 1);
  EXPECT_TRUE(plain.numerical);
  EXPECT_NEAR(plain.condition / (50 / error), 1, 1e-12);
  EXPECT_NEAR(plain.ridge, 1e-13, 1e-25);
  EXPECT_TRUE(judged(-1.99 * error, 1).numerical);
  EXPECT_FALSE(judged(-2.01 * error, 1).numerical);
  EXPECT_TRUE(judged(-9.9 * error, 0.11).numerical);
  EXPECT_FALSE(judged(-11 * error, 0.11).numerical);
  auto const magnified = judged(-1e-10, 1e-4);
  EXPECT_TRUE(magnified.numerical);
  EXPECT_NEAR(magnified.condition / (50 / 1e-10), 1, 1e-12);
  EXPECT_NEAR(magnified.ridge, 1e-9, 1e-21);
  auto const tiny = judged(-1e-14, 1e-15);  // no pivot is known to be below u
  EXPECT_NEAR(tiny.condition / (50 / 1e-15), 1, 1e-12);
  EXPECT_FALSE(judged(nan_value, 1).numerical);
}

// Rows that are alike to 1e-6 are apart by its root.
TYPED_TEST(BreakdownOn, MeasuresHowFarRowsAreApart) {
  TypeParam const exec;
  HostMatrix const A("strata::test::A", 3, 3);
  for (std::int64_t i = 0; i < 3; ++i) A(i, i) = 4;
  A(2, 0) = A(0, 2) = -4 * (1 - 1e-6);
  auto const device = on_device<TypeParam>(A);
  for (auto const uplo : {Uplo::Lower, Uplo::Upper}) {
    Breakdown breakdown;
    dense::detail::find_twins(exec, uplo, {device.data(), 3, 3, 3, Precision::fp64, nullptr},
                              breakdown);
    EXPECT_EQ(std::pair(breakdown.other_row, breakdown.row), std::pair(0L, 2L));
    EXPECT_NEAR(breakdown.apart, 1e-3, 1e-12);
  }
}

}  // namespace
