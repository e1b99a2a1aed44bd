// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_LeafBlas.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <core/blas/tiles/vendor/Strata_TilePotrf.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace strata::test {
namespace {

template <class Space>
using Info = Kokkos::View<std::int64_t, typename Space::memory_space>;

// What is left in `info`, or nothing where the operands are refused.
template <class Space>
std::optional<std::int64_t> factor(StoredMatrix<Space> const& A, StoredMatrix<Space> const* inverse,
                                   std::int64_t before = 0,
                                   int most_blocks = std::numeric_limits<int>::max()) {
  Space const exec;
  strata::detail::Workspace<Space> workspace(exec);
  Info<Space> const info("strata::test::info");
  Kokkos::deep_copy(exec, info, before);
  std::optional<MatrixRef<typename Space::memory_space>> V;
  if (inverse != nullptr) V = inverse->ref();
  if (!strata::vendor::tile_potrf(exec, workspace, A.ref(), V ? &*V : nullptr, 1000, info, nullptr,
                                  most_blocks))
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
  HostMatrix const after = A.read();
  for (std::int64_t j = 1; j < n; ++j)
    for (std::int64_t i = 0; i < j; ++i) ASSERT_TRUE(std::isnan(after(i, j))) << i << ' ' << j;
  if (!inverts) return;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = j + 1; i < n; ++i) ASSERT_EQ(v(i, j), 0) << i << ' ' << j;
  EXPECT_TRUE(is_close(times(lt, times(v, x)), x,
                       times(reference::abs(lt), times(reference::abs(v), reference::abs(x))),
                       {n, precision, precision}));
}

void expect_same_triangle(HostMatrix const& a, HostMatrix const& b) {
  for (std::int64_t j = 0; j < a.extent_int(1); ++j)
    for (std::int64_t i = j; i < a.extent_int(0); ++i) ASSERT_EQ(a(i, j), b(i, j)) << i << ' ' << j;
}

// |V L^T x - x| <= bound |V| |L^T| |x|
void expect_right_inverse(HostMatrix const& l, HostMatrix const& v, Precision precision) {
  std::int64_t const n = l.extent_int(0);
  HostMatrix const lt = reference::apply(Op::Trans,
                                         reference::triangle(Uplo::Lower, Diag::NonUnit, l)),
                   x = reference::random(n, 1, 2);
  auto const times = [](HostMatrix const& M, HostMatrix const& y) {
    return reference::gemm(1, M, y, 0, y);
  };
  EXPECT_TRUE(is_close(times(v, times(lt, x)), x,
                       times(reference::abs(v), times(reference::abs(lt), reference::abs(x))),
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

// They come to the pivot of their row through products, of which some leave out what is small.
TYPED_TEST(TilePotrf, FindsNumbersBelowTheDiagonalThatAreNotFinite) {
  for (Precision const precision : {fp64, fp32})
    for (double const number : {nan_value, static_cast<double>(INFINITY)})
      for (auto const& [row, col] : std::initializer_list<std::pair<int, int>>{
               {1, 0}, {40, 3}, {63, 62}, {64, 0}, {100, 40}, {130, 70}, {199, 0}, {250, 100}}) {
        HostMatrix a = lower(300);
        a(row, col) = number;
        StoredMatrix<TypeParam> const A(a, precision), B(a, precision), V(a, precision);
        EXPECT_EQ(factor(A, &V), 1000 + row + 1) << row << ' ' << col << ' ' << number;
        EXPECT_EQ(factor<TypeParam>(B, nullptr), 1000 + row + 1) << row << ' ' << col;
      }
}

// A Gaussian covariance in one dimension, as ill-conditioned as the precision allows: products with
// the inverse of a diagonal tile alone leave thousands of unit roundoffs here. The bound is that of
// any elimination, (n + 1) eps |L| |L^T|, and sums of squares of a row of L are a number of A's
// diagonal.
TYPED_TEST(TilePotrf, LeavesTheResidualOfAnEliminationWhateverTheCondition) {
  for (Precision const precision : {fp64, fp32})
    for (std::int64_t const n : {64, 100, 150, 300, 500})
      for (bool const inverts : {false, true}) {
        double const nugget = precision == fp64 ? 1e-12 : 1e-4,
                     eps = traits(precision).unit_roundoff;
        HostMatrix const a = reference::generate(n, n, [&](auto i, auto j) {
          double const d = static_cast<double>(i - j) / 4;
          return i < j ? nan_value : std::exp(-d * d / 2) + (i == j ? nugget : 0);
        });
        StoredMatrix<TypeParam> const A(a, precision), V(reference::random(n, n, 1), precision);
        HostMatrix const stored = A.read();
        ASSERT_EQ(factor(A, inverts ? &V : nullptr), 0) << precision << ' ' << n;
        HostMatrix const l = A.read();
        long double worst = 0;
        for (std::int64_t j = 0; j < n; ++j)
          for (std::int64_t i = j; i < n; ++i) {
            long double left = stored(i, j);
            for (std::int64_t k = 0; k <= j; ++k)
              left -= static_cast<long double>(l(i, k)) * l(j, k);
            worst = std::max(worst, std::abs(left));
          }
        EXPECT_LE(worst, (static_cast<double>(n) + 1) * eps * (1 + nugget))
            << precision << ' ' << n;
        if (inverts) expect_right_inverse(l, V.read(), precision);
      }
}

// One has the diagonal, the other all else: whoever waits, waits for what is on its way.
TYPED_TEST(TilePotrf, NeedsTwoBlocksOnly) {
  for (std::int64_t const n : {64, 65, 300, 700})
    for (bool const inverts : {false, true}) {
      StoredMatrix<TypeParam> const all(lower(n), fp64), V(lower(n), fp64);
      ASSERT_EQ(factor(all, inverts ? &V : nullptr), 0);
      HostMatrix const expected = all.read(), expected_v = reference::apply(Op::Trans, V.read());
      for (int const most : {2, 3, 7}) {
        StoredMatrix<TypeParam> const few(lower(n), fp64), W(lower(n), fp64);
        ASSERT_EQ(factor(few, inverts ? &W : nullptr, 0, most), 0);
        expect_same_triangle(few.read(), expected);
        if (inverts) expect_same_triangle(reference::apply(Op::Trans, W.read()), expected_v);
      }
    }
}

// Diagonals whose reciprocals are no normal numbers among them.
template <class Space>
void takes_scale(Precision precision, double scale, double tolerance) {
  StoredMatrix<Space> const one(lower(100), precision), A(lower(100, scale), precision);
  ASSERT_EQ(factor<Space>(one, nullptr), 0);
  ASSERT_EQ(factor<Space>(A, nullptr), 0) << scale;
  HostMatrix const expected = one.read(), l = A.read();
  for (std::int64_t i = 0; i < 100; ++i)
    EXPECT_NEAR(l(i, i) / std::sqrt(scale), expected(i, i), tolerance) << scale << ' ' << i;
}
TYPED_TEST(TilePotrf, TakesMatricesAtTheEndsOfTheRange) {
  takes_scale<TypeParam>(fp64, 0x1p1022, 1e-13);
  takes_scale<TypeParam>(fp64, 0x1p-900, 1e-13);
  takes_scale<TypeParam>(fp64, 0x1p-1022, 1e-6);  // subnormal numbers have fewer digits
  takes_scale<TypeParam>(fp32, 0x1p126, 1e-5);
  takes_scale<TypeParam>(fp32, 0x1p-100, 1e-5);
}

TYPED_TEST(TilePotrf, HasTheSameBitsEachTime) {
  HostMatrix first;
  for (int repeat = 0; repeat < 10; ++repeat) {
    StoredMatrix<TypeParam> const A(lower(700), fp32), V(lower(700), fp32);
    ASSERT_EQ(factor(A, repeat % 2 == 0 ? &V : nullptr), 0);
    HostMatrix const now = A.read();
    if (repeat == 0) first = now;
    expect_same_triangle(now, first);
  }
}

// With the inverse a call leaves all bits of its workspace 1, which the next one needs; what
// somebody else took is set again.
TYPED_TEST(TilePotrf, FindsItsWorkspaceAsItLeftIt) {
  using Workspace = strata::detail::Workspace<TypeParam>;
  TypeParam const exec;
  Workspace workspace(exec);
  Info<TypeParam> const info("strata::test::info");
  EXPECT_EQ(workspace.unset(), 0U);
  HostMatrix first;
  for (std::int64_t const n : {200, 200, 130, 200, 200}) {
    StoredMatrix<TypeParam> const A(lower(n), fp32), V(reference::random(n, n, 1), fp32);
    auto const inverse = V.ref();
    ASSERT_TRUE(strata::vendor::tile_potrf(exec, workspace, A.ref(), &inverse, 0, info));
    EXPECT_GE(workspace.unset(), static_cast<std::size_t>(n * n) * sizeof(float));
    if (n == 130) {
      typename Workspace::Frame frame(workspace, 4096);
      auto const taken = frame.take(fp32, 32, 32);
      Kokkos::View<float*, typename TypeParam::memory_space, Kokkos::MemoryUnmanaged> const numbers(
          taken.template as<float>(), 1024);
      Kokkos::deep_copy(exec, numbers, 1.0F);
      EXPECT_EQ(workspace.unset(), 0U);
      continue;
    }
    HostMatrix const found = V.read();
    if (first.extent(0) == 0) first = found;
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(found(i, j), first(i, j));
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
  expect_same_triangle(B.read(), A.read());
  expect_same_triangle(C.read(), A.read());
}

TYPED_TEST(TilePotrf, RefusesOtherOperands) {
  StoredMatrix<TypeParam> const low(lower(9), Precision::fp16), large(lower(2049), fp32),
      none(lower(0), fp64), A(lower(1025), fp32), V(lower(1025), fp32);
  for (auto const* matrix : {&low, &large, &none})
    EXPECT_FALSE(factor<TypeParam>(*matrix, nullptr).has_value());
  EXPECT_FALSE(factor(A, &V).has_value());
}

// Another factorisation would have other bits.
TYPED_TEST(TilePotrf, ThrowsWhereTheWorkspaceHasNoRoom) {
  TypeParam const exec;
  strata::detail::Workspace<TypeParam> workspace(exec);
  typename strata::detail::Workspace<TypeParam>::Frame frame(workspace, 1000);
  (void)frame.take(fp64, 10, 10);  // a stack that something lies on can't grow
  StoredMatrix<TypeParam> const A(lower(100), fp64);
  Info<TypeParam> const info("strata::test::info");
  HostMatrix const before = A.read();
  EXPECT_THROW((void)strata::vendor::tile_potrf(exec, workspace, A.ref(), nullptr, 0, info),
               MemoryError);
  expect_same_triangle(A.read(), before);
}

}  // namespace
}  // namespace strata::test
