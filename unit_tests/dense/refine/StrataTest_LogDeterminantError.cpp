// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include "dense/StrataTest_HardMatrices.hpp"
#include <dense/Strata_Cholesky.hpp>
#include <geostat/Strata_Locations.hpp>
#include <geostat/Strata_Matern.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

// The stated error of log-determinants against the true one, over covariance matrices drawn at
// random. STRATA_TEST_CASES=300 and STRATA_TEST_ORDER=2000 are the long run, which prints a line
// for each case.

namespace {

using namespace strata;
using namespace strata::geostat;
using namespace strata::dense;
using namespace strata::test;

struct Draw {
  MaternCovariance covariance;
  std::int64_t n;
  HostMatrix A;
};

/// nu from 1/2 to 5/2, the range from 0.025 to 0.4 of the unit square, a nugget in two of three.
Draw draw(std::mt19937_64& random, int least, int most) {
  auto const uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  Draw drawn;
  drawn.n = least + static_cast<std::int64_t>(uniform() * (most - least));
  drawn.covariance.sigma2 = 0.5 + 2 * uniform();
  drawn.covariance.nu =
      random() % 2 ? 0.5 * static_cast<double>(1 + random() % 5) : 0.5 + 2 * uniform();
  drawn.covariance.range = std::pow(10, -1.6 + 1.2 * uniform());
  drawn.covariance.nugget = random() % 3 ? std::pow(10, -10 + 9 * uniform()) : 0;
  auto const at = synthetic_locations(drawn.n, random());
  drawn.A = HostMatrix("strata::test::A", drawn.n, drawn.n);
  for (std::int64_t j = 0; j < drawn.n; ++j)
    for (std::int64_t i = j; i < drawn.n; ++i)
      drawn.A(i, j) = drawn.covariance(at.distance(i, j)) + (i == j ? drawn.covariance.nugget : 0);
  return drawn;
}

/// In long double; NaN if A is not positive definite in it.
double exact_log_determinant(HostMatrix const& A) {
  ExactFactor const exact(A);
  return exact.ok() ? exact.log_determinant() : std::nan("");
}

/// log det(ones + e I), whose diagonal is 1 + e as fp64 has it: the eigenvalues are e, and once n +
/// e.
double log_determinant_of_ones(HostMatrix const& A) {
  long double const n = A.extent(0), e = static_cast<long double>(A(0, 0)) - 1;
  return static_cast<double>((n - 1) * std::log(e) + std::log(n + e));
}

/// Nearly singular, up to the limit of fp64: ones, near pairs, squared exponentials, others.
struct Drawn {
  HostMatrix A;
  double exact;
};
Drawn draw_hard(HardMatrices& draws, std::int64_t most, std::int64_t most_ones) {
  std::int64_t const kind = draws.integer(0, 3);
  if (kind == 0) {
    HostMatrix const A = ones_and(draws.power_of_ten(-13, -8), draws.integer(20, most_ones));
    return {A, log_determinant_of_ones(A)};
  }
  if (kind == 1) {
    HostMatrix const A = draws.near_pairs(20, most);
    return {A, exact_log_determinant(A)};
  }
  if (kind == 2) {  // a squared exponential on a line, as a Gaussian process has it
    std::int64_t const n = draws.integer(20, most);
    HostMatrix const A("strata::test::A", n, n);
    double const range = draws.power_of_ten(-2, 0), nugget = draws.power_of_ten(-14, -6);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i) {
        double const s = static_cast<double>(i - j) / static_cast<double>(n) / range;
        A(i, j) = std::exp(-s * s) + (i == j ? nugget : 0);
      }
    return {A, exact_log_determinant(A)};
  }
  HostMatrix const A = draws.other(draws.integer(2, most));
  return {A, exact_log_determinant(A)};
}

/// How many cases, and how many of them lie beyond the error stated and beyond twice that.
struct Tally {
  int cases = 0, beyond = 0, far_beyond = 0;
  double worst = 0;
  std::vector<double> ratios;

  void take(double off, double stated) {
    double const ratio = std::abs(off) / stated;
    ++cases;
    ratios.push_back(ratio);
    beyond += !(ratio <= 1);
    far_beyond += !(ratio <= 2);
    worst = std::max(worst, ratio);
  }
  void judge() const {
    EXPECT_LE(1000 * beyond, cases) << "of " << cases << ", worst " << worst;
    EXPECT_EQ(far_beyond, 0) << "of " << cases << ", worst " << worst;
  }
  /// The median of the errors, as a part of the error that is stated.
  double middle() {
    if (ratios.empty()) return 0;
    auto const half = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
    std::nth_element(ratios.begin(), half, ratios.end());
    return *half;
  }
  void print() {
    std::printf(
        "%d cases, %d beyond the error stated, %d beyond twice it; worst %.2f of it, middle %.3f\n",
        cases, beyond, far_beyond, worst, middle());
  }
};

template <class Space>
class LogDeterminantErrorOn : public testing::Test {};
TYPED_TEST_SUITE(LogDeterminantErrorOn, Spaces, SpaceNames);

// In fp64 rounding is all there is: against a factorisation in long double.
TYPED_TEST(LogDeterminantErrorOn, CoversTheRoundingOfFp64) {
  TypeParam const exec;
  std::mt19937_64 random(1);
  Tally tally;
  int const cases = setting("STRATA_TEST_CASES", 30);
  for (int r = 0; r < cases; ++r) {
    Draw const drawn = draw(random, 30, 200);
    double const exact = exact_log_determinant(drawn.A);
    auto factor = cholesky(exec, on_device<TypeParam>(drawn.A), {Precision::fp64});
    if (!factor.info().ok() || std::isnan(exact)) continue;
    auto const estimate = factor.log_determinant(exec);
    EXPECT_GT(estimate.error(), 0);
    tally.take(estimate.value - exact, estimate.error());
  }
  EXPECT_GT(tally.cases, cases / 2);
  tally.judge();
  if (std::getenv("STRATA_TEST_CASES") != nullptr) tally.print();
}

// At all conditions up to fp64's limit; where there is no statement the error is infinite, and the
// value a number.
TYPED_TEST(LogDeterminantErrorOn, HoldsForMatricesThatAreNearlySingular) {
  TypeParam const exec;
  HardMatrices draws(5);
  Tally all, good;
  bool const is_long = std::getenv("STRATA_TEST_CASES") != nullptr;
  int const cases = setting("STRATA_TEST_CASES", 150);
  for (int r = 0; all.cases < cases && r < 2 * cases; ++r) {
    Drawn const drawn = is_long ? draw_hard(draws, 300, 2500) : draw_hard(draws, 120, 360);
    if (std::isnan(drawn.exact)) continue;
    bool const in_fp64 = r % 5 != 4;
    auto factor = cholesky(exec, on_device<TypeParam>(drawn.A),
                           {in_fp64 ? Precision::fp64 : Precision::fp32});
    if (!factor.info().ok()) continue;
    auto const estimate = factor.log_determinant(exec);
    EXPECT_TRUE(std::isfinite(estimate.value) && estimate.error() > 0);
    double const off = estimate.value - drawn.exact;
    if (std::isinf(estimate.error())) continue;
    all.take(off, estimate.error());
    if (is_long && std::abs(off) > 0.5 * estimate.error())
      std::printf("n %d fp64 %d first rows %.3g %.3g %.3g: off %.3e, stated %.3e\n",
                  static_cast<int>(drawn.A.extent(0)), in_fp64, drawn.A(0, 0), drawn.A(1, 0),
                  drawn.A(1, 1), off, estimate.error());
    if (in_fp64 && factor.condition(exec).value < 0x1p53 / 100) good.take(off, estimate.error());
  }
  EXPECT_EQ(all.cases, cases);
  all.judge();
  EXPECT_GE(30 * good.middle(), 1) << "the error stated is too large";
  if (is_long) all.print(), good.print();
}

// In layers it is mostly the probes' scatter: against fp64, whose own error is stated, too.
TYPED_TEST(LogDeterminantErrorOn, CoversTheScatterOfTheProbesInEveryLayerSet) {
  TypeParam const exec;
  std::mt19937_64 random(2);
  Tally tally;
  bool const is_long = std::getenv("STRATA_TEST_CASES") != nullptr;
  int const cases = setting("STRATA_TEST_CASES", 30);
  for (int r = 0; r < cases; ++r) {
    Draw const drawn = draw(random, 200, setting("STRATA_TEST_ORDER", 320));
    auto const& layers = studied_layer_lists()[random() % studied_layer_lists().size()];
    auto const matrix = on_device<TypeParam>(drawn.A);
    auto in_fp64 = cholesky(exec, matrix, {Precision::fp64});
    if (!in_fp64.info().ok()) continue;
    auto const exact = in_fp64.log_determinant(exec);
    auto factor = cholesky(exec, matrix, layers, {.leaf_size = 64});
    auto const found = factor.log_determinant(exec, {.seed = random()});
    double const off = found.value - exact.value;
    tally.take(off, found.error() + exact.error());
    if (is_long)
      std::printf("n %lld %s shift %.0e, %s: off %.3e, stated %.3e (%.2e, %.2e, %.2e), %d steps\n",
                  static_cast<long long>(drawn.n), factor.report().layers.name().c_str(),
                  factor.report().shift, to_string(drawn.covariance).c_str(), off, found.error(),
                  found.standard_error, found.quadrature_error, found.rounding_error, found.steps);
  }
  EXPECT_GT(tally.cases, cases / 2);
  tally.judge();
  if (is_long) tally.print();
}

// With a factor that is far from A, and no equilibration.
TYPED_TEST(LogDeterminantErrorOn, HoldsAtBothEndsOfTheRangeOfFp64) {
  TypeParam const exec;
  std::int64_t const n = 66;
  for (double const size : {1e-320, 1e-310, 1e-250, 1e250, 1e304}) {
    HostMatrix const A("strata::test::A", n, n);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i)
        A(i, j) = size * std::exp(-std::abs(static_cast<double>(i - j)) / 3);
    double const exact = exact_log_determinant(A);
    for (double const shift : {0.0, 0.05}) {
      auto factor = cholesky(exec, on_device<TypeParam>(A), {Precision::fp32, Precision::fp64},
                             {.leaf_size = 20, .equilibrate = false, .shift = shift});
      ASSERT_TRUE(factor.info().ok()) << size;
      auto const estimate = factor.log_determinant(exec);
      EXPECT_LE(std::abs(estimate.value - exact), estimate.error()) << size << " " << shift;
      EXPECT_LE(estimate.error(), 2) << size << " " << shift;
    }
  }
}

// What a user sees of a matrix that is singular to fp64: an error bar that holds.
TYPED_TEST(LogDeterminantErrorOn, IsNotZeroWhereTheMatrixIsNearlySingular) {
  TypeParam const exec;
  for (std::int64_t const n : {1, 2, 12, 40}) {
    HostMatrix const A("strata::test::A", n, n);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i)
        A(i, j) = 1 / static_cast<double>(i + j + 1) + (n > 12 && i == j ? 1e-13 : 0);
    double const exact = exact_log_determinant(A);
    for (LayerList const& layers : {LayerList{Precision::fp64}, LayerList{Precision::fp32}}) {
      auto factor = cholesky(exec, on_device<TypeParam>(A), layers);
      ASSERT_TRUE(factor.info().ok());
      auto const estimate = factor.log_determinant(exec);
      EXPECT_GT(estimate.error(), 0) << n;
      EXPECT_LE(std::abs(estimate.value - exact), estimate.error()) << n << " " << layers.name();
    }
  }
}

}  // namespace
