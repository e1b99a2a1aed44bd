// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Dense.hpp"
#include "StrataTest_FactorCases.hpp"
#include "StrataTest_FailingAllocations.hpp"
#include "StrataTest_HardMatrices.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <core/kokkos_ext/Strata_Team.hpp>
#include <dense/Strata_Cholesky.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

// A^-1, parts of it, and quadratic forms with it: the stated errors against the truth.

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;
using P = strata::Precision;

template <class Space>
class CholeskyInverseOn : public testing::Test {};
TYPED_TEST_SUITE(CholeskyInverseOn, Spaces, SpaceNames);

using Exact = std::vector<std::vector<long double>>;

// The numbers are within the stated error of the truth; `tightest` is the least that it was more.
void expect_within(long double found, long double truth, long double scale, double error,
                   double& tightest) {
  long double const off = std::abs(found - truth);
  EXPECT_LE(off, error * scale) << static_cast<double>(off / scale) << " " << error;
  if (off > 0) tightest = std::min(tightest, static_cast<double>(error * scale / off));
}

template <class Space>
void inverse_is_within(Space const& exec, CholeskyFactor<Space>& factor, Exact const& exact,
                       double& tightest) {
  std::size_t const n = exact.size();
  Kokkos::View<double*, Kokkos::LayoutLeft, typename Space::memory_space> const x("strata::test::x",
                                                                                  n);
  double error = factor.inverse_diagonal(exec, x);
  auto const diagonal = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  for (std::size_t j = 0; j < n; ++j)
    expect_within(diagonal(j), exact[j][j], diagonal(j), error, tightest);
  auto const X = on_device<Space, Kokkos::LayoutRight>(
      random_matrix(static_cast<std::int64_t>(n), static_cast<std::int64_t>(n), 2), 3);
  error = factor.inverse(exec, X);
  HostMatrix const all = on_host(X);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(all(i, j), all(j, i));
      expect_within(all(i, j), exact[i][j], std::sqrt(all(i, i)) * std::sqrt(all(j, j)), error,
                    tightest);
    }
}

template <class Space>
void entries_are_within(Space const& exec, CholeskyFactor<Space>& factor, Exact const& exact,
                        std::size_t most, double& tightest) {
  std::vector<std::int64_t> rows, cols;
  auto const n = static_cast<std::int64_t>(exact.size());
  for (std::int64_t k = 0; k < n && rows.size() < most; k += 1 + n / 5) {
    rows.insert(rows.end(), {k, n - 1, k});
    cols.insert(cols.end(), {k, k, 0});
  }
  std::vector<double> values(rows.size());
  double const error = factor.inverse_entries(exec, rows, cols, values);
  for (std::size_t k = 0; k < values.size(); ++k) {
    auto const i = static_cast<std::size_t>(rows[k]), j = static_cast<std::size_t>(cols[k]);
    expect_within(values[k], exact[i][j],
                  std::sqrt(exact[i][i]) * std::sqrt(exact[j][j]) * (1 + error), error, tightest);
  }
}

template <class Space>
void quadratic_forms_are_within(Space const& exec, CholeskyFactor<Space>& factor,
                                Exact const& exact, double& tightest) {
  std::size_t const n = exact.size(), k = 3;
  HostMatrix const B = random_matrix(static_cast<std::int64_t>(n), 3, 4);
  auto const b = on_device<Space>(B), Q = on_device<Space>(random_matrix(3, 3, 5), 2);
  double const error = factor.quadratic_form(exec, b, Q);
  Kokkos::View<double*, typename Space::memory_space> const q("strata::test::q", k);
  EXPECT_EQ(factor.quadratic_form(exec, b, q), error);
  HostMatrix const found = on_host(Q);
  auto const diagonal = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), q);
  for (std::size_t c = 0; c < k; ++c) {
    EXPECT_LE(std::abs(diagonal(c) - found(c, c)), 2 * n * roundoff * found(c, c));
    for (std::size_t r = 0; r < k; ++r) {
      long double truth = 0;
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) truth += exact[i][j] * B(i, r) * B(j, c);
      expect_within(found(r, c), truth, std::sqrt(found(r, r)) * std::sqrt(found(c, c)), error,
                    tightest);
    }
  }
}

template <class Space>
void is_within_its_error(HostMatrix const& A, CholeskyOptions const& options, double& tightest) {
  ExactFactor const exact(A);
  if (!exact.ok()) return;
  Space const exec;
  auto factor = cholesky(exec, on_device<Space>(A), {P::fp64}, options);
  if (!factor.info().ok() || factor.whitening_error(exec) >= 1) return;
  auto const X = exact_inverse(exact, A.extent(0));
  inverse_is_within(exec, factor, X, tightest);
  entries_are_within(exec, factor, X, 1, tightest);
  entries_are_within(exec, factor, X, 1000, tightest);
  quadratic_forms_are_within(exec, factor, X, tightest);
}

TYPED_TEST(CholeskyInverseOn, IsWithinItsErrorForHardMatrices) {
  HardMatrices draw(21);
  CholeskyOptions options;
  options.leaf_size = 16;
  double tightest = 1e300;
  for (int k = setting("STRATA_TEST_CASES", 60); k > 0; --k)
    is_within_its_error<TypeParam>(hard_matrix(draw, 50), options, tightest);
  EXPECT_LE(tightest, 1e3);  // it says something
  testing::Test::RecordProperty("tightest", std::to_string(tightest));
}

TYPED_TEST(CholeskyInverseOn, MeetsTheEdgesOfBlocks) {
  CholeskyOptions options;
  options.leaf_size = 64;
  double tightest = 1e300;
  for (std::int64_t const n : {1, 2, 63, 64, 65, 129})
    is_within_its_error<TypeParam>(easy_matrix(n), options, tightest);
}

TYPED_TEST(CholeskyInverseOn, TakesHugeAndTinyScales) {
  CholeskyOptions const options, plain{.equilibrate = false};
  double tightest = 1e300;
  for (double const scale : {0x1p-900, 0x1p-500, 0x1p500, 0x1p900}) {
    HostMatrix const A = easy_matrix(20);
    for (std::size_t k = 0; k < A.span(); ++k) A.data()[k] *= scale;
    is_within_its_error<TypeParam>(A, options, tightest);
    is_within_its_error<TypeParam>(A, plain, tightest);
  }
}

// X by `factor.inverse` with this tolerance is within its error, which is returned.
template <class Space>
double inverse_with(CholeskyFactor<Space>& factor, Exact const& exact, double tolerance,
                    double& tightest) {
  auto const n = static_cast<std::int64_t>(exact.size());
  auto const X = on_device<Space>(random_matrix(n, n, 2));
  double const error = factor.inverse(Space(), X, tolerance);
  HostMatrix const all = on_host(X);
  for (std::size_t j = 0; j < exact.size(); ++j)
    for (std::size_t i = 0; i < exact.size(); ++i) {
      EXPECT_EQ(all(i, j), all(j, i));
      expect_within(all(i, j), exact[i][j], std::sqrt(all(i, i)) * std::sqrt(all(j, j)), error,
                    tightest);
    }
  return error;
}

TYPED_TEST(CholeskyInverseOn, IsMadeInFp32WhereThatIsGoodEnough) {
  TypeParam const exec;
  double tightest = 1e300;
  std::int64_t const blocks = runs_on_host<TypeParam> ? 300 : 700;  // more than one
  for (std::int64_t const n : {std::int64_t{1}, std::int64_t{2}, std::int64_t{65}, blocks}) {
    HostMatrix const A = easy_matrix(n);
    auto const exact = exact_inverse(ExactFactor(A), A.extent(0));
    auto factor = cholesky(exec, on_device<TypeParam>(A), {P::fp64});
    double const low = inverse_with(factor, exact, 1e-3, tightest);
    EXPECT_LE(low, 1e-3);
    EXPECT_GE(low, 1e-8);                                          // it was
    EXPECT_LE(inverse_with(factor, exact, 1e-9, tightest), 1e-9);  // it was not
  }
  EXPECT_LE(tightest, 1e3);
}

TYPED_TEST(CholeskyInverseOn, IsWithinItsErrorForHardMatricesInFp32) {
  TypeParam const exec;
  HardMatrices draw(22);
  double tightest = 1e300;
  int low = 0;
  for (int k = setting("STRATA_TEST_CASES", 60); k > 0; --k) {
    HostMatrix const A = hard_matrix(draw, 50);
    ExactFactor const exact(A);
    auto factor = cholesky(exec, on_device<TypeParam>(A), {P::fp64});
    if (!exact.ok() || !factor.info().ok() || factor.whitening_error(exec) >= 1) continue;
    auto const X = exact_inverse(exact, A.extent(0));
    double const error = inverse_with(factor, X, 0.5, tightest);
    low += error > 1e-8 && error <= 0.5 ? 1 : 0;
  }
  EXPECT_GE(low, setting("STRATA_TEST_CASES", 60) / 4);
  EXPECT_LE(tightest, 1e3);
}

// Numbers beyond fp32's range, or with such squares, are for fp64.
TYPED_TEST(CholeskyInverseOn, TakesHugeAndTinyScalesWithATolerance) {
  CholeskyOptions const plain{.equilibrate = false};
  TypeParam const exec;
  double tightest = 1e300;
  auto const is_within = [&](HostMatrix const& A) {
    auto factor = cholesky(exec, on_device<TypeParam>(A), {P::fp64}, plain);
    (void)inverse_with(factor, exact_inverse(ExactFactor(A), A.extent(0)), 1e-3, tightest);
  };
  for (double const scale :
       {0x1p-900, 0x1p-280, 0x1p-160, 0x1p-140, 0x1p140, 0x1p160, 0x1p280, 0x1p900}) {
    HostMatrix const A = easy_matrix(20);
    for (std::size_t k = 0; k < A.span(); ++k) A.data()[k] *= scale;
    is_within(A);
  }
  HostMatrix const diagonal("strata::test::A", 2, 2);
  diagonal(0, 0) = 1;
  diagonal(1, 1) = 1e46;
  is_within(diagonal);
}

// Any error will do, but fp32's may be none: then fp64 has one.
TYPED_TEST(CholeskyInverseOn, IsMadeInFp64WhereFp32HasNoError) {
  TypeParam const exec;
  HardMatrices draw(23);
  double tightest = 1e300;
  for (int k = setting("STRATA_TEST_CASES", 60); k > 0; --k) {
    HostMatrix const A = hard_matrix(draw, 50);
    ExactFactor const exact(A);
    auto factor = cholesky(exec, on_device<TypeParam>(A), {P::fp64});
    if (!exact.ok() || !factor.info().ok() || factor.whitening_error(exec) >= 1) continue;
    auto const X = exact_inverse(exact, A.extent(0));
    EXPECT_TRUE(
        std::isfinite(inverse_with(factor, X, std::numeric_limits<double>::infinity(), tightest)));
  }
}

TYPED_TEST(CholeskyInverseOn, IsMadeInFp64WhereFp32HasNoMemory) {
  TypeParam const exec;
  HostMatrix const A = easy_matrix(65);
  auto factor = cholesky(exec, on_device<TypeParam>(A), {P::fp64});
  FailingAllocations const failing("strata::dense::cholesky::inverse_in_fp32", [] { return true; });
  double tightest = 1e300;
  double const error =
      inverse_with(factor, exact_inverse(ExactFactor(A), A.extent(0)), 1e-3, tightest);
  EXPECT_TRUE(failing.failed());
  EXPECT_LE(error, 1e-9);
}

// Where fp64 does not tell, it says so.
TYPED_TEST(CholeskyInverseOn, SaysThatNothingIsLeft) {
  TypeParam const exec;
  HostMatrix const A = ones_and(1e-15, 30);
  auto factor = cholesky(exec, on_device<TypeParam>(A), {P::fp64});
  if (!factor.info().ok()) GTEST_SKIP() << "no factor";
  Kokkos::View<double*, typename TypeParam::memory_space> const x("strata::test::x", 30);
  EXPECT_TRUE(std::isinf(factor.inverse_diagonal(exec, x)));
}

TYPED_TEST(CholeskyInverseOn, TakesNothing) {
  TypeParam const exec;
  HostMatrix const none("strata::test::none", 0, 0);
  auto factor = cholesky(exec, on_device<TypeParam>(none), {P::fp64});
  auto const X = on_device<TypeParam>(none);
  EXPECT_EQ(factor.inverse(exec, X), 0);
  EXPECT_EQ(factor.inverse_entries(exec, {}, {}, {}), 0);
  auto const Q = on_device<TypeParam>(random_matrix(2, 2, 1));
  (void)factor.quadratic_form(exec, on_device<TypeParam>(HostMatrix("strata::test::B", 0, 2)), Q);
  EXPECT_EQ(largest_difference(on_host(Q), HostMatrix("strata::test::zero", 2, 2)), 0);
}

TYPED_TEST(CholeskyInverseOn, RefusesWhatDoesNotFit) {
  TypeParam const exec;
  auto const A = on_device<TypeParam>(easy_matrix(12));
  auto factor = cholesky(exec, A, {P::fp64});
  std::vector<std::int64_t> const rows{0, 12}, cols{1, 1}, one{1};
  std::vector<double> values(2);
  EXPECT_TRUE(throws_with<ValueError>("there is an index 12, must be in [0, 12)",
                                      [&] { factor.inverse_entries(exec, rows, cols, values); }));
  EXPECT_TRUE(throws_with<ShapeError>("2 rows, 1 columns and 2 values",
                                      [&] { factor.inverse_entries(exec, rows, one, values); }));
  EXPECT_TRUE(throws_with<ValueError>("inverse: X overlaps A", [&] { factor.inverse(exec, A); }));
  EXPECT_TRUE(throws_with<ValueError>("inverse: the tolerance is -1, must be >= 0",
                                      [&] { factor.inverse(exec, A, -1); }));
  auto const B = on_device<TypeParam>(random_matrix(12, 2, 1)),
             Q = on_device<TypeParam>(random_matrix(3, 3, 1));
  EXPECT_TRUE(throws_with<ShapeError>("quadratic_form: B is 12 x 2, Q 3 x 3, A of order 12",
                                      [&] { factor.quadratic_form(exec, B, Q); }));
  auto low = cholesky(exec, A, {P::fp32});
  Kokkos::View<double*, typename TypeParam::memory_space> const x("strata::test::x", 12);
  EXPECT_TRUE(throws_with<ValueError>("inverse_diagonal: the factor is in fp32",
                                      [&] { low.inverse_diagonal(exec, x); }));
}

}  // namespace
