// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_LeafBlas.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <core/blas/tiles/vendor/Strata_ThinTriangular.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace strata::test {
namespace {

template <class Space>
bool solve(StoredMatrix<Space> const& L, StoredMatrix<Space> const& X, Op op, Diag diag,
           double alpha, Side side = Side::Left, Uplo uplo = Uplo::Lower) {
  Space const exec;
  strata::detail::Workspace<Space> workspace(exec);
  bool const done = strata::vendor::thin_triangular(exec, workspace, side, uplo, op, diag, alpha,
                                                    L.ref(), X.ref());
  exec.fence("strata::test::solve");
  return done;
}

template <class Space>
bool solve_both(StoredMatrix<Space> const& L, StoredMatrix<Space> const& X) {
  Space const exec;
  strata::detail::Workspace<Space> workspace(exec);
  bool const done = strata::vendor::thin_potrs(exec, workspace, L.ref(), X.ref());
  exec.fence("strata::test::solve");
  return done;
}

template <class Space>
bool is_there() {
  StoredMatrix<Space> const one(reference::random(1, 1, 1), fp64);
  return solve(one, one, Op::NoTrans, Diag::Unit, 1);
}

// A triangle of this condition at most; NaN above it, and on a diagonal that must not be read.
HostMatrix triangle(std::int64_t n, Diag diag, double scale = 1) {
  HostMatrix const values = reference::random(n, n, 1);
  return reference::generate(n, n, [&](auto i, auto j) {
    if (i == j) return diag == Diag::Unit ? nan_value : scale * (1.5 + values(i, i) / 4);
    return i > j ? scale * values(i, j) / static_cast<double>(n) : nan_value;
  });
}

// |alpha B - op(L) X| <= bound |op(L)| |X|
template <class Space>
void check(Precision precision, std::int64_t n, std::int64_t cols, Op op, Diag diag, double alpha,
           double scale = 1) {
  SCOPED_TRACE(testing::Message() << precision << op << diag << ' ' << n << " x " << cols);
  StoredMatrix<Space> const L(triangle(n, diag, scale), precision, 1);
  StoredMatrix<Space> const X(reference::random(n, cols, 2), precision, 3);
  HostMatrix const l = reference::apply(op, reference::triangle(Uplo::Lower, diag, L.read())),
                   b = X.read();
  ASSERT_TRUE(solve(L, X, op, diag, alpha));
  HostMatrix const x = X.read();
  EXPECT_TRUE(is_close(
      reference::gemm(1, l, x, 0, b),
      reference::generate(n, cols, [&](auto i, auto j) { return alpha * b(i, j); }),
      reference::gemm(1, reference::abs(l), reference::abs(x), 0, b), {n, precision, precision}));
  EXPECT_TRUE(X.padding_is_untouched());
}

template <class Space>
class ThinTriangular : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_there<Space>()) GTEST_SKIP() << "for CUDA alone";
  }
};
TYPED_TEST_SUITE(ThinTriangular, Spaces, SpaceNames);

// Orders around those of a diagonal block of 64 rows, and with more blocks than run at a time.
TYPED_TEST(ThinTriangular, LeavesTheResidualOfASubstitution) {
  for (Op const op : both_ops)
    for (Diag const diag : {Diag::NonUnit, Diag::Unit})
      for (std::int64_t const n : {1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000, 2820}) {
        check<TypeParam>(fp64, n, 1, op, diag, 1);
        check<TypeParam>(fp32, n, 4, op, diag, -0.5);
      }
  for (Op const op : both_ops) check<TypeParam>(fp64, 5000, 4, op, Diag::NonUnit, 1);
}

// |B - L L^T X| <= bound |L| |L^T| |X|
template <class Space>
void check_both(Precision precision, std::int64_t n, std::int64_t cols) {
  SCOPED_TRACE(testing::Message() << precision << ' ' << n << " x " << cols);
  StoredMatrix<Space> const L(triangle(n, Diag::NonUnit), precision, 1),
      X(reference::random(n, cols, 2), precision, 3);
  HostMatrix const l = reference::triangle(Uplo::Lower, Diag::NonUnit, L.read()), b = X.read();
  ASSERT_TRUE(solve_both(L, X));
  HostMatrix const x = X.read();
  auto const product = [&](HostMatrix const& of, HostMatrix const& y) {
    return reference::gemm(1, of, reference::gemm(1, reference::apply(Op::Trans, of), y, 0, b), 0,
                           b);
  };
  EXPECT_TRUE(is_close(product(l, x), b, product(reference::abs(l), reference::abs(x)),
                       {n, precision, precision}));
  EXPECT_TRUE(X.padding_is_untouched());
}

// Up to as many blocks as fit one column, of which half wait for the other half.
TYPED_TEST(ThinTriangular, BothSubstitutionsLeaveTheResidual) {
  for (std::int64_t const n : {1, 31, 63, 64, 65, 128, 129, 1000, 2000}) {
    check_both<TypeParam>(fp64, n, 1);
    check_both<TypeParam>(fp32, n, 4);
  }
  check_both<TypeParam>(fp64, 5000, 1);
}

TYPED_TEST(ThinTriangular, BothSubstitutionsHaveTheSameBitsEachTime) {
  StoredMatrix<TypeParam> const L(triangle(3000, Diag::NonUnit), fp64);
  HostMatrix first;
  for (int repeat = 0; repeat < 50; ++repeat) {
    StoredMatrix<TypeParam> const X(reference::random(3000, 2, 2), fp64);
    ASSERT_TRUE(solve_both(L, X));
    HostMatrix const x = X.read();
    if (repeat == 0) first = x;
    for (std::int64_t i = 0; i < 3000; ++i) ASSERT_EQ(x(i, 1), first(i, 1)) << i;
  }
}

TYPED_TEST(ThinTriangular, BothSubstitutionsEndWithNumbersThatAreNotFinite) {
  for (double const wrong : {nan_value, static_cast<double>(INFINITY)}) {
    HostMatrix b = reference::random(300, 1, 2);
    b(100, 0) = wrong;
    StoredMatrix<TypeParam> const L(triangle(300, Diag::NonUnit), fp64), X(b, fp64);
    ASSERT_TRUE(solve_both(L, X));
    HostMatrix const x = X.read();
    for (std::int64_t i = 0; i < 300; ++i) EXPECT_FALSE(std::isfinite(x(i, 0))) << i;
  }
}

// Reciprocals of the diagonal that are no normal numbers.
TYPED_TEST(ThinTriangular, TakesTrianglesAtTheEndsOfTheRange) {
  for (Op const op : both_ops)
    for (double const scale : {0x1p-1030, 0x1p1020}) {
      StoredMatrix<TypeParam> const L(triangle(100, Diag::NonUnit, scale), fp64),
          X(reference::generate(100, 1, [&](auto i, auto) { return scale * double(i % 7); }), fp64);
      StoredMatrix<TypeParam> const M(triangle(100, Diag::NonUnit), fp64),
          Y(reference::generate(100, 1, [](auto i, auto) { return double(i % 7); }), fp64);
      ASSERT_TRUE(solve(L, X, op, Diag::NonUnit, 1) && solve(M, Y, op, Diag::NonUnit, 1));
      double const tolerance = scale < 1 ? 1e-9 : 1e-13;  // subnormal numbers have fewer digits
      HostMatrix const x = X.read(), y = Y.read();
      for (std::int64_t i = 0; i < 100; ++i) EXPECT_NEAR(x(i, 0), y(i, 0), tolerance * 10) << i;
    }
}

// A solution that is not finite spreads as in a substitution, and is waited for by none.
TYPED_TEST(ThinTriangular, EndsWithNumbersThatAreNotFinite) {
  for (double const wrong : {nan_value, static_cast<double>(INFINITY)}) {
    HostMatrix b = reference::random(300, 1, 2);
    b(100, 0) = wrong;
    StoredMatrix<TypeParam> const L(triangle(300, Diag::NonUnit), fp64), X(b, fp64);
    ASSERT_TRUE(solve(L, X, Op::NoTrans, Diag::NonUnit, 1));
    HostMatrix const x = X.read();
    for (std::int64_t i = 0; i < 300; ++i) EXPECT_EQ(std::isfinite(x(i, 0)), i < 100) << i;
  }
}

TYPED_TEST(ThinTriangular, HasTheSameBitsEachTime) {
  StoredMatrix<TypeParam> const L(triangle(2000, Diag::NonUnit), fp64);
  HostMatrix first;
  for (int repeat = 0; repeat < 20; ++repeat) {
    StoredMatrix<TypeParam> const X(reference::random(2000, 2, 2), fp64);
    ASSERT_TRUE(solve(L, X, Op::NoTrans, Diag::NonUnit, 1));
    ASSERT_TRUE(solve(L, X, Op::Trans, Diag::NonUnit, 1));
    HostMatrix const x = X.read();
    if (repeat == 0) first = x;
    for (std::int64_t i = 0; i < 2000; ++i) ASSERT_EQ(x(i, 0), first(i, 0)) << i;
  }
}

TYPED_TEST(ThinTriangular, RefusesOtherOperands) {
  StoredMatrix<TypeParam> const L(triangle(9, Diag::NonUnit), fp64),
      B(reference::random(9, 5, 1), fp64), b(reference::random(9, 1, 1), fp32),
      c(reference::random(9, 1, 1), fp64), scaled(reference::random(9, 9, 1), fp64, 0, 2);
  EXPECT_FALSE(solve(L, B, Op::NoTrans, Diag::NonUnit, 1));
  EXPECT_FALSE(solve(L, b, Op::NoTrans, Diag::NonUnit, 1));
  EXPECT_FALSE(solve(scaled, c, Op::NoTrans, Diag::NonUnit, 1));
  EXPECT_FALSE(solve(L, c, Op::NoTrans, Diag::NonUnit, 1, Side::Left, Uplo::Upper));
  EXPECT_FALSE(solve_both(L, B));
  EXPECT_FALSE(solve_both(L, b));
  EXPECT_FALSE(solve_both(scaled, c));
  StoredMatrix<TypeParam> const large(triangle(2049, Diag::NonUnit), fp64),
      wide(reference::random(2049, 4, 1), fp64);
  EXPECT_FALSE(solve_both(large, wide));
}

}  // namespace
}  // namespace strata::test
