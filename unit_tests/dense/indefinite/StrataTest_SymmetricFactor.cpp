// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_HardSymmetric.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "dense/StrataTest_Dense.hpp"
#include <core/Strata_Errors.hpp>
#include <dense/indefinite/Strata_SymmetricFactor.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;

template <class Space>
class SymmetricFactorOn : public testing::Test {};
TYPED_TEST_SUITE(SymmetricFactorOn, Spaces, SpaceNames);

// The automatic ladder, and others that begin at each rung.
std::vector<SymmetricOptions> ladders() {
  LayerList const fp32{Precision::fp32}, fp64{Precision::fp64};
  SymmetricOptions automatic, layers, high, pivoted;
  layers.layers = fp32;
  high.layers = fp64;
  pivoted.pivoted = true;
  return {automatic, layers, high, pivoted};
}

HostMatrix right_hand_sides(std::int64_t n, std::int64_t cols, double size) {
  HostMatrix const B("strata::test::B", static_cast<std::size_t>(n),
                     static_cast<std::size_t>(cols));
  for (std::int64_t j = 0; j < cols; ++j)
    for (std::int64_t i = 0; i < n; ++i)
      B(i, j) =
          size * (2 * uniform(5, static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j)) - 1);
  return B;
}

template <class Space>
SolveReport solve_on(SymmetricFactor<Space>& factor, HostMatrix const& B, HostMatrix const& X) {
  auto const b = on_device<Space>(B), x = on_device<Space>(X);
  auto const report = factor.solve(Space(), b, x);
  Kokkos::deep_copy(X, x);
  return report;
}

// What long double decides: 1e-13 is far from rounding in fp64, and 1e-19 is that of long double.
bool is_regular(LongLdlt const& truth) { return truth.least > 1e-13L; }

template <class Space>
void expect_right_or_refused(HostMatrix const& A, LongLdlt const& truth,
                             SymmetricOptions const& options) {
  auto const n = static_cast<std::int64_t>(A.extent(0));
  auto factor = symmetric_factor(Space(), on_device<Space>(A), options);
  HostMatrix const B = right_hand_sides(n, 3, 1), X("strata::test::X", B.extent(0), B.extent(1));
  if (factor.ok()) {
    auto const report = solve_on(factor, B, X);
    if (factor.ok()) {
      EXPECT_TRUE(report.converged) << report.backward_error;
      EXPECT_LE(symmetric_backward_error(A, B, X),
                hpl_threshold * static_cast<double>(n) * 0x1p-52);
    }
  }
  if (!factor.ok()) {
    EXPECT_FALSE(is_regular(truth)) << factor.report().refusal;
    EXPECT_FALSE(factor.report().refusal.empty());
    return;
  }
  auto const inertia = factor.inertia(Space());
  if (inertia.decided) {
    EXPECT_EQ(inertia.positive, truth.positive) << inertia.distance;
    EXPECT_EQ(inertia.negative, truth.negative) << inertia.distance;
  } else {
    EXPECT_FALSE(is_regular(truth)) << inertia.distance;
    EXPECT_EQ(inertia.positive + inertia.negative, 0);
  }
  auto const determinant = factor.log_determinant(Space());
  EXPECT_EQ(determinant.sign == 0, std::isinf(determinant.error));
  if (determinant.sign == 0) return;
  EXPECT_EQ(determinant.sign, truth.negative % 2 == 0 ? 1 : -1);
  EXPECT_LE(std::abs(determinant.value - static_cast<double>(truth.log)), determinant.error);
}

TYPED_TEST(SymmetricFactorOn, IsRightOfHardMatricesOrRefusesThem) {
  int systems = 0;
  for (auto const& kind : hard_kinds)
    for (std::int64_t const n : {1, 2, 3, 4, 5, 8, 17, 63, 64, 65, 127, 128, 129, 150}) {
      HostMatrix const A = hard_symmetric(kind, n, static_cast<std::uint64_t>(n));
      LongLdlt const truth = BunchParlett(A)();
      int ladder = 0;
      for (auto const& options : ladders()) {
        SCOPED_TRACE(kind + " " + std::to_string(n) + ", ladder " + std::to_string(ladder++));
        expect_right_or_refused<TypeParam>(A, truth, options);
      }
      ++systems;
    }
  EXPECT_GE(systems, 200);
}

TYPED_TEST(SymmetricFactorOn, TakesNoRows) {
  for (auto const& options : ladders()) {
    HostMatrix const none("strata::test::A", 0, 0);
    auto empty = symmetric_factor(TypeParam(), on_device<TypeParam>(none), options);
    EXPECT_TRUE(empty.ok());
    EXPECT_TRUE(empty.inertia(TypeParam()).decided);
    EXPECT_EQ(empty.log_determinant(TypeParam()).sign, 1);
  }
}

TYPED_TEST(SymmetricFactorOn, NamesTheFirstPivotThatIsZero) {
  HostMatrix const zero("strata::test::A", 1, 1);
  auto const singular = symmetric_factor(TypeParam(), on_device<TypeParam>(zero));
  EXPECT_FALSE(singular.ok());
  EXPECT_EQ(singular.report().refusal,
            "A is singular: pivot 1 of 1 is 0 in fp64 with pivoting; the condition is infinite");
}

TYPED_TEST(SymmetricFactorOn, RefusesSingularMatrices) {
  for (std::int64_t const n : {2, 3, 10, 64, 100}) {
    HostMatrix const ones("strata::test::A", static_cast<std::size_t>(n),
                          static_cast<std::size_t>(n));
    Kokkos::deep_copy(ones, 1.0);
    HostMatrix const laplacian("strata::test::A", static_cast<std::size_t>(n),
                               static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
      laplacian(i, i) = i == 0 || i == n - 1 ? 1 : 2;
      if (i > 0) laplacian(i, i - 1) = -1;
    }
    for (auto const& A : {ones, laplacian})
      for (auto const& options : ladders()) {
        auto factor = symmetric_factor(TypeParam(), on_device<TypeParam>(A), options);
        HostMatrix const B = right_hand_sides(n, 1, 1), X("strata::test::X", B.extent(0), 1);
        if (factor.ok()) {
          EXPECT_FALSE(factor.inertia(TypeParam()).decided) << n;
        }
        if (factor.ok()) {
          EXPECT_FALSE(solve_on(factor, B, X).converged) << n;
        }
        EXPECT_FALSE(factor.ok()) << n;
        EXPECT_NE(factor.report().refusal.find("A is singular"), std::string::npos) << n;
      }
  }
}

TYPED_TEST(SymmetricFactorOn, NamesWhatIsNotFinite) {
  for (double const bad : {nan_value, std::numeric_limits<double>::infinity()}) {
    HostMatrix const A = hard_symmetric("random", 70, 1);
    A(65, 3) = bad;
    EXPECT_TRUE(throws_with<NonFiniteEntry>(
        "A(65, 3) is not finite", [&] { symmetric_factor(TypeParam(), on_device<TypeParam>(A)); }));
  }
  HostMatrix const wide("strata::test::A", 3, 4);
  EXPECT_TRUE(throws_with<ShapeError>("symmetric_factor: A is 3 x 4, must be square", [&] {
    symmetric_factor(TypeParam(), on_device<TypeParam>(wide));
  }));
}

TYPED_TEST(SymmetricFactorOn, ClimbsWhereTheLayersDoNotServe) {
  std::int64_t const n = 150;
  HostMatrix const A = hard_symmetric("shifted", n, 1);
  SymmetricOptions options;
  options.layers = LayerList{Precision::fp32};
  auto factor = symmetric_factor(TypeParam(), on_device<TypeParam>(A), options);
  HostMatrix const B = right_hand_sides(n, 1, 1), X("strata::test::X", B.extent(0), 1);
  EXPECT_TRUE(solve_on(factor, B, X).converged);
  auto const inertia = factor.inertia(TypeParam());
  EXPECT_TRUE(inertia.decided);
  EXPECT_GT(factor.report().attempts.size(), 1u);
  EXPECT_EQ(factor.report().attempts[0].rung, SymmetricRung::Layers);
  EXPECT_EQ(factor.report().attempts[0].outcome, Outcome::NotConverged);
  EXPECT_GT(factor.condition(TypeParam()).value, 1e8);
}

TYPED_TEST(SymmetricFactorOn, SolvesInPlaceAndFromTheOtherLayout) {
  std::int64_t const n = 70;
  HostMatrix const A = hard_symmetric("saddle", n, 3);
  Kokkos::View<double**, Kokkos::LayoutRight, typename TypeParam::memory_space> const right(
      "strata::test::right", A.extent(0), A.extent(1));
  auto const host = Kokkos::create_mirror_view(right);
  for (std::size_t j = 0; j < A.extent(1); ++j)
    for (std::size_t i = 0; i < A.extent(0); ++i) host(i, j) = A(i, j);
  Kokkos::deep_copy(right, host);
  for (auto const& options : ladders()) {
    auto factor = symmetric_factor(TypeParam(), right, options);
    HostMatrix const B = right_hand_sides(n, 2, 1e3), X("strata::test::X", B.extent(0), 2);
    auto const x = on_device<TypeParam>(B);
    EXPECT_TRUE(factor.solve(TypeParam(), x, x).converged);
    Kokkos::deep_copy(X, x);
    EXPECT_LE(symmetric_backward_error(A, B, X), 4 * static_cast<double>(n) * 0x1p-52);
    EXPECT_EQ(factor.inertia(TypeParam()).negative, n / 3);
  }
}

}  // namespace
