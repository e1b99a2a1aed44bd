// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_LeafBlas.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <core/blas/portable/detail/Strata_ThinProduct.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <gtest/gtest.h>

namespace strata::test {
namespace {

struct Operands {
  std::int64_t rows, cols, columns;  // of A and C
  Precision a, c;
  std::optional<int> scale = {};
};

// NaN in C if beta = 0 must not look at it.
template <class Space>
void check(Operands const& shape, Op op, double alpha, double beta) {
  SCOPED_TRACE(testing::Message() << shape.rows << " x " << shape.cols << ", " << shape.a << ", "
                                  << shape.c << ", op " << op);
  std::int64_t const rows = op == Op::NoTrans ? shape.rows : shape.cols,
                     terms = op == Op::NoTrans ? shape.cols : shape.rows;
  StoredMatrix<Space> const A(reference::random(shape.rows, shape.cols, 1), shape.a, 1,
                              shape.scale);
  StoredMatrix<Space> const B(reference::random(terms, shape.columns, 2), shape.c, 2);
  HostMatrix const old = reference::random(rows, shape.columns, 3);
  StoredMatrix<Space> const C(
      beta == 0 ? reference::generate(rows, shape.columns, [](auto, auto) { return nan_value; })
                : old,
      shape.c, 3);
  auto const a = reference::apply(op, A.read()), b = B.read(), c = C.read();
  auto const magnitude = reference::gemm(std::abs(alpha), reference::abs(a), reference::abs(b),
                                         std::abs(beta), reference::abs(c));
  Space const exec;
  strata::detail::Workspace<Space> workspace(exec);
  ASSERT_TRUE(
      strata::detail::thin_product(exec, workspace, op, alpha, A.ref(), B.ref(), beta, C.ref()));
  EXPECT_TRUE(is_close(C.read(), reference::gemm(alpha, a, b, beta, c), magnitude,
                       {terms, shape.c, shape.c}));
  EXPECT_TRUE(C.padding_is_untouched());
}

template <class Space>
void refuses_other_operands() {
  Space const exec;
  strata::detail::Workspace<Space> workspace(exec);
  StoredMatrix<Space> const A(reference::random(200, 100, 1), bf16),
      wide(reference::random(200, 100, 1), fp32), small(reference::random(120, 100, 1), bf16),
      b(reference::random(100, 1, 2), fp32), b3(reference::random(100, 3, 2), fp32),
      c(reference::random(200, 1, 3), fp32), c3(reference::random(200, 3, 3), fp32),
      c64(reference::random(200, 1, 3), fp64), c_small(reference::random(120, 1, 3), fp32),
      scaled(reference::random(200, 1, 3), fp32, 0, 2);
  auto const thin = [&](auto const& a, auto const& x, auto const& y) {
    return strata::detail::thin_product(exec, workspace, Op::NoTrans, 1, a.ref(), x.ref(), 0,
                                        y.ref());
  };
  EXPECT_FALSE(thin(A, b3, c3));
  EXPECT_FALSE(thin(A, b, c64));
  EXPECT_FALSE(thin(A, b, scaled));
  EXPECT_FALSE(thin(small, b, c_small));
  EXPECT_EQ(thin(wide, b, c), !strata::runs_on_host<Space>);
}

template <class Space>
class ThinProduct : public testing::Test {};
TYPED_TEST_SUITE(ThinProduct, Spaces, SpaceNames);

// Rows around a host's block of 1024 and a pack's 8 or 16, columns around those that are added
// together.
TYPED_TEST(ThinProduct, EqualsTheReference) {
  for (Op const op : both_ops)
    for (std::int64_t const rows : {128, 1023, 1024, 1025, 2100})
      for (std::int64_t const cols : {64, 65, 67, 200}) {
        check<TypeParam>({rows, cols, 1, bf16, fp32}, op, 1, 0);
        check<TypeParam>({rows, cols, 2, fp16, fp64, 3}, op, -0.5, 2);
      }
}
TYPED_TEST(ThinProduct, TakesAllLowTypes) {
  for (Op const op : both_ops)
    for (Precision const low : {fp16, bf16, fp8_e4m3, fp8_e5m2, fp8_e4m3fnuz, fp8_e5m2fnuz}) {
      check<TypeParam>({300, 130, 1, low, fp32, -2}, op, -1, 1);
      check<TypeParam>({300, 130, 1, low, fp64}, op, 1, 0);
    }
}
TYPED_TEST(ThinProduct, RefusesOtherOperands) { refuses_other_operands<TypeParam>(); }

}  // namespace
}  // namespace strata::test
