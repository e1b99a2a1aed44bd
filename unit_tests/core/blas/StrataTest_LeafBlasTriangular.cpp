// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// trsm and potrf on every path, by their residuals.
#include "StrataTest_LeafBlas.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"

#include <gtest/gtest.h>

namespace strata::test {
namespace {

using reference::apply;

// A well-conditioned triangle; the other one is NaN, and so is the diagonal if it must not be read.
HostMatrix random_triangle(std::int64_t n, Uplo uplo, Diag diag) {
  HostMatrix const values = reference::random(n, n, 1);
  return reference::generate(n, n, [&](auto i, auto j) {
    if (i == j) return diag == Diag::Unit ? nan_value : 1.5 + values(i, i) / 4;
    return reference::in_triangle(uplo, i, j) ? values(i, j) / static_cast<double>(n) : nan_value;
  });
}

template <class Space>
void check_trsm(LeafBlas<Space>& blas, Types const& types, Side side, Uplo uplo, Op op, Diag diag,
                std::int64_t m, std::int64_t n, double alpha) {
  SCOPED_TRACE(testing::Message() << side << uplo << op << diag << ' ' << m << " x " << n);
  std::int64_t const order = side == Side::Left ? m : n;
  StoredMatrix<Space> const A(random_triangle(order, uplo, diag), types.a, 1, types.scale_a);
  StoredMatrix<Space> const B(reference::random(m, n, 2), types.c, 2);
  auto const a = apply(op, reference::triangle(uplo, diag, A.read())), b = B.read();
  blas.trsm(side, uplo, op, diag, alpha, A.ref(), B.ref());

  // |alpha B - op(A) X| <= bound |op(A)| |X|
  auto const x = B.read();
  bool const left = side == Side::Left;
  auto const product = [&](HostMatrix const& p, HostMatrix const& q) {
    return left ? reference::gemm(1, p, q, 0, b) : reference::gemm(1, q, p, 0, b);
  };
  auto const expected = reference::generate(m, n, [&](auto i, auto j) { return alpha * b(i, j); });
  Types const own{types.a, types.c, types.c};
  EXPECT_TRUE(is_close(product(a, x), expected, product(reference::abs(a), reference::abs(x)),
                       {order, own.accumulator(), types.c}));
  EXPECT_TRUE(B.padding_is_untouched());
}

// The 16 cases for one mix of types, the extents rotating.
template <class Space>
void check_trsm_cases(LeafBlas<Space>& blas, Types const& types) {
  constexpr std::int64_t extents[] = {1, 7, 16, 33, 65, 129};
  std::size_t next = 0;
  for (Side const side : {Side::Left, Side::Right})
    for (Uplo const uplo : both_uplos)
      for (Op const op : both_ops)
        for (Diag const diag : {Diag::NonUnit, Diag::Unit}) {
          for (int repeat = 0; repeat < 3; ++repeat, ++next)
            check_trsm(blas, types, side, uplo, op, diag, extents[next % 6], extents[next / 6 % 6],
                       next % 2 ? 1 : -0.5);
          check_trsm(blas, types, side, uplo, op, diag, 129, 65, 1);
          check_trsm(blas, types, side, uplo, op, diag, 0, 3, 1);
          check_trsm(blas, types, side, uplo, op, diag, 3, 0, 1);
        }
}

constexpr Types trsm_types[] = {
    {fp64, fp64, fp64}, {fp32, fp32, fp32}, {fp16, fp16, fp16},         {bf16, fp32, fp32, 5},
    {fp32, bf16, bf16}, {fp64, fp16, fp16}, {fp8_e4m3, fp16, fp16, -3}, {fp32, fp64, fp64, 2}};

template <class Space>
void trsm_on_all_paths() {
  for (BlasPath const path : all_paths) {
    LeafBlas<Space> blas(Space(), path);
    for (Types const& types : trsm_types) {
      SCOPED_TRACE(testing::Message() << path << ", " << types);
      if (has_path<Space>(path, types.uniform() && !is_device<Space>)) {
        check_trsm_cases(blas, types);
      } else if (!types.uniform()) {
        EXPECT_TRUE(throws_with<ValueError>("path has no such operation", [&] {
          check_trsm(blas, types, Side::Left, Uplo::Lower, Op::NoTrans, Diag::Unit, 2, 2, 1);
        }));
      }
    }
  }
}

// Orders beyond one block of a widened operand.
template <class Space>
void trsm_of_several_blocks() {
  LeafBlas<Space> blas{Space()};
  check_trsm(blas, {fp64, fp16, fp16, 1}, Side::Left, Uplo::Lower, Op::NoTrans, Diag::NonUnit, 2820,
             1, 1);
  check_trsm(blas, {bf16, fp64, fp64, 1}, Side::Right, Uplo::Upper, Op::Trans, Diag::Unit, 1, 2820,
             -1);
}

// A = L L^T of a random L: well conditioned, with NaN in the triangle that must not be read.
HostMatrix random_spd(std::int64_t n, Uplo uplo) {
  auto const l = reference::triangle(Uplo::Lower, Diag::NonUnit,
                                     random_triangle(n, Uplo::Lower, Diag::NonUnit));
  auto const a = reference::gemm(1, l, apply(Op::Trans, l), 0, l);
  return reference::generate(n, n, [&](auto i, auto j) {
    return reference::in_triangle(uplo, i, j) ? a(i, j) : nan_value;
  });
}

template <class Space>
typename LeafBlas<Space>::InfoView make_info(std::int64_t value) {
  typename LeafBlas<Space>::InfoView const info("strata::test::info");
  Kokkos::deep_copy(Space(), info, value);
  return info;
}

template <class InfoView>
std::int64_t read(InfoView const& info) {
  Kokkos::fence("strata::test::read");
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), info)();
}

template <class Space>
void check_potrf(LeafBlas<Space>& blas, Precision precision, Uplo uplo, std::int64_t n) {
  SCOPED_TRACE(testing::Message() << precision << ' ' << uplo << ' ' << n);
  StoredMatrix<Space> const A(random_spd(n, uplo), precision, 2);
  auto const a = A.read();
  auto const info = make_info<Space>(0);
  blas.potrf(uplo, A.ref(), 0, info);
  ASSERT_EQ(read(info), 0);

  auto const factor = A.read();
  auto const triangle = reference::triangle(uplo, Diag::NonUnit, factor);
  auto const l = apply(uplo == Uplo::Lower ? Op::NoTrans : Op::Trans, triangle);
  auto const lt = apply(Op::Trans, l);
  Precision const accumulator = precision == fp64 ? fp64 : fp32;
  EXPECT_TRUE(is_close(reference::gemm(1, l, lt, 0, a), a,
                       reference::gemm(1, reference::abs(l), reference::abs(lt), 0, a),
                       {n, accumulator, precision},
                       [&](auto i, auto j) { return reference::in_triangle(uplo, i, j); }));
  EXPECT_TRUE(is_nan(factor, [&](auto i, auto j) { return !reference::in_triangle(uplo, i, j); }));
  EXPECT_TRUE(A.padding_is_untouched());
}

constexpr BlasPath potrf_paths[] = {BlasPath::Automatic, BlasPath::Vendor, BlasPath::Portable};

template <class Space>
void potrf_on_all_paths() {
  for (BlasPath const path : potrf_paths) {
    if (!has_path<Space>(path, false)) continue;
    SCOPED_TRACE(path);
    LeafBlas<Space> blas(Space(), path);
    for (Precision const precision : {fp64, fp32, fp16, bf16, fp8_e4m3})
      for (Uplo const uplo : both_uplos)
        for (std::int64_t const n : {0, 1, 7, 16, 33, 65, 129})
          check_potrf(blas, precision, uplo, n);
  }
}

// A matrix whose leading minor of order j + 1 is the first that isn't positive, by the value of its
// pivot.
template <class Space>
void check_breakdown(LeafBlas<Space>& blas, Precision precision, Uplo uplo, std::int64_t n,
                     std::int64_t j, double pivot) {
  SCOPED_TRACE(testing::Message() << precision << ' ' << uplo << ' ' << n << ", pivot " << pivot
                                  << " at " << j);
  HostMatrix const a = random_spd(n, uplo);
  a(j, j) = pivot;
  StoredMatrix<Space> const A(a, precision, 2);
  auto const info = make_info<Space>(0);
  blas.potrf(uplo, A.ref(), 1000, info);
  EXPECT_EQ(read(info), 1000 + j + 1);
}

template <class Space>
void potrf_reports_breakdown() {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (BlasPath const path : potrf_paths) {
    if (!has_path<Space>(path, false)) continue;
    SCOPED_TRACE(path);
    LeafBlas<Space> blas(Space(), path);
    for (Precision const precision : {fp64, fp32, fp16})
      for (Uplo const uplo : both_uplos) {
        for (double const pivot : {0.0, -1.0, nan_value, infinity})
          for (std::int64_t const j : {0, 1, 31, 32, 33, 64, 69})
            check_breakdown(blas, precision, uplo, 70, j, pivot);
        for (std::int64_t j = 0; j < 7; ++j) check_breakdown(blas, precision, uplo, 7, j, -0.5);
        check_breakdown(blas, precision, uplo, 1, 0, nan_value);
      }
  }
}

template <class Space>
void potrf_keeps_an_earlier_breakdown() {
  for (BlasPath const path : potrf_paths) {
    if (!has_path<Space>(path, false)) continue;
    LeafBlas<Space> blas(Space(), path);
    for (Precision const precision : {fp64, fp16}) {
      HostMatrix const a = random_spd(40, Uplo::Lower);
      a(35, 35) = -1;
      StoredMatrix<Space> const A(a, precision);
      auto const info = make_info<Space>(17);
      blas.potrf(Uplo::Lower, A.ref(), 1000, info);
      EXPECT_EQ(read(info), 17) << path;
    }
  }
}

// |B - L L^T X| <= bound |L| |L^T| |X|, for the few columns that a device solves for at once and
// for more.
template <class Space>
void check_potrs(Precision precision, std::int64_t n, std::int64_t cols) {
  SCOPED_TRACE(testing::Message() << precision << ' ' << n << " x " << cols);
  Space const exec;
  LeafBlas<Space> blas(exec);
  StoredMatrix<Space> const A(random_triangle(n, Uplo::Lower, Diag::NonUnit), precision, 1),
      B(reference::random(n, cols, 2), precision, 2);
  auto const l = reference::triangle(Uplo::Lower, Diag::NonUnit, A.read()), b = B.read();
  blas.potrs(A.ref(), B.ref());
  exec.fence("strata::test::potrs");
  auto const x = B.read();
  auto const product = [&](HostMatrix const& triangle, HostMatrix const& of) {
    HostMatrix const transposed = reference::apply(Op::Trans, triangle);
    return reference::gemm(1, triangle, reference::gemm(1, transposed, of, 0, b), 0, b);
  };
  EXPECT_TRUE(is_close(product(l, x), b, product(reference::abs(l), reference::abs(x)),
                       {n, precision, precision}));
  EXPECT_TRUE(B.padding_is_untouched());
}

template <class Space>
class LeafBlasTriangular : public testing::Test {};
TYPED_TEST_SUITE(LeafBlasTriangular, Spaces, SpaceNames);

TYPED_TEST(LeafBlasTriangular, TrsmSolvesAllSixteenCasesOnAllPaths) {
  trsm_on_all_paths<TypeParam>();
}
TYPED_TEST(LeafBlasTriangular, TrsmOfSeveralBlocksSolves) { trsm_of_several_blocks<TypeParam>(); }
TYPED_TEST(LeafBlasTriangular, PotrsSolvesWithATriangleAndItsTransposed) {
  for (Precision const precision : {fp64, fp32})
    for (std::int64_t const n : {1, 63, 64, 65, 200})
      for (std::int64_t const cols : {0, 1, 4, 5}) check_potrs<TypeParam>(precision, n, cols);
}
TYPED_TEST(LeafBlasTriangular, PotrfFactorsOnAllPathsAndTypes) { potrf_on_all_paths<TypeParam>(); }
TYPED_TEST(LeafBlasTriangular, PotrfReportsTheOrderOfTheFirstBadMinor) {
  potrf_reports_breakdown<TypeParam>();
}
TYPED_TEST(LeafBlasTriangular, PotrfKeepsAnEarlierBreakdown) {
  potrf_keeps_an_earlier_breakdown<TypeParam>();
}

}  // namespace
}  // namespace strata::test
