// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Products of fp32 matrices in tf32 and fp16_split against fp64.
#include "StrataTest_FailingAllocations.hpp"
#include "StrataTest_LeafBlas.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"

#include <gtest/gtest.h>

namespace strata::test {
namespace {

using reference::apply;
using reference::generate;

constexpr Precision formats[] = {tf32, fp16_split};
constexpr Op N = Op::NoTrans, T = Op::Trans;

struct Shape {
  std::int64_t m, n, k;
};
constexpr Shape shapes[] = {{0, 3, 2},  {3, 0, 1},   {1, 1, 1},     {5, 4, 0},   {7, 16, 33},
                            {16, 1, 9}, {65, 33, 7}, {129, 2, 130}, {33, 65, 1}, {129, 129, 129}};
struct Factors {
  double alpha, beta;
};
constexpr Factors all_factors[] = {{1, 0}, {-1, 1}, {0.5, -2}, {0, 2}};

std::vector<BlasPath> paths_of(bool has_vendor) {
  if (has_vendor) return {BlasPath::Automatic, BlasPath::Vendor, BlasPath::Portable};
  return {BlasPath::Automatic, BlasPath::Portable};
}

// `LeafBlas`: 4 unit roundoffs of the format besides the sums'; is_close doubles it.
double unit_of(Precision format) { return 2 * traits(format).unit_roundoff; }

HostMatrix old_result(std::int64_t m, std::int64_t n, double beta) {
  return beta == 0 ? generate(m, n, [](auto, auto) { return nan_value; })
                   : reference::random(m, n, 3);
}

/// C = alpha op(A) op(B) + beta C of numbers given as op(A) and op(B), and its bound element by
/// element.
template <class Space>
void check_gemm(LeafBlas<Space>& blas, Precision format, Precision result, Op op_a, Op op_b,
                HostMatrix const& left, HostMatrix const& right, Factors const& factors,
                std::optional<int> scale = {}) {
  auto const [alpha, beta] = factors;
  StoredMatrix<Space> const A(apply(op_a, left), format, 3, scale),
      B(apply(op_b, right), format, 1),
      C(old_result(reference::rows(left), reference::cols(right), beta), result, 2);
  auto const a = apply(op_a, A.read()), b = apply(op_b, B.read()), c = C.read();
  auto const magnitude = reference::gemm(std::abs(alpha), reference::abs(a), reference::abs(b),
                                         std::abs(beta), reference::abs(c));
  blas.gemm(op_a, op_b, alpha, A.ref(), B.ref(), beta, C.ref());
  EXPECT_TRUE(is_close(C.read(), reference::gemm(alpha, a, b, beta, c), magnitude,
                       {reference::cols(left), fp32, result, unit_of(format)}));
  EXPECT_TRUE(C.padding_is_untouched());
}

template <class Space>
void holds_the_bound() {
  std::size_t next = 0;
  for (BlasPath const path : paths_of(vendor_libraries<Space>.products)) {
    LeafBlas<Space> blas(Space(), path);
    for (Precision const format : formats)
      for (Precision const result : {fp32, fp64, fp16})
        for (auto const& [op_a, op_b] : {std::pair(N, N), std::pair(N, T), std::pair(T, N)})
          for (Shape const& shape : shapes) {
            SCOPED_TRACE(testing::Message()
                         << path << ", " << format << " -> " << result << ", " << op_a << op_b
                         << ", " << shape.m << " x " << shape.n << " x " << shape.k);
            check_gemm(blas, format, result, op_a, op_b, reference::random(shape.m, shape.k, 1),
                       reference::random(shape.k, shape.n, 2),
                       all_factors[next++ % std::size(all_factors)]);
          }
  }
}

// Rows of A and columns of B that differ by 30 binades, columns and rows that undo some of it, and
// numbers near the ends of fp32's range.
template <class Space>
void holds_it_on_badly_scaled_operands() {
  LeafBlas<Space> blas{Space()};
  std::int64_t const m = 61, n = 47, k = 90;
  auto const graded = [](std::int64_t i, std::int64_t of, int binades) {
    return -static_cast<int>(i * binades / (of - 1));
  };
  for (Precision const format : formats)
    for (int const lift : {0, 60, -40}) {
      SCOPED_TRACE(testing::Message() << format << ", 2^" << lift);
      auto const a = reference::random(m, k, 5), b = reference::random(k, n, 6);
      auto const rows = generate(
          m, k, [&](auto i, auto p) { return std::ldexp(a(i, p), lift + graded(i, m, 29)); });
      auto const cols = generate(
          k, n, [&](auto p, auto j) { return std::ldexp(b(p, j), lift / -2 + graded(j, n, 29)); });
      auto const depth = generate(m, k, [&](auto i, auto p) {
        return std::ldexp(a(i, p), graded(p, k, 14) + graded(i, m, 14));
      });
      auto const against = generate(k, n, [&](auto p, auto j) {
        return std::ldexp(b(p, j), -15 - graded(p, k, 15) + graded(j, n, 14));
      });
      check_gemm(blas, format, fp32, N, T, rows, cols, {1, 0});
      check_gemm(blas, format, fp32, T, N, depth, against, {-1, 1});
      check_gemm(blas, format, fp32, N, N, rows, against, {1, 0}, 7);
    }
}

// Beyond 30 binades fp16_split is held to 2^-52 of the largest.
template <class Space>
void small_numbers_are_held_to_a_part_of_the_largest() {
  LeafBlas<Space> blas{Space()};
  std::int64_t const n = 40;
  auto const random = reference::random(n, n, 9);
  auto const wide = generate(
      n, n, [&](auto i, auto j) { return std::ldexp(random(i, j), -static_cast<int>(2 * i)); });
  auto const right = reference::random(n, n, 10);
  StoredMatrix<Space> const A(wide, fp16_split), B(right, fp16_split), C(old_result(n, n, 0), fp32);
  blas.gemm(N, N, 1, A.ref(), B.ref(), 0, C.ref());
  auto const a = A.read(), b = B.read(), c = C.read();
  auto const exact = reference::gemm(1, a, b, 0, c);
  double const unit = traits(fp16_split).unit_roundoff;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) {
      double bound = 0;
      for (std::int64_t p = 0; p < n; ++p)
        bound += (std::abs(a(i, p)) * (8 * unit + n * 0x1p-23) + 0x1p-52) * std::abs(b(p, j));
      EXPECT_LE(std::abs(c(i, j) - exact(i, j)), bound) << i << ", " << j;
    }
}

// What each format rounds shows that the product was made in it; a vendor's library may make a tiny
// one of tf32 in fp32.
template <class Space>
void product_is_made_in_the_format() {
  LeafBlas<Space> blas(Space(), BlasPath::Portable);
  auto const square = [&](double x, Precision a, Precision b) {
    auto const number = [&](auto, auto) { return x; };
    StoredMatrix<Space> const A(generate(4, 1, number), a), B(generate(1, 4, number), b),
        C(old_result(4, 4, 0), fp32);
    blas.gemm(N, N, 1, A.ref(), B.ref(), 0, C.ref());
    return C.read()(3, 2);
  };
  // Eleven bits, ties to even; a factor of 1 and one of 2 leave them as they are.
  for (double const sign : {1.0, -1.0})
    for (auto const& [x, rounded] :
         {std::pair(1 + 0x1p-11, 1.0), std::pair(1 + 0x1p-11 + 0x1p-23, 1 + 0x1p-10),
          std::pair(1 + 3 * 0x1p-11, 1 + 0x1p-9), std::pair(1 + 3 * 0x1p-11 - 0x1p-23, 1 + 0x1p-10),
          std::pair(1 + 5 * 0x1p-11, 1 + 0x1p-9), std::pair(2 - 0x1p-11, 2.0)}) {
      auto const number = [x = sign * x](auto i, auto) { return i == 0 ? x : 1.0; };
      StoredMatrix<Space> const A(generate(4, 1, number), tf32),
          B(generate(1, 4, [](auto, auto) { return 2.0; }), tf32), C(old_result(4, 4, 0), fp32);
      blas.gemm(N, N, 1, A.ref(), B.ref(), 0, C.ref());
      EXPECT_EQ(C.read()(0, 2), 2 * sign * rounded) << x;
    }
  double const coarse = 1 + 0x1p-12, fine = 1 + 3 * 0x1p-13;
  EXPECT_EQ(square(coarse, tf32, tf32), 1);
  EXPECT_EQ(square(fine, fp16_split, fp16_split),
            1 + 3 * 0x1p-12);  // without the square of 3 2^-13
  auto const exact = static_cast<double>(static_cast<float>(fine * fine));
  EXPECT_NE(exact, 1 + 3 * 0x1p-12);
  for (auto const& [a, b] : {std::pair(fp32, fp32), std::pair(tf32, fp32),
                             std::pair(fp32, fp16_split), std::pair(tf32, fp16_split)})
    EXPECT_EQ(square(fine, a, b), exact) << a << " x " << b;
}

template <class Space>
void nan_stays_in_its_row() {
  LeafBlas<Space> blas{Space()};
  for (Precision const format : formats)
    for (double const bad : {nan_value, HUGE_VAL})
      for (double const size : {1.0, 0x1p30, 0x1p-30}) {
        auto const random = reference::random(20, 30, 1);
        auto const product = [&](double entry) {
          StoredMatrix<Space> const A(
              generate(
                  20, 30,
                  [&](auto i, auto p) { return i == 7 && p == 3 ? entry : size * random(i, p); }),
              format),
              B(reference::random(30, 10, 2), format), C(old_result(20, 10, 0), fp32);
          blas.gemm(N, N, 1, A.ref(), B.ref(), 0, C.ref());
          return C.read();
        };
        auto const c = product(bad), good = product(size * random(7, 3));
        for (std::int64_t j = 0; j < 10; ++j)
          for (std::int64_t i = 0; i < 20; ++i) {
            EXPECT_EQ(std::isfinite(c(i, j)), i != 7) << format << ", " << bad << ", " << i;
            if (i != 7) {
              EXPECT_EQ(c(i, j), good(i, j)) << format << ", " << bad << ", " << i;
            }
          }
      }
}

// A library may take fp32 for a small product, but for a large one it has no excuse: 1 + 2^-12 is 1
// in tf32.
template <class Space>
void large_products_are_made_in_tf32() {
  LeafBlas<Space> blas{Space()};
  constexpr std::int64_t n = 512;
  auto const above_one = [](auto, auto) { return 1 + 0x1p-12; };
  StoredMatrix<Space> const A(generate(n, n, above_one), Precision::tf32),
      C(old_result(n, n, 0), fp32);
  blas.gemm(N, T, 1, A.ref(), A.ref(), 0, C.ref());
  auto const c = C.read();
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(c(i, j), n) << i << ", " << j;
}

// More than one block of the copies in each extent; few numbers elsewhere.
template <class Space>
void several_blocks() {
  LeafBlas<Space> blas{Space()};
  for (Precision const format : formats) {
    check_gemm(blas, format, fp32, N, T, reference::random(16390, 9, 1), reference::random(9, 3, 2),
               {1, 0});
    check_gemm(blas, format, fp32, T, N, reference::random(3, 20, 3),
               reference::random(20, 16400, 4), {-1, 1});
    check_gemm(blas, format, fp32, N, N, reference::random(30, 2053, 1),
               reference::random(2053, 40, 2), {-1, 1});
    check_gemm(blas, format, fp64, N, N, reference::random(4100, 1030, 3),
               reference::random(1030, 3, 4), {-1, 1});
  }
}

template <class Space>
void batch_is_as_its_products() {
  std::int64_t const m = 19, n = 12, k = 21, count = 5;
  for (BlasPath const path : paths_of(vendor_libraries<Space>.products)) {
    LeafBlas<Space> blas(Space(), path);
    for (Precision const format : formats)
      for (Precision const result : {fp32, fp64}) {
        StoredMatrix<Space> const A(reference::random(m, k * count, 1), format, 2),
            B(reference::random(n, k * count, 2), format, 3),
            C(reference::random(m, n * count, 3), result, 1);
        auto const before = C.read(), a = A.read(), b = B.read();
        auto const block = [](auto const& whole, std::int64_t cols) {
          return whole.block(0, 0, whole.rows, cols);
        };
        blas.gemm(N, T, -1, block(A.ref(), k), block(B.ref(), k), 1, block(C.ref(), n),
                  {count, k * A.ref().ld, k * B.ref().ld, n * C.ref().ld});
        auto const after = C.read();
        auto const part = [](HostMatrix const& whole, std::int64_t item, std::int64_t cols) {
          return generate(reference::rows(whole), cols,
                          [&](auto i, auto j) { return whole(i, item * cols + j); });
        };
        for (std::int64_t item = 0; item < count; ++item) {
          auto const left = part(a, item, k), right = apply(T, part(b, item, k)),
                     old = part(before, item, n);
          auto const magnitude = reference::gemm(1, reference::abs(left), reference::abs(right), 1,
                                                 reference::abs(old));
          EXPECT_TRUE(is_close(part(after, item, n), reference::gemm(-1, left, right, 1, old),
                               magnitude, {k, fp32, result, unit_of(format)}))
              << path << ", " << format << ", product " << item;
        }
        EXPECT_TRUE(C.padding_is_untouched());
      }
  }
}

template <class Space>
void syrk_holds_the_bound() {
  for (BlasPath const path : paths_of(vendor_libraries<Space>.products)) {
    LeafBlas<Space> blas(Space(), path);
    for (Precision const format : formats)
      for (Precision const result : {fp32, fp64})
        for (Uplo const uplo : both_uplos)
          for (Op const op : both_ops)
            for (std::int64_t const n : {0, 1, 33, 600}) {
              auto const outside = [&](auto i, auto j) {
                return !reference::in_triangle(uplo, i, j);
              };
              auto const old = reference::random(n, n, 4);
              StoredMatrix<Space> const A(apply(op, reference::random(n, 17, 1)), format, 3, 2),
                  C(generate(n, n,
                             [&](auto i, auto j) { return outside(i, j) ? nan_value : old(i, j); }),
                    result, 2);
              auto const a = apply(op, A.read()), at = apply(T, a), c = C.read();
              auto const magnitude =
                  reference::gemm(0.5, reference::abs(a), reference::abs(at), 1, reference::abs(c));
              blas.syrk(uplo, op, -0.5, A.ref(), 1, C.ref());
              auto const after = C.read();
              EXPECT_TRUE(is_close(after, reference::gemm(-0.5, a, at, 1, c), magnitude,
                                   {17, fp32, result, unit_of(format)},
                                   [&](auto i, auto j) { return !outside(i, j); }))
                  << path << ", " << format << ", " << uplo << op << n;
              EXPECT_TRUE(is_nan(after, outside));
              EXPECT_TRUE(C.padding_is_untouched());
            }
  }
}

// All but products take the numbers as fp32, to the bit.
template <class Space>
void other_operations_are_those_of_fp32() {
  LeafBlas<Space> blas{Space()};
  std::int64_t const n = 70;
  auto const random = reference::random(n, n, 1);
  auto const definite =
      generate(n, n, [&](auto i, auto j) { return random(i, j) / n + (i == j ? 2.0 : 0.0); });
  auto const run = [&](Precision format) {
    typename LeafBlas<Space>::InfoView const info("strata::test::info");
    StoredMatrix<Space> const A(definite, format), L(definite, format), inverse(random, format),
        X(random, format), Y(random, format), Z(random, format);
    blas.potrf(Uplo::Lower, A.ref(), 0, info);
    blas.potrf_invert(L.ref(), inverse.ref(), 0, info);
    blas.trsm(Side::Right, Uplo::Lower, T, Diag::NonUnit, 2, A.ref(), X.ref());
    blas.symm(Uplo::Lower, 1, A.ref(), X.ref(), 1, Y.ref());
    blas.convert(T, Y.ref(), Z.ref());
    return std::array{A.read(), L.read(), inverse.read(), X.read(), Y.read(), Z.read()};
  };
  auto const expected = run(fp32);
  for (Precision const format : formats) {
    auto const actual = run(format);
    for (std::size_t k = 0; k < expected.size(); ++k)
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(actual[k](i, j), expected[k](i, j)) << k;
  }
}

// `reserve_product` leaves nothing to allocate; paths without products say so.
template <class Space>
void workspace_and_errors() {
  LeafBlas<Space> blas{Space()};
  EXPECT_TRUE(throws_with<ShapeError>("reserve_product: extents are 2, -1 and 3",
                                      [&] { blas.reserve_product(tf32, 2, -1, 3); }));
  for (Precision const format : formats) {
    blas.reserve_product(format, 300, 200, 100);
    FailingAllocations const none("strata::core::workspace", [] { return true; });
    StoredMatrix<Space> const A(reference::random(300, 100, 1), format),
        B(reference::random(200, 100, 2), format), C(old_result(300, 200, 0), fp32);
    auto const half = [](auto const& M, std::int64_t rows, std::int64_t cols) {
      return M.block(0, 0, rows, cols);
    };
    EXPECT_NO_THROW(blas.gemm(N, T, 1, half(A.ref(), 150, 100), half(B.ref(), 100, 100), 0,
                              half(C.ref(), 150, 100), {2, 150, 100, 150 + 100 * 300}));
  }
  LeafBlas<Space> kernels(Space(), BlasPath::KokkosKernels);
  StoredMatrix<Space> const A(reference::random(5, 5, 1), tf32), C(old_result(5, 5, 0), fp32);
  EXPECT_TRUE(throws_with<ValueError>("the Kokkos Kernels path has no such operation", [&] {
    kernels.gemm(N, N, 1, A.ref(), A.ref(), 0, C.ref());
  }));
  EXPECT_TRUE(throws_with<ValueError>("a matrix of tf32 was asked for as fp16",
                                      [&] { (void)A.ref().in_format(fp16); }));
}

template <class Space>
class ProductFormats : public testing::Test {};
TYPED_TEST_SUITE(ProductFormats, Spaces, SpaceNames);

TYPED_TEST(ProductFormats, GemmHoldsTheFormatsErrorBound) { holds_the_bound<TypeParam>(); }
TYPED_TEST(ProductFormats, GemmHoldsItOnBadlyScaledOperands) {
  holds_it_on_badly_scaled_operands<TypeParam>();
}
TYPED_TEST(ProductFormats, SmallNumbersAreHeldToAPartOfTheLargest) {
  small_numbers_are_held_to_a_part_of_the_largest<TypeParam>();
}
TYPED_TEST(ProductFormats, ProductIsMadeInTheFormatOfBothOperands) {
  product_is_made_in_the_format<TypeParam>();
}
TYPED_TEST(ProductFormats, NotANumberStaysInItsRow) { nan_stays_in_its_row<TypeParam>(); }
TYPED_TEST(ProductFormats, LargeProductsAreMadeInTf32) {
  large_products_are_made_in_tf32<TypeParam>();
}
TYPED_TEST(ProductFormats, GemmOfSeveralBlocksHoldsTheBound) { several_blocks<TypeParam>(); }
TYPED_TEST(ProductFormats, BatchIsAsItsProducts) { batch_is_as_its_products<TypeParam>(); }
TYPED_TEST(ProductFormats, SyrkHoldsTheBoundInItsTriangle) { syrk_holds_the_bound<TypeParam>(); }
TYPED_TEST(ProductFormats, OtherOperationsAreThoseOfSinglePrecision) {
  other_operations_are_those_of_fp32<TypeParam>();
}
TYPED_TEST(ProductFormats, WorkspaceIsReservedAndOtherPathsRefuse) {
  workspace_and_errors<TypeParam>();
}

}  // namespace
}  // namespace strata::test
