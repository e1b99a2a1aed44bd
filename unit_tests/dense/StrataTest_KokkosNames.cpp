// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Dense.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <dense/Strata_KokkosNames.hpp>

#include <KokkosBlas3_gemm.hpp>
#include <KokkosBlas3_trsm.hpp>

#include <gtest/gtest.h>

// The same arguments to KokkosBlas' function and to Strata's give the same result.

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;

template <class Space>
class KokkosNamesOn : public testing::Test {};
TYPED_TEST_SUITE(KokkosNamesOn, Spaces, SpaceNames);

/// Small numbers where the other triangle has NaN, so that either can be solved with.
HostMatrix without_nan(HostMatrix const& A) {
  for (std::size_t k = 0; k < A.size(); ++k)
    if (std::isnan(A.data()[k])) A.data()[k] = 0.125 / static_cast<double>(A.extent(0));
  return A;
}

double difference(HostMatrix const& A, HostMatrix const& B) {
  double most = 0;
  for (std::size_t k = 0; k < A.size(); ++k) {
    double const size = std::abs(A.data()[k] - B.data()[k]);
    most = std::isnan(size) || size > most ? size : most;
  }
  return most;
}

template <class Space, class Layout>
void expect_same_trsm() {
  Space const exec;
  constexpr std::int64_t n = 70, m = 9;
  auto const A = on_device<Space, Layout>(without_nan(random_triangle(n, 1)), 0);
  for (char const* side : {"L", "right"})
    for (char const* uplo : {"Lower", "u"})
      for (char const* trans : {"N", "t", "C"})
        for (char const* diag : {"U", "n"}) {
          bool const left = side[0] == 'L';
          HostMatrix const B = random_matrix(left ? n : m, left ? m : n, 2);
          auto const X = on_device<Space, Layout>(B, 0), Y = on_device<Space, Layout>(B, 0);
          KokkosBlas::trsm(exec, side, uplo, trans, diag, 0.5, A, X);
          strata::dense::trsm(exec, side, uplo, trans, diag, 0.5, A, Y);
          exec.fence("strata::test::trsm");
          EXPECT_LT(difference(on_host(X), on_host(Y)), 1e-11) << side << uplo << trans << diag;
          auto const Z = on_device<Space, Layout>(B, 0);
          strata::dense::trsm<Layers<fp16, fp32>>(exec, side, uplo, trans, diag, 0.5, A, Z);
          double const rounding = difference(on_host(X), on_host(Z));
          EXPECT_LT(rounding, 0.1);
          EXPECT_GT(rounding, 0);  // it did work in layers
        }
}

template <class Space, class LayoutA, class LayoutC>
void expect_same_gemm() {
  Space const exec;
  constexpr std::int64_t m = 23, n = 17, k = 31;
  for (char const* trans_a : {"N", "T", "c"})
    for (char const* trans_b : {"n", "Trans"}) {
      bool const a = trans_a[0] == 'N', b = trans_b[0] == 'n';
      auto const A = on_device<Space, LayoutA>(random_matrix(a ? m : k, a ? k : m, 1), 0);
      auto const B = on_device<Space, LayoutA>(random_matrix(b ? k : n, b ? n : k, 2), 0);
      HostMatrix const start = random_matrix(m, n, 3);
      auto const C = on_device<Space, LayoutA>(start, 0);
      auto const D = on_device<Space, LayoutC>(start, 0);
      KokkosBlas::gemm(exec, trans_a, trans_b, 2.0, A, B, -0.5, C);
      strata::dense::gemm(exec, trans_a, trans_b, 2.0, A, B, -0.5, D);
      EXPECT_LT(difference(on_host(C), on_host(D)), 1e-12) << trans_a << trans_b;
    }
}

template <class Space>
void expect_factor_and_update() {
  Space const exec;
  constexpr std::int64_t n = 90;
  GeneratorOptions options;
  options.condition = 100;
  HostMatrix const A = generate(MatrixKind::Geometric, n, options);
  for (char const* uplo : {"L", "upper"}) {
    bool const lower = uplo[0] == 'L';
    auto const F = on_device<Space, Kokkos::LayoutLeft>(A, 0);
    EXPECT_TRUE(strata::dense::potrf(exec, uplo, F).ok());
    HostMatrix const factor = on_host(F);
    HostMatrix const L("strata::test::L", n, n);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = j; i < n; ++i) L(i, j) = lower ? factor(i, j) : factor(j, i);
    EXPECT_LT(factor_error(A, L), 1e-13);
    // C = A - L L^T, or A - U^T U, is 0 in the triangle.
    auto const C = on_device<Space, Kokkos::LayoutLeft>(A, 0);
    auto const T = on_device<Space, Kokkos::LayoutRight>(L, 0);
    strata::dense::syrk(exec, uplo, "N", -1, T, 1, C);
    HostMatrix const rest = on_host(C);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i) {
        bool const updated = i == j || (i > j) == lower;
        ASSERT_NEAR(rest(i, j), updated ? 0 : A(i, j), updated ? 1e-12 : 0);
      }
  }
}

TYPED_TEST(KokkosNamesOn, TrsmIsKokkosBlasTrsm) {
  expect_same_trsm<TypeParam, Kokkos::LayoutLeft>();
  expect_same_trsm<TypeParam, Kokkos::LayoutRight>();
}
TYPED_TEST(KokkosNamesOn, GemmIsKokkosBlasGemmInAnyMixOfLayouts) {
  expect_same_gemm<TypeParam, Kokkos::LayoutLeft, Kokkos::LayoutLeft>();
  expect_same_gemm<TypeParam, Kokkos::LayoutLeft, Kokkos::LayoutRight>();
  expect_same_gemm<TypeParam, Kokkos::LayoutRight, Kokkos::LayoutLeft>();
}
TYPED_TEST(KokkosNamesOn, PotrfAndSyrkAreLapacksAndBlass) { expect_factor_and_update<TypeParam>(); }

TYPED_TEST(KokkosNamesOn, RefusesOtherCharacters) {
  TypeParam const exec;
  auto const A = on_device<TypeParam, Kokkos::LayoutLeft>(random_matrix(3, 3, 1), 0);
  EXPECT_TRUE(throws_with<ValueError>("trsm: side is 'X', must begin with one of LR", [&] {
    strata::dense::trsm(exec, "X", "L", "N", "N", 1, A, A);
  }));
  EXPECT_TRUE(throws_with<ValueError>("potrf: uplo is '', must begin with one of LU",
                                      [&] { (void)strata::dense::potrf(exec, "", A); }));
  EXPECT_TRUE(throws_with<ValueError>("gemm: transB is 'H', must begin with one of NTC",
                                      [&] { strata::dense::gemm(exec, "N", "H", 1, A, A, 0, A); }));
  EXPECT_TRUE(throws_with<ValueError>("syrk: trans is '?', must begin with one of NTC",
                                      [&] { strata::dense::syrk(exec, "L", "?", 1, A, 0, A); }));
}

}  // namespace
