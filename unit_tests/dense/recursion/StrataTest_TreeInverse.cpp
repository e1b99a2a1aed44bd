// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include "dense/StrataTest_Dense.hpp"
#include <core/blas/Strata_LeafBlas.hpp>
#include <dense/recursion/detail/Strata_TreeRecursion.hpp>
#include <dense/tree/Strata_BlockTree.hpp>
#include <dense/tree/detail/Strata_LeafInverses.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

// Inverses of the leaves of a tree, all at once, and of the whole triangle.

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;

template <class Space>
class TreeInverseOn : public testing::Test {};
TYPED_TEST_SUITE(TreeInverseOn, Spaces, SpaceNames);

// |X L - I| as a part of |X| |L|, of lower triangles of order n from a row and column on; and
// whether X is 0 above its diagonal.
double residual(HostMatrix const& X, HostMatrix const& L, std::int64_t begin, std::int64_t n) {
  double worst = 0;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = j; i < n; ++i) {
      long double off = i == j ? -1 : 0;
      double size = 0;
      for (std::int64_t k = j; k <= i; ++k) {
        long double const term =
            static_cast<long double>(X(begin + i, begin + k)) * L(begin + k, begin + j);
        off += term;
        size += static_cast<double>(std::abs(term));
      }
      double const part = static_cast<double>(std::abs(off)) / size;
      if (!(part <= worst)) worst = part;
    }
  return worst;
}

// A triangle whose condition is about 1e8, and what a leaf holds above its diagonal.
HostMatrix graded_triangle(std::int64_t n) {
  HostMatrix const L = random_triangle(n, 3);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = j; i < n; ++i)
      L(i, j) *= std::pow(10.0, -8.0 * static_cast<double>(j) / static_cast<double>(n));
  return L;
}

template <class Space>
struct Inverted {
  Space exec;
  LeafBlas<Space> blas{exec};
  BlockTree<LayerList, Space> tree;

  Inverted(HostMatrix const& L, LayerList const& layers, std::int64_t leaf)
      : tree(exec, static_cast<std::int64_t>(L.extent(0)), layers, leaf, with_inverses()) {
    auto const there = on_device<Space>(L);
    tree.load(exec, Uplo::Lower, matrix_ref(there));
    tree.quantise_all(blas);
    exec.fence();
  }
  static BlockTreeOptions with_inverses() {
    BlockTreeOptions options;
    options.leaf_solve = LeafSolve::Inverse;
    return options;
  }
  // X of zeros, filled.
  template <class Fill>
  HostMatrix filled(std::int64_t n, Fill const& fill) {
    auto const size = static_cast<std::size_t>(n);
    auto const X = on_device<Space>(HostMatrix("strata::test::X", size, size));
    fill(matrix_ref(X));
    exec.fence();
    return on_host(X);
  }
};

TYPED_TEST(TreeInverseOn, LeavesOfAnyOrderAreInverted) {
  for (auto const& [n, leaf] : {std::array<std::int64_t, 2>{1, 8},
                                {63, 64},
                                {64, 64},
                                {65, 80},
                                {300, 129},
                                {700, 192},
                                {640, 128}}) {
    HostMatrix const L = graded_triangle(n);
    Inverted<TypeParam> there(L, {Precision::fp64}, leaf);
    for (auto const& node : there.tree.nodes()) {
      if (!node.is_leaf()) continue;
      HostMatrix const W = there.filled(n, [&](auto const& X) {
        there.blas.convert(Op::Trans, node.inverse,
                           X.block(node.begin, node.begin, node.size, node.size));
      });
      EXPECT_LE(residual(W, L, node.begin, node.size), 4 * static_cast<double>(node.size) * 0x1p-53)
          << n << ' ' << leaf;
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < j; ++i) ASSERT_EQ(W(i, j), 0);
    }
  }
}

TYPED_TEST(TreeInverseOn, TheWholeTriangleIsInverted) {
  for (auto const& [n, leaf] :
       {std::array<std::int64_t, 2>{1, 8}, {64, 64}, {65, 64}, {300, 48}, {330, 80}, {512, 64}}) {
    HostMatrix const L = graded_triangle(n);
    Inverted<TypeParam> there(L, {Precision::fp64}, leaf);
    HostMatrix const W = there.filled(n, [&](auto const& X) {
      dense::detail::TreeRecursion<TypeParam>(there.blas).invert(there.tree, X);
    });
    EXPECT_LE(residual(W, L, 0, n), 4 * static_cast<double>(n) * 0x1p-53) << n << ' ' << leaf;
  }
}

}  // namespace
