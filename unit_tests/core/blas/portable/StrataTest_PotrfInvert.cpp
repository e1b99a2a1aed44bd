// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Leaves with their inverse, batches, scaled results and products with few columns.
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "core/blas/StrataTest_PaddedMatrix.hpp"
#include <core/Strata_Backends.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace strata::test {
namespace {

constexpr double c = 10;  // errors are held to c n eps

/// A graded positive definite matrix: B B^T + 1 with rows of B of falling size.
Element positive_definite(Index n) {
  return [n](Index i, Index j) {
    double const decay = std::exp2(-8.0 * static_cast<double>(i + j) / static_cast<double>(n + 1));
    return (i == j ? 2.0
                   : std::cos(static_cast<double>((i + 1) * (j + 1))) / static_cast<double>(n)) *
           decay;
  };
}

template <class Space>
using Info = typename LeafBlas<Space>::InfoView;

template <class Space>
using Number = Kokkos::View<double, typename Space::memory_space>;

template <class Space, class View>
auto value_of(View const& number) {
  typename View::non_const_value_type value = -1;
  Kokkos::deep_copy(value, number);
  return value;
}

template <class Space>
void factors_and_inverts(BlasPath path, Precision precision, Index n) {
  Space const exec;
  LeafBlas<Space> blas(exec, path);
  auto const symmetric = positive_definite(n);
  auto const lower = [&](Index i, Index j) { return i >= j ? symmetric(i, j) : not_a_number; };
  PaddedMatrix<Space> const A(exec, precision, n, n, n + 3, lower);
  PaddedMatrix<Space> const X(exec, precision, n, n, n + 5, noise(1));
  Info<Space> const info("strata::test::info");
  Number<Space> const largest("strata::test::largest");
  Kokkos::deep_copy(largest, 1e300);  // which is not there yet counts for nothing
  blas.potrf_invert(A.ref(), X.ref(), 100, info, largest.data());
  exec.fence();
  ASSERT_EQ(value_of<Space>(info), 0);
  EXPECT_TRUE(A.kept([](Index i, Index j) { return i >= j; }));
  EXPECT_TRUE(X.kept([](Index, Index) { return true; }));
  auto const L = A.now(), inverse = X.now();
  double most = 0;
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < n; ++i) most = std::max(most, std::abs(inverse[X.position(i, j)]));
  EXPECT_EQ(value_of<Space>(largest), most) << n;
  double const eps = precision == Precision::fp64 ? 0x1p-53 : 0x1p-24;
  double const bound = c * static_cast<double>(n) * eps;
  for (Index j = 0; j < n; ++j)
    for (Index i = j; i < n; ++i) {
      double product = 0, magnitude = 0, identity = 0, terms = 0;
      for (Index k = 0; k <= j; ++k) {
        product += L[A.position(i, k)] * L[A.position(j, k)];
        magnitude += std::abs(L[A.position(i, k)] * L[A.position(j, k)]);
      }
      for (Index k = j; k <= i; ++k) {
        identity += inverse[X.position(k, i)] * L[A.position(k, j)];
        terms += std::abs(inverse[X.position(k, i)] * L[A.position(k, j)]);
      }
      ASSERT_LE(std::abs(product - A(i, j)), bound * magnitude) << n << ": " << i << " " << j;
      ASSERT_LE(std::abs(identity - (i == j)), bound * terms) << n << ": " << i << " " << j;
      if (i > j) {
        ASSERT_EQ(inverse[X.position(i, j)], 0) << i << " " << j;
      }
    }
}

template <class Space>
void finds_the_minor(Precision precision, Index n, Index order, double pivot) {
  Space const exec;
  LeafBlas<Space> blas(exec);
  auto const symmetric = positive_definite(n);
  auto const element = [&](Index i, Index j) {
    return i == j && i == order - 1 ? pivot : symmetric(i, j);
  };
  PaddedMatrix<Space> const A(exec, precision, n, n, n, element),
      X(exec, precision, n, n, n, noise(1));
  Info<Space> const info("strata::test::info");
  blas.potrf_invert(A.ref(), X.ref(), 1000, info);
  EXPECT_EQ(value_of<Space>(info), 1000 + order) << n << " " << pivot;
}

template <class Space>
void refuses_what_it_cannot_do() {
  Space const exec;
  LeafBlas<Space> blas(exec);
  PaddedMatrix<Space> const A(exec, Precision::fp32, 4, 4, 4, noise(1)),
      B(exec, Precision::fp32, 4, 3, 4, noise(1)), D(exec, Precision::fp64, 4, 4, 4, noise(1)),
      H(exec, Precision::fp16, 4, 4, 4, noise(1));
  Info<Space> const info("strata::test::info");
  EXPECT_TRUE(throws_with<ShapeError>("potrf_invert: extents don't fit: A is 4 x 4",
                                      [&] { blas.potrf_invert(A.ref(), B.ref(), 0, info); }));
  EXPECT_TRUE(throws_with<ValueError>("potrf_invert: takes fp64 or fp32",
                                      [&] { blas.potrf_invert(A.ref(), D.ref(), 0, info); }));
  EXPECT_TRUE(throws_with<ValueError>("potrf_invert: takes fp64 or fp32",
                                      [&] { blas.potrf_invert(H.ref(), H.ref(), 0, info); }));
  EXPECT_TRUE(throws_with<ShapeError>("gemm: a batch of -1 products", [&] {
    blas.gemm(Op::NoTrans, Op::NoTrans, 1, A.ref(), A.ref(), 0, A.ref(), {-1, 0, 0, 0});
  }));
}

// Three products whose operands lie side by side, among them numbers that belong to none.
template <class Space>
void multiplies_a_batch(Precision operand, Precision result) {
  Space const exec;
  LeafBlas<Space> blas(exec);
  Index const m = 9, n = 7, k = 33, count = 3;
  PaddedMatrix<Space> const A(exec, operand, m, count * k, m + 1, noise(1), 0.5),
      B(exec, operand, count * n, k, count * n, noise(2)),
      C(exec, result, m, count * (n + 1), m, noise(3));
  blas.gemm(Op::NoTrans, Op::Trans, -2, A.ref().block(0, 0, m, k), B.ref().block(0, 0, n, k), 1,
            C.ref().block(0, 0, m, n), {count, (m + 1) * k, n, m * (n + 1)});
  exec.fence();
  auto const now = C.now();
  for (Index p = 0; p < count; ++p)
    for (Index j = 0; j <= n; ++j)
      for (Index i = 0; i < m; ++i) {
        Index const col = p * (n + 1) + j;
        double expected = C(i, col), magnitude = std::abs(expected);
        for (Index q = 0; q < k && j < n; ++q) {
          double const term = 2 * A(i, p * k + q) * B(p * n + j, q);
          expected -= term, magnitude += std::abs(term);
        }
        ASSERT_LE(std::abs(now[C.position(i, col)] - expected),
                  allowed(operand, result, k, magnitude, expected));
      }
}

// stored = A B / scale for a result that has one.
template <class Space>
void divides_by_the_scale_of_the_result() {
  Space const exec;
  LeafBlas<Space> blas(exec);
  Index const m = 20, n = 12, k = 40;
  PaddedMatrix<Space> const A(exec, Precision::fp16, m, k, m, noise(1), 4),
      B(exec, Precision::fp16, k, n, k, noise(2)),
      C(exec, Precision::fp16, m, n, m + 2, noise(3), 0x1p-6);
  blas.gemm(Op::NoTrans, Op::NoTrans, 1, A.ref(), B.ref(), 0, C.ref());
  exec.fence();
  auto const now = C.now();
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < m; ++i) {
      double expected = 0, magnitude = 0;
      for (Index q = 0; q < k; ++q) {
        expected += A(i, q) * B(q, j) * 64;
        magnitude += std::abs(A(i, q) * B(q, j) * 64);
      }
      ASSERT_LE(std::abs(now[C.position(i, j)] - expected),
                allowed(Precision::fp16, Precision::fp16, k, magnitude, expected));
    }
}

// What fixed scales give is as before; on a device it is not read again while they are promised to
// stay.
template <class Space>
void takes_fixed_scales() {
  Space const exec;
  LeafBlas<Space> blas(exec);
  Index const m = 20, n = 12, k = 40;
  auto const ones = [](Index, Index) { return 1.0; };
  PaddedMatrix<Space> const A(exec, Precision::fp16, m, k, m, ones),
      B(exec, Precision::fp16, n, k, n, ones), C(exec, Precision::fp32, m, n, m, ones);
  Kokkos::View<double*, typename Space::memory_space> const scales("strata::test::scales", 2);
  auto const product = [&](double alpha, double a, double b) {
    ConstMatrixRef<typename Space::memory_space> left = A.ref(), right = B.ref();
    left.scale = scales.data(), right.scale = scales.data() + 1;
    Kokkos::deep_copy(exec, Kokkos::subview(scales, 0), a);
    Kokkos::deep_copy(exec, Kokkos::subview(scales, 1), b);
    blas.gemm(Op::NoTrans, Op::Trans, alpha, left, right, 0, C.ref());
    exec.fence();
    return C.now()[C.position(3, 5)] / static_cast<double>(k);
  };
  EXPECT_EQ(product(1, 2, 3), 6);
  blas.set_fixed_scales(scales);
  EXPECT_EQ(product(1, 4, 3), 12);
  EXPECT_EQ(product(2, 4, 3), 24);
  bool const keeps = !runs_on_host<Space> && vendor_libraries<Space>.products;
  EXPECT_EQ(product(1, 1, 1), keeps ? 12 : 1) << "against the promise";
  blas.set_fixed_scales(scales);
  EXPECT_EQ(product(1, 5, 3), 15);
  blas.set_fixed_scales({});
  EXPECT_EQ(product(1, 7, 3), 21);
}

// One and two columns, both transposes, rows that no load of 16 bytes divides.
template <class Space>
void multiplies_with_few_columns(Precision matrix, Precision vector) {
  Space const exec;
  LeafBlas<Space> blas(exec);
  for (Index const rows : {128, 300, 2049})
    for (Index const padding : {0, 3})
      for (Op const op : {Op::NoTrans, Op::Trans}) {
        Index const cols = 70;
        Index const m = op == Op::NoTrans ? rows : cols, k = op == Op::NoTrans ? cols : rows;
        PaddedMatrix<Space> const A(exec, matrix, rows, cols, (rows + 15) / 16 * 16 + padding,
                                    noise(1), 8),
            B(exec, vector, k, 2, k + 1, noise(2)), C(exec, vector, m, 2, m + 2, noise(3));
        blas.gemm(op, Op::NoTrans, -0.5, A.ref(), B.ref(), 1, C.ref());
        exec.fence();
        auto const now = C.now();
        for (Index j = 0; j < 2; ++j)
          for (Index i = 0; i < m; ++i) {
            double expected = C(i, j), magnitude = std::abs(expected);
            for (Index q = 0; q < k; ++q) {
              double const term = 0.5 * A(i, q, op) * B(q, j);
              expected -= term, magnitude += std::abs(term);
            }
            ASSERT_LE(std::abs(now[C.position(i, j)] - expected),
                      allowed(vector, vector, k, magnitude, expected))
                << rows << " " << padding << ": " << i;
          }
        EXPECT_TRUE(C.kept([](Index, Index) { return true; }));
      }
}

template <class Space>
class PotrfInvertOn : public testing::Test {};
TYPED_TEST_SUITE(PotrfInvertOn, Spaces, SpaceNames);

TYPED_TEST(PotrfInvertOn, FactorsAndInvertsLeavesOfAnySize) {
  for (Precision const precision : {Precision::fp64, Precision::fp32})
    for (Index const n : {1, 7, 8, 9, 63, 64, 65, 127, 128, 129, 200, 300})
      factors_and_inverts<TypeParam>(BlasPath::Automatic, precision, n);
}
TYPED_TEST(PotrfInvertOn, PathsAgree) {
  factors_and_inverts<TypeParam>(BlasPath::Portable, Precision::fp32, 200);
  factors_and_inverts<TypeParam>(BlasPath::Portable, Precision::fp64, 130);
}
TYPED_TEST(PotrfInvertOn, AnEmptyLeafIsNoWork) {
  LeafBlas<TypeParam> blas{TypeParam()};
  MatrixRef<typename TypeParam::memory_space> const none;
  Number<TypeParam> const largest("strata::test::largest");
  Kokkos::deep_copy(largest, 5.0);
  blas.potrf_invert(none, none, 0, Info<TypeParam>("strata::test::info"), largest.data());
  EXPECT_EQ(value_of<TypeParam>(largest), 0);
}
TYPED_TEST(PotrfInvertOn, TheLargestMagnitudeIsThatOfFiniteNumbers) {
  for (Index const order : {9, 70, 200}) {
    LeafBlas<TypeParam> blas{TypeParam()};
    Index const n = 200;
    auto const symmetric = positive_definite(n);
    auto const element = [&](Index i, Index j) {
      return i == j && i == order - 1 ? not_a_number : symmetric(i, j);
    };
    PaddedMatrix<TypeParam> const A(TypeParam(), Precision::fp32, n, n, n, element),
        X(TypeParam(), Precision::fp32, n, n, n, noise(1));
    Number<TypeParam> const largest("strata::test::largest");
    blas.potrf_invert(A.ref(), X.ref(), 0, Info<TypeParam>("strata::test::info"), largest.data());
    double most = 0;
    auto const inverse = X.now();
    for (double const x : inverse)
      if (std::isfinite(x)) most = std::max(most, std::abs(x));
    EXPECT_EQ(value_of<TypeParam>(largest), most) << order;
  }
}
TYPED_TEST(PotrfInvertOn, FindsTheFirstMinorThatIsNotPositive) {
  for (Precision const precision : {Precision::fp64, Precision::fp32})
    for (Index const order : {1, 8, 9, 64, 65, 100, 128, 129, 150})
      for (double const pivot : {-1.0, not_a_number, static_cast<double>(INFINITY)})
        finds_the_minor<TypeParam>(precision, 150, order, pivot);
}
TYPED_TEST(PotrfInvertOn, RefusesWhatItCannotDo) { refuses_what_it_cannot_do<TypeParam>(); }
TYPED_TEST(PotrfInvertOn, MultipliesABatch) {
  multiplies_a_batch<TypeParam>(Precision::fp64, Precision::fp64);
  multiplies_a_batch<TypeParam>(Precision::fp32, Precision::fp32);
  multiplies_a_batch<TypeParam>(Precision::fp16, Precision::fp32);
  multiplies_a_batch<TypeParam>(Precision::fp8_e4m3, Precision::fp32);
}
TYPED_TEST(PotrfInvertOn, DividesByTheScaleOfTheResult) {
  divides_by_the_scale_of_the_result<TypeParam>();
}
TYPED_TEST(PotrfInvertOn, TakesFixedScales) { takes_fixed_scales<TypeParam>(); }
TYPED_TEST(PotrfInvertOn, MultipliesWithFewColumns) {
  for (Precision const matrix :
       {Precision::fp64, Precision::fp32, Precision::fp16, Precision::bf16, Precision::fp8_e4m3})
    for (Precision const vector : {Precision::fp64, Precision::fp32})
      multiplies_with_few_columns<TypeParam>(matrix, vector);
}
TYPED_TEST(PotrfInvertOn, HasAnUrgentInstanceOfItsOwn) {
  LeafBlas<TypeParam> blas{TypeParam()};
  LeafBlas<TypeParam>& urgent = blas.urgent();
  EXPECT_EQ(&urgent, &blas.urgent());
  bool const on_host = std::is_same_v<typename TypeParam::memory_space, Kokkos::HostSpace>;
  EXPECT_EQ(urgent.exec() == blas.exec(), on_host);
}

}  // namespace
}  // namespace strata::test
