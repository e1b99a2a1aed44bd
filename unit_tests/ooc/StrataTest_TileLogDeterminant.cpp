// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What is said of the error of a log-determinant in tiles.
#include "StrataTest_Spaces.hpp"
#include "ooc/StrataTest_Tiles.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::test;

template <class Exec>
class TileLogDeterminant : public testing::Test {};
TYPED_TEST_SUITE(TileLogDeterminant, Spaces, SpaceNames);

/// The factor of s I, and what it reads afterwards is I.
template <class Exec>
TileFactor<Exec> factor_of(Exec const& exec, std::int64_t n, double s,
                           Kokkos::View<double**, Kokkos::LayoutLeft, Exec> const& A) {
  HostMatrix const host("strata::test::host", n, n);
  for (std::int64_t i = 0; i < n; ++i) host(i, i) = s;
  Kokkos::deep_copy(A, host);
  TileMatrixOptions options;
  options.equilibrate = false;
  auto factor = cholesky(devices_of<Exec>(1), TileMatrix<Exec>::from_view(exec, A, 8, options));
  for (std::int64_t i = 0; i < n; ++i) host(i, i) = 1;
  Kokkos::deep_copy(A, host);
  return factor;
}

// The least eigenvalue of L^-1 A L^-T is 1 / s, by which what rounding does to M = s I is more for
// A; and each term of that.
TYPED_TEST(TileLogDeterminant, TheRoundingIsDividedByTheLeastEigenvalue) {
  TypeParam const exec;
  std::int64_t const n = 16;
  Kokkos::View<double**, Kokkos::LayoutLeft, TypeParam> const A("strata::test::A", n, n);
  for (double const s : {1.0, 4.0, 16.0}) {
    auto const factor = factor_of(exec, n, s, A);
    double const size = 16 * std::log(s);
    // 2^-52 (2 (sqrt(n) + 8) ||M^-1||_F ||M||_inf + the sum of the logarithms' sizes)
    double const of_M = 0x1p-52 * (2 * (4 + 8) * 4 + size);
    EXPECT_NEAR(factor.rounding_error(exec, {}) / of_M, 1, 1e-6) << s;
    auto const found = factor.log_determinant(exec, {});
    EXPECT_NEAR(found.lowest, 1 / s, 1e-13);
    EXPECT_NEAR(found.value, 0, 1e-12);
    EXPECT_NEAR(found.rounding_error / (s * of_M), 1, 1e-6) << s;
  }
}

}  // namespace
