// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_FailingAllocations.hpp"
#include "StrataTest_HardSymmetric.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "dense/StrataTest_Dense.hpp"
#include <core/Strata_Errors.hpp>
#include <dense/indefinite/Strata_SymmetricFactor.hpp>
#include <dense/indefinite/detail/Strata_PivotedLdlt.hpp>

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
                             SymmetricOptions const& options, double size = 1) {
  auto const n = static_cast<std::int64_t>(A.extent(0));
  auto factor = symmetric_factor(Space(), on_device<Space>(A), options);
  HostMatrix const B = right_hand_sides(n, 3, size), X("strata::test::X", B.extent(0), B.extent(1));
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

// Of right-hand sides whose solutions are in the range of fp64.
double size_of(std::string const& kind) {
  return kind == "hugest" ? 1e300 : kind == "tiniest" ? 1e-300 : 1;
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
        expect_right_or_refused<TypeParam>(A, truth, options, size_of(kind));
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

// Where memory runs out in a climb the rung below goes on.
TYPED_TEST(SymmetricFactorOn, AClimbThatHasNoMemoryLeavesTheFactor) {
  std::int64_t const n = 150;
  HostMatrix const A = hard_symmetric("shifted", n, 1);
  SymmetricOptions options;
  options.layers = LayerList{Precision::fp32};
  auto factor = symmetric_factor(TypeParam(), on_device<TypeParam>(A), options);
  HostMatrix const B = right_hand_sides(n, 1, 1), X("strata::test::X", B.extent(0), 1);
  {
    int calls = 0;
    FailingAllocations const failing("strata::dense::symmetric_factor",
                                     [&calls] { return calls++ == 0; });
    EXPECT_THROW((void)factor.inertia(TypeParam()), MemoryError);
    EXPECT_TRUE(failing.failed());
  }
  EXPECT_TRUE(factor.ok());
  EXPECT_EQ(factor.report().rung, SymmetricRung::Layers);
  EXPECT_TRUE(factor.report().refusal.empty());
  {
    int calls = 0;
    FailingAllocations const failing("strata::dense::symmetric_factor",
                                     [&calls] { return calls++ == 0; });
    auto const b = on_device<TypeParam>(B), x = on_device<TypeParam>(X);
    RefinementOptions few;
    few.max_iterations = 1;
    EXPECT_FALSE(factor.solve(TypeParam(), b, x, few).obstacle.empty());
    EXPECT_TRUE(factor.ok()) << factor.report().refusal;
  }
}

// The path's Laplacian: an answer of 1e15 is none, in whichever column, and in place.
TYPED_TEST(SymmetricFactorOn, SeesThatAnAnswerIsNoneInPlaceAndInAnyColumn) {
  std::int64_t const n = 10;
  HostMatrix const A("strata::test::A", n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    A(i, i) = i == 0 || i == n - 1 ? 1 : 2;
    if (i > 0) A(i, i - 1) = -1;
  }
  HostMatrix const one = right_hand_sides(n, 1, 1), many("strata::test::B", n, 6);
  for (std::int64_t i = 0; i < n; ++i) many(i, 5) = one(i, 0);
  for (auto const& B : {one, many})
    for (bool const in_place : {false, true}) {
      SymmetricOptions high;
      high.layers = LayerList{Precision::fp64};
      auto factor = symmetric_factor(TypeParam(), on_device<TypeParam>(A), high);
      ASSERT_TRUE(factor.ok());
      auto const b = on_device<TypeParam>(B), x = in_place ? b : on_device<TypeParam>(B);
      EXPECT_FALSE(factor.solve(TypeParam(), b, x).converged) << in_place;
      EXPECT_FALSE(factor.ok()) << in_place;
    }
}

// Rows whose largest entry is subnormal do not overflow.
TYPED_TEST(SymmetricFactorOn, TakesSubnormalNumbers) {
  for (double const entry : {1e-309, 5e-324}) {
    HostMatrix const A("strata::test::A", 3, 3);
    A(0, 0) = entry, A(1, 1) = -entry, A(2, 2) = entry;
    for (auto const& options : ladders()) {
      auto factor = symmetric_factor(TypeParam(), on_device<TypeParam>(A), options);
      ASSERT_TRUE(factor.ok()) << entry;
      EXPECT_EQ(factor.inertia(TypeParam()).negative, 1) << entry;
      auto const found = factor.log_determinant(TypeParam());
      EXPECT_EQ(found.sign, -1);
      EXPECT_NEAR(found.value, 3 * std::log(entry), found.error);
    }
  }
}

TYPED_TEST(SymmetricFactorOn, RefusesTheZeroMatrixOfAnyOrder) {
  for (std::size_t const n : {4U, 256U, 257U})
    for (auto const& options : ladders()) {
      HostMatrix const zero("strata::test::A", n, n);
      auto const factor = symmetric_factor(TypeParam(), on_device<TypeParam>(zero), options);
      EXPECT_FALSE(factor.ok()) << n;
      EXPECT_NE(factor.report().refusal.find("pivot 1 of"), std::string::npos) << n;
    }
}

TYPED_TEST(SymmetricFactorOn, RefusesLayersThatCannotAct) {
  HostMatrix const A = hard_symmetric("saddle", 20, 1);
  for (auto const* const layers : {"fp16,fp32", "fp32,fp64", "fp16", "bf16,fp32"}) {
    SymmetricOptions options;
    options.layers = LayerList::parse(layers);
    EXPECT_TRUE(throws_with<ValueError>("cannot act: a factor is stored in", [&] {
      symmetric_factor(TypeParam(), on_device<TypeParam>(A), options);
    })) << layers;
  }
}

TYPED_TEST(SymmetricFactorOn, ADeterminantLeavesTheOutcomeOfTheLayers) {
  SymmetricOptions options;
  options.layers = LayerList{Precision::fp32};
  auto factor = symmetric_factor(TypeParam(),
                                 on_device<TypeParam>(hard_symmetric("saddle", 100, 1)), options);
  EXPECT_EQ(factor.log_determinant(TypeParam()).sign, -1);
  ASSERT_EQ(factor.report().attempts.size(), 2U);
  EXPECT_EQ(factor.report().attempts[0].outcome, Outcome::Held);
}

// Orders at which products are made in tiles, and the recursion is deep.
TYPED_TEST(SymmetricFactorOn, IsRightOfLargerMatrices) {
  for (auto const* const kind : {"saddle", "shifted", "kriging"})
    for (std::int64_t const n : {513, 640, 777}) {
      HostMatrix const A = hard_symmetric(kind, n, static_cast<std::uint64_t>(n));
      LongLdlt const truth = BunchParlett(A)();
      auto const all = ladders();
      for (std::size_t ladder = 0; ladder < 3; ++ladder) {
        SCOPED_TRACE(std::string(kind) + " " + std::to_string(n) + ", ladder " +
                     std::to_string(ladder));
        expect_right_or_refused<TypeParam>(A, truth, all[ladder]);
      }
    }
}

// The kernel of one team, where there is no LAPACK.
TYPED_TEST(SymmetricFactorOn, PivotsWithoutALibrary) {
  TypeParam const exec;
  using Memory = typename TypeParam::memory_space;
  for (auto const* const kind : {"random", "saddle", "exchange", "zero block", "definite"})
    for (std::int64_t const n : {1, 2, 3, 5, 17, 64, 129}) {
      HostMatrix const A = hard_symmetric(kind, n, static_cast<std::uint64_t>(n));
      if (!is_regular(BunchParlett(A)())) continue;
      auto const M = on_device<TypeParam>(A);
      HostMatrix const B = right_hand_sides(n, 2, 1), X("strata::test::X", B.extent(0), 2);
      auto const x = on_device<TypeParam>(B);
      dense::detail::Pivots<Memory> const pivots("strata::test::pivots", A.extent(0));
      MatrixRef<Memory> const m{M.data(), n, n, static_cast<std::int64_t>(M.stride(1)),
                                Precision::fp64};
      EXPECT_EQ(dense::detail::pivoted_ldlt_of_team(exec, m, pivots), 0) << kind << ' ' << n;
      dense::detail::pivoted_solve(
          exec, ConstMatrixRef<Memory>(m), pivots,
          MatrixRef<Memory>{x.data(), n, 2, static_cast<std::int64_t>(x.stride(1)),
                            Precision::fp64});
      exec.fence("strata::test: solved");
      Kokkos::deep_copy(X, x);
      EXPECT_LE(symmetric_backward_error(A, B, X), 8 * static_cast<double>(n) * 0x1p-52)
          << kind << ' ' << n;
    }
}

// More columns than a league has teams.
TYPED_TEST(SymmetricFactorOn, SolvesForMoreColumnsThanThereAreTeams) {
  TypeParam const exec;
  using Memory = typename TypeParam::memory_space;
  std::int64_t const cols = (1 << 22) + 3;
  Kokkos::View<double*, Memory> const m("strata::test::M", 1),
      w("strata::test::W", static_cast<std::size_t>(cols));
  dense::detail::Pivots<Memory> const pivots("strata::test::pivots", 1);
  Kokkos::deep_copy(m, 2.0);
  Kokkos::deep_copy(w, 1.0);
  Kokkos::deep_copy(pivots, 1);
  dense::detail::pivoted_solve(exec, ConstMatrixRef<Memory>{m.data(), 1, 1, 1, Precision::fp64},
                               pivots, MatrixRef<Memory>{w.data(), 1, cols, 1, Precision::fp64});
  exec.fence("strata::test: solved");
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), w);
  for (std::int64_t const j : {std::int64_t{0}, cols - 3, cols - 1})
    EXPECT_EQ(host(static_cast<std::size_t>(j)), 0.5) << j;
}

}  // namespace
