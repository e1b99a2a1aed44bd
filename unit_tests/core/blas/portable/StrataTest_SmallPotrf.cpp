// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_LeafBlas.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <core/blas/portable/detail/Strata_SmallPotrf.hpp>
#include <core/kokkos_ext/Strata_HostVectors.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

namespace strata::test {
namespace {

// What is left in `info`, or nothing where the operand is refused.
template <class Space>
std::optional<std::int64_t> factor(StoredMatrix<Space> const& A, int bytes = 64,
                                   std::int64_t before = 0) {
  Space const exec;
  strata::detail::Workspace<Space> workspace(exec);
  typename LeafBlas<Space>::InfoView const info("strata::test::info");
  Kokkos::deep_copy(exec, info, before);
  if (!strata::detail::small_potrf(exec, workspace, A.ref(), 1000, info, bytes)) return {};
  std::int64_t after = -1;
  Kokkos::deep_copy(exec, after, info);
  exec.fence("strata::test::factor");
  return after;
}

// A Gaussian covariance in one dimension, graded and as ill-conditioned as the precision allows;
// NaN above the diagonal.
HostMatrix covariance(std::int64_t n, Precision precision) {
  double const nugget = precision == fp64 ? 1e-12 : 1e-4;
  return reference::generate(n, n, [&](auto i, auto j) {
    double const h = static_cast<double>(i - j) / static_cast<double>(n + 1);
    double const grade = std::exp2(-12.0 * static_cast<double>(i + j) / static_cast<double>(n + 1));
    return i < j ? nan_value : grade * (std::exp(-9 * h * h) + (i == j ? nugget : 0));
  });
}

// |A - L L^T| <= bound |L| |L^T|, with nothing above the diagonal or between the columns written.
template <class Space>
void check(Precision precision, std::int64_t n, int bytes) {
  SCOPED_TRACE(testing::Message() << precision << ' ' << n << ", vectors of " << bytes);
  StoredMatrix<Space> const A(covariance(n, precision), precision, 3);
  HostMatrix const a = A.read();
  ASSERT_EQ(factor(A, bytes), 0);
  HostMatrix const found = A.read(), l = reference::triangle(Uplo::Lower, Diag::NonUnit, found),
                   lt = reference::apply(Op::Trans, l);
  EXPECT_TRUE(is_close(reference::gemm(1, l, lt, 0, a), a,
                       reference::gemm(1, reference::abs(l), reference::abs(lt), 0, a),
                       {n, precision, precision}, [](auto i, auto j) { return i >= j; }));
  EXPECT_TRUE(is_nan(found, [](auto i, auto j) { return i < j; }));
  EXPECT_TRUE(A.padding_is_untouched());
}

template <class Space>
class SmallPotrf : public testing::Test {
 protected:
  void SetUp() override {
    StoredMatrix<Space> const one(covariance(1, fp64), fp64);
    if (!factor<Space>(one, 32)) GTEST_SKIP() << "for hosts with vectors of 32 bytes or more";
  }
};
TYPED_TEST_SUITE(SmallPotrf, Spaces, SpaceNames);

// Orders around those of blocks of columns and of vectors of rows, of which there are one, two or
// three at a time.
TYPED_TEST(SmallPotrf, FactorsIllConditionedMatricesWithVectorsOfAnyWidth) {
  for (Precision const precision : {fp64, fp32})
    for (int const bytes : {32, 64}) {
      for (std::int64_t n = 0; n <= 50; ++n) check<TypeParam>(precision, n, bytes);
      for (std::int64_t const n : {64, 65, 111, 200, 241, 252, 500})
        check<TypeParam>(precision, n, bytes);
    }
}

// ||A - L L^T||_F of the lower triangle, in long double.
double distance(HostMatrix const& A, HostMatrix const& L) {
  long double sum = 0;
  for (std::size_t j = 0; j < A.extent(0); ++j)
    for (std::size_t i = j; i < A.extent(0); ++i) {
      long double off = A(i, j);
      for (std::size_t k = 0; k <= j; ++k) off -= static_cast<long double>(L(i, k)) * L(j, k);
      sum += (i == j ? 1 : 2) * off * off;
    }
  return static_cast<double>(std::sqrt(sum));
}

// Sums in parts: terms of ones + e I are not lost beside those of the first columns. In one sum the
// distance is 2 to 3 n u.
TYPED_TEST(SmallPotrf, IsNearOnesWithASmallDiagonalAtAllOrders) {
  for (std::int64_t const n : {64, 256, 321, 384, 448, 512})
    for (int const bytes : {32, 64}) {
      HostMatrix const a =
          reference::generate(n, n, [](auto i, auto j) { return i == j ? 1 + 1e-12 : 1; });
      StoredMatrix<TypeParam> const A(a, fp64);
      ASSERT_EQ(factor(A, bytes), 0) << n << ' ' << bytes;
      EXPECT_LE(distance(a, A.read()) / (static_cast<double>(n) * 0x1p-53), 1.2)
          << n << ' ' << bytes;
    }
}

// What others left in the workspace is nobody's number.
TYPED_TEST(SmallPotrf, HasTheSameBitsInAWorkspaceOfNaNs) {
  TypeParam const exec;
  typename LeafBlas<TypeParam>::InfoView const info("strata::test::info");
  for (Precision const precision : {fp64, fp32})
    for (int const bytes : {32, 64})
      for (std::int64_t const n : {1, 7, 8, 9, 31, 50, 241, 248, 252, 500}) {
        StoredMatrix<TypeParam> const A(covariance(n, precision), precision),
            B(covariance(n, precision), precision);
        ASSERT_EQ(factor(A, bytes), 0);
        strata::detail::Workspace<TypeParam> workspace(exec);
        constexpr std::size_t room = std::size_t{3} << 20;
        workspace.ensure(room);
        std::memset(workspace.data(), 0xff, room);
        ASSERT_TRUE(strata::detail::small_potrf(exec, workspace, B.ref(), 0, info, bytes));
        EXPECT_EQ(info(), 0);
        HostMatrix const a = A.read(), b = B.read();
        for (std::int64_t j = 0; j < n; ++j)
          for (std::int64_t i = j; i < n; ++i) EXPECT_EQ(a(i, j), b(i, j)) << n << ' ' << bytes;
      }
}

TYPED_TEST(SmallPotrf, FindsTheFirstMinorThatIsNotPositive) {
  for (Precision const precision : {fp64, fp32})
    for (int const bytes : {32, 64})
      for (std::int64_t order = 1; order <= 50; order += order < 35 ? 1 : 5)
        for (double const pivot : {-1.0, 0.0, nan_value, static_cast<double>(INFINITY)}) {
          HostMatrix a = covariance(50, precision);
          a(order - 1, order - 1) = pivot;
          a(49, 49) = order == 50 ? pivot : -1;  // a later one does not count
          StoredMatrix<TypeParam> const A(a, precision), B(a, precision);
          EXPECT_EQ(factor(A, bytes), 1000 + order) << pivot;
          EXPECT_EQ(factor(B, bytes, 7), 7) << "one before stays";
        }
}

// Pivots whose reciprocals only just are numbers.
TYPED_TEST(SmallPotrf, FactorsTheSmallestAndLargestNumbers) {
  using Limits = std::numeric_limits<double>;
  for (double const scale : {Limits::denorm_min(), Limits::min(), Limits::max() / 4})
    for (int const bytes : {32, 64}) {
      HostMatrix const a = reference::generate(20, 20, [&](auto i, auto j) {
        return i < j ? nan_value : i == j ? 4 * scale : 0;
      });
      StoredMatrix<TypeParam> const A(a, fp64);
      ASSERT_EQ(factor(A, bytes), 0) << scale;
      for (std::int64_t i = 0; i < 20; ++i)
        EXPECT_DOUBLE_EQ(A.read()(i, i), 2 * std::sqrt(scale)) << scale;
    }
}

template <class Space>
bool refuses(std::int64_t n, Precision precision, std::optional<int> scale, int bytes) {
  HostMatrix const a = reference::generate(n, n, [](auto i, auto j) { return i == j ? 4 : 0; });
  StoredMatrix<Space> const A(a, precision, 0, scale);
  if (factor(A, bytes)) return false;
  for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(A.read()(i, i), 4) << "nothing is done";
  return true;
}
TYPED_TEST(SmallPotrf, RefusesOtherOperandsAndVectors) {
  for (int const bytes : {32, 64}) {
    EXPECT_FALSE(refuses<TypeParam>(512, fp64, {}, bytes));
    EXPECT_TRUE(refuses<TypeParam>(513, fp64, {}, bytes));
  }
  EXPECT_TRUE(refuses<TypeParam>(5, fp64, {}, 16));
  EXPECT_TRUE(refuses<TypeParam>(5, fp16, {}, 64));
  EXPECT_TRUE(refuses<TypeParam>(5, fp32, 2, 64));
}

// Another factorisation would have other bits.
TYPED_TEST(SmallPotrf, ThrowsWhereTheWorkspaceHasNoRoom) {
  TypeParam const exec;
  strata::detail::Workspace<TypeParam> workspace(exec);
  typename strata::detail::Workspace<TypeParam>::Frame frame(workspace, 1000);
  (void)frame.take(fp64, 10, 10);  // a stack that something lies on can't grow
  StoredMatrix<TypeParam> const A(covariance(20, fp64), fp64);
  typename LeafBlas<TypeParam>::InfoView const info("strata::test::info");
  HostMatrix const before = A.read();
  EXPECT_THROW((void)strata::detail::small_potrf(exec, workspace, A.ref(), 0, info), MemoryError);
  for (std::int64_t i = 0; i < 20; ++i) EXPECT_EQ(A.read()(i, i), before(i, i));
}

}  // namespace
}  // namespace strata::test
