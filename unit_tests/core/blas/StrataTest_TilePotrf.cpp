// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_LeafBlas.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <core/blas/vendor/Strata_TilePotrf.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <vector>

namespace strata::test {
namespace {

template <class Space>
using Info = Kokkos::View<std::int64_t, typename Space::memory_space>;

// What is left in `info`, or nothing where the operands are refused.
template <class Space>
std::optional<std::int64_t> factor(StoredMatrix<Space> const& A, StoredMatrix<Space> const* inverse,
                                   std::int64_t before = 0) {
  Space const exec;
  strata::detail::Workspace<Space> workspace(exec);
  Info<Space> const info("strata::test::info");
  Kokkos::deep_copy(exec, info, before);
  std::optional<MatrixRef<typename Space::memory_space>> V;
  if (inverse != nullptr) V = inverse->ref();
  if (!strata::vendor::tile_potrf(exec, workspace, A.ref(), V ? &*V : nullptr, 1000, info))
    return {};
  std::int64_t after = -1;
  Kokkos::deep_copy(exec, after, info);
  exec.fence("strata::test::factor");
  return after;
}

// Graded, of condition 1e5 or so: D K D for the covariance K of an exponential model.
double entry(std::int64_t n, std::int64_t i, std::int64_t j) {
  double const decay = std::exp2(-8.0 * static_cast<double>(i + j) / static_cast<double>(n + 1));
  return decay * std::exp(-std::abs(static_cast<double>(i - j)) / 10);
}
HostMatrix lower(std::int64_t n, double scale = 1) {
  return reference::generate(
      n, n, [&](auto i, auto j) { return i < j ? nan_value : scale * entry(n, i, j); });
}

// |A x - L L^T x| <= bound |L| |L^T| |x| and |L^T V x - x| <= bound |L^T| |V| |x|
template <class Space>
void check(Precision precision, std::int64_t n, bool inverts) {
  SCOPED_TRACE(testing::Message() << precision << ' ' << n << (inverts ? ", inverse" : ""));
  StoredMatrix<Space> const A(lower(n), precision, 3), V(reference::random(n, n, 1), precision, 5);
  HostMatrix const a = A.read(), x = reference::random(n, 1, 2);
  ASSERT_EQ(factor(A, inverts ? &V : nullptr), 0);
  HostMatrix const l = reference::triangle(Uplo::Lower, Diag::NonUnit, A.read()),
                   lt = reference::apply(Op::Trans, l), v = V.read();
  auto const times = [&](HostMatrix const& M, HostMatrix const& y) {
    return reference::gemm(1, M, y, 0, y);
  };
  HostMatrix const full =
      reference::generate(n, n, [&](auto i, auto j) { return i < j ? a(j, i) : a(i, j); });
  HostMatrix const size = times(reference::abs(lt), reference::abs(x));
  EXPECT_TRUE(is_close(times(l, times(lt, x)), times(full, x), times(reference::abs(l), size),
                       {n, precision, precision}));
  EXPECT_TRUE(A.padding_is_untouched() && V.padding_is_untouched());
  for (std::int64_t j = 1; j < n; ++j) ASSERT_TRUE(std::isnan(A.read()(0, j))) << j;
  if (!inverts) return;
  for (std::int64_t j = 0; j + 1 < n; ++j) ASSERT_EQ(v(n - 1, j), 0) << j;
  EXPECT_TRUE(is_close(times(lt, times(v, x)), x,
                       times(reference::abs(lt), times(reference::abs(v), reference::abs(x))),
                       {n, precision, precision}));
}

template <class Space>
class TilePotrf : public testing::Test {
 protected:
  void SetUp() override {
    StoredMatrix<Space> const one(lower(1), fp64);
    if (!factor<Space>(one, nullptr)) GTEST_SKIP() << "for CUDA from compute capability 9.0 on";
  }
};
TYPED_TEST_SUITE(TilePotrf, Spaces, SpaceNames);

// Orders around those of tiles and of their halves.
TYPED_TEST(TilePotrf, FactorsAndInvertsMatricesOfAnyOrder) {
  for (Precision const precision : {fp64, fp32})
    for (std::int64_t const n : {1, 2, 31, 32, 33, 63, 64, 65, 96, 127, 128, 129, 500, 1000, 1024})
      for (bool const inverts : {false, true}) check<TypeParam>(precision, n, inverts);
}
TYPED_TEST(TilePotrf, FactorsMoreTilesThanTheDeviceTakesAtOnce) {
  check<TypeParam>(fp64, 2048, false);
  check<TypeParam>(fp32, 1999, false);
}

TYPED_TEST(TilePotrf, FindsTheFirstMinorThatIsNotPositive) {
  for (Precision const precision : {fp64, fp32})
    for (std::int64_t const order : {1, 32, 33, 64, 65, 100, 129, 200})
      for (double const pivot : {-1.0, 0.0, nan_value, static_cast<double>(INFINITY)}) {
        HostMatrix a = lower(200);
        a(order - 1, order - 1) = pivot;
        a(199, 199) = order == 200 ? pivot : -1;  // a later one does not count
        StoredMatrix<TypeParam> const A(a, precision), B(a, precision), V(a, precision);
        EXPECT_EQ(factor(A, &V), 1000 + order) << pivot;
        EXPECT_EQ(factor<TypeParam>(B, nullptr, 7), 7) << "one before stays";
      }
}

// Diagonals whose reciprocals are no normal numbers among them.
TYPED_TEST(TilePotrf, TakesMatricesAtTheEndsOfTheRange) {
  StoredMatrix<TypeParam> const one(lower(100), fp64);
  ASSERT_EQ(factor<TypeParam>(one, nullptr), 0);
  HostMatrix const expected = one.read();
  for (double const scale : {0x1p1022, 0x1p-900, 0x1p-1022}) {
    StoredMatrix<TypeParam> const A(lower(100, scale), fp64);
    ASSERT_EQ(factor<TypeParam>(A, nullptr), 0) << scale;
    HostMatrix const l = A.read();
    double const tolerance =
        scale == 0x1p-1022 ? 1e-6 : 1e-13;  // subnormal numbers have fewer digits
    for (std::int64_t i = 0; i < 100; ++i)
      EXPECT_NEAR(l(i, i) / std::sqrt(scale), expected(i, i), tolerance) << scale << ' ' << i;
  }
}

TYPED_TEST(TilePotrf, HasTheSameBitsEachTime) {
  HostMatrix first;
  for (int repeat = 0; repeat < 10; ++repeat) {
    StoredMatrix<TypeParam> const A(lower(700), fp32), V(lower(700), fp32);
    ASSERT_EQ(factor(A, repeat % 2 == 0 ? &V : nullptr), 0);
    HostMatrix const now = A.read();
    if (repeat == 0) first = now;
    for (std::int64_t j = 0; j < 700; ++j)
      for (std::int64_t i = j; i < 700; ++i) ASSERT_EQ(now(i, j), first(i, j)) << i << ' ' << j;
  }
}

// Each kernel waits for its own blocks alone.
TYPED_TEST(TilePotrf, SharesTheDeviceWithOthersOfItsKind) {
  auto const instances = Kokkos::Experimental::partition_space(TypeParam(), 1, 1, 1);
  StoredMatrix<TypeParam> const A(lower(1000), fp64), B(lower(1000), fp64), C(lower(1000), fp64);
  Info<TypeParam> const info("strata::test::info");
  std::vector<std::unique_ptr<strata::detail::Workspace<TypeParam>>> workspaces;
  for (auto const& exec : instances)
    workspaces.push_back(std::make_unique<strata::detail::Workspace<TypeParam>>(exec));
  std::size_t k = 0;
  for (auto const* matrix : {&A, &B, &C}) {
    ASSERT_TRUE(
        strata::vendor::tile_potrf(instances[k], *workspaces[k], matrix->ref(), nullptr, 0, info));
    ++k;
  }
  for (auto const& exec : instances) exec.fence("strata::test::factor");
  HostMatrix const a = A.read(), b = B.read(), c = C.read();
  for (std::int64_t j = 0; j < 1000; j += 7)
    for (std::int64_t i = j; i < 1000; ++i) {
      ASSERT_EQ(a(i, j), b(i, j));
      ASSERT_EQ(a(i, j), c(i, j));
    }
}

TYPED_TEST(TilePotrf, RefusesOtherOperands) {
  StoredMatrix<TypeParam> const low(lower(9), Precision::fp16), large(lower(2049), fp32),
      none(lower(0), fp64), A(lower(1025), fp32), V(lower(1025), fp32);
  for (auto const* matrix : {&low, &large, &none})
    EXPECT_FALSE(factor<TypeParam>(*matrix, nullptr).has_value());
  EXPECT_FALSE(factor(A, &V).has_value());
}

}  // namespace
}  // namespace strata::test
