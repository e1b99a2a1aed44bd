// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Dense.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_ResidualNorms.hpp"
#include "StrataTest_Spaces.hpp"
#include <dense/Strata_PosvMixed.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

// LAPACK's dsposv: X, what is left of A, and why fp64 had to do it.

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;
using P = strata::Precision;

template <class Space>
class PosvMixedOn : public testing::Test {};
TYPED_TEST_SUITE(PosvMixedOn, Spaces, SpaceNames);

// A X = B on the device, and what it was.
template <class Space>
struct System {
  using View = Kokkos::View<double**, Kokkos::LayoutLeft, typename Space::memory_space>;

  HostMatrix A, B;
  View device_A, device_B, X;
  MixedReport report;

  System(HostMatrix const& matrix, std::int64_t columns)
      : A(matrix),
        B(random_matrix(static_cast<std::int64_t>(matrix.extent(0)), columns, 7)),
        device_A(on_device<Space>(A)),
        device_B(on_device<Space>(B)),
        X(on_device<Space>(B)) {}

  void solve(MixedOptions const& options = {}, Uplo uplo = Uplo::Lower) {
    report = posv_mixed(Space(), uplo, device_A, device_B, X, options);
  }
  bool A_is_unchanged() const { return largest_difference(on_host(device_A), A) == 0; }
  // max over columns of ||b - A x|| / (||A|| ||x||), the bound that LAPACK states.
  double error() const {
    return worst_of(residual_norms(A.extent_int(0), B.extent_int(1), A, on_host(X), B),
                    &ResidualNorms::lapack_error);
  }
};

HostMatrix geometric_matrix(std::int64_t n, double condition) {
  return generate(MatrixKind::Geometric, n, {.condition = condition});
}

TYPED_TEST(PosvMixedOn, LeavesAAsItWasAndMeetsLapacksBound) {
  for (std::int64_t const n : {1, 65, 200})
    for (Uplo const uplo : {Uplo::Lower, Uplo::Upper})
      for (LayerList const& layers : {LayerList{P::fp32}, LayerList{P::fp16, P::fp32}}) {
        System<TypeParam> s(geometric_matrix(n, 100), 2);
        s.solve({.layers = layers}, uplo);
        EXPECT_TRUE(s.report.info.ok() && !s.report.overwritten && s.A_is_unchanged());
        ASSERT_EQ(s.report.attempts.size(), 1u);
        EXPECT_EQ(s.report.attempts[0].outcome, Outcome::Held);
        EXPECT_EQ(s.report.attempts[0].layers, layers);
        EXPECT_LE(s.error(), std::sqrt(static_cast<double>(n)) * 0x1p-53) << n;
      }
}

// fp64 did it, after one try that ended so.
template <class Space>
void expect_fallback(System<Space> const& s, Outcome outcome) {
  ASSERT_EQ(s.report.attempts.size(), 2u);
  EXPECT_EQ(name_of(s.report.attempts[0].outcome), name_of(outcome));
  EXPECT_EQ(s.report.attempts[1].rung, Rung::Fp64);
  EXPECT_TRUE(s.report.overwritten);
  EXPECT_EQ(s.report.iterations, 0);
  if (!s.report.info.ok()) return;
  EXPECT_EQ(s.report.attempts[1].outcome, Outcome::Held);
  EXPECT_LE(factor_error(s.A, on_host(s.device_A)), 1e-15);
  EXPECT_LE(s.error(), 1e-14);
}
TYPED_TEST(PosvMixedOn, SaysWhyFp64HadToDoIt) {
  System<TypeParam> slow(geometric_matrix(200, 10), 1);
  slow.solve({.layers = LayerList{P::fp8_e5m2}, .max_iterations = 1});
  expect_fallback(slow, Outcome::NotConverged);
  HostMatrix const pairs("strata::test::pairs", 64,
                         64);  // [1, c; c, 1], 1 - c^2 below fp32's roundoff
  for (std::int64_t i = 0; i < 64; ++i) {
    pairs(i, i) = 1;
    pairs(i, i ^ 1) = 1 - 1e-9;
  }
  System<TypeParam> low(pairs, 1);
  low.solve({.layers = LayerList{P::fp32}});
  expect_fallback(low, Outcome::BrokeDown);
  HostMatrix const off = geometric_matrix(8, 10);
  off(5, 2) = off(2, 5) = 1e60;
  System<TypeParam> wide(off, 1);
  wide.solve({.layers = LayerList{P::fp32}});
  expect_fallback(wide, Outcome::Overflowed);
  EXPECT_EQ(wide.report.info.order(), 6);
  HostMatrix const bad = geometric_matrix(90, 10);
  bad(70, 70) = -1;
  System<TypeParam> indefinite(bad, 1);
  indefinite.solve({.layers = LayerList{P::fp16, P::fp32}});
  expect_fallback(indefinite, Outcome::BrokeDown);
  EXPECT_EQ(indefinite.report.info.order(), 71);
}

TYPED_TEST(PosvMixedOn, GoesToFp64AtOnceForManyColumns) {
  System<TypeParam> s(geometric_matrix(128, 10), 3);
  s.solve();
  ASSERT_EQ(s.report.attempts.size(), 1u);
  EXPECT_TRUE(s.report.overwritten);
  EXPECT_LE(s.error(), 1e-14);
  System<TypeParam> few(geometric_matrix(128, 10), 2);
  few.solve();
  EXPECT_FALSE(few.report.overwritten);
}

TYPED_TEST(PosvMixedOn, AsksBeforeItOverwritesA) {
  System<TypeParam> s(geometric_matrix(128, 10), 3);
  EXPECT_TRUE(throws_with<std::runtime_error>("keep it", [&] {
    s.solve({.before_overwrite = [] { throw std::runtime_error("keep it"); }});
  }));
  EXPECT_TRUE(s.A_is_unchanged());
}

TYPED_TEST(PosvMixedOn, RefusesSystemsThatDoNotFit) {
  System<TypeParam> s(geometric_matrix(4, 10), 1);
  s.X = on_device<TypeParam>(random_matrix(4, 2, 1));
  EXPECT_TRUE(
      throws_with<ShapeError>("posv_mixed: A is 4 x 4, B 4 x 1, X 4 x 2", [&] { s.solve(); }));
  System<TypeParam> none(random_matrix(0, 0, 1), 2);
  none.solve();
  EXPECT_TRUE(none.report.info.ok() && none.report.attempts.empty());
}

}  // namespace
