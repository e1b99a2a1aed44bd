// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include "dense/StrataTest_HardMatrices.hpp"
#include <dense/Strata_Cholesky.hpp>
#include <dense/refine/detail/Strata_NormEstimate.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;
using P = strata::Precision;

HostMatrix geometric(std::int64_t n, double condition, double spread = 1) {
  GeneratorOptions options;
  options.condition = condition;
  options.diagonal_spread = spread;
  return generate(MatrixKind::Geometric, n, options);
}

HostMatrix hilbert(std::int64_t n) {
  HostMatrix const A("strata::test::hilbert", n, n);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) A(i, j) = 1 / static_cast<double>(i + j + 1);
  return A;
}

// Of eight rows with a large diagonal entry and three columns of signs, the rows are looked at
// first. To the signs of the largest image each column contributes half of its norm, which the
// third look finds.
TEST(NormEstimate, LooksAThirdTimeWhereAGradientPointsElsewhere) {
  constexpr std::int64_t n = 203, columns = 3, large = 11;
  auto const multiply = [&](std::vector<double>& V) {
    std::vector<double> const x = V;
    std::ranges::fill(V, 0.0);
    for (std::size_t begin = 0; begin < V.size(); begin += n) {
      for (std::size_t i = columns; i < large; ++i) V[begin + i] = 40 * x[begin + i];
      for (std::size_t i = large; i < n; ++i)
        for (std::size_t k = 0; k < columns; ++k) {
          double const sign = (i >> k) & 1u ? -1 : 1;
          V[begin + i] += sign * x[begin + k];
          V[begin + k] += sign * x[begin + i];
        }
    }
  };
  auto const estimate = strata::dense::detail::estimate_norm(n, multiply);
  EXPECT_EQ(estimate.value, n - large);
  EXPECT_EQ(estimate.applications, 3);
}

TEST(NormEstimate, IsNearTheNormOfAnySymmetricMatrix) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    auto const n = static_cast<std::int64_t>(1 + seed % 37);
    HostMatrix const A = random_matrix(n, n, seed);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < j; ++i) A(i, j) = A(j, i);
    std::vector<double> parts;
    auto const hear = [&](double part) { parts.push_back(part); };
    auto const multiply = [&](std::vector<double>& V) {
      auto const columns = static_cast<std::int64_t>(V.size()) / n;
      std::vector<double> const x = V;
      for (std::int64_t c = 0; c < columns; ++c)
        for (std::int64_t i = 0; i < n; ++i) {
          double sum = 0;
          for (std::int64_t k = 0; k < n; ++k)
            sum += A(i, k) * x[static_cast<std::size_t>(k + c * n)];
          V[static_cast<std::size_t>(i + c * n)] = sum;
        }
    };
    auto const estimate = strata::dense::detail::estimate_norm(n, multiply, hear);
    EXPECT_LE(estimate.value, norm_of(A) * (1 + 1e-14)) << seed;
    EXPECT_GE(estimate.value, norm_of(A) / 3) << seed;
    EXPECT_LE(estimate.applications, 3);
    ASSERT_EQ(parts.size(), static_cast<std::size_t>(estimate.applications));
    for (std::size_t k = 0; k < parts.size(); ++k)
      EXPECT_DOUBLE_EQ(parts[k], static_cast<double>(k + 1) / 3);
  }
  auto const nowhere = strata::dense::detail::estimate_norm(
      3, [](std::vector<double>& V) { V.front() = nan_value; });
  EXPECT_TRUE(std::isinf(nowhere.value));
}

template <class Space>
class ConditionOn : public testing::Test {};
TYPED_TEST_SUITE(ConditionOn, Spaces, SpaceNames);

// Whatever the layers, with the rung that a solve needed; below it, the truth is not overstated.
template <class Space>
void is_near_the_condition_number(double kappa) {
  std::int64_t const n = 60;
  Space const exec;
  HostMatrix const A = geometric(n, kappa);
  double const exact = norm_of(A) * ExactFactor(A).norm_of_inverse();
  auto const matrix = on_device<Space>(A), B = on_device<Space>(random_matrix(n, 1, 3)),
             X = on_device<Space>(random_matrix(n, 1, 3));
  for (LayerList const& layers :
       {LayerList{P::fp64}, LayerList{P::fp32}, LayerList{P::fp16, P::fp32},
        LayerList{P::fp8_e4m3, P::fp16, P::fp32}}) {
    auto factor = cholesky(exec, matrix, layers, {.leaf_size = 16, .equilibrate = false});
    ASSERT_TRUE(factor.info().ok());
    EXPECT_EQ(factor.report().condition.value, 0);
    auto const at_first = factor.condition(exec);
    EXPECT_LE(at_first.value, 1.1 * exact) << layers.name() << " " << kappa;
    EXPECT_TRUE(at_first.value >= exact / 3 || !at_first.converged) << layers.name();
    EXPECT_TRUE(factor.solve(exec, B, X).converged);
    auto const found = factor.condition(exec);
    EXPECT_LE(found.value, 1.1 * exact) << layers.name() << " " << kappa;
    EXPECT_GE(found.value, exact / 3) << layers.name() << " " << kappa;
    EXPECT_TRUE(found.converged) << layers.name() << " " << kappa;
    EXPECT_GE(found.solves, 2);
    EXPECT_EQ(factor.report().condition.value, found.value);
  }
}
TYPED_TEST(ConditionOn, IsNearTheConditionNumberInEveryLayerSet) {
  for (double const kappa : {1e1, 1e4, 1e8, 1e11}) is_near_the_condition_number<TypeParam>(kappa);
}

// Of solves with the factor, then of refined ones; what is thrown ends the call, and the factor is
// there as before.
TYPED_TEST(ConditionOn, TellsWhatPartIsDone) {
  TypeParam const exec;
  auto factor = cholesky(exec, on_device<TypeParam>(geometric(60, 1e4)), {P::fp16, P::fp32});
  std::vector<double> parts;
  auto const found = factor.condition(exec, [&](double part) { parts.push_back(part); });
  EXPECT_TRUE(found.refined);
  EXPECT_EQ(parts.size(), static_cast<std::size_t>(found.solves));
  EXPECT_EQ(std::ranges::count(parts, 1.0 / 3), 2);
  EXPECT_LE(*std::ranges::max_element(parts), 1);
  auto const enough = [](double part) {
    if (part > 0.4) throw std::runtime_error("enough");
  };
  EXPECT_THROW((void)factor.condition(exec, enough), std::runtime_error);
  EXPECT_EQ(factor.condition(exec).value, found.value);
}

TYPED_TEST(ConditionOn, IsThatOfTheEquilibratedMatrix) {
  TypeParam const exec;
  auto const even = on_device<TypeParam>(geometric(60, 1e3)),
             uneven = on_device<TypeParam>(geometric(60, 1e3, 1e12));
  double const expected = cholesky(exec, even, {P::fp64}).condition(exec).value;
  double const found = cholesky(exec, uneven, {P::fp64}).condition(exec).value;
  EXPECT_GT(found, expected / 10);
  EXPECT_LT(found, expected * 10);
}

TYPED_TEST(ConditionOn, OfOneUnknownIsOneAndOfNoneNothing) {
  TypeParam const exec;
  auto one = cholesky(exec, on_device<TypeParam>(geometric(1, 1)), {P::fp16, P::fp32});
  EXPECT_NEAR(one.condition(exec).value, 1, 1e-6);
  Kokkos::View<double**, Kokkos::LayoutLeft, TypeParam> const empty("strata::test::A", 0, 0);
  EXPECT_EQ(cholesky(exec, empty, {P::fp32}).condition(exec).value, 0);
}

// Solutions that are known: the error that is expected bounds the one there is, and says so where
// nothing is right.
TYPED_TEST(ConditionOn, TellsWhatASolutionIsWorth) {
  TypeParam const exec;
  for (HostMatrix const& A : {hilbert(6), hilbert(9), hilbert(12), geometric(80, 1e2),
                              geometric(80, 1e8), geometric(80, 1e14)}) {
    auto const n = static_cast<std::int64_t>(A.extent(0));
    HostMatrix const known = random_matrix(n, 1, 3), b("strata::test::b", n, 1);
    for (std::int64_t i = 0; i < n; ++i) {
      long double sum = 0;
      for (std::int64_t k = 0; k < n; ++k) sum += static_cast<long double>(A(i, k)) * known(k, 0);
      b(i, 0) = static_cast<double>(sum);
    }
    auto const B = on_device<TypeParam>(b), X = on_device<TypeParam>(b);
    auto factor = cholesky(exec, on_device<TypeParam>(A), {P::fp32});
    ASSERT_TRUE(factor.info().ok());
    auto const report = factor.solve(exec, B, X);
    auto const expected = forward_error(report.refinement, factor.condition(exec));
    HostMatrix const x = on_host(X);
    double error = 0, size = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      error = std::max(error, std::abs(x(i, 0) - known(i, 0)));
      size = std::max(size, std::abs(known(i, 0)));
    }
    EXPECT_LE(error / size, 10 * expected) << n;
    EXPECT_LE(digits(10 * expected), digits(error / size)) << n;
    if (n == 12) {
      EXPECT_LE(digits(expected), 1);
    }
    if (n == 6) {
      EXPECT_GE(digits(expected), 6);
    }
  }
  EXPECT_EQ(digits(1), 0);
  EXPECT_NEAR(digits(1e-7), 7, 1e-12);
  EXPECT_EQ(digits(0), 16);
  EXPECT_EQ(forward_error({}, {.value = INFINITY}), 1);
  EXPECT_EQ(forward_error({}, {.value = nan_value}), 1);
  EXPECT_EQ(forward_error({}, {.value = 10, .converged = false}), 1);
}

// A residual is known to u at best, and digits are decimal ones.
TEST(ForwardError, IsTheConditionTimesTheResidual) {
  RefinementReport report;
  report.relative_residual = 1e-10;
  EXPECT_DOUBLE_EQ(forward_error(report, {.value = 1e4}), 1e-6);
  EXPECT_EQ(forward_error(report, {.value = 1e4, .converged = false}), 1);
  EXPECT_EQ(forward_error(report, {.value = 1e11}), 1);
  report.relative_residual = 0;
  EXPECT_EQ(forward_error(report, {.value = 1e4}), 1e4 * 0x1p-53);
  EXPECT_DOUBLE_EQ(digits(1e-6), 6);
  EXPECT_EQ(digits(1), 0);
  EXPECT_EQ(digits(10), 0);
  EXPECT_EQ(digits(1e-20), 16);
  EXPECT_EQ(digits(0), 16);
}

}  // namespace
