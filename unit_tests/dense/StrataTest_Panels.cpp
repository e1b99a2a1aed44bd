// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The factorisation panel by panel, leaves solved by substitution and by their inverses.
#include "StrataTest_Dense.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <dense/recursion/Strata_TreePotrf.hpp>

#include <gtest/gtest.h>

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;
using enum Precision;

constexpr double c = 10;  // errors are held to c times the layers' roundoff

HostMatrix with_condition(std::int64_t n, double condition) {
  GeneratorOptions options;
  options.condition = condition;
  return generate(MatrixKind::Geometric, n, options);
}

struct Factored {
  HostMatrix L;
  std::int64_t order = -1;
};

template <class Space>
Factored factor(HostMatrix const& A, LayerList const& layers, std::int64_t leaf,
                BlockTreeOptions const& options) {
  Space const exec;
  auto const n = static_cast<std::int64_t>(A.extent(0));
  auto const device = on_device<Space>(A);
  LeafBlas<Space> blas(exec);
  BlockTree<LayerList, Space> tree(exec, n, layers, leaf, options);
  tree.load(exec, Uplo::Lower, matrix_ref(device));
  Kokkos::View<std::int64_t, typename Space::memory_space> const info("strata::test::info");
  tree_potrf(blas, tree, info);
  tree.store(exec, Uplo::Lower, matrix_ref(device));
  exec.fence();
  Factored result;
  Kokkos::deep_copy(result.order, info);
  result.L = on_host(device);
  return result;
}

BlockTreeOptions with(std::int64_t panel, LeafSolve leaf_solve) {
  BlockTreeOptions options;
  options.panel_size = panel;
  options.leaf_solve = leaf_solve;
  return options;
}

constexpr LeafSolve both[] = {LeafSolve::Substitution, LeafSolve::Inverse};

template <class Space>
class PanelsOn : public testing::Test {};
TYPED_TEST_SUITE(PanelsOn, Spaces, SpaceNames);

TYPED_TEST(PanelsOn, CoverTheDiagonalInOrder) {
  for (std::int64_t const panel : {1, 10, 20, 40, 80, 200}) {
    BlockTree<LayerList, TypeParam> const tree(TypeParam(), 155, {fp8_e4m3, fp16, fp32}, 10,
                                               with(panel, LeafSolve::Inverse));
    std::int64_t end = 0;
    for (int const p : tree.panels()) {
      auto const& node = tree.nodes()[static_cast<std::size_t>(p)];
      EXPECT_EQ(node.begin, end);
      EXPECT_TRUE(node.size <= panel || node.is_leaf());
      end += node.size;
    }
    EXPECT_EQ(end, 155);
    for (auto const& node : tree.nodes()) {
      std::int64_t columns = 0;
      for (auto const& [begin, stored] : tree.strips(node)) {
        EXPECT_EQ(begin, columns);
        columns += stored.cols;
      }
      EXPECT_EQ(columns, node.stored.cols);
    }
  }
}

// Any panels give the same factor: the order of updates is all that differs.
TYPED_TEST(PanelsOn, AgreeWithTheSlowReference) {
  for (std::int64_t const n : {1, 9, 10, 11, 64, 155}) {
    HostMatrix const A = with_condition(n, 100), L("strata::test::L", n, n);
    Kokkos::deep_copy(L, A);
    ASSERT_EQ(reference_cholesky(L), 0);
    for (LeafSolve const solve : both)
      for (std::int64_t const panel : {10, 20, 40, 200})
        for (LayerList const& layers : {LayerList{fp64}, LayerList{fp32}, LayerList{fp32, fp64}}) {
          auto const result = factor<TypeParam>(A, layers, 10, with(panel, solve));
          ASSERT_EQ(result.order, 0);
          double const u = layers.unit_roundoff();
          EXPECT_LE(triangle_difference(result.L, L), c * static_cast<double>(n) * 100 * u)
              << n << " " << panel << " " << layers.name();
          EXPECT_LE(factor_error(A, result.L), c * u) << n << " " << panel << " " << layers.name();
        }
  }
}

// Three leaves, the last ragged: the deeper of two blocks in fp8 below the first panel has more
// rows.
TYPED_TEST(PanelsOn, BlocksBelowAPanelShareScratchWhicheverIsTheLarger) {
  for (std::int64_t const n : {129, 150, 176}) {
    auto const result = factor<TypeParam>(with_condition(n, 10), {fp8_e4m3, fp8_e4m3, fp32}, 64,
                                          with(64, LeafSolve::Inverse));
    ASSERT_EQ(result.order, 0);
    EXPECT_LE(factor_error(with_condition(n, 10), result.L), 2 * 0x1p-4) << n;
  }
}

TYPED_TEST(PanelsOn, ErrorIsThatOfTheLayers) {
  HostMatrix const A = with_condition(300, 10);
  for (LeafSolve const solve : both)
    for (std::int64_t const panel : {20, 80, 300}) {
      auto const error = [&](LayerList const& layers) {
        auto const result = factor<TypeParam>(A, layers, 20, with(panel, solve));
        EXPECT_EQ(result.order, 0);
        return factor_error(A, result.L);
      };
      EXPECT_LE(error({fp16, fp32, fp64}), 4 * 0x1p-11);
      EXPECT_LE(error({fp16, fp16, fp16, fp32}), 4 * 0x1p-11);
      EXPECT_LE(error({fp16}), 4 * 0x1p-11);
      EXPECT_LE(error({bf16, bf16, fp32}), 4 * 0x1p-8);
      EXPECT_LE(error({fp8_e4m3, fp16, fp32}), 2 * 0x1p-4);
      EXPECT_LE(error({fp8_e4m3}), 2 * 0x1p-4);
      EXPECT_LE(error({bf16, fp16, fp32}), 4 * 0x1p-8);
    }
}

// Rounding a leaf's inverse to fp16 costs at most its condition, which is the triangle's, in the
// blocks beside it. For a hard matrix the factor is a few times, not thousands of times, worse.
TYPED_TEST(PanelsOn, InversesAreNearlyAsAccurateAsSubstitutionOnHardMatrices) {
  int compared = 0;
  for (double const condition : {1e2, 1e4, 1e6}) {
    HostMatrix const A = with_condition(256, condition);
    LayerList const layers{fp16, fp16, fp32};
    auto const substituted = factor<TypeParam>(A, layers, 32, with(64, LeafSolve::Substitution));
    auto const inverted = factor<TypeParam>(A, layers, 32, with(64, LeafSolve::Inverse));
    if (substituted.order != 0) continue;  // beyond what fp16 layers can hold
    ASSERT_EQ(inverted.order, 0) << condition;
    EXPECT_LE(factor_error(A, inverted.L), 4 * factor_error(A, substituted.L)) << condition;
    ++compared;
  }
  EXPECT_GE(compared, 1);
}

TYPED_TEST(PanelsOn, FindTheFirstMinorThatIsNotPositive) {
  std::int64_t const n = 60, leaf = 8;
  for (std::int64_t const order : {1, 8, 9, 12, 16, 17, 32, 33, 41, 60}) {
    HostMatrix const A = with_condition(n, 100), L("strata::test::L", n, n);
    Kokkos::deep_copy(L, A);
    ASSERT_EQ(reference_cholesky(L), 0);
    A(order - 1, order - 1) -= 1.5 * L(order - 1, order - 1) * L(order - 1, order - 1);
    for (LeafSolve const solve : both)
      for (std::int64_t const panel : {8, 16, 32}) {
        auto const options = with(panel, solve);
        EXPECT_EQ(factor<TypeParam>(A, {fp64}, leaf, options).order, order);
        EXPECT_EQ(factor<TypeParam>(A, {fp16, fp16, fp32}, leaf, options).order, order);
        EXPECT_EQ(factor<TypeParam>(A, {fp8_e4m3, fp16, fp32}, leaf, options).order, order);
      }
  }
}

TYPED_TEST(PanelsOn, NeverPassNanAsSuccess) {
  for (std::int64_t const i : {0, 9, 20, 39})
    for (LeafSolve const solve : both) {
      HostMatrix const A = with_condition(40, 10);
      A(39, i) = nan_value;
      auto const result = factor<TypeParam>(A, {fp16, fp32}, 5, with(10, solve));
      EXPECT_TRUE(result.order >= 1 && result.order <= 40) << i;
    }
}

// Scales that follow from the diagonal bring badly scaled blocks into fp16's range.
TYPED_TEST(PanelsOn, ScalesFromBoundsHoldBadlyScaledBlocks) {
  HostMatrix const A = with_condition(96, 10);
  for (std::int64_t j = 0; j < 96; ++j)
    for (std::int64_t i = 0; i < 96; ++i)
      A(i, j) = std::ldexp(A(i, j), static_cast<int>(i / 24 + j / 24) * 10 - 30);
  for (std::int64_t const panel : {24, 96}) {
    auto const result =
        factor<TypeParam>(A, {fp16, fp16, fp32}, 24, with(panel, LeafSolve::Inverse));
    ASSERT_EQ(result.order, 0);
    EXPECT_LE(factor_error(A, result.L), 4 * 0x1p-11);
    auto const unscaled = factor<TypeParam>(A, {fp16, fp16, fp32}, 24, [&] {
      auto options = with(panel, LeafSolve::Inverse);
      options.scaling = BlockScaling::None;
      return options;
    }());
    EXPECT_FALSE(unscaled.order == 0 && factor_error(A, unscaled.L) <= factor_error(A, result.L));
  }
}

TYPED_TEST(PanelsOn, RefuseANegativeSize) {
  using Tree = BlockTree<LayerList, TypeParam>;
  EXPECT_TRUE(throws_with<ValueError>("the panel size is -1", [] {
    Tree(TypeParam(), 4, {fp64}, 2, with(-1, LeafSolve::Automatic));
  }));
}

}  // namespace
