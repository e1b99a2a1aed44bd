// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// oneDNN's products, whatever the strides.
#include "StrataTest_Child.hpp"
#include "StrataTest_LeafBlas.hpp"
#include "StrataTest_Matchers.hpp"
#include <core/blas/host/vendor/Strata_HostOnednn.hpp>
#include <core/info/Strata_Version.hpp>

#include <gtest/gtest.h>

#include <string>

namespace strata::test {
namespace {

// fp32 runs on every CPU, so that the strides and factors are tested without matrix units as well.
TEST(OnednnMatmul, EqualsTheReferenceForAllTransposesAndFactors) {
  vendor::OnednnMatmul matmul;
  for (Precision const precision : {fp32, bf16, fp16}) {
    if (!vendor::OnednnMatmul::has_instructions(precision)) continue;
    for (Op const op_a : both_ops)
      for (Op const op_b : both_ops)
        for (double const beta : {0.0, 1.0, -0.5})
          for (double const alpha : {1.0, -2.0}) {
            SCOPED_TRACE(testing::Message() << precision << op_a << op_b << alpha << ' ' << beta);
            using Stored = StoredMatrix<Kokkos::DefaultHostExecutionSpace>;
            bool const normal_a = op_a == Op::NoTrans, normal_b = op_b == Op::NoTrans;
            Stored const A(reference::random(normal_a ? 33 : 20, normal_a ? 20 : 33, 1), precision,
                           3);
            Stored const B(reference::random(normal_b ? 20 : 17, normal_b ? 17 : 20, 2), precision,
                           1);
            Stored const C(reference::random(33, 17, 3), fp32, 2);
            auto const a = reference::apply(op_a, A.read()), b = reference::apply(op_b, B.read());
            for (int repeat = 0; repeat < 2; ++repeat) {  // the second from the cache
              auto const old = C.read();
              ASSERT_TRUE(matmul.gemm(op_a, op_b, alpha, A.ref(), B.ref(), beta, C.ref()));
              EXPECT_TRUE(
                  is_close(C.read(), reference::gemm(alpha, a, b, beta, old),
                           reference::gemm(std::abs(alpha), reference::abs(a), reference::abs(b),
                                           std::abs(beta), reference::abs(old)),
                           {20, fp32, fp32}));
            }
            EXPECT_TRUE(C.padding_is_untouched());
          }
  }
}

// fork() copies none of the threads that a product has started, for which the next one would wait
// for ever.
TEST(OnednnMatmul, RefusesInAForkOfAProcessThatHasUsedIt) {
  using Stored = StoredMatrix<Kokkos::DefaultHostExecutionSpace>;
  vendor::OnednnMatmul matmul;
  if (!vendor::OnednnMatmul::has_instructions(fp32)) GTEST_SKIP() << "a build without oneDNN";
  int const n = 400;  // enough for several threads
  auto const numbers = [n](double seed) {
    return reference::generate(n, n, [seed](auto i, auto j) { return seed * (i % 7 - j % 5); });
  };
  Stored const A(numbers(1), fp32), B(numbers(2), fp32), C(numbers(0), fp32);
  auto const product = [&] {
    return matmul.gemm(Op::NoTrans, Op::Trans, 1, A.ref(), B.ref(), 0, C.ref());
  };
  ASSERT_TRUE(product());
  EXPECT_TRUE(vendor::OnednnMatmul::has_threads());
  std::string const text = in_child([&]() -> std::string {
    if (vendor::OnednnMatmul::has_threads()) return "says that it has threads";
    if (product()) return "multiplies";
    if (host_has_matrix_units(bf16) || host_has_matrix_units(fp16)) return "has matrix units";
    return in_child(
        [&] { return product() ? "multiplies" : "refuses"; });  // the child's child, too
  });
  EXPECT_EQ(text, "refuses");
  EXPECT_TRUE(product());
}

#ifdef KOKKOS_ENABLE_SERIAL
// What a child computes without oneDNN is what its parent does with it.
TEST(OnednnMatmul, IsReplacedInAForkByPlainLoops) {
  using Stored = StoredMatrix<Kokkos::Serial>;
  auto const a = reference::random(200, 90, 1), b = reference::random(90, 200, 2);
  Stored const A(a, bf16), B(b, bf16), C(reference::random(200, 200, 3), fp32);
  auto const is_right = [&] {
    LeafBlas<Kokkos::Serial> blas{Kokkos::Serial()};
    blas.gemm(Op::NoTrans, Op::NoTrans, 1, A.ref(), B.ref(), 0, C.ref());
    auto const x = A.read(), y = B.read();
    return is_close(C.read(), reference::gemm(1, x, y, 0, C.read()),
                    reference::gemm(1, reference::abs(x), reference::abs(y), 0, C.read()),
                    {90, fp32, fp32});
  };
  ASSERT_TRUE(is_right());
  EXPECT_EQ(in_child([&] { return is_right() ? "right" : "wrong"; }), "right");
}
#endif

// A matrix with one row or column is strided all the same.
TEST(OnednnMatmul, TakesNoMatrixForAContiguousVector) {
  using Stored = StoredMatrix<Kokkos::DefaultHostExecutionSpace>;
  vendor::OnednnMatmul matmul;
  int made = 0;
  for (Precision const precision : {fp32, bf16, fp16}) {
    if (!vendor::OnednnMatmul::has_instructions(precision)) continue;
    for (std::int64_t const m : {1, 2, 17})
      for (std::int64_t const n : {1, 2, 17})
        for (std::int64_t const k : {1, 2, 20})
          for (Op const op_a : both_ops)
            for (Op const op_b : both_ops)
              for (std::int64_t const gap : {0, 3}) {
                SCOPED_TRACE(testing::Message() << precision << op_a << op_b << ' ' << m << " x "
                                                << n << " x " << k << " gap " << gap);
                bool const normal_a = op_a == Op::NoTrans, normal_b = op_b == Op::NoTrans;
                Stored const A(reference::random(normal_a ? m : k, normal_a ? k : m, 1), precision,
                               gap);
                Stored const B(reference::random(normal_b ? k : n, normal_b ? n : k, 2), precision,
                               gap);
                Stored const C(reference::random(m, n, 3), fp32, gap);
                auto const old = C.read(), a = reference::apply(op_a, A.read()),
                           b = reference::apply(op_b, B.read());
                if (!matmul.gemm(op_a, op_b, 1, A.ref(), B.ref(), 1, C.ref())) continue;
                ++made;
                EXPECT_TRUE(is_close(C.read(), reference::gemm(1, a, b, 1, old),
                                     reference::gemm(1, reference::abs(a), reference::abs(b), 1,
                                                     reference::abs(old)),
                                     {k, fp32, fp32}));
                EXPECT_TRUE(C.padding_is_untouched());
              }
  }
  EXPECT_GT(made, 0);
}

// One rounding of the sum, also into the low type itself.
TEST(OnednnMatmul, RoundsOnceIntoTheOperandsType) {
  vendor::OnednnMatmul matmul;
  for (Precision const precision : {bf16, fp16}) {
    if (!vendor::OnednnMatmul::has_instructions(precision)) continue;
    using Stored = StoredMatrix<Kokkos::DefaultHostExecutionSpace>;
    Stored const A(reference::random(70, 900, 1), precision, 3),
        B(reference::random(900, 17, 2), precision, 1);
    Stored const C(reference::generate(70, 17, [](auto, auto) { return nan_value; }), precision, 2),
        sum(reference::random(70, 17, 4), precision);
    ASSERT_TRUE(matmul.gemm(Op::NoTrans, Op::NoTrans, -2, A.ref(), B.ref(), 0, C.ref()));
    auto const a = A.read(), b = B.read(), none = reference::random(70, 17, 3);
    EXPECT_TRUE(is_close(C.read(), reference::gemm(-2, a, b, 0, none),
                         reference::gemm(2, reference::abs(a), reference::abs(b), 0, none),
                         {900, fp32, precision}));
    EXPECT_TRUE(C.padding_is_untouched());
    EXPECT_FALSE(matmul.gemm(Op::NoTrans, Op::NoTrans, 1, A.ref(), B.ref(), 1, sum.ref()));
  }
}

}  // namespace
}  // namespace strata::test
