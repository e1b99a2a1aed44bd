// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "dense/StrataTest_Dense.hpp"
#include <dense/tree/Strata_InPlace.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <type_traits>

// LAPACK's potrf and potrs, in the matrix' own precision; both triangles of all sizes are tested
// through c/.

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;

template <class Space>
class InPlaceOn : public testing::Test {};
TYPED_TEST_SUITE(InPlaceOn, Spaces, SpaceNames);

template <class Space, class T, class Layout>
using Matrix = Kokkos::View<T**, Layout, typename Space::memory_space>;

template <class Space, class T, class Layout>
Matrix<Space, T, Layout> rounded(HostMatrix const& A) {
  Matrix<Space, T, Layout> const result("strata::test::A", A.extent(0), A.extent(1));
  auto const host = Kokkos::create_mirror_view(result);
  for (std::size_t j = 0; j < A.extent(1); ++j)
    for (std::size_t i = 0; i < A.extent(0); ++i) host(i, j) = static_cast<T>(A(i, j));
  Kokkos::deep_copy(result, host);
  return result;
}

// The triangle that is not A's holds NaN before and after.
template <class Space, class T, class Layout>
void factors_a_view(Uplo uplo, std::int64_t leaf) {
  std::int64_t const n = 67;
  HostMatrix const A = generate(MatrixKind::Geometric, n, {.condition = 100});
  HostMatrix const half("strata::test::half", n, n);
  bool const lower = uplo == Uplo::Lower;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i)
      half(i, j) = (lower ? i >= j : i <= j) ? A(i, j) : nan_value;
  auto const device = rounded<Space, T, Layout>(half);
  ASSERT_TRUE(potrf_in_place(Space(), uplo, device, leaf).ok());
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), device);
  HostMatrix const L("strata::test::L", n, n);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = j; i < n; ++i) {
      L(i, j) = lower ? host(i, j) : host(j, i);
      if (i > j) {
        EXPECT_TRUE(std::isnan(lower ? host(j, i) : host(i, j)));
      }
    }
  EXPECT_LE(factor_error(A, L), 10 * std::numeric_limits<T>::epsilon()) << lower << ' ' << leaf;
}
TYPED_TEST(InPlaceOn, FactorsEitherTriangleOfAView) {
  for (Uplo const uplo : {Uplo::Lower, Uplo::Upper})
    for (std::int64_t const leaf : {0, 1, 16, 100}) {
      factors_a_view<TypeParam, double, Kokkos::LayoutLeft>(uplo, leaf);
      factors_a_view<TypeParam, double, Kokkos::LayoutRight>(uplo, leaf);
      factors_a_view<TypeParam, float, Kokkos::LayoutLeft>(uplo, leaf);
    }
}

TYPED_TEST(InPlaceOn, SolvesWithTheFactor) {
  std::int64_t const n = 67, columns = 3;
  TypeParam const exec;
  HostMatrix const A = generate(MatrixKind::Geometric, n, {.condition = 100}),
                   X = random_matrix(n, columns, 1);
  HostMatrix const B("strata::test::B", n, columns);
  for (std::int64_t c = 0; c < columns; ++c)
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t k = 0; k < n; ++k) B(i, c) += A(i, k) * X(k, c);
  LeafBlas<TypeParam> blas(exec);
  for (Uplo const uplo : {Uplo::Lower, Uplo::Upper}) {
    auto const factor = on_device<TypeParam>(A), right = on_device<TypeParam>(B);
    ASSERT_TRUE(potrf_in_place(blas, uplo, matrix_ref(factor), 16).ok());
    potrs_in_place(blas, uplo, matrix_ref(factor), matrix_ref(right));
    exec.fence("strata::test::solved");
    EXPECT_LE(largest_difference(on_host(right), X), 1e-12);
  }
}

TYPED_TEST(InPlaceOn, NamesTheMinorAndRefusesWhatIsNoSquare) {
  TypeParam const exec;
  for (std::int64_t const bad : {0, 15, 16, 39}) {
    HostMatrix const A = generate(MatrixKind::Geometric, 40, {.condition = 10});
    A(bad, bad) = -1;
    auto const device = on_device<TypeParam>(A);
    EXPECT_EQ(potrf_in_place(exec, Uplo::Lower, device, 16).order(), bad + 1);
  }
  auto const wide = on_device<TypeParam>(random_matrix(3, 4, 1));
  EXPECT_TRUE(throws_with<ShapeError>("potrf_in_place: A is 3 x 4, must be square",
                                      [&] { (void)potrf_in_place(exec, Uplo::Lower, wide); }));
  auto const square = on_device<TypeParam>(random_matrix(3, 3, 1));
  EXPECT_TRUE(throws_with<ValueError>("potrf_in_place: the leaf size is -1", [&] {
    (void)potrf_in_place(exec, Uplo::Lower, square, -1);
  }));
  LeafBlas<TypeParam> blas(exec);
  auto const tall = on_device<TypeParam>(random_matrix(4, 1, 1));
  EXPECT_TRUE(throws_with<ShapeError>("potrs_in_place: the factor is 3 x 3, B 4 x 1", [&] {
    potrs_in_place(blas, Uplo::Lower, matrix_ref(square), matrix_ref(tall));
  }));
  EXPECT_TRUE(potrf_in_place(exec, Uplo::Lower, on_device<TypeParam>(random_matrix(0, 0, 1))).ok());
}

}  // namespace
