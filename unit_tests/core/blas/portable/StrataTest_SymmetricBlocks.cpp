// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_LeafBlas.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <core/blas/portable/detail/Strata_SymmetricBlocks.hpp>

#include <gtest/gtest.h>

#include <limits>

namespace strata::test {
namespace {

// NaN outside the triangle that is read, and in what beta = 0 must not look at.
template <class Space>
void check(std::int64_t most, std::int64_t n, std::int64_t cols, Uplo uplo, double beta) {
  SCOPED_TRACE(testing::Message() << uplo << ", n = " << n << ", blocks below " << most);
  HostMatrix const values = reference::random(n, n, 1);
  StoredMatrix<Space> const A(
      reference::generate(n, n,
                          [&](auto i, auto j) {
                            return reference::in_triangle(uplo, i, j) ? values(i, j) : nan_value;
                          }),
      fp64, 1, 2);
  StoredMatrix<Space> const B(reference::random(n, cols, 2), fp64, 2);
  HostMatrix const old = reference::random(n, cols, 3);
  StoredMatrix<Space> const C(
      beta == 0 ? reference::generate(n, cols, [](auto, auto) { return nan_value; }) : old, fp64,
      3);
  auto const a = reference::symmetric(uplo, A.read()), b = B.read(), c = C.read();
  auto const magnitude =
      reference::gemm(2, reference::abs(a), reference::abs(b), std::abs(beta), reference::abs(c));
  LeafBlas<Space> blas{Space()};
  strata::detail::symm_by_blocks(blas, most, uplo, 2, A.ref(), B.ref(), beta, C.ref());
  EXPECT_TRUE(is_close(C.read(), reference::gemm(2, a, b, beta, c), magnitude, {n, fp64, fp64}));
  EXPECT_TRUE(C.padding_is_untouched());
}

template <class Space>
class SymmetricBlocks : public testing::Test {};
TYPED_TEST_SUITE(SymmetricBlocks, Spaces, SpaceNames);

TYPED_TEST(SymmetricBlocks, EqualTheReferenceForBothTriangles) {
  for (Uplo const uplo : both_uplos)
    for (std::int64_t const n : {1, 2, 3, 16, 33, 65})
      for (std::int64_t const most :
           {std::int64_t(1), 8 * n, 20 * n, std::numeric_limits<std::int64_t>::max()})
        for (double const beta : {0.0, -0.5}) check<TypeParam>(most, n, 5, uplo, beta);
}

}  // namespace
}  // namespace strata::test
