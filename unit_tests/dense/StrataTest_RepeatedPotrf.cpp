// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Dense.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <dense/recursion/Strata_TreePotrf.hpp>

#include <gtest/gtest.h>

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;

constexpr std::int64_t n = 130, leaf = 16;

HostMatrix spd_of(double condition) {
  GeneratorOptions options;
  options.condition = condition;
  return generate(MatrixKind::Geometric, n, options);
}

template <class Space>
using Info64 = Kokkos::View<std::int64_t, typename Space::memory_space>;

// Load A, factor it by `potrf(info)`; the order that *info then has, and in L the factor.
template <class Space, class Potrf>
std::int64_t factor(BlockTree<LayerList, Space>& tree, HostMatrix const& A,
                    Info64<Space> const& info, Potrf&& potrf, HostMatrix const& L) {
  Space const exec;
  auto const device = on_device<Space>(A, 3);
  Kokkos::deep_copy(exec, info, std::int64_t(0));
  tree.load(exec, Uplo::Lower, matrix_ref(device));
  potrf(info);
  tree.store(exec, Uplo::Lower, matrix_ref(device));
  exec.fence("strata::test::factored");
  Kokkos::deep_copy(L, on_host(device));
  std::int64_t order = -1;
  Kokkos::deep_copy(order, info);
  return order;
}

template <class Space>
class RepeatedPotrfOn : public testing::Test {};
TYPED_TEST_SUITE(RepeatedPotrfOn, Spaces, SpaceNames);

// Of one panel, and of several with a second instance; with leaves that are inverted and not.
TYPED_TEST(RepeatedPotrfOn, IsPotrfToTheLastBitEachTime) {
  TypeParam const exec;
  for (auto const& layers : {"fp16,fp16,fp32", "fp64", "fp8_e4m3,fp16,fp32", "fp16_split,fp32"})
    for (std::int64_t const panel : {32, 512}) {
      SCOPED_TRACE(testing::Message() << layers << ", panels of " << panel);
      BlockTreeOptions options;
      options.panel_size = panel;
      BlockTree<LayerList, TypeParam> tree(exec, n, LayerList::parse(layers), leaf, options);
      LeafBlas<TypeParam> blas(exec);
      RepeatedPotrf<TypeParam> again(exec, tree);
      Info64<TypeParam> const info("strata::test::info");
      HostMatrix const once("strata::test::once", n, n), repeated("strata::test::repeated", n, n);
      for (double const condition : {2.0, 5.0, 10.0, 20.0, 50.0}) {
        HostMatrix const A = spd_of(condition);
        EXPECT_EQ(factor(tree, A, info, [&](auto& i) { tree_potrf(blas, tree, i); }, once), 0);
        EXPECT_EQ(factor(tree, A, info, again, repeated), 0);
        EXPECT_EQ(triangle_difference(repeated, once), 0) << "condition " << condition;
      }
    }
}

TYPED_TEST(RepeatedPotrfOn, FindsAnIndefiniteMatrixAmongOthers) {
  TypeParam const exec;
  BlockTree<LayerList, TypeParam> tree(exec, n, LayerList::parse("fp16,fp32"), leaf);
  RepeatedPotrf<TypeParam> again(exec, tree);
  Info64<TypeParam> const info("strata::test::info");
  HostMatrix const L("strata::test::L", n, n);
  for (std::int64_t const bad : {0, 0, 0, 17, 0, 130}) {
    HostMatrix const A = spd_of(10);
    if (bad > 0) A(bad - 1, bad - 1) = -1;
    EXPECT_EQ(factor(tree, A, info, again, L), bad);
  }
}

// The tree's working blocks are elsewhere afterwards, or the status is.
TYPED_TEST(RepeatedPotrfOn, FollowsWhatMoves) {
  TypeParam const exec;
  BlockTree<LayerList, TypeParam> tree(exec, n, LayerList::parse("fp16,fp32"), leaf);
  RepeatedPotrf<TypeParam> again(exec, tree);
  Info64<TypeParam> const first("strata::test::info"), second("strata::test::info");
  HostMatrix const expected("strata::test::L", n, n), L("strata::test::L", n, n);
  HostMatrix const A = spd_of(10);
  for (int times = 0; times < 3; ++times) EXPECT_EQ(factor(tree, A, first, again, expected), 0);
  tree.release_working();
  Kokkos::View<double*, typename TypeParam::memory_space> const in_between("strata::test::block",
                                                                           2 * n * n);
  for (int times = 0; times < 3; ++times) {
    EXPECT_EQ(factor(tree, A, second, again, L), 0);
    EXPECT_EQ(triangle_difference(L, expected), 0);
  }
}

TYPED_TEST(RepeatedPotrfOn, DoesNothingForOrderZeroAndRefusesATreeThatIsNotLoaded) {
  TypeParam const exec;
  Info64<TypeParam> const info("strata::test::info");
  BlockTree<LayerList, TypeParam> const none(exec, 0, LayerList::parse("fp64"), leaf);
  RepeatedPotrf<TypeParam>(exec, none)(info);
  BlockTree<LayerList, TypeParam> const unset(exec, n, LayerList::parse("fp16,fp32"), leaf);
  RepeatedPotrf<TypeParam> again(exec, unset);
  EXPECT_TRUE(throws_with<ValueError>("tree_potrf: the tree of order 130 has not been loaded",
                                      [&] { again(info); }));
}

}  // namespace
