// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What is called converged, and the errors of a block, each number by itself.
#include "StrataTest_Spaces.hpp"
#include "dense/StrataTest_Dense.hpp"
#include <dense/Strata_Cholesky.hpp>
#include <dense/refine/detail/Strata_Convergence.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;
using dense::detail::Column, dense::detail::Convergence, dense::detail::Quality;

constexpr double more = 1 + 0x1p-40, less = 1 - 0x1p-40;

// On both sides of each of the three numbers.
TEST(Convergence, HoldsUpToEachThreshold) {
  std::int64_t const n = 100;
  double const tolerance = 10 * 0x1p-52, hpl = 16 * 100 * 0x1p-52, slate = 50 * 0x1p-53;
  Convergence const by_default(n, 1, 1, 0);
  EXPECT_EQ(by_default.tolerance(), tolerance);
  EXPECT_TRUE(by_default.holds(less * tolerance, less * hpl, less * slate));
  EXPECT_FALSE(by_default.holds(more * tolerance, less * hpl, less * slate));
  EXPECT_FALSE(by_default.holds(less * tolerance, more * hpl, less * slate));
  EXPECT_FALSE(by_default.holds(less * tolerance, less * hpl, more * slate));
  Convergence const asked(n, 1, 1, 1e-8);
  EXPECT_EQ(asked.tolerance(), 1e-8);
  EXPECT_TRUE(asked.holds(less * 1e-8, less * 1e-8, 1));
  EXPECT_FALSE(asked.holds(more * 1e-8, less * 1e-8, 0));
  EXPECT_FALSE(asked.holds(less * 1e-8, more * 1e-8, 0));
}

// A column's quality: the goal is the tolerance of both systems and SLATE's threshold, the least
// HPL's for the given one.
TEST(Convergence, JudgesAColumnByEachNumber) {
  std::int64_t const n = 100;
  double const norm = 4, given_norm = 2, tolerance = 10 * 0x1p-52;
  Convergence const by_default(n, norm, given_norm, 0), asked(n, norm, given_norm, 1e-8);
  dense::detail::MomentsOfBoth moments;
  auto const judge = [&](Convergence const& convergence, double r, double given_r, double sum) {
    moments.refined.max[0] = r, moments.refined.max[1] = 1;
    moments.given.max[0] = given_r, moments.given.max[1] = 1;
    moments.given.sum[0] = sum, moments.given.sum[1] = 1;
    return convergence.judge(moments, 4, 6);  // errors r / 8 and given_r / 8
  };
  double const u = 0x1p-52;
  auto const fine = judge(by_default, 8 * less * tolerance, 8 * less * tolerance, 0);
  EXPECT_TRUE(fine.converged());
  EXPECT_LE(fine.excess, 1);
  EXPECT_NEAR(fine.refined_error / tolerance, 1, 1e-11);
  EXPECT_NEAR(fine.backward_error / tolerance, 1, 1e-11);
  EXPECT_FALSE(judge(by_default, 8 * more * tolerance, 0, 0).converged());
  auto const poor = judge(by_default, 0, 8 * more * tolerance, 0);  // below HPL's
  EXPECT_TRUE(poor.converged());
  EXPECT_GT(poor.excess, 1);
  EXPECT_TRUE(judge(by_default, 0, 8 * less * 1600 * u, 0).converged());
  EXPECT_FALSE(judge(by_default, 0, 8 * more * 1600 * u, 0).converged());
  double const slate = 50 * 0x1p-53 * 2 * 100;  // r_1 at the threshold: times ||A|| ||x|| n
  EXPECT_LE(judge(by_default, 0, 0, less * slate).excess, 1);
  EXPECT_GT(judge(by_default, 0, 0, more * slate).excess, 1);
  EXPECT_FALSE(judge(by_default, 0, 0, more * slate).converged());
  EXPECT_TRUE(judge(asked, 8e-8 * less, 8e-8 * less, 1).converged());
  EXPECT_FALSE(judge(asked, 8e-8 * more, 0, 0).converged());
  EXPECT_FALSE(judge(asked, 0, 8e-8 * more, 0).converged());
}

// Columns in units of 1, 2^60 and 2^-60: a block's norms are those of the largest column, in one
// unit.
TEST(Convergence, PutsColumnsInOneUnit) {
  Convergence const convergence(10, 3, 3, 0);
  auto const column = [](int exponent, double r, double x) {
    Column result;
    result.exponent = exponent;
    result.b_max = 1;
    result.best = {r, x, r, x, x, 1e-17, 1e-17, 0, 0};
    return result;
  };
  struct Case {
    std::vector<Column> columns;
    double r, x;  // of the block, both times the same power of two
  };
  for (auto const& [columns, r, x] :
       {Case{{column(60, 1e-16, 2), column(0, 1e-3, 5)}, 1e-16, 2},
        Case{{column(0, 1e-3, 5), column(60, 1e-16, 2), column(-60, 1, 1)}, 1e-16, 2},
        Case{{column(3, 1e-16, 2), column(0, 5e-16, 1)}, 1e-16, 2},
        Case{{column(3, 1e-16, 2), column(0, 9e-15, 1)}, 9e-15 / 8, 2},
        Case{{column(3, 1e-16, 2), column(0, 1e-18, 32)}, 1e-16, 4}}) {
    RefinementReport report;
    conclude(columns, convergence, 1, report);
    EXPECT_NEAR(report.slate_error / (r / (10 * 3 * x)), 1, 1e-14);
    EXPECT_EQ(report.backward_error, 1e-17);
    EXPECT_EQ(report.hpl_scaled_residual, 1e-17 / (10 * 0x1p-52));
  }
  RefinementReport missed;  // SLATE's threshold alone
  conclude({column(60, 1e-10, 2), column(0, 0, 1)}, convergence, 1, missed);
  EXPECT_FALSE(missed.converged);
}

template <class Space>
class ConvergenceOn : public testing::Test {};
TYPED_TEST_SUITE(ConvergenceOn, Spaces, SpaceNames);

// Two columns 2^60 apart of which one step leaves residuals of different relative size: the errors
// are those of A, B and X.
TYPED_TEST(ConvergenceOn, TheErrorsOfABlockAreThoseOfAAndBAndX) {
  TypeParam const exec;
  std::int64_t const n = 80;
  HostMatrix const A = generate(MatrixKind::Geometric, n, {.condition = 1e2}),
                   B = random_matrix(n, 2, 5);
  for (std::int64_t i = 0; i < n; ++i) B(i, 1) *= 0x1p60;
  auto const device = on_device<TypeParam>(A), b = on_device<TypeParam>(B),
             x = on_device<TypeParam>(B);
  auto factor = cholesky(exec, device, {Precision::fp16, Precision::fp32},
                         {.leaf_size = 16, .equilibrate = false, .ladder = false});
  for (int const most : {1, 2}) {
    auto const report =
        factor.solve(exec, b, x, {.refine = Refine::Classical, .max_iterations = most});
    auto const X = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
    long double norm_A = 0, norm_R = 0, norm_X = 0, backward = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      long double sum = 0;
      for (std::int64_t i = 0; i < n; ++i) sum += std::abs(A(i, j));
      norm_A = std::max(norm_A, sum);
    }
    for (std::int64_t c = 0; c < 2; ++c) {
      long double of_r = 0, of_x = 0, r_max = 0, x_max = 0, b_max = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        long double r = B(i, c);
        for (std::int64_t k = 0; k < n; ++k)
          r -= static_cast<long double>(A(i, k)) * static_cast<long double>(X(k, c));
        of_r += std::abs(r), r_max = std::max(r_max, std::abs(r));
        of_x += std::abs(X(i, c)), x_max = std::max<long double>(x_max, std::abs(X(i, c)));
        b_max = std::max<long double>(b_max, std::abs(B(i, c)));
      }
      norm_R = std::max(norm_R, of_r), norm_X = std::max(norm_X, of_x);
      backward = std::max(backward, r_max / (norm_A * x_max + b_max));
    }
    ASSERT_GT(backward, 1e-13) << "nothing but rounding is left";
    auto const slate = static_cast<double>(norm_R / (n * norm_A * norm_X));
    EXPECT_NEAR(report.refinement.slate_error / slate, 1, 1e-3) << most;
    EXPECT_NEAR(report.refinement.backward_error / static_cast<double>(backward), 1, 1e-3) << most;
    EXPECT_NEAR(report.refinement.hpl_scaled_residual,
                report.refinement.backward_error / (n * 0x1p-52),
                1e-12 * report.refinement.hpl_scaled_residual);
  }
}

// ||r|| / (||A|| ||x||), where r is made with rounding: of an error of 1e-10, of one below u, and
// without b.
TEST(Convergence, BoundsTheRelativeResidualByRounding) {
  double const u = 0x1p-53;
  Convergence const convergence(100, 4, 4, 0);
  Quality q;
  q.x_max = 2;
  q.refined_error = 1e-10;
  EXPECT_NEAR(convergence.relative_residual(q, 8) / (2e-10 + u), 1, 1e-14);
  EXPECT_NEAR(convergence.relative_residual(q, 0) / (1e-10 + u), 1, 1e-14);
  q.refined_error = u / 4;
  EXPECT_NEAR(convergence.relative_residual(q, 24) / (2 * u), 1, 1e-14);
  q.refined_error = 0.75 * u;
  EXPECT_NEAR(convergence.relative_residual(q, 0) / (1.5 * u), 1, 1e-14);
}

// By the largest entry h, here a fourth of ||A||: sqrt(2) 2^-53 h sqrt(||x||_1 ||x||_inf), or
// sqrt(2) 2^-53 sqrt(h ||A||) ||x||_inf if that is less. It is never more than 2^-53 ||A|| ||x||.
TEST(Convergence, ExpectsIndependentRoundingsWhereTheLargestEntryIsKnown) {
  double const u = 0x1p-53;
  Convergence const convergence(100, 4, 4, 0, 1);
  Quality q;
  q.x_max = 2, q.refined_error = 0;
  for (auto const& [sum, expected] :
       std::vector<std::pair<double, double>>{{2, 0.25}, {4.5, 0.375}, {8, 0.5}, {200, 0.5}}) {
    q.refined_x_sum = sum;
    EXPECT_NEAR(convergence.relative_residual(q, 0) / (std::sqrt(2) * expected * u), 1, 1e-14)
        << sum;
  }
  Convergence const of_one_entry(100, 4, 4, 0, 4);
  EXPECT_EQ(of_one_entry.relative_residual(q, 0), u);
}

}  // namespace
