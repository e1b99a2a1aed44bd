// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Each term of what is said of a log-determinant's error.
#include "StrataTest_Spaces.hpp"
#include "dense/StrataTest_Dense.hpp"
#include <core/kokkos_ext/Strata_Team.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/log_determinant/Strata_LogDeterminant.hpp>
#include <dense/log_determinant/detail/Strata_Jacobi.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;
using dense::detail::Jacobi, dense::detail::Quadrature;

/// Twelve eigenvalues from 1 to 1e3, and what a probe has of each.
struct Measure {
  std::vector<long double> nodes, weights;

  Measure() {
    long double sum = 0;
    for (int i = 0; i < 12; ++i) {
      nodes.push_back(std::pow(10.0L, 3 * i / 11.0L));
      weights.push_back(1 + (7 * i) % 5);
      sum += weights.back();
    }
    for (auto& weight : weights) weight /= sum;
  }
  long double of(std::function<long double(long double)> const& f) const {
    long double sum = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) sum += weights[i] * f(nodes[i]);
    return sum;
  }
  /// What Lanczos would find in so many steps: the three-term recurrence of the orthonormal
  /// polynomials.
  Jacobi jacobi(int steps) const {
    Jacobi result;
    std::vector<long double> before(nodes.size(), 0), p(nodes.size(), 1);
    long double beta = 0;
    for (int k = 0; k < steps; ++k) {
      long double alpha = 0, square = 0;
      for (std::size_t i = 0; i < p.size(); ++i) alpha += weights[i] * nodes[i] * p[i] * p[i];
      auto const last = p;
      for (std::size_t i = 0; i < p.size(); ++i) {
        p[i] = (nodes[i] - alpha) * p[i] - beta * before[i];
        square += weights[i] * p[i] * p[i];
      }
      beta = std::sqrt(square);
      for (auto& value : p) value /= beta;
      before = last;
      result.diagonal.push_back(static_cast<double>(alpha));
      result.below.push_back(static_cast<double>(beta));
    }
    return result;
  }
};

TEST(GaussRadau, HasItsNodeAndIsExactToTwiceTheSteps) {
  Measure const measure;
  for (int const steps : {1, 2, 4})
    for (double const a : {0.3, 0.999}) {
      auto const T = measure.jacobi(steps);
      auto const rule = dense::detail::gauss_rule(T.radau_diagonal(a), T.below);
      ASSERT_EQ(rule.nodes.size(), static_cast<std::size_t>(steps) + 1);
      EXPECT_NEAR(std::ranges::min(rule.nodes) / a, 1, 1e-11) << steps;
      for (int degree = 0; degree <= 2 * steps; ++degree) {
        double sum = 0;
        for (std::size_t i = 0; i < rule.nodes.size(); ++i)
          sum += rule.weights[i] * std::pow(rule.nodes[i], degree);
        auto const exact =
            static_cast<double>(measure.of([&](long double x) { return std::pow(x, degree); }));
        EXPECT_NEAR(sum / exact, 1, 1e-12) << steps << " steps, degree " << degree;
      }
    }
}

// The two rules hold the truth between them, which is nearer with more steps.
TEST(GaussRadau, LiesBelowTheTruthAndGaussAbove) {
  Measure const measure;
  auto const truth = static_cast<double>(measure.of([](long double x) { return std::log(x); }));
  double before = 10;
  for (int steps = 1; steps <= 8; ++steps) {
    auto const T = measure.jacobi(steps);
    double const below = T.radau(0.99), above = T.gauss().logarithm;
    EXPECT_LT(below, truth) << steps;
    EXPECT_GT(above, truth) << steps;
    EXPECT_LT(above - below, before) << steps;
    before = above - below;
  }
  EXPECT_LT(before, 0.04);
  auto complete = measure.jacobi(4);
  double const ritz = complete.gauss().lowest;
  EXPECT_TRUE(std::isfinite(complete.radau(0.999 * ritz)));
  EXPECT_EQ(complete.radau(1.001 * ritz), -HUGE_VAL);
  complete.complete = true;
  EXPECT_EQ(complete.radau(0.99), complete.gauss().logarithm);
}

// One step tells nothing by its Ritz value: what is left is 1 - sqrt(10) ||E||_F by the probes'
// mean of ||E v||^2.
TEST(BelowSpectrum, KnowsTheFrobeniusNormFromTheFirstStep) {
  double const n = 400, error = 1e-3, beside = 2e-3;
  std::vector<Jacobi> const matrices{{{1 + error}, {beside}}, {{1 - error}, {0}}};
  double const squares = n / 2 * (2 * error * error + beside * beside);
  Quadrature const all{.lowest = 1 - error, .highest = 1 + error};
  EXPECT_NEAR(dense::detail::below_spectrum(matrices, n, all), 1 - std::sqrt(10 * squares), 1e-14);
}

// With many steps the extreme Ritz value is off by more than eps of the spread in 1e-4 of all draws
// (Kuczynski and Wozniakowski). There 1.648 sqrt(n) exp(-sqrt(eps) (2 steps - 1)) is this
// probability's root of the number of probes.
TEST(BelowSpectrum, KnowsHowFarRitzValuesAreOff) {
  double const n = 400;
  int const steps = 30;
  for (std::size_t const probes : {1u, 16u}) {
    std::vector<Jacobi> const matrices(
        probes, {std::vector<double>(steps, 2.0), std::vector<double>(steps, 1.0)});
    Quadrature const all{.lowest = 0.5, .highest = 3.5};
    double const found = dense::detail::below_spectrum(matrices, n, all);
    // of the spread of the Ritz values, which is less than the true one by twice eps of that at
    // most
    double const off = (all.lowest - found) / (all.highest - all.lowest), eps = off / (1 + 2 * off);
    double const probability = 1.648 * std::sqrt(n) * std::exp(-std::sqrt(eps) * (2 * steps - 1));
    EXPECT_NEAR(std::pow(probability, static_cast<double>(probes)) / 1e-4, 1, 1e-9) << probes;
    EXPECT_LT(found, all.lowest);
  }
}

template <class Space>
class LogDeterminantBounds : public testing::Test {};
TYPED_TEST_SUITE(LogDeterminantBounds, Spaces, SpaceNames);

// M = s^-2 I of order n <= the probes, so that ||M^-1||_F is s^2 sqrt(n) exactly: each term is the
// largest once.
template <class Exec>
void states_each_term_of_the_rounding() {
  using Block = typename LogDeterminantOperators<Exec>::Block;
  Exec const exec;
  std::int64_t const n = 16;
  for (double const s : {1e-6, 1.0, 1e3})
    for (double const diagonal : {1.0, 16.0})
      for (double const units : {0.0, 11.0})
        for (double const log_det : {0.0, 1e8, -1e8}) {
          LogDeterminantOperators<Exec> operators;
          operators.forward = [&](Block const& V) {
            auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), V);
            for (std::size_t j = 0; j < host.extent(1); ++j)
              for (std::size_t i = 0; i < host.extent(0); ++i) host(i, j) *= s;
            Kokkos::deep_copy(V, host);
          };
          operators.diagonal = diagonal;
          operators.rounding_units = units;
          double const norm = s * s * 4 * diagonal, size = std::abs(log_det);
          double const expected = units > 0 ? 0x1p-53 * (units * norm + 4 * size + 16)
                                            : 0x1p-52 * (2 * (4 + 8) * norm + 4 * size);
          double const found = log_determinant_rounding(exec, n, log_det, operators);
          EXPECT_NEAR(found / expected, 1, 1e-13) << s << ' ' << units << ' ' << log_det;
        }
}
TYPED_TEST(LogDeterminantBounds, StateEachTermOfTheRounding) {
  states_each_term_of_the_rounding<TypeParam>();
}

// A = I has the factor of 2 I, by a shift of 1. The least eigenvalue of L^-1 A L^-T is 1/2, and
// rounding does as many times more to A than to M.
TYPED_TEST(LogDeterminantBounds, DivideTheRoundingByTheLeastEigenvalue) {
  TypeParam const exec;
  std::int64_t const n = 16;
  HostMatrix const A("strata::test::A", n, n);
  for (std::int64_t i = 0; i < n; ++i) A(i, i) = 1;
  auto const device = on_device<TypeParam>(A);
  auto factor = cholesky(exec, device, {Precision::fp64}, {.equilibrate = false, .shift = 1});
  ASSERT_EQ(factor.report().shift, 1);
  auto const found = factor.log_determinant(exec);
  double const norm = 0.5 * 4, size = 16 * std::log(2.0);
  double const of_M = runs_on_host<TypeParam> ? 0x1p-53 * (11 * norm + 4 * size + 16)
                                              : 0x1p-52 * (2 * (4 + 8) * norm + 4 * size);
  EXPECT_NEAR(found.value, 0, 1e-12);
  EXPECT_NEAR(found.correction, -size, 1e-12);
  EXPECT_NEAR(found.lowest, 0.5, 1e-13);
  EXPECT_NEAR(found.rounding_error / (2 * of_M), 1, 1e-6);
}

TEST(LogDeterminantEstimate, ItsErrorHasFourStandardErrors) {
  LogDeterminantEstimate estimate;
  estimate.standard_error = 1;
  estimate.quadrature_error = 0.5;
  estimate.rounding_error = 0.25;
  EXPECT_EQ(estimate.error(), 4.75);
}

// A = 2^1000 I, whose factor is that of I: the logarithms of the scaling and the value are rounded,
// too.
TYPED_TEST(LogDeterminantBounds, CountTheScalingAndTheValue) {
  TypeParam const exec;
  std::int64_t const n = 16;
  HostMatrix const A("strata::test::A", n, n);
  for (std::int64_t i = 0; i < n; ++i) A(i, i) = 0x1p1000;
  auto const device = on_device<TypeParam>(A);
  auto factor = cholesky(exec, device, {Precision::fp64});
  auto const found = factor.log_determinant(exec);
  double const value = 16000 * std::log(2.0);
  EXPECT_NEAR(found.value / value, 1, 1e-15);
  double const of_M = runs_on_host<TypeParam> ? 0x1p-53 * (11 * 4 + 16) : 0x1p-52 * 2 * (4 + 8) * 4;
  EXPECT_NEAR(found.rounding_error / (of_M + 0x1p-52 * value + 0x1p-53 * value), 1, 1e-6);
}

}  // namespace
