// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include <dense/Strata_Cholesky.hpp>
#include <dense/tree/Strata_BlockTree.hpp>
#include <dense/tree/Strata_LeafSizes.hpp>

#include <gtest/gtest.h>

namespace strata::test {
namespace {

using namespace strata::dense;

TEST(LeafSizes, RuleIsAShareOfTheOrderInWholeUnitsWithinBounds) {
  LeafSizeRule const rule{4, 16, 64, 1024};
  EXPECT_EQ(rule(0), 64);
  EXPECT_EQ(rule(256), 64);
  EXPECT_EQ(rule(257), 80);
  EXPECT_EQ(rule(1000), 256);
  EXPECT_EQ(rule(4096), 1024);
  EXPECT_EQ(rule(std::int64_t{1} << 40), 1024);
}

TEST(LeafSizes, UpToWholeThereIsOneLeaf) {
  LeafSizeRule const rule{8, 1, 64, 256, 4096};
  EXPECT_EQ(rule(0), 64);
  EXPECT_EQ(rule(1), 1);
  EXPECT_EQ(rule(4096), 4096);
  EXPECT_EQ(rule(4097), 256);
}

TEST(LeafSizes, EvenLeavesAreAlikeAndHalveTheColumns) {
  LeafSizeRule const rule{1, 8, 64, 512, 0, true};
  EXPECT_EQ(rule(0), 64);
  EXPECT_EQ(rule(300), 304);
  EXPECT_EQ(rule(512), 512);
  EXPECT_EQ(rule(513), 264);
  EXPECT_EQ(rule(1024), 512);
  EXPECT_EQ(rule(1025), 264);
  EXPECT_EQ(rule(1500), 376);
  EXPECT_EQ(rule(65536), 512);
  EXPECT_EQ(rule, leaf_size_rule("host", "fp64"));
  EXPECT_EQ(rule, leaf_size_rule("host", "fp32"));
  for (std::int64_t n = 513; n < 5000; ++n) {
    std::int64_t const half = half_of_leaves(n, rule(n));
    EXPECT_LE(rule(n), 512) << n;
    EXPECT_LE(2 * half - n, 8 * ((n + 1023) / 1024) * 2) << n;  // of flops about an eighth
    EXPECT_GE(2 * half, n) << n;
  }
}

TEST(LeafSizes, KindIsWhatTheLayersAreStoredIn) {
  EXPECT_EQ(leaf_kind(LayerList::parse("fp64,fp64")), "fp64");
  EXPECT_EQ(leaf_kind(LayerList::parse("fp32,fp64")), "fp32");
  EXPECT_EQ(leaf_kind(LayerList::parse("tf32,fp16_split")), "fp32");
  EXPECT_EQ(leaf_kind(LayerList::parse("fp16,fp64")), "low");
}

TEST(LeafSizes, ArchitectureWithoutARowIsAnyDevice) {
  LeafSizeRule const any{4, 16, 64, 1024};
  for (char const* kind : {"fp64", "fp32", "low"})
    EXPECT_EQ(leaf_size_rule("sm_00", kind), any) << kind;
}

template <class Space>
class LeafSizesOn : public testing::Test {};
TYPED_TEST_SUITE(LeafSizesOn, Spaces, SpaceNames);

TYPED_TEST(LeafSizesOn, AutomaticSizeIsThatOfTheTable) {
  auto const& architecture = leaf_architecture<TypeParam>();
  EXPECT_FALSE(architecture.empty());
  bool const on_host = Kokkos::SpaceAccessibility<TypeParam, Kokkos::HostSpace>::accessible;
  EXPECT_EQ(architecture == "host", on_host);
  for (char const* layers : {"fp64", "fp32", "fp16,fp32"}) {
    LayerList const list = LayerList::parse(layers);
    LeafSizeRule const rule = leaf_size_rule(architecture, leaf_kind(list));
    EXPECT_GE(rule.divisor, 1);
    EXPECT_GE(rule.unit, 1);
    EXPECT_LE(rule.least, rule.most);
    for (std::int64_t n = 0; n < 70000; n += 613)
      EXPECT_EQ(automatic_leaf_size<TypeParam>(n, list), rule(n)) << layers << " " << n;
  }
}

}  // namespace
}  // namespace strata::test
