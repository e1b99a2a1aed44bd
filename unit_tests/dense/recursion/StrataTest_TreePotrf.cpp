// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include "dense/StrataTest_Dense.hpp"
#include <dense/recursion/Strata_TreePotrf.hpp>
#include <dense/recursion/Strata_TreeSyrk.hpp>
#include <dense/recursion/Strata_TreeTrsm.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;

using Deep16 = Layers<fp16, fp16, fp16, fp32>;
constexpr double c = 10;  // errors are held to c n eps

/// A positive definite matrix with a graded spectrum; its strictly upper triangle is NaN.
HostMatrix spd(std::int64_t n, double condition = 100) {
  GeneratorOptions options;
  options.condition = condition;
  HostMatrix const A = n == 0 ? HostMatrix("strata::test::empty", 0, 0)
                              : generate(MatrixKind::Geometric, n, options);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < j; ++i) A(i, j) = nan_value;
  return A;
}

HostMatrix transpose(HostMatrix const& A) {
  HostMatrix const T("strata::test::transpose", A.extent(1), A.extent(0));
  for (std::size_t j = 0; j < A.extent(1); ++j)
    for (std::size_t i = 0; i < A.extent(0); ++i) T(j, i) = A(i, j);
  return T;
}

HostMatrix copy(HostMatrix const& A) {
  HostMatrix const B("strata::test::copy", A.extent(0), A.extent(1));
  Kokkos::deep_copy(B, A);
  return B;
}

template <class Space>
class TreePotrfOn : public testing::Test {};
TYPED_TEST_SUITE(TreePotrfOn, Spaces, SpaceNames);

template <class LayersT, class Space, class Layout>
HostMatrix factor(HostMatrix const& A, std::int64_t leaf, std::int64_t& order,
                  Uplo uplo = Uplo::Lower) {
  auto const device = on_device<Space, Layout>(A, 3);
  order = tree_potrf<LayersT>(Space(), uplo, device, leaf).order();
  return on_host(device);
}

TYPED_TEST(TreePotrfOn, AgreesWithTheSlowReferenceForAnySizeAndLeaf) {
  for (std::int64_t const n : {0, 1, 2, 15, 16, 17, 33, 130}) {
    HostMatrix const A = spd(n);
    HostMatrix const L = copy(A);
    ASSERT_EQ(reference_cholesky(L), 0);
    for (std::int64_t const leaf : {1, 5, 16, 64, 200}) {
      std::int64_t order = -1;
      HostMatrix const lower = factor<Layers<fp64>, TypeParam, Kokkos::LayoutLeft>(A, leaf, order);
      ASSERT_EQ(order, 0) << n << " " << leaf;
      double const bound = c * static_cast<double>(n) * 100 * 0x1p-53;  // times the condition
      ASSERT_LE(triangle_difference(lower, L), bound) << n << " " << leaf;
      HostMatrix const right = factor<Layers<fp64>, TypeParam, Kokkos::LayoutRight>(A, leaf, order);
      ASSERT_LE(triangle_difference(right, L), bound);
      HostMatrix const upper = factor<Layers<fp64>, TypeParam, Kokkos::LayoutLeft>(
          transpose(A), leaf, order, Uplo::Upper);
      ASSERT_LE(triangle_difference(transpose(upper), L), bound);
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < j; ++i)
          ASSERT_TRUE(std::isnan(lower(i, j)) && std::isnan(upper(j, i)));
    }
  }
}

TYPED_TEST(TreePotrfOn, FactorsAThousandAndNineColumns) {
  HostMatrix const A = spd(1009);
  for (std::int64_t const leaf : {1, 100, 1009}) {
    std::int64_t order = -1;
    HostMatrix const L = factor<Layers<fp64>, TypeParam, Kokkos::LayoutLeft>(A, leaf, order);
    ASSERT_EQ(order, 0);
    EXPECT_LE(factor_error(A, L), c * 1009 * 0x1p-53);
  }
}

template <class LayersT, class Space>
double layered_error(HostMatrix const& A, std::int64_t leaf) {
  std::int64_t order = -1;
  HostMatrix const L = factor<LayersT, Space, Kokkos::LayoutLeft>(A, leaf, order);
  EXPECT_EQ(order, 0);
  return factor_error(A, L);
}

// The off-diagonal blocks are rounded once, the sums are fp32 or wider: the error is a few
// roundoffs of the layer.
TYPED_TEST(TreePotrfOn, ErrorIsThatOfTheLayersNotOfTheirNumber) {
  HostMatrix const A = spd(300, 10);
  double const leaf64 = layered_error<Layers<fp64>, TypeParam>(A, 20),
               fp32s = layered_error<Layers<fp32>, TypeParam>(A, 20);
  EXPECT_LE(leaf64, c * 0x1p-53);
  EXPECT_LE(fp32s, c * 0x1p-24);
  EXPECT_GT(fp32s, 0x1p-53);
  EXPECT_LE((layered_error<Layers<fp32, fp64>, TypeParam>(A, 20)), c * 0x1p-24);
  EXPECT_LE((layered_error<Layers<fp16, fp32, fp64>, TypeParam>(A, 20)), 2 * 0x1p-11);
  EXPECT_LE((layered_error<Deep16, TypeParam>(A, 20)), 2 * 0x1p-11);
  EXPECT_LE((layered_error<Layers<fp16>, TypeParam>(A, 20)), 2 * 0x1p-11);
  EXPECT_LE((layered_error<Layers<bf16, bf16, fp32>, TypeParam>(A, 20)), 2 * 0x1p-8);
  EXPECT_LE((layered_error<Layers<fp8_e4m3, fp16, fp32>, TypeParam>(A, 20)), 2 * 0x1p-4);
  EXPECT_LE((layered_error<Layers<fp8_e5m2, fp16, fp32>, TypeParam>(A, 20)), 2 * 0x1p-3);
}

TYPED_TEST(TreePotrfOn, ReportsTheGlobalOrderOfTheFirstMinorThatIsNotPositive) {
  std::int64_t const n = 50, leaf = 8;
  for (std::int64_t const order : {1, 2, 7, 8, 9, 12, 16, 17, 24, 25, 33, 49, 50}) {
    HostMatrix const A = spd(n);
    HostMatrix const L = copy(A);
    ASSERT_EQ(reference_cholesky(L), 0);
    A(order - 1, order - 1) -= 1.5 * L(order - 1, order - 1) * L(order - 1, order - 1);
    std::int64_t found = -1;
    HostMatrix const left = factor<Layers<fp64>, TypeParam, Kokkos::LayoutLeft>(A, leaf, found);
    EXPECT_EQ(found, order);
    EXPECT_EQ(triangle_difference(left, A), 0);  // A is as it was
    (void)factor<Deep16, TypeParam, Kokkos::LayoutRight>(A, leaf, found);
    EXPECT_EQ(found, order) << "fp16 layers";
  }
}

TYPED_TEST(TreePotrfOn, NeverPassesNanOrInfAsSuccess) {
  std::int64_t const n = 21;
  for (double const poison :
       {nan_value, static_cast<double>(INFINITY), -static_cast<double>(INFINITY)}) {
    for (std::int64_t i = 0; i < n; i += 2) {
      for (std::int64_t j = 0; j <= i; j += 3) {
        HostMatrix const A = spd(n);
        A(i, j) = poison;
        std::int64_t found = 0;
        (void)factor<Layers<fp64>, TypeParam, Kokkos::LayoutLeft>(A, 4, found);
        EXPECT_TRUE(found >= 1 && found <= n) << i << " " << j;
        (void)factor<Deep16, TypeParam, Kokkos::LayoutLeft>(A, 4, found);
        EXPECT_TRUE(found >= 1 && found <= n) << i << " " << j;
      }
    }
  }
}

/// X of op(L) X = alpha B or X op(L) = alpha B, by substitution into the definition.
double trsm_residual(Side side, Op op, Diag diag, double alpha, HostMatrix const& T,
                     HostMatrix const& X, HostMatrix const& B) {
  double largest = 0;
  std::int64_t const n = static_cast<std::int64_t>(T.extent(0));
  auto const t = [&](std::int64_t i, std::int64_t j) {
    if (op == Op::Trans) std::swap(i, j);
    if (std::isnan(T(i, j))) return 0.0;  // the other triangle
    return i == j && diag == Diag::Unit ? 1.0 : T(i, j);
  };
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(B.extent(0)); ++i) {
    for (std::int64_t j = 0; j < static_cast<std::int64_t>(B.extent(1)); ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < n; ++k)
        sum += side == Side::Left ? t(i, k) * X(k, j) : X(i, k) * t(k, j);
      double const residual = std::abs(sum - alpha * B(i, j));
      if (!(residual <= largest)) largest = residual;
    }
  }
  return largest;
}

template <class LayersT, class Space, class TriangleLayout, class Layout>
void check_trsm(double bound) {
  for (std::int64_t const n : {1, 8, 21}) {
    HostMatrix const L = random_triangle(n, 3), U = transpose(L);
    for (Side const side : {Side::Left, Side::Right}) {
      HostMatrix const B = side == Side::Left ? random_matrix(n, 6, 4) : random_matrix(6, n, 4);
      for (Uplo const uplo : {Uplo::Lower, Uplo::Upper}) {
        for (Op const op : {Op::NoTrans, Op::Trans}) {
          for (Diag const diag : {Diag::NonUnit, Diag::Unit}) {
            HostMatrix const T = uplo == Uplo::Lower ? L : U;
            auto const triangle = on_device<Space, TriangleLayout>(T, 2);
            auto const X = on_device<Space, Layout>(B, 1);
            tree_trsm<LayersT>(Space(), side, uplo, op, diag, -1.5, triangle, X, 4);
            EXPECT_LE(trsm_residual(side, op, diag, -1.5, T, on_host(X), B), bound)
                << n << " " << int(side) << int(uplo) << int(op) << int(diag);
          }
        }
      }
    }
  }
}

TYPED_TEST(TreePotrfOn, TrsmSolvesForAllSidesTrianglesTransposesAndLayouts) {
  double const bound = c * 21 * 0x1p-53 * 4;
  check_trsm<Layers<fp64>, TypeParam, Kokkos::LayoutLeft, Kokkos::LayoutLeft>(bound);
  check_trsm<Layers<fp64>, TypeParam, Kokkos::LayoutRight, Kokkos::LayoutLeft>(bound);
  check_trsm<Layers<fp64>, TypeParam, Kokkos::LayoutLeft, Kokkos::LayoutRight>(bound);
  check_trsm<Layers<fp64>, TypeParam, Kokkos::LayoutRight, Kokkos::LayoutRight>(bound);
  check_trsm<Deep16, TypeParam, Kokkos::LayoutLeft, Kokkos::LayoutLeft>(4 * 0x1p-11);
}

/// Largest error of X relative to the rounding of its layer: L X = B, solved in layers and in fp64.
template <class LayersT, class Space>
double layered_trsm_error(Diag diag, HostMatrix const& L, HostMatrix const& B) {
  auto const triangle = on_device<Space>(L, 2);
  auto const X = on_device<Space>(B), exact = on_device<Space>(B);
  tree_trsm<LayersT>(Space(), Side::Left, Uplo::Lower, Op::NoTrans, diag, 1, triangle, X, 8);
  tree_trsm<Layers<fp64>>(Space(), Side::Left, Uplo::Lower, Op::NoTrans, diag, 1, triangle, exact,
                          8);
  return largest_difference(on_host(X), on_host(exact));
}

// What stands on a diagonal of ones is not read: no block's scale, inverse or sum may depend on it.
TYPED_TEST(TreePotrfOn, TrsmDoesNotReadAUnitDiagonal) {
  std::int64_t const n = 60;
  double const infinity = std::numeric_limits<double>::infinity();
  for (double const garbage : {1e25, 1e300, nan_value, infinity, 0.0, 4.9e-324}) {
    for (double const size : {1.0, 1e-6}) {
      HostMatrix const L = random_triangle(n, 3), B = random_matrix(n, 4, 4);
      for (std::int64_t j = 0; j < n; ++j) {
        L(j, j) = garbage;
        for (std::int64_t i = j + 1; i < n; ++i) L(i, j) *= size;
      }
      auto const error16 = layered_trsm_error<Deep16, TypeParam>(Diag::Unit, L, B);
      auto const error8 = layered_trsm_error<Layers<fp8_e4m3>, TypeParam>(Diag::Unit, L, B);
      EXPECT_LE(error16, 2 * 0x1p-11 * size) << garbage;
      EXPECT_LE(error8, 0.5 * 0x1p-4 * size) << garbage;
    }
  }
}

// The scale of a block follows from its finite numbers: the others stay visible where they are.
TYPED_TEST(TreePotrfOn, ANumberThatIsNotFiniteSpoilsItsOwnColumnOrRowAlone) {
  std::int64_t const n = 40;
  for (double const poison : {nan_value, std::numeric_limits<double>::infinity()}) {
    HostMatrix const L = random_triangle(n, 3), B = random_matrix(n, 3, 4);
    for (std::int64_t j = 0; j < 3; ++j)
      for (std::int64_t i = 0; i < n; ++i) B(i, j) *= 1e-12;
    auto const triangle = on_device<TypeParam>(L);
    auto const exact = on_device<TypeParam>(B);
    tree_trsm<Layers<fp64>>(TypeParam(), Side::Left, Uplo::Lower, Op::NoTrans, Diag::NonUnit, 1,
                            triangle, exact, 4);
    B(2, 1) = poison;
    auto const device = on_device<TypeParam>(B);
    tree_trsm<Deep16>(TypeParam(), Side::Left, Uplo::Lower, Op::NoTrans, Diag::NonUnit, 1, triangle,
                      device, 4);
    HostMatrix const X = on_host(device), expected = on_host(exact);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t const j : {0, 2})
        ASSERT_NEAR(X(i, j), expected(i, j), 4 * 0x1p-11 * 1e-12) << poison << " " << i << " " << j;
    EXPECT_FALSE(std::isfinite(X(n - 1, 1)));

    HostMatrix const A = transpose(B), C = random_matrix(n, n, 6);  // 3 x n
    auto const result = on_device<TypeParam>(C);
    tree_syrk<Deep16>(TypeParam(), Uplo::Lower, Op::Trans, 1e24, on_device<TypeParam>(A), 0, result,
                      4);
    HostMatrix const found = on_host(result);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = j; i < n; ++i) {
        if (i == 2 || j == 2) {
          ASSERT_FALSE(std::isfinite(found(i, j))) << i << " " << j;
          continue;
        }
        double sum = 0;
        for (std::int64_t k = 0; k < 3; ++k) sum += A(k, i) * A(k, j) * 1e24;
        ASSERT_NEAR(found(i, j), sum, 8 * 0x1p-11) << i << " " << j;
      }
  }
}

TYPED_TEST(TreePotrfOn, TrsmHasRelativeAccuracyFarFromOne) {
  HostMatrix const L = random_triangle(40, 3);
  for (double const size : {1e-290, 1e-280, 1e280, 1e300}) {
    HostMatrix const B = random_matrix(40, 3, 4);
    for (std::int64_t j = 0; j < 3; ++j)
      for (std::int64_t i = 0; i < 40; ++i) B(i, j) *= size;
    auto const error = layered_trsm_error<Layers<fp16>, TypeParam>(Diag::NonUnit, L, B);
    EXPECT_LE(error, 4 * 0x1p-11 * size) << size;
  }
}

TYPED_TEST(TreePotrfOn, TrsmWithAlphaZeroLooksAtNothing) {
  HostMatrix const L = random_matrix(20, 20, 3), B = random_matrix(20, 3, 4);
  Kokkos::deep_copy(L, nan_value);
  Kokkos::deep_copy(B, nan_value);
  auto const X = on_device<TypeParam>(B);
  tree_trsm<Deep16>(TypeParam(), Side::Left, Uplo::Lower, Op::NoTrans, Diag::NonUnit, 0,
                    on_device<TypeParam>(L), X, 4);
  HostMatrix const zeros("strata::test::zeros", 20, 3);
  EXPECT_EQ(largest_difference(on_host(X), zeros), 0);
}

template <class LayersT, class Space, class Layout, class ResultLayout>
void check_syrk(double bound) {
  for (std::int64_t const n : {1, 9, 30}) {
    for (std::int64_t const k : {0, 1, 13}) {
      for (Uplo const uplo : {Uplo::Lower, Uplo::Upper}) {
        for (Op const op : {Op::NoTrans, Op::Trans}) {
          HostMatrix const A = op == Op::NoTrans ? random_matrix(n, k, 5) : random_matrix(k, n, 5);
          HostMatrix const C = random_matrix(n, n, 6);
          auto const operand = on_device<Space, Layout>(A, 1);
          auto const result = on_device<Space, ResultLayout>(C, 2);
          tree_syrk<LayersT>(Space(), uplo, op, 0.5, operand, -2, result, 4);
          HostMatrix const found = on_host(result);
          for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t j = 0; j < n; ++j) {
              bool const inside = uplo == Uplo::Lower ? i >= j : i <= j;
              double expected = inside ? -2 * C(i, j) : C(i, j);
              for (std::int64_t l = 0; inside && l < k; ++l)
                expected += 0.5 * (op == Op::NoTrans ? A(i, l) * A(j, l) : A(l, i) * A(l, j));
              ASSERT_NEAR(found(i, j), expected, inside ? bound : 0)
                  << n << " " << k << " " << i << " " << j;
            }
          }
        }
      }
    }
  }
}

TYPED_TEST(TreePotrfOn, SyrkUpdatesOneTriangleForAllShapesAndLayouts) {
  check_syrk<Layers<fp64>, TypeParam, Kokkos::LayoutLeft, Kokkos::LayoutLeft>(c * 13 * 0x1p-53);
  check_syrk<Layers<fp64>, TypeParam, Kokkos::LayoutRight, Kokkos::LayoutRight>(c * 13 * 0x1p-53);
  check_syrk<Deep16, TypeParam, Kokkos::LayoutLeft, Kokkos::LayoutLeft>(13 * 0x1p-11);
}

template <class Function>
std::string message_of(Function const& f) {
  try {
    f();
  } catch (Error const& error) {
    return error.what();
  }
  return "no error";
}

TYPED_TEST(TreePotrfOn, SaysWhatIsWrong) {
  TypeParam const exec;
  auto const wide = on_device<TypeParam>(random_matrix(4, 5, 1)),
             square = on_device<TypeParam>(spd(4));
  EXPECT_EQ(message_of([&] { (void)tree_potrf<Deep16>(exec, Uplo::Lower, wide, 2); }),
            "BlockTree::load: A is 4 x 5, the tree of order 4");
  EXPECT_EQ(message_of([&] {
              tree_trsm<Deep16>(exec, Side::Left, Uplo::Lower, Op::NoTrans, Diag::NonUnit, 1,
                                square, on_device<TypeParam>(random_matrix(5, 4, 1)), 2);
            }),
            "tree_trsm: B is 5 x 4, L on its left has order 4");
  EXPECT_EQ(
      message_of([&] { tree_syrk<Deep16>(exec, Uplo::Lower, Op::Trans, 1, wide, 0, square, 2); }),
      "tree_syrk: C is 4 x 4, op(A) is 5 x 4");
  EXPECT_EQ(
      message_of([&] { tree_syrk<Deep16>(exec, Uplo::Lower, Op::NoTrans, 1, wide, 0, square, 0); }),
      "tree_syrk: the leaf size is 0, must be >= 1");
  LeafBlas<TypeParam> blas(exec);
  auto scaled = matrix_ref(square);
  Kokkos::View<double, typename TypeParam::memory_space> const scale("strata::test::scale");
  scaled.scale = scale.data();
  auto const syrk = [&](auto const& A, auto const& C) {
    return message_of([&] {
      tree_syrk(blas, LayerList{Precision::fp64}, 2, Uplo::Lower, Op::NoTrans, 1, A, 1, C);
    });
  };
  EXPECT_EQ(syrk(scaled, matrix_ref(square)),
            "tree_syrk: A is in fp64, must be unscaled fp64 or fp32");
  scaled.scale = nullptr, scaled.precision = Precision::fp16;
  EXPECT_EQ(syrk(matrix_ref(square), scaled),
            "tree_syrk: C is in fp16, must be unscaled fp64 or fp32");
  BlockTree<LayerList, TypeParam> const unloaded(exec, 4, Deep16::list(), 2);
  typename LeafBlas<TypeParam>::InfoView const info("strata::test::info");
  EXPECT_EQ(message_of([&] { tree_potrf(blas, unloaded, info); }),
            "tree_potrf: the tree of order 4 has not been loaded");
}

}  // namespace
