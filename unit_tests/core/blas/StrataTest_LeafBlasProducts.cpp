// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// gemm, syrk and symm on every path against the sequential reference.
#include "StrataTest_LeafBlas.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"

#include <gtest/gtest.h>

namespace strata::test {
namespace {

using reference::apply;

struct Shape {
  std::int64_t m, n, k;
};
struct Factors {
  double alpha, beta;
};
constexpr Shape shapes[] = {{0, 3, 2},    {3, 0, 1},    {1, 1, 1},    {5, 4, 0},      {7, 16, 33},
                            {33, 7, 16},  {16, 1, 129}, {65, 33, 7},  {129, 65, 16},  {1, 129, 65},
                            {16, 16, 16}, {33, 65, 1},  {7, 129, 33}, {129, 129, 129}};
constexpr Factors all_factors[] = {{1, 0}, {-1, 1}, {0.5, -2}, {0, 2}, {0, 0}, {-0.25, 0}};

// Old contents of a result: NaN if beta = 0, which must not be looked at.
HostMatrix old_result(std::int64_t m, std::int64_t n, double beta) {
  HostMatrix const C = reference::random(m, n, 3);
  return beta == 0 ? reference::generate(m, n, [](auto, auto) { return nan_value; }) : C;
}

// op(A) of m x n, stored as numbers in (-1, 1) and a scale.
template <class Space>
StoredMatrix<Space> operand(Op op, std::int64_t m, std::int64_t n, Precision precision,
                            unsigned seed, std::optional<int> scale) {
  bool const normal = op == Op::NoTrans;
  auto const numbers = reference::random(normal ? m : n, normal ? n : m, seed);
  auto const values = reference::generate(
      reference::rows(numbers), reference::cols(numbers),
      [&](auto i, auto j) { return std::ldexp(numbers(i, j), scale.value_or(0)); });
  return {values, precision, 3, scale};
}

// A device's FP8 unit aligns products to about 14 bits before it adds them.
template <class Space>
double unit_error(Types const& types) {
  bool const on_host = std::is_same_v<typename Space::memory_space, Kokkos::HostSpace>;
  return !on_host && traits(types.a).bytes == 1 && traits(types.b).bytes == 1 ? 0x1p-12 : 0;
}

template <class Space>
void check_gemm(LeafBlas<Space>& blas, Types const& types, Shape const& shape, Op op_a, Op op_b,
                Factors const& factors) {
  auto const [m, n, k] = shape;
  auto const [alpha, beta] = factors;
  auto const A = operand<Space>(op_a, m, k, types.a, 1, types.scale_a);
  auto const B = operand<Space>(op_b, k, n, types.b, 2, types.scale_b);
  StoredMatrix<Space> const C(old_result(m, n, beta), types.c, 2);
  auto const a = apply(op_a, A.read()), b = apply(op_b, B.read()), c = C.read();
  auto const magnitude = reference::gemm(std::abs(alpha), reference::abs(a), reference::abs(b),
                                         std::abs(beta), reference::abs(c));
  blas.gemm(op_a, op_b, alpha, A.ref(), B.ref(), beta, C.ref());
  EXPECT_TRUE(is_close(C.read(), reference::gemm(alpha, a, b, beta, c), magnitude,
                       {k, types.accumulator(), types.c, unit_error<Space>(types)}));
  EXPECT_TRUE(C.padding_is_untouched());
}

template <class Space>
void check_syrk(LeafBlas<Space>& blas, Types const& types, std::int64_t n, std::int64_t k,
                Uplo uplo, Op op, Factors const& factors) {
  auto const [alpha, beta] = factors;
  auto const A = operand<Space>(op, n, k, types.a, 1, types.scale_a);
  auto const outside = [&](auto i, auto j) { return !reference::in_triangle(uplo, i, j); };
  HostMatrix const old = old_result(n, n, beta);
  StoredMatrix<Space> const C(
      reference::generate(n, n,
                          [&](auto i, auto j) { return outside(i, j) ? nan_value : old(i, j); }),
      types.c, 2);
  auto const a = apply(op, A.read()), at = apply(Op::Trans, a), c = C.read();
  auto const magnitude = reference::gemm(std::abs(alpha), reference::abs(a), reference::abs(at),
                                         std::abs(beta), reference::abs(c));
  blas.syrk(uplo, op, alpha, A.ref(), beta, C.ref());
  auto const result = C.read();
  Types const own{types.a, types.a, types.c};
  EXPECT_TRUE(is_close(result, reference::gemm(alpha, a, at, beta, c), magnitude,
                       {k, own.accumulator(), types.c, unit_error<Space>(own)},
                       [&](auto i, auto j) { return !outside(i, j); }));
  EXPECT_TRUE(is_nan(result, outside));
  EXPECT_TRUE(C.padding_is_untouched());
}

template <class Space>
void check_symm(LeafBlas<Space>& blas, Types const& types, std::int64_t m, std::int64_t n,
                Uplo uplo, Factors const& factors) {
  auto const [alpha, beta] = factors;
  HostMatrix const values = reference::random(m, m, 1);
  StoredMatrix<Space> const A(
      reference::generate(m, m,
                          [&](auto i, auto j) {
                            return reference::in_triangle(uplo, i, j) ? values(i, j) : nan_value;
                          }),
      types.a, 1, types.scale_a);
  auto const B = operand<Space>(Op::NoTrans, m, n, types.b, 2, types.scale_b);
  StoredMatrix<Space> const C(old_result(m, n, beta), types.c, 2);
  auto const a = reference::symmetric(uplo, A.read()), b = B.read(), c = C.read();
  auto const magnitude = reference::gemm(std::abs(alpha), reference::abs(a), reference::abs(b),
                                         std::abs(beta), reference::abs(c));
  blas.symm(uplo, alpha, A.ref(), B.ref(), beta, C.ref());
  EXPECT_TRUE(is_close(C.read(), reference::gemm(alpha, a, b, beta, c), magnitude,
                       {m, types.accumulator(), types.c}));
  EXPECT_TRUE(C.padding_is_untouched());
}

// Every path with every mix of types: `check(blas, types, shape, factors)`, or ValueError where a
// path has none.
template <class Space, class Check>
void on_all_paths(bool in_kokkos_kernels, Check const& check) {
  for (BlasPath const path : all_paths) {
    LeafBlas<Space> blas(Space(), path);
    for (Types const& types : all_types) {
      SCOPED_TRACE(testing::Message() << path << ", " << types);
      if (!has_path<Space>(path, in_kokkos_kernels && types.uniform())) {
        EXPECT_TRUE(throws_with<ValueError>(
            "path has no such operation", [&] { check(blas, types, shapes[2], all_factors[0]); }));
        continue;
      }
      std::size_t next = 0;
      for (Shape const& shape : shapes) {
        Factors const& factors = all_factors[next++ % std::size(all_factors)];
        SCOPED_TRACE(testing::Message()
                     << shape.m << " x " << shape.n << " x " << shape.k << ", alpha "
                     << factors.alpha << ", beta " << factors.beta);
        check(blas, types, shape, factors);
      }
    }
  }
}

template <class Space>
void gemm_on_all_paths() {
  for (Op const op_a : both_ops) {
    for (Op const op_b : both_ops) {
      SCOPED_TRACE(testing::Message() << op_a << op_b);
      on_all_paths<Space>(true, [&](auto& blas, auto& types, auto& shape, auto& factors) {
        check_gemm(blas, types, shape, op_a, op_b, factors);
      });
    }
  }
}

template <class Space>
void syrk_on_all_paths() {
  for (Uplo const uplo : both_uplos) {
    for (Op const op : both_ops) {
      SCOPED_TRACE(testing::Message() << uplo << op);
      on_all_paths<Space>(false, [&](auto& blas, auto& types, auto& shape, auto& factors) {
        check_syrk(blas, types, shape.m, shape.k, uplo, op, factors);
      });
    }
  }
}

template <class Space>
void symm_on_all_paths() {
  for (Uplo const uplo : both_uplos) {
    SCOPED_TRACE(uplo);
    on_all_paths<Space>(false, [&](auto& blas, auto& types, auto& shape, auto& factors) {
      check_symm(blas, types, shape.m, shape.n, uplo, factors);
    });
  }
}

// Orders beyond one block of the recursion of syrk on low precision.
template <class Space>
void syrk_of_several_blocks() {
  LeafBlas<Space> blas{Space()};
  for (Uplo const uplo : both_uplos) {
    check_syrk(blas, {fp16, fp16, fp32, 2}, 1100, 9, uplo, Op::NoTrans, {-1, 1});
    check_syrk(blas, {bf16, bf16, bf16}, 600, 9, uplo, Op::Trans, {1, 0});
    check_syrk(blas, {fp32, fp32, fp64}, 600, 9, uplo, Op::NoTrans, {-1, 1});
  }
}

// Orders beyond one block of a widened operand.
template <class Space>
void symm_of_several_blocks() {
  LeafBlas<Space> blas{Space()};
  check_symm(blas, {bf16, fp64, fp64}, 2820, 1, Uplo::Lower, {1, 0});
  check_symm(blas, {fp64, fp16, fp16, 1}, 2820, 1, Uplo::Upper, {-1, 1});
}

// Factors beyond fp32's range must not become 0 or infinity on the way.
template <class Space>
void factors_beyond_fp32() {
  for (BlasPath const path : {BlasPath::Automatic, BlasPath::Portable}) {
    LeafBlas<Space> blas(Space(), path);
    check_gemm(blas, {fp32, fp32, fp64, -150, -150}, {33, 7, 16}, Op::NoTrans, Op::Trans, {1, 0});
    check_gemm(blas, {fp16, fp16, fp32, 90, -90}, {33, 7, 16}, Op::Trans, Op::NoTrans, {1, 0});
    check_gemm(blas, {fp32, fp32, fp64}, {7, 33, 16}, Op::NoTrans, Op::NoTrans, {1e-60, 0});
  }
}

template <class Space>
class LeafBlasProducts : public testing::Test {};
TYPED_TEST_SUITE(LeafBlasProducts, Spaces, SpaceNames);

TYPED_TEST(LeafBlasProducts, GemmEqualsTheReferenceOnAllPathsAndTypes) {
  gemm_on_all_paths<TypeParam>();
}
TYPED_TEST(LeafBlasProducts, SyrkEqualsTheReferenceOnAllPathsAndTypes) {
  syrk_on_all_paths<TypeParam>();
}
TYPED_TEST(LeafBlasProducts, SymmEqualsTheReferenceOnAllPathsAndTypes) {
  symm_on_all_paths<TypeParam>();
}
TYPED_TEST(LeafBlasProducts, SyrkOfSeveralBlocksEqualsTheReference) {
  syrk_of_several_blocks<TypeParam>();
}
TYPED_TEST(LeafBlasProducts, SymmOfSeveralBlocksEqualsTheReference) {
  symm_of_several_blocks<TypeParam>();
}
TYPED_TEST(LeafBlasProducts, FactorsBeyondSinglePrecisionAreHonoured) {
  factors_beyond_fp32<TypeParam>();
}

}  // namespace
}  // namespace strata::test
