// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The vendor path alone, against sums in double: all operations and types that a library has.
#include "StrataTest_Spaces.hpp"
#include "core/blas/StrataTest_PaddedMatrix.hpp"
#include "core/blas/vendor/StrataTest_Fp8Units.hpp"
#include <core/Strata_Backends.hpp>
#include <core/blas/basics/vendor/Strata_VendorBlas.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

namespace {

using namespace strata;
using namespace strata::test;

constexpr Op ops[] = {Op::NoTrans, Op::Trans};
constexpr Uplo uplos[] = {Uplo::Lower, Uplo::Upper};
constexpr Precision fp64_type = Precision::fp64, fp32_type = Precision::fp32;

// Whether the build must have a library that does the operation: a refusal is then a failure.
template <class Space>
constexpr bool has_blas() {
  return vendor_libraries<Space>.products;
}
template <class Space>
constexpr bool has_potrf() {
  return vendor_libraries<Space>.factorisation;
}

// cuBLAS and rocBLAS multiply 16-bit types on any device, FP8 on those that have units for it.
template <class Space>
bool has_gemm(Space const& exec, Precision a) {
  if (is_arithmetic(a)) return has_blas<Space>();
  if (std::is_same_v<typename Space::memory_space, Kokkos::HostSpace>) return false;
  return has_blas<Space>() && (traits(a).bytes == 2 || multiplies(exec, a));
}

struct Product {
  Op op_a = Op::NoTrans, op_b = Op::NoTrans;
  Precision a = fp64_type, b = fp64_type, c = fp64_type;
  Index m = 33, n = 65, k = 129, padding = 3;
  double alpha = -0.75, beta = 0.5, scale_a = 0, scale_b = 0;
};

// C = alpha op(A) op(B) + beta C, element by element; C is NaN at first if beta is 0.
template <class Space>
void check_gemm(Space const& exec, vendor::Blas<Space>& blas, Product const& p) {
  bool const flip_a = p.op_a == Op::Trans, flip_b = p.op_b == Op::Trans;
  Index const rows_a = flip_a ? p.k : p.m, rows_b = flip_b ? p.n : p.k;
  PaddedMatrix<Space> const A(exec, p.a, rows_a, flip_a ? p.m : p.k, rows_a + p.padding, noise(1),
                              p.scale_a);
  PaddedMatrix<Space> const B(exec, p.b, rows_b, flip_b ? p.k : p.n, rows_b + p.padding, noise(2),
                              p.scale_b);
  Element start = noise(3);
  if (p.beta == 0) start = [](Index, Index) { return not_a_number; };
  PaddedMatrix<Space> const C(exec, p.c, p.m, p.n, p.m + p.padding, start);
  auto const trace = testing::Message()
                     << traits(p.a).name << " x " << traits(p.b).name << " -> " << traits(p.c).name
                     << ", ops " << flip_a << flip_b << ", " << p.m << " x " << p.n << " x " << p.k
                     << ", beta " << p.beta << ", scales " << p.scale_a << ", " << p.scale_b;
  SCOPED_TRACE(trace);
  if (!blas.gemm(p.op_a, p.op_b, p.alpha, A.ref(), B.ref(), p.beta, C.ref())) {
    EXPECT_FALSE(has_gemm(exec, p.a));
    EXPECT_TRUE(C.kept([](Index, Index) { return false; }));
    return;
  }
  EXPECT_TRUE(C.kept([](Index, Index) { return true; }));
  std::vector<double> const result = C.now();
  for (Index j = 0; j < p.n; ++j)
    for (Index i = 0; i < p.m; ++i) {
      double sum = 0, magnitudes = 0;
      for (Index l = 0; l < p.k; ++l) {
        sum += A(i, l, p.op_a) * B(l, j, p.op_b);
        magnitudes += std::abs(A(i, l, p.op_a) * B(l, j, p.op_b));
      }
      double const old = p.beta == 0 ? 0 : p.beta * C(i, j);
      double const expected = p.alpha * sum + old;
      ASSERT_NEAR(result[C.position(i, j)], expected,
                  allowed(p.a, p.c, p.k, std::abs(p.alpha) * magnitudes + std::abs(old), expected))
          << "at " << i << ", " << j;
    }
}

// All transpositions of one combination of types; without and with scales and old values.
template <class Space>
void check_gemm_types(Precision a, Precision b, Precision c) {
  STRATATEST_NEEDS_INSTANCES(Space, 2);
  auto const instances = Kokkos::Experimental::partition_space(Space(), 1, 1);
  Space const exec = instances[1];
  vendor::Blas<Space> blas(exec);
  for (Op const op_a : ops)
    for (Op const op_b : ops) {
      Product product{.op_a = op_a, .op_b = op_b, .a = a, .b = b, .c = c};
      check_gemm(exec, blas, product);
      product.beta = 0;
      check_gemm(exec, blas, product);
      product.scale_a = 0.125, product.scale_b = 16;
      check_gemm(exec, blas, product);
      product.beta = 1, product.scale_a = 0, product.alpha = 1;
      check_gemm(exec, blas, product);
      product.m = 64, product.n = 48, product.k = 96, product.padding = 16;
      check_gemm(exec, blas, product);
      product.m = product.n = product.k = 1, product.padding = 0;
      check_gemm(exec, blas, product);
    }
}

template <class Space>
void check_syrk(Precision precision, double scale, double beta) {
  Space const exec;
  vendor::Blas<Space> blas(exec);
  Index const n = 65, k = 129;
  double const alpha = -0.75;
  for (Uplo const uplo : uplos)
    for (Op const op : ops) {
      Index const rows = op == Op::NoTrans ? n : k;
      PaddedMatrix<Space> const A(exec, precision, rows, n + k - rows, rows + 2, noise(1), scale);
      PaddedMatrix<Space> const C(exec, precision, n, n, n + 1, noise(2));
      bool const done = blas.syrk(uplo, op, alpha, A.ref(), beta, C.ref());
      ASSERT_TRUE(done || !has_blas<Space>());
      EXPECT_TRUE(C.kept([&](Index i, Index j) { return done && in_triangle(uplo, i, j); }));
      std::vector<double> const result = C.now();
      for (Index j = 0; done && j < n; ++j)
        for (Index i = 0; i < n; ++i) {
          if (!in_triangle(uplo, i, j)) continue;
          double sum = 0, magnitudes = 0;
          for (Index l = 0; l < k; ++l) {
            sum += A(i, l, op) * A(j, l, op);
            magnitudes += std::abs(A(i, l, op) * A(j, l, op));
          }
          double const expected = alpha * sum + beta * C(i, j);
          ASSERT_NEAR(result[C.position(i, j)], expected,
                      allowed(precision, precision, k, magnitudes + std::abs(C(i, j)), expected));
        }
    }
}

struct Triangular {
  Side side;
  Uplo uplo;
  Op op;
  Diag diag;
};

// The residual of op(A) X = alpha B or X op(A) = alpha B, element by element.
template <class Space>
void check_trsm(vendor::Blas<Space>& blas, Precision precision, Triangular const& t, double scale) {
  Space const exec;
  Index const m = 33, n = 65, order = t.side == Side::Left ? m : n;
  double const alpha = -0.75;
  auto const stored = [&, random = noise(1)](Index i, Index j) mutable {
    double const value = random(i, j);
    if (i == j) return t.diag == Diag::Unit ? not_a_number : 1.5 + value / 2;
    return in_triangle(t.uplo, i, j) ? value / 8 : not_a_number;
  };
  PaddedMatrix<Space> const A(exec, precision, order, order, order + 3, stored, scale);
  PaddedMatrix<Space> const B(exec, precision, m, n, m + 5, noise(2));
  bool const done = blas.trsm(t.side, t.uplo, t.op, t.diag, alpha, A.ref(), B.ref());
  bool const half_scaled = scale != 0 && t.diag == Diag::Unit;
  EXPECT_EQ(done, has_blas<Space>() && !half_scaled);
  EXPECT_TRUE(B.kept([&](Index, Index) { return done; }));
  if (!done) return;
  std::vector<double> const X = B.now();
  Uplo const uplo = t.op == Op::NoTrans ? t.uplo : transposed(t.uplo);  // of op(A)
  auto const a = [&](Index i, Index j) {
    if (i == j && t.diag == Diag::Unit) return 1.0;
    return in_triangle(uplo, i, j) ? A(i, j, t.op) : 0.0;
  };
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < m; ++i) {
      double sum = 0, magnitudes = std::abs(alpha * B(i, j));
      for (Index l = 0; l < order; ++l) {
        double const term =
            t.side == Side::Left ? a(i, l) * X[B.position(l, j)] : X[B.position(i, l)] * a(l, j);
        sum += term, magnitudes += std::abs(term);
      }
      ASSERT_NEAR(sum, alpha * B(i, j), 4 * allowed(precision, precision, order, magnitudes, 0));
    }
}

template <class Space>
void check_trsm_types(Precision precision) {
  vendor::Blas<Space> blas{Space()};
  for (Side const side : {Side::Left, Side::Right})
    for (Uplo const uplo : uplos)
      for (Op const op : ops)
        for (Diag const diag : {Diag::NonUnit, Diag::Unit})
          for (double const scale : {0.0, 0.25})
            check_trsm<Space>(blas, precision, {side, uplo, op, diag}, scale);
}

template <class Space>
void check_symm(Precision precision, Index columns, double scale_a, double scale_b, double beta) {
  Space const exec;
  vendor::Blas<Space> blas(exec);
  Index const n = 65;
  double const alpha = 0.75;
  for (Uplo const uplo : uplos) {
    auto const stored = [&, random = noise(1)](Index i, Index j) mutable {
      double const value = random(i, j);
      return in_triangle(uplo, i, j) ? value : not_a_number;
    };
    PaddedMatrix<Space> const A(exec, precision, n, n, n + 3, stored, scale_a);
    PaddedMatrix<Space> const B(exec, precision, n, columns, n + 1, noise(2), scale_b);
    Element start = noise(3);
    if (beta == 0) start = [](Index, Index) { return not_a_number; };
    PaddedMatrix<Space> const C(exec, precision, n, columns, n + 2, start);
    bool const done = blas.symm(uplo, alpha, A.ref(), B.ref(), beta, C.ref());
    ASSERT_EQ(done, has_blas<Space>());
    EXPECT_TRUE(C.kept([&](Index, Index) { return done; }));
    std::vector<double> const result = C.now();
    for (Index j = 0; done && j < columns; ++j)
      for (Index i = 0; i < n; ++i) {
        double sum = 0, magnitudes = 0;
        for (Index l = 0; l < n; ++l) {
          sum += A.symmetric(uplo, i, l) * B(l, j);
          magnitudes += std::abs(A.symmetric(uplo, i, l) * B(l, j));
        }
        double const old = beta == 0 ? 0 : beta * C(i, j);
        ASSERT_NEAR(
            result[C.position(i, j)], alpha * sum + old,
            allowed(precision, precision, n, magnitudes + std::abs(old), alpha * sum + old));
      }
  }
}

constexpr Index spd_order = 129;

// An exponential covariance with a nugget, one of its elements (and its mirror image) replaced.
Element spd(Uplo uplo, Index row = -1, Index col = -1, double value = 0) {
  return [=](Index i, Index j) {
    if ((i == row && j == col) || (i == col && j == row)) return value;
    double const covariance = std::exp(-std::abs(static_cast<double>(i - j)) / 3);
    return in_triangle(uplo, i, j) ? covariance + (i == j) : not_a_number;
  };
}

template <class Space>
using InfoView = typename vendor::Blas<Space>::InfoView;

// *info after the factorisation, if the library has it.
template <class Space>
Index info_of(Uplo uplo, Precision precision, Element const& element, Index before) {
  Space const exec;
  vendor::Blas<Space> blas(exec);
  PaddedMatrix<Space> const A(exec, precision, spd_order, spd_order, spd_order + 2, element);
  InfoView<Space> const info(Kokkos::view_alloc(exec, "strata::test::info"));
  Kokkos::deep_copy(exec, info, before);
  EXPECT_TRUE(blas.potrf(uplo, A.ref(), 1000, info));
  Index after = 0;
  Kokkos::deep_copy(exec, after, info);
  exec.fence();
  return after;
}

template <class Space>
void check_factor(Uplo uplo, Precision precision) {
  Space const exec;
  vendor::Blas<Space> blas(exec);
  Index const n = spd_order;
  PaddedMatrix<Space> const A(exec, precision, n, n, n + 2, spd(uplo));
  InfoView<Space> const info(Kokkos::view_alloc(exec, "strata::test::info"));
  bool const done = blas.potrf(uplo, A.ref(), 1000, info);
  ASSERT_EQ(done, has_potrf<Space>());
  EXPECT_TRUE(A.kept([&](Index i, Index j) { return done && in_triangle(uplo, i, j); }));
  if (!done) return;
  Index order = -1;
  Kokkos::deep_copy(exec, order, info);
  exec.fence();
  EXPECT_EQ(order, 0);
  std::vector<double> const factor = A.now();
  auto const l = [&](Index i, Index j) {
    return factor[uplo == Uplo::Lower ? A.position(i, j) : A.position(j, i)];
  };
  for (Index j = 0; j < n; ++j)
    for (Index i = j; i < n; ++i) {
      double sum = 0, magnitudes = 0;
      for (Index k = 0; k <= j; ++k) {
        sum += l(i, k) * l(j, k);
        magnitudes += std::abs(l(i, k) * l(j, k));
      }
      ASSERT_NEAR(sum, A.symmetric(uplo, i, j), allowed(precision, precision, n, magnitudes, 0));
    }
}

template <class Space>
void check_breakdown(Precision precision) {
  for (Uplo const uplo : uplos) {
    for (Index const j : {0, 1, 31, 32, 63, 64, 100, 128})
      for (double const value : {-1.0, 0.0, not_a_number})
        EXPECT_EQ(info_of<Space>(uplo, precision, spd(uplo, j, j, value), 0), 1000 + j + 1)
            << value;
    // A number that isn't one, off the diagonal: the first minor that holds it.
    EXPECT_EQ(info_of<Space>(uplo, precision, spd(uplo, 70, 20, not_a_number), 0), 1000 + 71);
    EXPECT_EQ(info_of<Space>(uplo, precision, spd(uplo, 70, 20, HUGE_VAL), 0), 1000 + 71);
    EXPECT_EQ(info_of<Space>(uplo, precision, spd(uplo, 40, 40, HUGE_VAL), 0), 1000 + 41);
    EXPECT_EQ(info_of<Space>(uplo, precision, spd(uplo, 40, 40, -1), 17), 17);
    EXPECT_EQ(info_of<Space>(uplo, precision, spd(uplo), 17), 17);
  }
}

template <class Space>
void check_repeats(Precision operand, Precision result) {
  Space const exec;
  vendor::Blas<Space> blas(exec);
  PaddedMatrix<Space> const A(exec, operand, 200, 1000, 208, noise(1)),
      B(exec, operand, 1000, 200, 1008, noise(2));
  std::vector<double> first;
  for (int run = 0; run < 5; ++run) {
    PaddedMatrix<Space> const C(exec, result, 200, 200, 208, noise(3));
    if (!blas.gemm(Op::NoTrans, Op::NoTrans, 1, A.ref(), B.ref(), 1, C.ref())) return;
    std::vector<double> const now = C.now();
    if (run == 0) first = now;
    ASSERT_EQ(std::memcmp(first.data(), now.data(), now.size() * sizeof(double)), 0)
        << "run " << run;
  }
}

template <class Space>
class VendorBlas : public testing::Test {};
TYPED_TEST_SUITE(VendorBlas, strata::test::Spaces, strata::test::SpaceNames);

TYPED_TEST(VendorBlas, MultipliesInOneType) {
  check_gemm_types<TypeParam>(fp64_type, fp64_type, fp64_type);
  check_gemm_types<TypeParam>(fp32_type, fp32_type, fp32_type);
}

TYPED_TEST(VendorBlas, SumsHalvesInSinglePrecision) {
  for (Precision const half : {Precision::fp16, Precision::bf16}) {
    check_gemm_types<TypeParam>(half, half, fp32_type);
    check_gemm_types<TypeParam>(half, half, half);
  }
}

TYPED_TEST(VendorBlas, MultipliesFp8) {
  for (Precision const result : {fp32_type, fp64_type, Precision::fp16, Precision::fp8_e4m3}) {
    check_gemm_types<TypeParam>(Precision::fp8_e4m3, Precision::fp8_e4m3, result);
    check_gemm_types<TypeParam>(Precision::fp8_e4m3, Precision::fp8_e5m2, result);
    check_gemm_types<TypeParam>(Precision::fp8_e5m2, Precision::fp8_e4m3, result);
  }
  check_gemm_types<TypeParam>(Precision::fp8_e4m3fnuz, Precision::fp8_e4m3fnuz, fp32_type);
  check_gemm_types<TypeParam>(Precision::fp8_e5m2fnuz, Precision::fp8_e4m3fnuz, fp32_type);
}

// Blocks of 1e109 or 1e-109, in whose products fp32 would overflow or vanish before they reach an
// fp64 result.
TYPED_TEST(VendorBlas, MultipliesFp8WithScalesBeyondSinglePrecision) {
  TypeParam const exec;
  vendor::Blas<TypeParam> blas(exec);
  for (int const exponent : {362, -362}) {
    Product product{.a = Precision::fp8_e4m3, .b = Precision::fp8_e4m3, .c = fp64_type};
    product.beta = 0;
    product.scale_a = std::ldexp(1.0, exponent), product.scale_b = 16;
    check_gemm(exec, blas, product);
  }
}

TYPED_TEST(VendorBlas, RepeatsBitByBit) {
  check_repeats<TypeParam>(fp64_type, fp64_type);
  check_repeats<TypeParam>(fp32_type, fp32_type);
  check_repeats<TypeParam>(Precision::fp16, fp32_type);
  check_repeats<TypeParam>(Precision::bf16, Precision::bf16);
  check_repeats<TypeParam>(Precision::fp8_e4m3, fp32_type);
}

TYPED_TEST(VendorBlas, UpdatesOneTriangle) {
  for (Precision const precision : {fp64_type, fp32_type}) {
    check_syrk<TypeParam>(precision, 0, 0.5);
    check_syrk<TypeParam>(precision, 0.25, 0.5);
    check_syrk<TypeParam>(precision, 4, 0);
  }
}

TYPED_TEST(VendorBlas, SolvesTriangularSystems) {
  check_trsm_types<TypeParam>(fp64_type);
  check_trsm_types<TypeParam>(fp32_type);
}

TYPED_TEST(VendorBlas, MultipliesByASymmetricMatrix) {
  for (Precision const precision : {fp64_type, fp32_type})
    for (Index const columns : {1, 7}) {
      check_symm<TypeParam>(precision, columns, 0, 0, 0.5);
      check_symm<TypeParam>(precision, columns, 0, 0, 0);
      check_symm<TypeParam>(precision, columns, 0.25, 8, 0);
      check_symm<TypeParam>(precision, columns, 0, 0.5, 1);
    }
}

TYPED_TEST(VendorBlas, FactorsAnSpdMatrix) {
  for (Uplo const uplo : uplos) {
    check_factor<TypeParam>(uplo, fp64_type);
    check_factor<TypeParam>(uplo, fp32_type);
  }
}

TYPED_TEST(VendorBlas, ReportsTheFirstBadMinor) {
  if (!has_potrf<TypeParam>()) GTEST_SKIP() << "the build has no POTRF of a vendor";
  check_breakdown<TypeParam>(fp64_type);
  check_breakdown<TypeParam>(fp32_type);
}

TYPED_TEST(VendorBlas, RefusesWhatTheLibraryLacks) {
  TypeParam const exec;
  vendor::Blas<TypeParam> blas(exec);
  auto const make = [&](Precision precision) {
    return PaddedMatrix<TypeParam>(exec, precision, 8, 8, 8, noise(1));
  };
  auto const wide = make(fp64_type), single = make(fp32_type), half = make(Precision::fp16);
  auto const nothing = [](Index, Index) { return false; };
  EXPECT_FALSE(blas.gemm(Op::NoTrans, Op::NoTrans, 1, wide.ref(), single.ref(), 1, wide.ref()));
  EXPECT_FALSE(blas.gemm(Op::NoTrans, Op::NoTrans, 1, half.ref(), single.ref(), 1, single.ref()));
  EXPECT_FALSE(
      blas.gemm(Op::NoTrans, Op::NoTrans, 1e300, single.ref(), single.ref(), 1, single.ref()));
  EXPECT_FALSE(blas.syrk(Uplo::Lower, Op::NoTrans, 1, half.ref(), 1, single.ref()));
  EXPECT_FALSE(
      blas.trsm(Side::Left, Uplo::Lower, Op::NoTrans, Diag::NonUnit, 1, wide.ref(), single.ref()));
  EXPECT_FALSE(blas.symm(Uplo::Lower, 1, wide.ref(), single.ref(), 1, single.ref()));
  EXPECT_FALSE(blas.potrf(Uplo::Lower, half.ref(), 0,
                          InfoView<TypeParam>(Kokkos::view_alloc(exec, "strata::test::info"))));
  for (auto const* matrix : {&wide, &single, &half}) EXPECT_TRUE(matrix->kept(nothing));
}

}  // namespace
