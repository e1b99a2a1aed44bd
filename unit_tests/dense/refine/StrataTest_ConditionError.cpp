// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include "dense/StrataTest_HardMatrices.hpp"
#include <core/problems/Strata_Random.hpp>
#include <dense/Strata_Cholesky.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <vector>

// The condition and the error of x that are stated against the true ones. STRATA_TEST_CASES=1000 is
// the long run.

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// What estimates are of the truth, and what errors stated are of the true ones.
struct Tally {
  int cases = 0, below_a_third = 0, below_a_tenth = 0, above_three = 0, too_good = 0;
  double least = std::numeric_limits<double>::infinity(), most = 0;
  std::vector<double> errors;

  void take(double estimate, double exact, double stated, double off) {
    double const part = estimate / exact;
    ++cases;
    below_a_third += !(part >= 1.0 / 3);
    below_a_tenth += !(part >= 0.1);
    above_three += !(part <= 3);
    too_good += !(stated >= off);
    least = std::min(least, part), most = std::max(most, part);
    errors.push_back(stated / off);
  }
  /// `most_median`: of what errors stated are of true ones.
  void judge(double most_median) const {
    EXPECT_LE(100 * below_a_third, cases) << "least " << least;
    EXPECT_EQ(below_a_tenth, 0) << "least " << least;
    EXPECT_EQ(above_three, 0) << "most " << most;
    EXPECT_EQ(too_good, 0) << "errors of x beyond the one stated, of " << cases;
    EXPECT_LE(median(errors), most_median);
    if (std::getenv("STRATA_TEST_CASES") != nullptr)
      std::printf(
          "%d cases, %d below a third of the condition; %.2f to %.2f of it; the error stated is "
          "%.3g x\n",
          cases, below_a_third, least, most, median(errors));
  }
};

template <class Space>
void compare(HostMatrix const& A, HostMatrix const& b, LayerList const& layers, Tally& tally) {
  Space const exec;
  auto const n = static_cast<std::int64_t>(A.extent(0));
  ExactFactor const exact(A);
  if (!exact.ok()) return;
  double const condition = norm_of(A) * exact.norm_of_inverse();
  if (condition * static_cast<double>(n) * 0x1p-53 > 1) return;  // singular to working precision
  auto factor = cholesky(exec, on_device<Space>(A), layers, {.equilibrate = false});
  ASSERT_TRUE(factor.info().ok()) << "condition " << condition << ", order " << n;
  auto const X = on_device<Space>(b);
  auto const report = factor.solve(exec, on_device<Space>(b), X);
  auto const found = factor.condition(exec);
  if (!found.converged) return;  // which it says
  std::vector<long double> y(b.data(), b.data() + n);
  exact.solve(y);
  HostMatrix const x = on_host(X);
  long double off = 0, size = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    auto const yi = y[static_cast<std::size_t>(i)];
    off = std::max(off, std::abs(x(i, 0) - yi));
    size = std::max(size, std::abs(yi));
  }

  tally.take(found.value, condition, forward_error(report.refinement, found),
             static_cast<double>(off / size));
}

template <class Space>
void compare(HostMatrix const& A, LayerList const& layers, unsigned seed, Tally& tally) {
  compare<Space>(A, random_matrix(static_cast<std::int64_t>(A.extent(0)), 1, seed), layers, tally);
}

template <class Space>
class ConditionErrorOn : public testing::Test {};
TYPED_TEST_SUITE(ConditionErrorOn, Spaces, SpaceNames);

// Stations that nearly coincide: of equal parity of index, they were invisible to the estimate.
TYPED_TEST(ConditionErrorOn, SeesNearlyEqualStations) {
  HardMatrices draws(1);
  Tally tally;
  int const cases = setting("STRATA_TEST_CASES", 100);
  bool const is_long = std::getenv("STRATA_TEST_CASES") != nullptr;
  for (int r = 0; tally.cases < cases && r < 2 * cases; ++r) {
    HostMatrix const A = draws.near_pairs(50, is_long ? 500 : 150);
    compare<TypeParam>(A, r % 4 == 3 ? LayerList{Precision::fp32} : LayerList{Precision::fp64},
                       static_cast<unsigned>(r), tally);
  }
  EXPECT_EQ(tally.cases, cases);
  tally.judge(10.2);
}

TYPED_TEST(ConditionErrorOn, HoldsForOtherMatrices) {
  HardMatrices draws(2);
  Tally tally;
  int const cases = setting("STRATA_TEST_CASES", 100);
  for (int r = 0; tally.cases < cases && r < 2 * cases; ++r)
    compare<TypeParam>(draws.other(draws.integer(2, 150)), {Precision::fp64},
                       static_cast<unsigned>(r), tally);
  EXPECT_EQ(tally.cases, cases);
  tally.judge(49);
}

// [a c; c a] x = [b; -b] with c nearly a: both products of a row are rounded, and the roundings may
// be in step.
TYPED_TEST(ConditionErrorOn, HoldsWhereRoundingsAreInStep) {
  Tally tally;
  int const cases = setting("STRATA_TEST_CASES", 3000);
  for (int r = 0; r < cases; ++r) {
    auto const draw = [r](std::uint64_t k) {
      return uniform(17, static_cast<std::uint64_t>(r), k);
    };
    HostMatrix const A("strata::test::A", 2, 2), b("strata::test::b", 2, 1);
    A(0, 0) = A(1, 1) = 1 + draw(0);
    A(0, 1) = A(1, 0) = A(0, 0) * (1 - std::pow(10, -1 - 8 * draw(1)));
    b(0, 0) = (1 + draw(2)) * (A(0, 0) - A(0, 1));
    b(1, 0) = -b(0, 0);
    compare<TypeParam>(A, b, {Precision::fp64}, tally);
  }
  EXPECT_EQ(tally.cases, cases);
  tally.judge(10);
}

// Two rows that are nearly equal, wherever they are.
TYPED_TEST(ConditionErrorOn, SeesAPairOfAnyTwoRows) {
  TypeParam const exec;
  std::int64_t const n = 60;
  double const apart = 1e-8;
  for (std::int64_t i = 0; i < n; i += 7)
    for (std::int64_t j = i + 1; j < n; j += 3) {
      HostMatrix const A("strata::test::A", n, n);
      for (std::int64_t k = 0; k < n; ++k) A(k, k) = 1;
      A(i, j) = A(j, i) = 1 - apart;
      auto factor = cholesky(exec, on_device<TypeParam>(A), {Precision::fp64});
      EXPECT_NEAR(factor.condition(exec).value * apart, 2, 0.1) << i << ", " << j;
    }
}

}  // namespace
