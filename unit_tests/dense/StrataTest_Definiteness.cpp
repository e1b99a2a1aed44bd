// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Dense.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <dense/Strata_Definiteness.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;

template <class Space>
class DefinitenessOn : public testing::Test {};
TYPED_TEST_SUITE(DefinitenessOn, Spaces, SpaceNames);

// exp(-|i - j| / 5) times a power of two; what is above the diagonal must not be read.
HostMatrix correlation(std::int64_t n, double scale = 1) {
  HostMatrix const A("strata::test::A", static_cast<std::size_t>(n), static_cast<std::size_t>(n));
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i)
      A(i, j) = i < j ? nan_value : scale * std::exp(-static_cast<double>(i - j) / 5);
  return A;
}

// Of the matrix, and of its transpose in the other layout.
template <class Space>
std::int64_t failing_minor(HostMatrix const& A) {
  auto const left = on_device<Space>(A);
  Kokkos::View<double**, Kokkos::LayoutRight, typename Space::memory_space> const right(
      "strata::test::right", A.extent(0), A.extent(1));
  auto const host = Kokkos::create_mirror_view(right);
  for (std::size_t j = 0; j < A.extent(1); ++j)
    for (std::size_t i = 0; i < A.extent(0); ++i) host(i, j) = A(i, j);
  Kokkos::deep_copy(right, host);
  std::int64_t const order = is_positive_definite(Space(), left).order();
  EXPECT_EQ(is_positive_definite(Space(), right).order(), order);
  auto const after = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), left);
  for (std::size_t j = 0; j < A.extent(1); ++j)
    for (std::size_t i = j; i < A.extent(0); ++i) {
      bool const same = after(i, j) == A(i, j) || (std::isnan(after(i, j)) && std::isnan(A(i, j)));
      EXPECT_TRUE(same) << i << ' ' << j;
    }
  return order;
}

TYPED_TEST(DefinitenessOn, HoldsAtTheEndsOfBlocks) {
  for (std::int64_t const n : {0, 1, 2, 63, 64, 65, 127, 128, 129, 300})
    EXPECT_EQ(failing_minor<TypeParam>(correlation(n)), 0) << n;
}

TYPED_TEST(DefinitenessOn, NamesTheFirstMinorThatIsNotPositive) {
  std::int64_t const n = 300;
  for (double const scale : {1.0, 0x1p-1000, 0x1p1000}) {
    for (std::int64_t const order : {1, 2, 63, 64, 65, 128, 129, 256, 257, 299, 300}) {
      HostMatrix const A = correlation(n, scale);
      A(order - 1, order - 1) = order % 2 == 0 ? 0 : -scale;
      A(n - 1, n - 1) = -1;  // a later one
      EXPECT_EQ(failing_minor<TypeParam>(A), order) << scale;
      if (order == 1) continue;
      HostMatrix const B = correlation(n, scale);
      B(order - 1, order - 2) = 1.5 * scale;
      EXPECT_EQ(failing_minor<TypeParam>(B), order) << scale;
    }
  }
}

TYPED_TEST(DefinitenessOn, TakesWhatIsNotFiniteForNotPositive) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (double const bad : {nan_value, inf, -inf}) {
    for (std::int64_t const col : {0, 70, 149}) {
      HostMatrix const A = correlation(200);
      A(149, col) = bad;
      EXPECT_EQ(failing_minor<TypeParam>(A), 150) << bad << ' ' << col;
    }
  }
}

TYPED_TEST(DefinitenessOn, RefusesWhatIsNotSquare) {
  Kokkos::View<double**, Kokkos::LayoutLeft, typename TypeParam::memory_space> const A(
      "strata::test::A", 3, 2);
  EXPECT_TRUE(throws_with<ShapeError>("is_positive_definite: A is 3 x 2, must be square",
                                      [&] { (void)is_positive_definite(TypeParam(), A); }));
}

}  // namespace
