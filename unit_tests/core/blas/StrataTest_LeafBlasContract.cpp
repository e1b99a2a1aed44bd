// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What LeafBlas promises beside the numbers: errors, instances, workspace.
#include "StrataTest_LeafBlas.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace strata::test {
namespace {

template <class Space>
StoredMatrix<Space> stored(std::int64_t m, std::int64_t n, Precision precision = fp64,
                           std::optional<int> scale = {}) {
  return {reference::random(m, n, 1), precision, 0, scale};
}

// Each call throws ShapeError with all extents and leaves the result as it was.
template <class Space>
void shape_errors() {
  LeafBlas<Space> blas{Space()};
  auto const A = stored<Space>(4, 3), B = stored<Space>(5, 2), C = stored<Space>(4, 2);
  auto const S = stored<Space>(4, 4);
  typename LeafBlas<Space>::InfoView const info("strata::test::info");
  auto const before = C.read();
  constexpr Op N = Op::NoTrans, T = Op::Trans;

  EXPECT_TRUE(
      throws_with<ShapeError>("gemm: extents don't fit: A is 4 x 3 (ld 4, fp64), B is 5 x 2 (ld 5, "
                              "fp64), C is 4 x 2 (ld 4, fp64)",
                              [&] { blas.gemm(N, N, 1, A.ref(), B.ref(), 0, C.ref()); }));
  EXPECT_TRUE(
      throws_with<ShapeError>("gemm", [&] { blas.gemm(T, T, 1, A.ref(), C.ref(), 0, S.ref()); }));
  EXPECT_TRUE(throws_with<ShapeError>("syrk: extents don't fit: A is 4 x 3",
                                      [&] { blas.syrk(Uplo::Lower, T, 1, A.ref(), 0, S.ref()); }));
  EXPECT_TRUE(
      throws_with<ShapeError>("syrk", [&] { blas.syrk(Uplo::Lower, N, 1, A.ref(), 0, C.ref()); }));
  EXPECT_TRUE(throws_with<ShapeError>("potrs: extents don't fit: A is 4 x 3",
                                      [&] { blas.potrs(A.ref(), C.ref()); }));
  EXPECT_TRUE(throws_with<ShapeError>("trsm: extents don't fit: A is 4 x 3", [&] {
    blas.trsm(Side::Left, Uplo::Lower, N, Diag::Unit, 1, A.ref(), C.ref());
  }));
  EXPECT_TRUE(throws_with<ShapeError>("B is 4 x 2", [&] {
    blas.trsm(Side::Right, Uplo::Lower, N, Diag::Unit, 1, S.ref(), C.ref());
  }));
  EXPECT_TRUE(throws_with<ShapeError>("potrf: extents don't fit: A is 4 x 2",
                                      [&] { blas.potrf(Uplo::Lower, C.ref(), 0, info); }));
  EXPECT_TRUE(throws_with<ShapeError>(
      "symm: extents don't fit", [&] { blas.symm(Uplo::Lower, 1, S.ref(), B.ref(), 0, C.ref()); }));
  EXPECT_TRUE(throws_with<ShapeError>("convert: extents don't fit: A is 4 x 3",
                                      [&] { blas.convert(T, A.ref(), C.ref()); }));

  auto short_ld = C.ref();
  short_ld.ld = 3;
  EXPECT_TRUE(
      throws_with<ShapeError>("ld >= max(1, rows)", [&] { blas.convert(N, C.ref(), short_ld); }));
  EXPECT_TRUE(throws_with<ShapeError>("C is 4 x 2 (ld 3, fp64)",
                                      [&] { blas.gemm(N, N, 1, S.ref(), C.ref(), 0, short_ld); }));
  auto negative = A.ref();
  negative.rows = negative.cols = -1;
  EXPECT_TRUE(
      throws_with<ShapeError>("-1 x -1", [&] { blas.potrf(Uplo::Upper, negative, 0, info); }));
  auto missing = C.ref();
  missing.data = nullptr;
  EXPECT_TRUE(throws_with<ShapeError>("not null", [&] { blas.convert(N, C.ref(), missing); }));

  EXPECT_TRUE(is_close(C.read(), before, reference::abs(before), {0, fp64, fp64}));
}

template <class Space>
void scaled_results_are_refused() {
  LeafBlas<Space> blas{Space()};
  auto const A = stored<Space>(3, 3), scaled = stored<Space>(3, 3, fp16, 2);
  typename LeafBlas<Space>::InfoView const info("strata::test::info");
  auto const refused = [](auto const& call) {
    return throws_with<ShapeError>("is 3 x 3 (ld 3, fp16, scaled)", call);
  };
  constexpr Op N = Op::NoTrans;
  EXPECT_TRUE(refused([&] { blas.syrk(Uplo::Lower, N, 1, A.ref(), 0, scaled.ref()); }));
  EXPECT_TRUE(refused(
      [&] { blas.trsm(Side::Left, Uplo::Lower, N, Diag::Unit, 1, A.ref(), scaled.ref()); }));
  EXPECT_TRUE(refused([&] { blas.potrf(Uplo::Lower, scaled.ref(), 0, info); }));
  EXPECT_TRUE(refused([&] { blas.symm(Uplo::Lower, 1, A.ref(), A.ref(), 0, scaled.ref()); }));
}

// Two halves of a space at once, each with its own workspace, and an object that was moved.
template <class Space>
void runs_on_other_instances() {
  STRATATEST_NEEDS_INSTANCES(Space, 2);
  auto const halves = Kokkos::Experimental::partition_space(Space(), 1, 1);
  auto const A = stored<Space>(65, 33, fp16), B = stored<Space>(33, 17, fp16);
  auto const expected = reference::gemm(1, A.read(), B.read(), 0, HostMatrix());
  auto const magnitude =
      reference::gemm(1, reference::abs(A.read()), reference::abs(B.read()), 0, HostMatrix());
  auto const C0 = stored<Space>(65, 17), C1 = stored<Space>(65, 17, fp16);
  LeafBlas<Space> blas0(halves[0]), blas1(halves[1]);
  LeafBlas<Space> moved = std::move(blas0);
  EXPECT_TRUE(moved.exec() == halves[0]);
  moved.gemm(Op::NoTrans, Op::NoTrans, 1, A.ref(), B.ref(), 0, C0.ref());
  blas1.gemm(Op::NoTrans, Op::NoTrans, 1, A.ref(), B.ref(), 0, C1.ref());
  EXPECT_TRUE(is_close(C0.read(), expected, magnitude, {33, fp32, fp64}));
  EXPECT_TRUE(is_close(C1.read(), expected, magnitude, {33, fp32, fp16}));
}

template <class Space>
void too_large_a_reserve_is_a_memory_error() {
  LeafBlas<Space> blas{Space()};
  blas.reserve(1 << 20);
  EXPECT_TRUE(throws_with<MemoryError>("1125899906842624 bytes",
                                       [&] { blas.reserve(std::size_t{1} << 50); }));
  auto const A = stored<Space>(17, 17, fp16), C = stored<Space>(17, 17, fp16);
  blas.gemm(Op::NoTrans, Op::NoTrans, 1, A.ref(), A.ref(), 0, C.ref());  // still usable
  auto const a = A.read();
  EXPECT_TRUE(is_close(C.read(), reference::gemm(1, a, a, 0, a),
                       reference::gemm(1, reference::abs(a), reference::abs(a), 0, a),
                       {17, fp32, fp16}));
}

template <class Space>
void scratch_is_kept_and_grows() {
  LeafBlas<Space> blas{Space()};
  std::byte* const first = blas.scratch(0, 1000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0u);
  EXPECT_EQ(blas.scratch(0, 10), first);
  EXPECT_NE(blas.scratch(7, 1000), first);
  EXPECT_NE(blas.scratch(0, 1 << 20), nullptr);
  blas.release_scratch();
  EXPECT_NE(blas.scratch(0, 1 << 10), nullptr);
  EXPECT_TRUE(throws_with<MemoryError>("1125899906842624 bytes",
                                       [&] { (void)blas.scratch(1, std::size_t{1} << 50); }));
  EXPECT_TRUE(throws_with<ValueError>("scratch: slot 8, must be 0 to 7",
                                      [&] { (void)blas.scratch(8, 1); }));
}

// A block of which a product is more than the workspace holds at once, and a solve in several
// chunks.
template <class Space>
void products_in_several_panels() {
  LeafBlas<Space> blas{Space()};
  StoredMatrix<Space> const A(reference::random(3, 9000, 1), bf16, 1);
  StoredMatrix<Space> const B(reference::random(2, 9000, 2), bf16);
  auto const C = stored<Space>(3, 2, bf16);
  auto const a = A.read(), b = reference::apply(Op::Trans, B.read()), c = C.read();
  blas.gemm(Op::NoTrans, Op::Trans, 0.5, A.ref(), B.ref(), 2, C.ref());
  EXPECT_TRUE(
      is_close(C.read(), reference::gemm(0.5, a, b, 2, c),
               reference::gemm(0.5, reference::abs(a), reference::abs(b), 2, reference::abs(c)),
               {9000, fp32, bf16}));
}

template <class Space>
class LeafBlasContract : public testing::Test {};
TYPED_TEST_SUITE(LeafBlasContract, Spaces, SpaceNames);

TYPED_TEST(LeafBlasContract, ExtentsThatDoNotFitAreShapeErrors) { shape_errors<TypeParam>(); }
TYPED_TEST(LeafBlasContract, ScaledResultsAreRefused) { scaled_results_are_refused<TypeParam>(); }
TYPED_TEST(LeafBlasContract, RunsOnTheInstanceItWasMadeFor) {
  runs_on_other_instances<TypeParam>();
}
TYPED_TEST(LeafBlasContract, ScratchIsKeptAndGrows) { scratch_is_kept_and_grows<TypeParam>(); }
TYPED_TEST(LeafBlasContract, TooLargeAReserveIsAMemoryError) {
  too_large_a_reserve_is_a_memory_error<TypeParam>();
}
TYPED_TEST(LeafBlasContract, ProductsInSeveralPanelsEqualTheReference) {
  products_in_several_panels<TypeParam>();
}

}  // namespace
}  // namespace strata::test
